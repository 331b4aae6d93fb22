"""Jacobians and Hessians of a typed primal as programs: loops around one forward or reverse derivative.

y = f(x)  ->  forward mode:  for i over x: e = zeros; e[i] = 1; J[:, i] = forward(x, e)
              reverse mode:  y, saved = forward(x); for j over y: e = zeros; e[j] = 1; J[j, :] = reverse(saved, e)

Whatever a function writes is written once, as the plain call does; what runs again works on copies of values at entry.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from adjit.errors import ArgumentError, UnsupportedError
from adjit.ir.builder import Builder, const_of
from adjit.ir.core import Atom, Function, Sym
from adjit.ir.nests import nest
from adjit.ir.types import Array, Scalar, Type
from adjit.transform.derived import gradient_of
from adjit.transform.forward import forward
from adjit.transform.inlined import Entry, copied, extents, inlined, with_callees
from adjit.transform.pullback import Pullback, pullback

Shape = tuple[Atom, ...]


@dataclass(frozen=True)
class Head:
    """A result whose derivatives are wanted. at: its number among the results of the function that is derived.

    axes: what has its extents, one behind the other: results of the primal by number, parameters.
    """

    at: int
    axes: tuple[int | Sym, ...]


def jacfwd(function: Function, inputs: tuple[Sym, ...], heads: tuple[int, ...]) -> Function:
    """The primal's results, then a derivative for each pair of a head and an input, by forward mode."""
    return _columns(function, function, inputs, tuple(Head(k, (k,)) for k in heads))


def _columns(
    primal: Function, derived: Function, inputs: tuple[Sym, ...], heads: tuple[Head, ...]
) -> Function:
    """`derived`: a function of the primal's parameters, whose results are derived."""
    _refuse_complex(primal, inputs)
    b = Builder(primal.span)
    pushed = [forward(derived, (p,)).function for p in inputs]
    entry = Entry(b, pushed, primal.params)
    values = inlined(b, primal, primal.params)
    carrying = [k for k, a in enumerate(derived.results) if a.type.differentiable]
    count = len(derived.results)
    columns = []
    for p, f in zip(inputs, pushed, strict=True):
        shapes = [_shape(b, h, values) for h in heads]
        places = [count + carrying.index(h.at) for h in heads]
        columns.append(_by(b, p, f, entry, [(shape, k) for shape, k in zip(shapes, places, strict=True)]))
    flat = tuple(columns[c][r] for r in range(len(heads)) for c in range(len(inputs)))
    whole = replace(primal, name=f"{primal.name}_jacobian", body=b.block(), results=(*values, *flat))
    return with_callees(whole, primal, *pushed)


def _by(b: Builder, p: Sym, pushed: Function, entry: Entry, wanted: list[tuple[Shape, int]]) -> list[Atom]:
    """Derivatives by one input: the results `k` of its tangent program, each with the extents of its value."""
    shape = extents(b, p)
    made: list[Sym | None] = []
    for of, k in wanted:
        type = Array(_dtype(pushed.results[k].type), len(of) + len(shape), "C")
        made.append(b.alloc("column", type, (*of, *shape)) if type.ndim else None)
    seed = b.alloc_like("seed", p, const_of(0.0, p.type.dtype)) if isinstance(p.type, Array) else None
    numbers: list[Atom] = []

    def one(b: Builder, i: tuple[Atom, ...], _: object) -> None:
        results = _run(b, p, pushed, entry, seed, i)
        for target, (of, k) in zip(made, wanted, strict=True):
            if target is None:
                numbers.append(results[k])
            else:
                _fill(b, target, (), of, results[k], i)

    nest(b, shape, one)
    found = iter(numbers)
    return [next(found) if target is None else target for target in made]


def _run(
    b: Builder, p: Sym, pushed: Function, entry: Entry, seed: Sym | None, i: tuple[Atom, ...]
) -> tuple[Atom, ...]:
    """The tangent program in the direction of one element of the input."""
    if seed is None:
        return inlined(b, pushed, (*entry.args(b), const_of(1.0, p.type)))
    assert isinstance(p.type, Array)
    b.store(seed, i, const_of(1.0, p.type.dtype))
    own = copied(b, seed) if entry.writes(p) else seed
    results = inlined(b, pushed, (*entry.args(b), own))
    b.store(seed, i, const_of(0.0, p.type.dtype))
    return results


def _fill(b: Builder, target: Sym, before: Shape, shape: Shape, source: Atom, after: Shape) -> None:
    """`target[before, ..., after] = source`."""

    def one(b: Builder, i: tuple[Atom, ...], _: object) -> None:
        value = b.load(source, i) if isinstance(source, Sym) and isinstance(source.type, Array) else source
        b.store(target, (*before, *i, *after), value)

    nest(b, shape, one)


def _shape(b: Builder, head: Head, values: tuple[Atom, ...]) -> Shape:
    return tuple(n for a in head.axes for n in extents(b, values[a] if isinstance(a, int) else a))


