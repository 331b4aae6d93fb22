"""Shadows: memory mirrors memory. Each active array has one; a view's shadow is the same view of the shadow."""

from __future__ import annotations

from dataclasses import dataclass, replace

from adjit.errors import UnsupportedError
from adjit.ir.builder import const_of
from adjit.ir.core import (
    ONE,
    ZERO,
    Alloc,
    Atom,
    Block,
    Custom,
    If,
    Loop,
    RefAppend,
    RefGet,
    RefNew,
    Sym,
    View,
    fresh,
)
from adjit.ir.types import INT64, Array, RefList
from adjit.ir.visit import defined, same_view, view_atoms
from adjit.transform.reverse.materialise import Materialiser


@dataclass
class Context:
    """What is active, and what of the reversed function exists from the start."""

    active: frozenset[Sym]  # scalars
    active_array: dict[Sym, bool]  # arrays, by symbol
    known_old: dict[int, Sym]
    watch: bool = False


class Shadows(Materialiser):
    """Finds, or makes, the shadow of any array symbol where the sweep stands."""

    context: Context

    def shadow(self, a: Sym) -> Sym:
        """The array that holds the adjoints of `a`'s elements."""
        a = self.versions.get(a, a)
        for scope in reversed(self.stack):
            if a in scope.shadows:
                return scope.shadows[a]
        region, _ = self.regions.where[a]
        level = self._open(region)
        stmt = self.regions.definition.get(a)
        if stmt is None or a in self.versions:
            return self._zero_shadow(a)
        assert level is not None, f"shadow of {a} asked for outside its region"
        if isinstance(stmt, If) and self.level(a) is None:
            self._want(a)
            return fresh(a)
        match stmt:
            case Alloc():
                made = self._shadow_of_allocation(stmt, level)
            case View():
                base = self.shadow(stmt.array)
                view = same_view(stmt, Sym(f"d{a.name}", a.type), base, self.need)
                level = self._shadow_level(base, stmt, level)
                self.stack[level].builder.append(view)
                made = view.target
            case If():
                made, level = self._shadow_of_branch(stmt, a, level)
            case Custom():
                made = self._shadow_of_ruled(stmt, a, level)
            case RefGet():
                made = Sym(f"d{a.name}", a.type)
                position = self.need(stmt.position)
                level = self.at_level(stmt.position, level)
                references = self._shadow_list(stmt.references)
                self.stack[level].builder.append(RefGet(made, references, position, stmt.span))
            case _:
                raise UnsupportedError(
                    f"the array `{a.name}` is rebound in a way that the reverse sweep cannot follow",
                    "allocate the array before the loop and overwrite it, or swap two arrays by name",
                    stmt.span,
                )
        self.stack[level].shadows[a] = made
        return made

    def _zero_shadow(self, a: Sym) -> Sym:
        """A fresh shadow of an array that exists throughout: a parameter nobody asked about, a growing record."""
        root = self.stack[0]
        assert isinstance(a.type, Array)
        made = root.builder.alloc_like(f"d{a.name}", a, const_of(0.0, a.type.dtype))
        root.shadows[a] = made
        return made

    def _shadow_list(self, listed: Sym) -> Sym:
        """A list of zero shadows, one for each array of the list."""
        root = self.stack[0]
        if listed in root.shadows:
            return root.shadows[listed]
        assert isinstance(listed.type, RefList)
        made, k, b = Sym(f"d{listed.name}", listed.type), Sym("k", INT64), root.builder
        element = listed.type.element
        b.append(RefNew(made, b.span))
        with b.collect() as body:
            a = Sym(listed.name, element)
            b.append(RefGet(a, listed, k, b.span))
            shape = tuple(b.dim(a, axis) for axis in range(element.ndim))
            like = a if element.layout == "F" else None
            da = b.alloc(f"d{a.name}", element, shape, const_of(0.0, element.dtype), like)
            b.append(RefAppend(made, da, b.span))
        total = b.let("dim", listed, ZERO, type=INT64, name="total")
        b.append(Loop(k, ZERO, total, ONE, (), (), tuple(body), (), (), None, b.span))
        root.shadows[listed] = made
        return made

    def _shadow_of_allocation(self, stmt: Alloc, level: int) -> Sym:
        shape = tuple(self.need_at(n, level) for n in stmt.shape)
        made = Sym(f"d{stmt.target.name}", stmt.target.type)
        zero = const_of(0.0, stmt.target.type.dtype)  # type: ignore[union-attr]
        self.stack[level].builder.append(Alloc(made, shape, zero, None, stmt.span))
        return made

    def _shadow_of_ruled(self, stmt: Custom, a: Sym, level: int) -> Sym:
        """Of an array that a function with a rule of its own made and returned."""
        if not self.alias.roots(a) <= defined(stmt.body):
            raise UnsupportedError(
                "a function with a rule of its own returns an array that it was given, or a view of it",
                "return a fresh array, or write into the argument and return nothing",
                stmt.span,
            )
        array, b = self.need_sym(a), self.stack[level].builder
        assert isinstance(array.type, Array)
        shape = tuple(b.dim(array, k) for k in range(array.type.ndim))
        made = Sym(f"d{a.name}", replace(array.type, layout="C", readonly=False))
        b.append(Alloc(made, shape, const_of(0.0, array.type.dtype), None, stmt.span))
        return made

    def _shadow_level(self, base: Sym, stmt: View, least: int) -> int:
        for k, scope in enumerate(self.stack):
            if base in scope.shadows.values():
                least = max(least, k)
        for a in view_atoms(stmt):
            least = self.at_level(a, least)
        return least

    def _shadow_of_branch(self, stmt: If, a: Sym, level: int) -> tuple[Sym, int]:
        cond = self.need(stmt.cond)
        level = self.at_level(stmt.cond, self.at_level(a, level))
        j = stmt.results.index(a)
        bodies: list[Block] = []
        values: list[Atom] = []
        for branch, ends in enumerate((stmt.then_values, stmt.else_values)):
            before = self._replay(stmt, branch, level)
            end = ends[j]
            values.append(self.shadow(end) if isinstance(end, Sym) else end)
            bodies.append(self._unreplay(before).builder.block())
        made = Sym(f"d{a.name}", a.type)
        b = self.stack[level].builder
        b.append(If(cond, bodies[0], bodies[1], (values[0],), (values[1],), (made,), stmt.span))
        return made, level

    def shadow_of_any(self, a: Atom) -> Atom:
        """The shadow of an array, or the list of shadows of a list."""
        if not isinstance(a, Sym):
            return a
        return self._shadow_list(a) if isinstance(a.type, RefList) else self.shadow(a)

    def has_shadow(self, array: Sym) -> bool:
        return self.context.active_array.get(array, False)
