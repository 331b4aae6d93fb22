"""Custom derivative rules put in place of what they are rules for.

custom (args): body -> y                          the primal, inlined
forward mode:   y, y_dot = rule(args, args_dot)
reverse mode:   y, res = fwd(args)                in the augmented forward sweep
                d_args += bwd(res, dy, shadows)   in the reverse sweep
reverse mode, only a jvp rule:  d_args += transpose of rule(args, .)(dy), by reverse mode on the rule itself
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from adjit.errors import MissingRuleError, UnsupportedError
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import Alloc, Atom, Block, Custom, Function, Span, Stmt, Sym, View, const
from adjit.ir.nests import copy_into
from adjit.ir.structure import Leaf, NoneSpec, Spec, TupleSpec, leaves
from adjit.ir.types import FLOAT64, Array, Scalar, Type
from adjit.ir.visit import Rewriter, renamed, walk
from adjit.rules.custom import CustomCall, CustomFunction
from adjit.transform.lowered import Primal


@dataclass(frozen=True)
class Pull:
    """The `rule` of a Custom whose body is `fwd`: what the reverse sweep needs to call `bwd`.

    n_values: how many of the results are the value's leaves; the rest are leaves of `res`.
    kept: the leaves of `res` as the reverse sweep finds them: numbers, and arrays that nothing else writes.
    """

    function: CustomFunction
    args: tuple[Spec, ...]
    value: Spec
    res: Spec
    n_values: int
    written: tuple[int, ...]  # which flat args are arrays that the primal writes
    kept: tuple[Atom, ...]
    plain: bool  # as `CustomCall.plain`


def typed_specs(call: CustomCall, args: tuple[Atom, ...]) -> tuple[Spec, ...]:
    """The specs of a call's arguments with the types that the flat args have."""
    types = iter([a.type for a in args])
    return tuple(retyped(s, types) for s in call.args)


def retyped(spec: Spec, types: Iterator[Type]) -> Spec:
    """The same structure with the leaf types given."""
    match spec:
        case Leaf():
            return Leaf(next(types), spec.weak)
        case TupleSpec():
            return replace(spec, items=tuple(retyped(i, types) for i in spec.items))
        case _:
            return spec


def rule_primal(f: Callable[..., Any], specs: tuple[Spec, ...], span: Span, plain: bool) -> Primal:
    """A rule's function, typed for these arguments."""
    from adjit.transform.primal import primal_of  # a rule may itself take gradients

    primal = primal_of(f, specs, plain)
    if primal.function.functions:
        raise UnsupportedError(
            f"the rule '{primal.function.name}' calls a function that calls itself",
            "write the recursion as a loop there",
            span,
        )
    if primal.captures:
        raise UnsupportedError(
            f"the rule '{primal.function.name}' captures an array",
            "return it from fwd in `res`, or pass it as an argument",
            span,
        )
    return primal


def inlined(function: Function, args: tuple[Atom, ...]) -> tuple[Block, tuple[Atom, ...]]:
    """A fresh copy of the function's body with its parameters replaced, and its results."""
    env: dict[Sym, Atom] = dict(zip(function.params, args, strict=True))
    body = renamed(function.body, env)
    return body, tuple(env.get(a, a) if isinstance(a, Sym) else a for a in function.results)


