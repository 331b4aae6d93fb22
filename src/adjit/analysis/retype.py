"""rewrite: untyped IR + inferred facts -> typed IR with explicit casts at flows.

loop (s = 0:int64) ... next t:float64   ->   loop (s: float64 = 0.0:float64) ... next t
x: float32, y = mul(0.5, x)             ->   y = mul(0.5:float32, x)          (NumPy 2's rules)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from adjit.analysis import numba_types
from adjit.analysis.facts import Fact, are_numpy_bools, parts, promote
from adjit.analysis.integer_tests import IntegerTests
from adjit.analysis.numba_types import to_numba
from adjit.analysis.promotion import meant, misfit, spelled_as, spelling_of, type_let
from adjit.analysis.several import ambiguous, fits, holds, loose, merged
from adjit.errors import UnsupportedError
from adjit.ir.builder import Builder
from adjit.ir.core import (
    Alloc,
    Atom,
    Block,
    Call,
    Const,
    Custom,
    Derive,
    Ensure,
    Function,
    If,
    Let,
    Load,
    Loop,
    Raise,
    RefAppend,
    RefGet,
    RefNew,
    Span,
    Stmt,
    Store,
    Sym,
    Undef,
    View,
    Whole,
)
from adjit.ir.spellings import CONVERSIONS, INDEX, MADE
from adjit.ir.types import BOOL, FLOAT64, INT64, Array, Scalar, Type
from adjit.ir.visit import reachable, same_view
from adjit.rules import linear
from adjit.rules.linear.base import Matrices, dtype_of
from adjit.rules.linear.products import loops

if TYPE_CHECKING:
    from adjit.analysis.types import Inference, Instance

_PYTHON = ("a Python integer", "a Python bool")
_CONVERT = "convert it to one type where it is set: int(...), np.int64(...)"

_SEEN = (Store, Call, Custom, Derive, RefAppend, Raise)
"""Statements after which it shows that a function was begun."""

_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "pow": "**", "neg": "-",
    "pos": "+", "lshift": "<<", "rshift": ">>", "and_": "&", "or_": "|", "xor": "^", "invert": "~",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=", "not_": "not",
}  # fmt: skip


def cast_const(c: Const, type: Scalar) -> Const:
    """The constant converted to another type."""
    value = c.value
    if type.is_bool:
        return Const(bool(value), type)
    if type.is_complex:
        return Const(complex(value), type)
    assert not isinstance(value, complex)
    return Const(int(value) if type.is_int else float(value), type)


def retyped(function: Function, inference: Inference) -> Function:
    """The function, with the instances of the functions that it calls."""
    callees: dict[str, Function] = {}
    todo: list[Instance] = []
    entry = Retyper(inference, todo).function(function)
    while todo:
        instance = todo.pop(0)
        name = instance.function.name
        if name not in callees:
            facts = tuple(instance.results)
            callees[name] = Retyper(inference, todo).callee(instance.function, facts)
    for f in callees.values():
        _refuse_alternating(f, callees)
    return replace(entry, functions=tuple(callees.values()))


def _refuse_alternating(f: Function, callees: dict[str, Function]) -> None:
    """Two instances of a function must not call each other."""
    others = [g for g in reachable(f, callees.values()) if g.name != f.name]
    if any(g.name == f.name for other in others for g in reachable(other, callees.values())):
        name = f.name.partition(".")[0]
        raise UnsupportedError(
            f"'{name}' calls itself with arguments of other types, and these with the first types again",
            "convert the arguments so that each call passes the same types",
            f.span,
        )


class Retyper:
    """Rebuilds a function with typed symbols. `called` receives the instances that it calls."""

    def __init__(self, inference: Inference, called: list[Instance]):
        self.inference = inference
        self._numpy_rules = inference.rules
        self._called = called
        self._typed: dict[Sym, Sym] = {}
        self._out: list[Stmt] = []
        self._tests = IntegerTests()

    def function(self, f: Function) -> Function:
        params = tuple(self._sym(p, f.span) for p in f.params)
        body = self._block(f.body)
        return replace(f, params=params, body=body, results=tuple(self._atom(a, f.span) for a in f.results))

    def callee(self, f: Function, facts: tuple[Fact | None, ...]) -> Function:
        """A called function, its results cast to the types that its callers see."""
        params = tuple(self._sym(p, f.span) for p in f.params)
        into = tuple(Sym("result", self._known(k, facts, f)) for k in range(len(f.results)))
        for s, a in zip(into, f.results, strict=True):
            self._check_flow(s, a, f.span)
        body, results, _ = self._branch(f.body, f.results, into, None, f.span)
        return replace(f, params=params, body=body, results=results)

    def _known(self, k: int, facts: tuple[Fact | None, ...], f: Function) -> Type:
        fact = facts[k]
        if fact is None or not fact.type.known:
            name = f.name.partition(".")[0]
            raise UnsupportedError(
                f"the type of what '{name}' returns, which calls itself, cannot be found",
                "return a value of a known type on a path that does not recurse",
                f.span,
            )
        return fact.type

    def _call(self, stmt: Call) -> Stmt:
        args = self._atoms(stmt.args, stmt.span)
        instance = self.inference.instance(stmt)
        if instance is None:
            undefined = next(a for a in stmt.args if self.inference.fact(a) is None)
            shown = undefined.name if isinstance(undefined, Sym) else "an argument"
            raise UnsupportedError(f"`{shown}` has no known type in a recursive call", span=stmt.span)
        self._called.append(instance)
        results = tuple(self._sym(r, stmt.span) for r in stmt.results)
        return replace(stmt, callee=instance.function.name, args=args, results=results)

    def _sym(self, s: Sym, span: Span) -> Sym:
        """The symbol with its type: one object, since what is identical is found fastest in sets and tables."""
        found = self._typed.get(s)
        if found is None:
            found = self._typed[s] = self._with_type(s, span)
        return found

    def _with_type(self, s: Sym, span: Span) -> Sym:
        fact = self.inference.facts.get(s)
        if fact is None:
            if s.type.known:
                return s
            fact = Fact(INT64) if isinstance(s.type, Scalar) else None
        if fact is None or not fact.type.known:
            raise UnsupportedError(f"the type of `{s.name}` cannot be inferred", span=span)
        return Sym(s.name, fact.type, s.uid)

    def _atom(self, a: Atom, span: Span) -> Atom:
        match a:
            case Sym():
                return self._sym(a, span)
            case Const():
                return a
            case Undef():
                return a if a.type.known else Undef(INT64)

    def _atoms(self, atoms: tuple[Atom, ...], span: Span) -> tuple[Atom, ...]:
        return tuple(self._atom(a, span) for a in atoms)

    def _cast(self, a: Atom, type: Type, span: Span) -> Atom:
        """`a` as a value of `type`, by a cast in the open block where it is another scalar type."""
        if isinstance(a, Undef):
            return Undef(type)
        typed = self._atom(a, span)
        if typed.type == type or not isinstance(type, Scalar):
            return typed
        if isinstance(typed, Const):
            return cast_const(typed, type)
        assert isinstance(typed, Sym)
        target = Sym(typed.name, type)
        self._out.append(Let(target, "cast", (typed,), None, span))
        return target

    def _truth(self, a: Atom, span: Span) -> Atom:
        """`a` as a condition."""
        typed = self._atom(a, span)
        if typed.type == BOOL or isinstance(typed, Undef):
            return typed if typed.type == BOOL else Undef(BOOL)
        if not isinstance(typed.type, Scalar):
            raise UnsupportedError("an array is used as a condition", span=span)
        if isinstance(typed, Const):
            return cast_const(typed, BOOL)
        target = Sym(typed.name, BOOL)
        zero = cast_const(Const(0, INT64), typed.type)
        self._out.append(Let(target, "ne", (typed, zero), None, span))
        return target

    def _block(self, block: Block) -> Block:
        return self._branch(block, (), (), None, None)[0]

    def _branch(
        self,
        block: Block,
        values: tuple[Atom, ...],
        into: tuple[Sym, ...],
        stop: Atom | None,
        span: Span | None,
    ) -> tuple[Block, tuple[Atom, ...], Atom | None]:
        """A sub-block with what it yields cast to the types of `into`, and its stop flag."""
        outer, self._out = self._out, []
        for stmt in block:
            if isinstance(stmt, Whole):
                self._out.extend(self._whole(stmt))
            elif isinstance(stmt, Let) and stmt.op == "cast" and stmt.fn in CONVERSIONS:
                self._convert(stmt)
            else:
                self._out.append(self._stmt(stmt))
        where = span or Span("", 0)
        cast = tuple(self._cast(v, r.type, where) for v, r in zip(values, into, strict=True))
        flag = None if stop is None else self._truth(stop, where)
        built, self._out = tuple(self._out), outer
        return built, cast, flag

    def _stmt(self, stmt: Stmt) -> Stmt:
        made = self._rebuilt(stmt)
        if isinstance(stmt, _SEEN):
            self._tests.seen()
        return made

    def _rebuilt(self, stmt: Stmt) -> Stmt:
        span = stmt.span
        match stmt:
            case Let():
                return self._let(stmt)
            case Load():
                self._check_load(stmt)
                array, index = self._sym(stmt.array, span), self._atoms(stmt.index, span)
                return replace(stmt, target=self._sym(stmt.target, span), array=array, index=index)
            case Store():
                self._check_store(stmt)
                array, index = self._sym(stmt.array, span), self._atoms(stmt.index, span)
                value = self._atom(stmt.value, span)
                if not stmt.wraps:
                    self._fits_array(stmt.value, array.type, span)
                self._fits_list(stmt, array.type)
                return replace(stmt, array=array, index=index, value=value, fills=False, wraps=False)
            case View():
                return self._view(stmt)
            case Alloc():
                return self._alloc(stmt)
            case Ensure():
                array, need = self._sym(stmt.array, span), self._atom(stmt.need, span)
                return replace(stmt, target=self._sym(stmt.target, span), array=array, need=need)
            case RefNew():
                return replace(stmt, target=self._sym(stmt.target, span))
            case RefAppend():
                array = self._sym(stmt.array, span)
                return replace(stmt, references=self._sym(stmt.references, span), array=array)
            case RefGet():
                position, refs = self._atom(stmt.position, span), self._sym(stmt.references, span)
                return replace(stmt, target=self._sym(stmt.target, span), references=refs, position=position)
            case Loop():
                return self._loop(stmt)
            case If():
                return self._if(stmt)
            case Custom():
                results = tuple(self._sym(r, span) for r in stmt.results)
                args = self._atoms(stmt.args, span)
                body, values, _ = self._branch(stmt.body, stmt.values, results, None, span)
                return replace(stmt, args=args, body=body, values=values, results=results)
            case Derive():
                return self._derive(stmt)
            case Call():
                return self._call(stmt)
            case _:
                return stmt

    def _whole(self, stmt: Whole) -> Block:
        """The operation on arrays of one element type, converted where NumPy converts them."""
        outs = tuple(self._sym(s, stmt.span) for s in stmt.outs)
        args = self._atoms(stmt.args, stmt.span)
        dtypes = tuple(dtype_of(a) for a in args if isinstance(a.type, Array))
        common = numba_types.promoted(dtypes)
        if not self._numpy_rules(stmt.outs[0]) and len(set(dtypes)) > 1:
            shown = ", ".join(str(to_numba(a.type)) for a in args)
            raise UnsupportedError(f"Numba has no `{stmt.op}` for ({shown})", "convert by .astype", stmt.span)
        b, rule = Builder(stmt.span), linear.get(stmt.op)
        if rule.real_only and common.is_complex:
            reason = f"'{rule.spelled}' of an array of {common}"
            raise UnsupportedError(
                reason, "take its real part, or the transform of complex numbers", stmt.span
            )
        if rule.takes_integers and not common.differentiable:
            common = FLOAT64
        if rule.any_numbers:
            b.append(replace(stmt, outs=outs, args=args))
        elif common.differentiable:
            args = tuple(_converted(b, a, common) for a in args)
            b.append(replace(stmt, outs=outs, args=args))
        elif stmt.op == "matmul":
            x, y = args
            assert isinstance(x, Sym) and isinstance(y, Sym)
            loops(b, outs[0], x, y)
        else:
            reason = f"'{stmt.op}' of an array of {common}"
            raise UnsupportedError(reason, "make it an array of floats", stmt.span)
        return b.block()

    def _derive(self, stmt: Derive) -> Stmt:
        span = stmt.span
        results = tuple(self._sym(r, span) for r in stmt.results)
        params = tuple(self._sym(p, span) for p in stmt.params)
        args = self._atoms(stmt.args, span)
        if params:  # a "pull" has none
            pairs = zip(args, params, strict=True)
            args = tuple(self._cast(a, p.type, span) if isinstance(p.type, Scalar) else a for a, p in pairs)
        given = self._atoms(stmt.given, span)
        body, values, _ = self._branch(stmt.body, stmt.values, results[: len(stmt.values)], None, span)
        parts = (stmt.kind, args, params, body, values, results, stmt.active, stmt.heads)
        return Derive(*parts, given, span)

    def _let(self, let: Let) -> Stmt:
        """The operation, in the open block what must come before it."""
        args = self._atoms(let.args, let.span)
        facts = tuple(self.inference.fact(a) or Fact(b.type) for a, b in zip(let.args, args, strict=True))
        numpy_rules = self._numpy_rules(let.target)
        typing = type_let(let, facts, numpy_rules)
        let = meant(let, facts, numpy_rules)
        if typing is None:
            raise _no_operation(let, facts)
        cast = tuple(
            a if c is None else self._cast(a, c, let.span) for a, c in zip(args, typing.casts, strict=True)
        )
        target = self._sym(let.target, let.span)
        fn = spelled_as(let, tuple(a.type for a in cast), typing.raw)
        if numpy_rules and let.op == "pow" and typing.raw.is_int:
            fn = None  # Numba's `np.power` of integers is one of floats
        self._out += self._tests.fit(typing.splits, args, let.span)
        if typing.raw == target.type and not any(s.wraps for s in typing.splits):
            return replace(let, target=target, args=cast, fn=fn)
        wide = Sym(target.name, typing.raw)
        self._out.append(replace(let, target=wide, args=cast, fn=fn))
        self._out += self._tests.agree(typing.splits, cast, wide, let.span)
        return Let(target, "cast", (wide,), None, let.span)

    def _fits_array(self, value: Atom, type: Type, span: Span) -> None:
        """Refuse, or raise, where Python's integer is none of the array's elements, as NumPy does."""
        fact = self.inference.fact(value)
        dtype = type.dtype if isinstance(type, Array) else type
        if (
            fact is None
            or not isinstance(dtype, Scalar)
            or not dtype.is_int
            or not self.inference.numpy_rules
        ):
            return
        if isinstance(value, Const) and value.type.is_int and not fits((value.integer, value.integer), dtype):
            reason = f"{value.integer} is out of bounds for {dtype}: NumPy raises OverflowError"
            raise UnsupportedError(reason, "store a number that the array holds", span)
        whole = isinstance(value, Sym) and isinstance(fact.type, Scalar) and fact.type.is_int
        if whole and dtype.itemsize < 4 and any(p.weak and not fits(p.bounds, dtype) for p in parts(fact)):
            self._out += self._tests.require(dtype, [self._atom(value, span)], span)

    def _fits_list(self, store: Store, type: Type) -> None:
        """Refuse a number in a list of numbers that do not hold it: Python's lists do, Numba's cut it off."""
        fact = self.inference.fact(store.value)
        dtype = type.dtype if isinstance(type, Array) else type
        if fact is None or not isinstance(dtype, Scalar) or not self.inference.is_list(store.array):
            return
        if not all(holds(dtype, p) for p in parts(fact)):
            reason = f"a list of {dtype} is given a number of type {fact.type}, which would be cut off"
            raise UnsupportedError(reason, "start the list with numbers of that type: [0.0]", store.span)

    def _convert(self, let: Let) -> None:
        """A conversion to a type that was found: a number that has it stands for the result."""
        value, target = self._atom(let.args[0], let.span), self._sym(let.target, let.span)
        if let.fn == MADE:
            self._check_element(let.args[0], let.span)
        if let.fn == INDEX:
            _require_integer(value, let.span)
        if isinstance(value, Sym) and value.type == target.type:
            self._typed[let.target] = value
        else:
            self._out.append(Let(target, "cast", (value,), None, let.span))

    def _view(self, view: View) -> Stmt:
        span = view.span
        array = self._sym(view.array, span)
        new = same_view(view, self._sym(view.target, span), array, lambda a: self._atom(a, span))
        self._check_shape(new.shape or (), span)
        return new

    def _check_shape(self, shape: tuple[Atom, ...], span: Span) -> None:
        wrong = next((n.type for n in shape if isinstance(n.type, Scalar) and not n.type.is_int), None)
        if wrong is not None:
            raise UnsupportedError(
                f"an array's shape needs integers, got {wrong}", "convert it by int()", span
            )

    def _alloc(self, alloc: Alloc) -> Stmt:
        span = alloc.span
        target = self._sym(alloc.target, span)
        shape = self._atoms(alloc.shape, span)
        self._check_shape(shape, span)
        like = None if alloc.like is None else self._sym(alloc.like, span)
        assert isinstance(target.type, Array)
        if (
            alloc.fill is not None
            and isinstance(alloc.target.type, Array)
            and not alloc.target.type.dtype.known
        ):
            self._check_element(alloc.fill, span)
        if alloc.fill is not None and self._numpy_rules(alloc.target):
            self._fits_array(alloc.fill, target.type, span)
        fill = None if alloc.fill is None else self._cast(alloc.fill, target.type.dtype, span)
        if alloc.target.type.layout == "C":  # type: ignore[union-attr]
            like = None  # it gave the dtype
        return replace(alloc, target=target, shape=shape, fill=fill, like=like)

    def _loop(self, loop: Loop) -> Stmt:
        span = loop.span
        params = tuple(self._sym(p, span) for p in loop.params)
        results = tuple(Sym(r.name, p.type, r.uid) for r, p in zip(loop.results, params, strict=True))
        self._typed.update(zip(loop.results, results, strict=True))
        for flows in (loop.inits, loop.nexts):
            for p, a in zip(params, flows, strict=True):
                self._check_flow(p, a, span)
        inits = tuple(self._cast(a, p.type, span) for a, p in zip(loop.inits, params, strict=True))
        lo, hi, step = (None if b is None else self._bound(b, loop) for b in (loop.lo, loop.hi, loop.step))
        index = None if loop.index is None else self._sym(loop.index, span)
        with self._tests.turns(loop, (lo, hi, step), self._out):
            body, nexts, stop = self._branch(loop.body, loop.nexts, params, loop.stop, span)
        flows = (params, inits, body, nexts, results, stop)
        said = (loop.at_once, loop.parallel, loop.note, loop.asked, loop.free)
        return Loop(index, lo, hi, step, *flows, span, *said)

    def _bound(self, bound: Atom, loop: Loop) -> Atom:
        """A bound of a range; under NumPy's rules every integer is an int64 index."""
        typed = self._atom(bound, loop.span)
        _require_integer(typed, loop.span)
        plain = loop.index is not None and self._numpy_rules(loop.index)
        return self._cast(bound, INT64, loop.span) if plain else typed

    def _if(self, stmt: If) -> Stmt:
        span = stmt.span
        cond = self._truth(stmt.cond, span)
        results = tuple(self._sym(r, span) for r in stmt.results)
        for flows in (stmt.then_values, stmt.else_values):
            for r, a in zip(results, flows, strict=True):
                self._check_flow(r, a, span)
        with self._tests.branch():
            then, then_values, _ = self._branch(stmt.then, stmt.then_values, results, None, span)
            els, else_values, _ = self._branch(stmt.els, stmt.else_values, results, None, span)
        return If(cond, then, els, then_values, else_values, results, span)

    def _check_flow(self, s: Sym, a: Atom, span: Span) -> None:
        """Fail where a name holds values of types that Numba cannot unify."""
        whole = self.inference.facts.get(s)
        if whole is not None and loose(whole):
            raise UnsupportedError(f"`{s.name}` holds {_choices(whole)}, by the path", _CONVERT, span)
        fact = self.inference.fact(a)
        if fact is None or fact.type == s.type:
            return
        both_scalars = isinstance(fact.type, Scalar) and isinstance(s.type, Scalar)
        if both_scalars or numba_types.unify(fact.type, s.type) == s.type:
            return
        reason = f"`{s.name}` holds {_shown(s.type)} on one path and {_shown(fact.type)} on another"
        raise UnsupportedError(reason, "Use two names.", span=span)

    def _check_element(self, a: Atom, span: Span) -> None:
        """Fail where what gives an array its dtype has several."""
        fact = self.inference.fact(a)
        if fact is not None and ambiguous(fact):
            raise UnsupportedError(
                f"an array of elements that are {_choices(fact)}, by the path", _CONVERT, span
            )

    def _check_load(self, load: Load) -> None:
        array = self._sym(load.array, load.span)
        index = tuple(self._atom(i, load.span).type for i in load.index)
        assert isinstance(array.type, Array)
        if numba_types.getitem(array.type, tuple(to_numba(t) for t in index)) is None:
            shown = ", ".join(_shown(t) for t in index)
            reason = f"Numba cannot index {_shown(array.type)} by ({shown})"
            raise UnsupportedError(reason, span=load.span)

    def _check_store(self, store: Store) -> None:
        array, value = self._sym(store.array, store.span), self._atom(store.value, store.span)
        index = tuple(self._atom(i, store.span).type for i in store.index)
        assert isinstance(array.type, Array)
        if array.type.readonly:
            raise UnsupportedError(f"`{array.name}` is read-only and is written", span=store.span)
        if store.update and array.type.dtype.is_integral and value.type.differentiable:
            raise UnsupportedError(
                f"an update of `{array.name}` with {_shown(value.type)} would lose the fraction: its elements are "
                f"{_shown(array.type.dtype)}",
                "give the array a float dtype, or convert the value: int(v)",
                store.span,
            )
        if not numba_types.can_store(array.type, tuple(to_numba(t) for t in index), value.type):
            reason = f"Numba cannot store {_shown(value.type)} in {_shown(array.type)}"
            raise UnsupportedError(reason, span=store.span)


