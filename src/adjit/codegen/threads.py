"""Parallel loops as functions that Numba's pool of threads runs.

    for part in range(parts), in parallel: body   ->   if parts > 1: run_parts(f_part, parts, (a, b))
                                                       else: for part in range(parts): f_part(part, a, b)
    f_part(part, a, b): body

`run_parts` is a helper of the generated module, a call of the same entry point of Numba's threading layer that `prange`
compiles to. Going there directly leaves out Numba's passes for parallel code, which take a second for each loop, and an
exception (an index out of bounds) comes back to the caller as from any other call, where `prange` loses it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from adjit.ir.core import ONE, Call, Function, If, Let, Loop, Stmt, Sym, fresh
from adjit.ir.types import BOOL
from adjit.ir.visit import Rewriter, free

RUN_PARTS = '''@intrinsic
def run_parts(context, part, count, given):
    """part(k, *given) for each k in range(count), on Numba's threads; an exception that one raises is raised again."""
    resolved = part.get_call_type(context, (types.int64, *given), {})

    def run(target, builder, _, args):
        compiled = part.dispatcher.get_compile_result(resolved)
        target.active_code_library.add_linking_library(compiled.library)
        word, byte = ir.IntType(types.intp.bitwidth), ir.IntType(8).as_pointer()
        shared = ir.LiteralStructType([args[2].type, ir.IntType(32), excinfo_ptr_t])
        some = _run_some(target, builder.module, compiled.fndesc, resolved, shared)
        place = cgutils.alloca_once(builder, shared)
        empty = (ir.IntType(32)(0), excinfo_ptr_t(None))
        for k, value in enumerate((args[2], *empty)):
            builder.store(value, cgutils.gep_inbounds(builder, place, 0, k))
        first, size, step = (cgutils.alloca_once_value(builder, a) for a in (byte(None), args[1], word(1)))
        start = ir.FunctionType(ir.VoidType(), [byte] * 5 + [word] * 3)
        pool = cgutils.get_or_insert_function(builder.module, start, "numba_parallel_for")
        pointers = [builder.bitcast(p, byte) for p in (some, first, size, step, place)]
        number = cgutils.get_or_insert_function(builder.module, ir.FunctionType(word, []), "get_num_threads")
        builder.call(pool, [*pointers, word(0), word(1), builder.call(number, [])])
        code, info = (builder.load(cgutils.gep_inbounds(builder, place, 0, k)) for k in (1, 2))
        with builder.if_then(builder.icmp_signed("!=", code, code.type(0)), likely=False):
            status = Status._make((code, *[None] * (len(Status._fields) - 2), info))
            target.call_conv.return_status_propagate(builder, status)
        return target.get_dummy_value()

    return types.none(part, types.intp, given), run


def _run_some(target, module, description, resolved, shared):
    """What the pool calls: the parts from the one whose number the first pointer is."""
    word, byte = ir.IntType(types.intp.bitwidth), ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte.as_pointer(), word.as_pointer(), word.as_pointer(), byte])
    function = ir.Function(module, kind, module.get_unique_name("run_some"))
    function.linkage = "internal"
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    first = builder.ptrtoint(builder.load(function.args[0]), word)
    place = builder.bitcast(function.args[3], shared.as_pointer())
    given = cgutils.unpack_tuple(builder, builder.load(cgutils.gep_inbounds(builder, place, 0, 0)))
    part = target.declare_function(module, description)
    with cgutils.for_range(builder, builder.load(function.args[1])) as loop:
        number = builder.add(first, loop.index)
        number = number if word.width == 64 else builder.sext(number, ir.IntType(64))
        convention, values = target.call_conv, [number, *given]
        status, _ = convention.call_function(builder, part, resolved.return_type, resolved.args, values)
        with builder.if_then(status.is_error, likely=False):
            builder.store(status.excinfoptr, cgutils.gep_inbounds(builder, place, 0, 2))
            builder.store(status.code, cgutils.gep_inbounds(builder, place, 0, 1))
    builder.ret_void()
    return function


get_num_threads()  # loads Numba's threading layer
'''
"""A helper of generated modules (see above)."""


@dataclass(frozen=True)
class Threaded:
    """A function whose parallel loops call parts; the parts."""

    main: Function
    parts: tuple[Function, ...]
    passed: frozenset[Sym]


def on_threads(function: Function, fresh_name: Callable[[str], str]) -> Threaded:
    """The function with the bodies of its parallel loops as functions of their own (see the module)."""
    cutter = _Cutter(function, fresh_name)
    body = cutter.block(function.body)
    passed = frozenset(p for part in cutter.parts for p in part.params)
    return Threaded(replace(function, body=body), tuple(cutter.parts), passed)


class _Cutter(Rewriter):
    def __init__(self, function: Function, fresh_name: Callable[[str], str]):
        super().__init__()
        self._function, self._fresh_name = function, fresh_name
        self.parts: list[Function] = []

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if not isinstance(stmt, Loop) or not stmt.parallel:
            return (self.rebuild(stmt),)
        assert stmt.index is not None
        assert stmt.hi is not None
        given = tuple(sorted(free(stmt.body) - {stmt.index}, key=lambda s: s.uid))
        name = self._fresh_name(f"{self._function.name}_part")
        doc = f"A part of {self._function.name}: line {stmt.span.line}." if stmt.span.line > 0 else ""
        doc = f"{doc}\n{stmt.note or ''}".strip()
        self.parts.append(Function(name, (stmt.index, *given), stmt.body, (), doc, self._function.span))
        several, index = Sym("several", BOOL), fresh(stmt.index)
        threads = replace(stmt, body=(Call((), name, (stmt.index, *given), stmt.span),), note=None)
        alone = replace(
            threads, index=index, parallel=False, body=(Call((), name, (index, *given), stmt.span),)
        )
        return (
            Let(several, "gt", (stmt.hi, ONE), None, stmt.span),
            If(several, (threads,), (alone,), span=stmt.span),
        )