def with_forward(stmt: Custom, written: tuple[int, ...], nested: bool) -> tuple[Stmt, ...]:
    """The statement with `fwd` for a body and `res` among its results, and copies of the arrays that `res` holds.

    An array that `fwd` made, and nobody else has, is kept as it is, unless the call is `nested` in a loop or branch.
    """
    call = stmt.rule
    assert isinstance(call, CustomCall)
    function = call.function
    if function.fwd is None:
        return (_with_transpose(stmt, call, written),)
    specs = typed_specs(call, stmt.args)
    primal = rule_primal(function.fwd, specs, stmt.span, call.plain)
    out = primal.out
    if not isinstance(out, TupleSpec) or len(out.items) != 2:
        raise UnsupportedError(
            f"'{primal.function.name}' must return (value, res)",
            "return a pair: the value, and a tuple of what bwd needs",
            stmt.span,
        )
    body, values = inlined(primal.function, stmt.args)
    n = sum(1 for _ in leaves(out.items[0]))
    _same_values(stmt, values[:n], primal.function.name)
    res = tuple(Sym("res", a.type) for a in values[n:])
    own = frozenset[Sym]() if nested else _own_arrays(body, values, n)
    b = Builder(stmt.span)
    kept = tuple(_kept(b, r, v in own) for r, v in zip(res, values[n:], strict=True))
    held = retyped(out.items[1], iter([a.type for a in kept]))
    rule = Pull(function, specs, out.items[0], held, n, written, kept, call.plain)
    return (Custom(stmt.args, body, values, (*stmt.results, *res), rule, stmt.span), *b.block())


class _Dissolve(Rewriter):
    """Puts `fwd`'s body in place of a call whose rule the reverse sweep has used."""

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if not isinstance(stmt, Custom) or not isinstance(stmt.rule, Pull):
            return (self.rebuild(stmt),)
        body = self.block(stmt.body)
        self.env.update(zip(stmt.results, self.atoms(stmt.values), strict=True))
        return body


def dissolved(function: Function) -> Function:
    """The augmented forward function with `fwd` as ordinary code, so that it can be differentiated again."""
    rewriter = _Dissolve()
    body = rewriter.block(function.body)
    return replace(function, body=body, results=rewriter.atoms(function.results))


def _own_arrays(body: Block, values: tuple[Atom, ...], n: int) -> frozenset[Sym]:
    """Arrays allocated in the body that are in `res` (`values[n:]`) once, and not in the value."""
    made = {s.target for s in body if isinstance(s, Alloc)}
    seen = list(values)
    value_types = {a.type for a in values[:n] if isinstance(a.type, Array)}
    views = {s.array for s in walk(body) if isinstance(s, View)}
    if value_types:  # the value may be a view of any of them
        return frozenset()
    return frozenset(a for a in made if a not in views and seen.count(a) == 1)


def _kept(b: Builder, leaf: Sym, own: bool) -> Sym:
    """What the reverse sweep reads for a leaf of `res`: arrays are copied, so that they stay what they are."""
    if own or not isinstance(leaf.type, Array):
        return leaf
    copy = b.alloc_like(leaf.name, leaf)
    copy_into(b, copy, leaf)
    return copy


def _with_transpose(stmt: Custom, call: CustomCall, written: tuple[int, ...]) -> Custom:
    """Only a jvp rule: the arguments themselves are what the reverse sweep needs."""
    if call.function.jvp is None:
        raise MissingRuleError(
            f"the custom function '{_name(call.function)}' has no derivative rule",
            "give one with defvjp(fwd, bwd) or defjvp(rule)",
            stmt.span,
        )
    if any(isinstance(a.type, Array) for a in stmt.args):
        raise UnsupportedError(
            f"'{_name(call.function)}' takes arrays and has no reverse rule",
            "give one with defvjp(fwd, bwd)",
            stmt.span,
        )
    specs = typed_specs(call, stmt.args)
    res = tuple(Sym("res", a.type) for a in stmt.args)
    assert call.out is not None
    value = retyped(call.out, iter([r.type for r in stmt.results]))
    rule = Pull(call.function, specs, value, TupleSpec(specs), len(stmt.results), written, res, call.plain)
    return replace(stmt, values=(*stmt.values, *stmt.args), results=(*stmt.results, *res), rule=rule)


def _same_values(stmt: Custom, values: tuple[Atom, ...], name: str) -> None:
    mine, theirs = [r.type for r in stmt.results], [a.type for a in values]
    plain = [t if isinstance(t, Scalar) else (t.dtype, t.ndim) for t in mine if isinstance(t, Scalar | Array)]
    rule = [
        t if isinstance(t, Scalar) else (t.dtype, t.ndim) for t in theirs if isinstance(t, Scalar | Array)
    ]
    if plain != rule:
        raise UnsupportedError(
            f"'{name}' returns a value of type {', '.join(map(str, theirs))}; "
            f"the function itself returns {', '.join(map(str, mine))}",
            "return the same value from both",
            stmt.span,
        )


