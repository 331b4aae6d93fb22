"""Crude shrinking of a failing program: drop statements, unwrap blocks, keep a part of an expression."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from adjit.testing.programs.nodes import Argument, Block, Expression, Function, Line, Program, Statement
from adjit.testing.programs.probe import Rejected, validate

Body = tuple[Statement, ...]


def shrink(program: Program, fails: Callable[[Program], bool], seconds: float = 20.0) -> Program:
    """The smallest program found in `seconds` for which `fails` still holds; it stays a valid, fair test."""
    end = time.monotonic() + seconds
    found = True
    while found and time.monotonic() < end:
        found = False
        for candidate in _candidates(program):
            if time.monotonic() > end:
                break
            if _size(candidate) < _size(program) and _valid(candidate) and fails(candidate):
                program, found = candidate, True
                break
    return program


def _size(program: Program) -> tuple[int, int]:
    numbers = sum(int(np.size(a.value)) for a in program.arguments)
    return len(program.source()) + 10 * numbers, len(program.functions)


def _valid(program: Program) -> bool:
    try:
        validate(program)
    except Rejected:
        return False
    return True


def _candidates(program: Program) -> Iterator[Program]:
    functions = program.functions
    for k in range(len(functions) - 1):
        yield program.with_functions(functions[:k] + functions[k + 1 :])
    if any(cls for cls, _ in program.structure):
        yield replace(program, structure=())
    for k, function in enumerate(functions):
        if not isinstance(function, Function):
            continue
        for body in _smaller_bodies(function.body):
            yield program.with_functions((*functions[:k], replace(function, body=body), *functions[k + 1 :]))
    main = functions[-1]
    assert isinstance(main, Function)
    for k, argument in enumerate(program.arguments):
        arguments = program.arguments[:k] + program.arguments[k + 1 :]
        fewer = replace(main, params=tuple(a.name for a in arguments))
        if not any(cls for cls, _ in program.structure):
            yield replace(program, arguments=arguments, functions=(*functions[:-1], fewer), structure=())
        for value in _smaller_values(argument):
            yield replace(
                program,
                arguments=(
                    *program.arguments[:k],
                    replace(argument, value=value),
                    *program.arguments[k + 1 :],
                ),
            )


def _smaller_values(argument: Argument) -> Iterator[np.ndarray]:
    value = argument.value
    if isinstance(value, np.ndarray):
        for axis in range(value.ndim):
            if value.shape[axis] > 1:
                yield np.ascontiguousarray(np.delete(value, -1, axis))


def _smaller_bodies(body: Body) -> Iterator[Body]:
    for k in range(len(body)):
        yield body[:k] + body[k + 1 :]
    for k, statement in enumerate(body):
        for smaller in _smaller(statement):
            yield (*body[:k], *smaller, *body[k + 1 :])


def _smaller(statement: Statement) -> Iterator[Body]:
    if isinstance(statement, Line):
        for expression in _smaller_expressions(statement.expression, keep=True):
            yield (Line(expression),)
        return
    if not isinstance(statement, Block):
        return
    text = statement.header.text
    if not text.startswith("def"):
        if text.startswith("if") and not statement.kept:
            yield statement.body
            yield statement.orelse
        if statement.orelse:
            yield (replace(statement, orelse=()),)
    for body in _smaller_bodies(statement.body):
        yield (replace(statement, body=body),)
    for orelse in _smaller_bodies(statement.orelse):
        yield (replace(statement, orelse=orelse),)
    for header in _smaller_expressions(statement.header, keep=True):
        yield (replace(statement, header=header),)


def _smaller_expressions(expression: Expression, keep: bool = False) -> Iterator[Expression]:
    """The parts in place of the whole (unless the whole is a statement's frame), then smaller parts."""
    if not keep:
        yield from expression.parts
        if expression.parts:
            yield Expression("2")
    for k, part in enumerate(expression.parts):
        for smaller in _smaller_expressions(part):
            yield replace(expression, parts=(*expression.parts[:k], smaller, *expression.parts[k + 1 :]))