def _dtype(type: Type) -> Scalar:
    found = type.dtype if isinstance(type, Array) else type
    assert isinstance(found, Scalar)
    return found


def jacrev(function: Function, inputs: tuple[Sym, ...], heads: tuple[int, ...]) -> Function:
    """As `jacfwd`, by reverse mode: one forward sweep, and a reverse sweep for each element of the heads."""
    _refuse_complex(function, inputs)
    for k in heads:
        if _dtype(function.results[k].type).is_complex:
            raise _complex(function)
    b = Builder(function.span)
    values, back, callees = pullback(b, function, function.params, inputs, heads)
    flat = [a for j in range(len(heads)) for a in _rows(b, back, j, inputs, [values[k] for k in heads])]
    whole = replace(function, name=f"{function.name}_jacobian", body=b.block(), results=(*values, *flat))
    return with_callees(replace(whole, functions=callees))


def _rows(b: Builder, back: Pullback, j: int, inputs: tuple[Sym, ...], values: list[Atom]) -> list[Atom]:
    """Derivatives of the head number j by each input."""
    shape = extents(b, values[j])
    seeds = [back.zero(b, k, v) for k, v in enumerate(values)]
    one_ = const_of(1.0, _dtype(back.seeds[j].type))
    made: list[Sym | None] = []
    kind = one_.type
    for p in inputs:
        type = Array(kind, len(shape) + _ndim(p), "C")
        made.append(b.alloc("row", type, (*shape, *extents(b, p))) if type.ndim else None)
    numbers: list[Atom] = []

    def one(b: Builder, i: tuple[Atom, ...], _: object) -> None:
        if i:
            b.store(_array(seeds[j]), i, one_)
        else:
            seeds[j] = one_
        for target, p, a in zip(made, inputs, back.pull(b, tuple(seeds)), strict=True):
            if target is None:
                numbers.append(b.cast(a, kind))
            else:
                _fill(b, target, i, extents(b, p), a, ())
        if i:
            b.store(_array(seeds[j]), i, const_of(0.0, kind))

    nest(b, shape, one)
    found = iter(numbers)
    return [next(found) if target is None else target for target in made]


def _ndim(a: Atom) -> int:
    return a.type.ndim if isinstance(a.type, Array) else 0


def _array(a: Atom) -> Sym:
    assert isinstance(a, Sym)
    return a


def hessian(function: Function, inputs: tuple[Sym, ...], head: int) -> Function:
    """The primal's results, then second derivatives of a real number, by each input, by each input: forward over
    reverse.
    """
    _refuse_complex(function, inputs)
    count = len(function.results)
    heads = tuple(Head(count + k, (p,)) for k, p in enumerate(inputs))
    return _columns(function, gradient_of(function, inputs, head), inputs, heads)


def laplacian(function: Function, inputs: tuple[Sym, ...], head: int) -> Function:
    """The primal's results, then the trace of one's Hessian: the sum of its diagonal, one element after the other."""
    _refuse_complex(function, inputs)
    b = Builder(function.span)
    first = gradient_of(function, inputs, head)
    pushed = [forward(first, (p,)).function for p in inputs]
    entry = Entry(b, pushed, function.params)
    values = inlined(b, function, function.params)
    carrying = [k for k, a in enumerate(first.results) if a.type.differentiable]
    total: Atom = const_of(0.0, function.results[head].type)
    for n, (p, f) in enumerate(zip(inputs, pushed, strict=True)):
        place = len(first.results) + carrying.index(len(function.results) + n)
        total = _trace(b, p, f, entry, place, total)
    whole = replace(function, name=f"{function.name}_laplacian", body=b.block(), results=(*values, total))
    return with_callees(whole, function, *pushed)


def _trace(b: Builder, p: Sym, pushed: Function, entry: Entry, place: int, total: Atom) -> Atom:
    """The sum with the second derivatives by each element of one input."""
    seed = b.alloc_like("seed", p, const_of(0.0, p.type.dtype)) if isinstance(p.type, Array) else None
    kind = total.type
    assert isinstance(kind, Scalar)

    def one(b: Builder, i: tuple[Atom, ...], sofar: Atom | None) -> Atom:
        assert sofar is not None
        found = _run(b, p, pushed, entry, seed, i)[place]
        value = b.load(_array(found), i) if i else found
        return b.op("add", sofar, b.cast(value, kind))

    result = nest(b, extents(b, p), one, total)
    assert result is not None
    return result


def _refuse_complex(function: Function, inputs: tuple[Sym, ...]) -> None:
    if any(_dtype(p.type).is_complex for p in inputs):
        raise _complex(function)


def _complex(function: Function) -> ArgumentError | UnsupportedError:
    return UnsupportedError(
        f"a Jacobian of complex numbers ({function.name}())",
        "use aj.jvp or aj.vjp, or functions of real and imaginary parts",
        function.span,
    )