def _converted(b: Builder, a: Atom, dtype: Scalar) -> Atom:
    """The array with elements of that type."""
    if not isinstance(a, Sym) or not isinstance(a.type, Array) or a.type.dtype == dtype:
        return a
    return Matrices(b).made(Matrices(b).shape(a), dtype, lambda *i: b.cast(b.load(a, i), dtype))


def _shown(type: Type) -> str:
    return str(to_numba(type)) if type.known else str(type)


def _no_operation(let: Let, facts: tuple[Fact, ...]) -> UnsupportedError:
    name = _SYMBOLS.get(let.op) or spelling_of(let) or let.op
    shown = ", ".join(_choices(f) for f in facts)
    if are_numpy_bools(facts):
        return UnsupportedError(f"`{name}` of NumPy's bools", "convert them to numbers: int(...)", let.span)
    if any(f.among for f in facts) or (let.op in ("min", "max") and ambiguous(merged(facts) or facts[0])):
        return UnsupportedError(
            f"the result of `{name}` for ({shown}) depends on the path", _CONVERT, let.span
        )
    common = promote(facts)
    reason = None if common is None else misfit(let, facts, common)
    if reason is not None:
        return UnsupportedError(
            f"{reason} in `{name}`", "convert an operand: int(...), np.uint64(...)", let.span
        )
    return UnsupportedError(f"Numba has no `{name}` for ({shown})", span=let.span)


def _choices(fact: Fact) -> str:
    if not fact.among:
        return _shown(fact.type)
    return " or ".join(_PYTHON[p.type == BOOL] if p.weak else _shown(p.type) for p in fact.among)


def _require_integer(bound: Atom, span: Span) -> None:
    if not isinstance(bound.type, Scalar) or not (bound.type.is_int or bound.type.is_bool):
        raise UnsupportedError(f"`range` needs integers, got {bound.type}", span=span)