def cotangent_specs(pull: Pull, results: tuple[Sym, ...]) -> Spec:
    """The structure of bwd's `ct`: the value's, None where there is no derivative."""

    def blank(spec: Spec) -> Spec:
        match spec:
            case Leaf():
                return spec if spec.type.differentiable else NoneSpec()
            case TupleSpec():
                return replace(spec, items=tuple(blank(i) for i in spec.items))
            case _:
                return spec

    return blank(retyped(pull.value, iter([r.type for r in results[: pull.n_values]])))


def pull_call(
    stmt: Custom, res: tuple[Atom, ...], cts: tuple[Atom, ...], shadows: tuple[Sym, ...]
) -> tuple[Block, list[Atom | None]]:
    """The inlined call of `bwd`, and one cotangent per flat argument (None where there is none).

    cts: one atom per differentiable leaf of the value.
    """
    pull = stmt.rule
    assert isinstance(pull, Pull)
    if pull.function.bwd is None:
        return _transposed(stmt, pull, res, cts)
    ct = cotangent_specs(pull, stmt.results)
    specs = (pull.res, ct, *(Leaf(s.type) for s in shadows))
    primal = rule_primal(pull.function.bwd, specs, stmt.span, pull.plain)
    body, values = inlined(primal.function, (*res, *cts, *shadows))
    return body, _matched(stmt, pull, primal.out, list(values))


def _matched(stmt: Custom, pull: Pull, out: Spec, values: list[Atom]) -> list[Atom | None]:
    """One value per flat argument, from bwd's result."""
    whole: Spec = TupleSpec(pull.args)
    if len(pull.args) == 1 and not (isinstance(out, TupleSpec) and len(out.items) == 1 and out.cls is None):
        out = TupleSpec((out,))
    given = iter(values)
    found: list[Atom | None] = []

    def walk(arg: Spec, got: Spec) -> None:
        match arg, got:
            case Leaf(), Leaf():
                found.append(next(given))
            case _, NoneSpec():
                found.extend(None for _ in leaves(arg))
            case TupleSpec(), TupleSpec() if len(arg.items) == len(got.items):
                for a, g in zip(arg.items, got.items, strict=True):
                    walk(a, g)
            case NoneSpec(), _:
                for _ in leaves(got):
                    next(given)
            case _:
                raise UnsupportedError(
                    f"bwd of '{_name(pull.function)}' does not return one cotangent per argument",
                    f"return a tuple of {len(pull.args)}, None where there is no derivative",
                    stmt.span,
                )

    walk(whole, out)
    return found


def _transposed(
    stmt: Custom, pull: Pull, res: tuple[Atom, ...], cts: tuple[Atom, ...]
) -> tuple[Block, list[Atom | None]]:
    """Reverse mode through the jvp rule, in its tangents, at tangents zero."""
    from adjit.transform.reverse import Wish, reverse

    primal = _forward_rule(pull.function, pull.args, stmt.span, pull.plain)
    n = len(res)
    moved = primal.function.params[n:]
    assert isinstance(primal.out, TupleSpec)
    first = sum(1 for _ in leaves(primal.out.items[0]))
    seeded = tuple(k for k, a in enumerate(primal.function.results) if k >= first and a.type.differentiable)
    rev = reverse(primal.function, Wish(moved, seeded))
    zeros = tuple(const_of(0.0, t.type) for t in moved)
    env: dict[Sym, Atom] = dict(zip(rev.forward.params, (*res, *zeros, const(2**62)), strict=True))
    forward = renamed(rev.forward.body, env)
    for s, a in zip(rev.saved, rev.passed, strict=True):
        env[s] = env.get(a, a) if isinstance(a, Sym) else a
    env.update(zip(rev.seeds, cts, strict=True))
    backward = renamed(rev.backward.body, env)
    adjoints = iter(env.get(a, a) if isinstance(a, Sym) else a for a in rev.backward.results)
    flat = [leaf for s in pull.args for leaf in leaves(s)]
    return (*forward, *backward), [next(adjoints) if leaf.type.differentiable else None for leaf in flat]


