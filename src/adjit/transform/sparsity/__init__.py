"""Which inputs each output depends on: a program that carries words of 64 inputs each, derived from the primal.

    t = op(x, y)      ->  t_on = x_on | y_on                   (operands through which there is a slope)
    t = load a[i]     ->  t_on = load a_on[i]
    store a[i] = v    ->  store a_on[i] = v_on
    if c: S else: T   ->  S'; T'  where c depends on floats    (neither certain: stores add to what was there)
                          if c: S' else: T'  where it does not

Indices, bounds, extents and what they come from are computed as the primal does, floats only where these need them.
So the pattern holds for all values of the floats, and whatever side of a branch they take, unless one of these
needed floats: then `reasons` say which, with the line, and the pattern is that of the floats at hand.

A side that the plain program does not take must do no harm: it reads and stores in range only, leaves the program's
own memory alone, raises nothing and ends (`emit`).
"""

from __future__ import annotations

from dataclasses import dataclass

from adjit.analysis.activity import Activity
from adjit.analysis.alias import Alias
from adjit.errors import UnsupportedError
from adjit.ir.core import Alloc, Atom, Call, Function, Span, Sym
from adjit.ir.types import INT64, Array
from adjit.ir.visit import walk
from adjit.transform.clean import clean
from adjit.transform.prepare import forward_views
from adjit.transform.sparsity.conjuncts import conjuncts
from adjit.transform.sparsity.emit import Emit, Facts
from adjit.transform.sparsity.names import one_name
from adjit.transform.sparsity.needed import Needed
from adjit.transform.sparsity.opened import carries, opened
from adjit.transform.sparsity.shared_stores import shared_stores
from adjit.transform.sparsity.steered import Steered
from adjit.transform.sparsity.words import NOTHING, beside


@dataclass(frozen=True)
class Pattern:
    """function: parameters, words of the inputs, notes -> words of each differentiable result.

    notes: an array of one number, not zero afterwards where a loop on a side not taken was cut off. reasons: what makes
    the pattern hold for these floats only.
    """

    function: Function
    reasons: tuple[tuple[str, Span], ...]


def sparsity(function: Function, inputs: tuple[Sym, ...]) -> Pattern:
    """Build the pattern program of a typed primal. `inputs` are active parameters. Raises UnsupportedError."""
    for s in walk(function.body):
        if isinstance(s, Call):
            raise UnsupportedError(
                "the sparsity of a function that calls itself is not derived",
                "write it as a loop, or give the pattern: sparse=pattern",
                s.span,
            )
    function = clean(forward_views(one_name(opened(function))), keep_raising=True)
    function = shared_stores(conjuncts(function))
    alias = Alias(function)
    outputs = tuple(a for a in function.results if a.type.differentiable)
    activity = Activity(function, alias, inputs, outputs, carries, refuse=False)
    steered = Steered(function, alias)
    facts = Facts(alias, activity, steered, Needed(function, alias, activity, steered))
    notes = Sym("notes", Array(INT64, 1, "C"))
    e = Emit(facts, notes)
    given = tuple(e.define_words(p) for p in inputs)
    e.env.update((p, p) for p in function.params)
    with e.b.collect() as body:
        _zeros(e, tuple(p for p in function.params if p not in inputs))
        e.block(function.body)
        results = tuple(_result(e, a) for a in outputs)
    new = Function(
        f"{function.name}_sparsity",
        (*function.params, *given, notes),
        tuple(body),
        results,
        function.doc,
        function.span,
    )
    return Pattern(clean(new), tuple(e.reasons))


def _zeros(e: Emit, params: tuple[Sym, ...]) -> None:
    """Words for arrays that come to depend on inputs later."""
    for p in params:
        if isinstance(p.type, Array) and e.active(p):
            shape = tuple(e.b.dim(p, k) for k in range(p.type.ndim))
            like = p if p.type.layout == "F" and p.type.ndim > 1 else None
            e.b.append(Alloc(e.define_words(p), shape, NOTHING, like, e.b.span))


def _result(e: Emit, a: Atom) -> Atom:
    """The words of a result; zeros where it depends on nothing."""
    if not isinstance(a.type, Array) or e.active(a):
        return e.word(a)
    assert isinstance(a, Sym)
    array = e.sym(a)
    words = beside(a)
    shape = tuple(e.b.dim(array, k) for k in range(a.type.ndim))
    e.b.append(Alloc(words, shape, NOTHING, None, e.b.span))
    return words
