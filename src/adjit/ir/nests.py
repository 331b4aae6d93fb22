"""Loop nests over whole arrays, as the transforms need them: sum, copy, add."""

from __future__ import annotations

from collections.abc import Callable

from adjit.ir.builder import Builder, const_of
from adjit.ir.core import ONE, ZERO, Atom, Loop, RefAppend, RefGet, RefNew, Sym, fresh
from adjit.ir.types import INT64, Array, RefList

Build = Callable[[Builder, tuple[Atom, ...], Atom | None], Atom | None]


def nest(b: Builder, shape: tuple[Atom, ...], build: Build, carried: Atom | None = None) -> Atom | None:
    """Counted loops over a whole shape; `build(b, index, carried)` gives the next carried value."""

    def level(k: int, index: tuple[Atom, ...], value: Atom | None) -> Atom | None:
        if k == len(shape):
            return build(b, index, value)
        i = Sym("ijklmnop"[k % 8], INT64)
        param = None if value is None else Sym("total", value.type)
        with b.collect() as body:
            nxt = level(k + 1, (*index, i), param)
        many = () if param is None else (param,)
        result = None if param is None else fresh(param)
        inits = () if value is None else (value,)
        nexts = () if nxt is None else (nxt,)
        results = () if result is None else (result,)
        b.append(Loop(i, ZERO, shape[k], ONE, many, inits, tuple(body), nexts, results, None, b.span))
        return result

    return level(0, (), carried)


def sum_all(b: Builder, array: Sym) -> Atom:
    """The sum of all elements."""
    assert isinstance(array.type, Array)
    shape = tuple(b.dim(array, k) for k in range(array.type.ndim))

    def one(b: Builder, i: tuple[Atom, ...], sofar: Atom | None) -> Atom:
        assert sofar is not None
        return b.op("add", sofar, b.load(array, i))

    total = nest(b, shape, one, const_of(0.0, array.type.dtype))
    assert total is not None
    return total


def copied_list(b: Builder, listed: Sym, name: str) -> Sym:
    """A list of copies of a list's arrays.

    Each is filled by the name that the list gives it: the reverse sweep finds its shadow there, by no other name.
    """
    assert isinstance(listed.type, RefList)
    element = listed.type.element
    made, k = Sym(name, listed.type), Sym("k", INT64)
    b.append(RefNew(made, b.span))
    with b.collect() as body:
        a = Sym(listed.name, element)
        b.append(RefGet(a, listed, k, b.span))
        shape = tuple(b.dim(a, axis) for axis in range(element.ndim))
        copy = b.alloc(a.name, element, shape, None, a if element.layout == "F" else None)
        b.append(RefAppend(made, copy, b.span))
        there = Sym(a.name, element)
        b.append(RefGet(there, made, k, b.span))
        copy_into(b, there, a)
    total = b.let("dim", listed, ZERO, type=INT64, name="total")
    b.append(Loop(k, ZERO, total, ONE, (), (), tuple(body), (), (), None, b.span))
    return made


def copy_into(b: Builder, target: Sym, source: Sym) -> None:
    """`target[...] = source[...]` element by element."""
    assert isinstance(source.type, Array)
    shape = tuple(b.dim(source, k) for k in range(source.type.ndim))

    def one(b: Builder, i: tuple[Atom, ...], _: object) -> None:
        b.store(target, i, b.load(source, i))

    nest(b, shape, one)


def add_into(b: Builder, target: Sym, source: Sym) -> None:
    """`target[...] += source[...]` element by element."""
    assert isinstance(source.type, Array)
    shape = tuple(b.dim(source, k) for k in range(source.type.ndim))

    def one(b: Builder, i: tuple[Atom, ...], _: object) -> None:
        b.store(target, i, b.op("add", b.load(target, i), b.load(source, i)))

    nest(b, shape, one)