def _forward_rule(function: CustomFunction, args: tuple[Spec, ...], span: Span, plain: bool) -> Primal:
    """The jvp rule, typed for these arguments; tangents of integers and bools are None."""
    assert function.jvp is not None
    tangents = tuple(_tangent_spec(s, NoneSpec()) for s in args)
    try:
        return rule_primal(function.jvp, (TupleSpec(args), TupleSpec(tangents)), span, plain)
    except UnsupportedError as error:
        filled = tuple(_tangent_spec(s, Leaf(FLOAT64)) for s in args)
        blank = [k for k, (a, b) in enumerate(zip(tangents, filled, strict=True)) if a != b]
        if not blank or not _is_typed(function.jvp, (TupleSpec(args), TupleSpec(filled)), span, plain):
            raise
        raise UnsupportedError(
            f"the rule of '{_name(function)}' uses a tangent of {_said(function, blank)}",
            "pass a float (2.0, not 2), or let the rule test it: dn is None",
            span,
        ) from error


def _is_typed(f: Callable[..., Any], specs: tuple[Spec, ...], span: Span, plain: bool) -> bool:
    try:
        rule_primal(f, specs, span, plain)
    except (UnsupportedError, MissingRuleError):
        return False
    return True


def _said(function: CustomFunction, positions: list[int]) -> str:
    """Arguments without a tangent, by name."""
    f = function.primal
    f = getattr(f, "py_func", f)
    known = list(inspect.signature(f).parameters)
    names = [f"'{known[k]}'" if k < len(known) else f"argument {k}" for k in positions]
    one = len(names) == 1
    return f"{' and '.join(names)}, which {'is' if one else 'are'} no float here and {'has' if one else 'have'} none"


def _tangent_spec(spec: Spec, blank: Spec) -> Spec:
    """The structure of an argument's tangent; `blank` is that of a number without derivative."""
    match spec:
        case Leaf():
            return Leaf(spec.type) if spec.type.differentiable else blank
        case TupleSpec():
            return replace(spec, items=tuple(_tangent_spec(i, blank) for i in spec.items))
        case _:
            return spec


def push_call(
    stmt: Custom, tangents: Callable[[Atom], tuple[Atom, ...]], width: int, b: Builder
) -> tuple[tuple[Atom, ...], list[tuple[Atom, ...]]]:
    """Inline the jvp rule into `b`: the value's leaves, and the tangents of each differentiable one."""
    call = stmt.rule
    assert isinstance(call, CustomCall)
    if call.function.jvp is None:
        raise MissingRuleError(
            f"the custom function '{_name(call.function)}' has no forward rule",
            "give one with defjvp(rule)",
            stmt.span,
        )
    primal = _forward_rule(call.function, typed_specs(call, stmt.args), stmt.span, call.plain)
    if not isinstance(primal.out, TupleSpec) or len(primal.out.items) != 2:
        raise UnsupportedError(
            f"'{primal.function.name}' must return (value, tangent)", "return a pair", stmt.span
        )
    n = sum(1 for _ in leaves(primal.out.items[0]))
    dots = [tangents(a) for a in stmt.args if a.type.differentiable]
    value: tuple[Atom, ...] = ()
    found: list[list[Atom]] = []
    for w in range(width):
        body, results = inlined(primal.function, (*stmt.args, *(d[w] for d in dots)))
        b.extend(body)
        _same_values(stmt, results[:n], primal.function.name)
        value = results[:n] if w == 0 else value
        found.append(list(results[n:]))
    return value, [tuple(column) for column in zip(*found, strict=True)]


def _name(function: CustomFunction) -> str:
    return getattr(function.primal, "__name__", str(function.primal))
