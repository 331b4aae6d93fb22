"""`wrt`: which arguments, or parts of arguments, a gradient is with respect to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from adjit.api.plan import Leaves
from adjit.errors import ArgumentError
from adjit.ir.structure import Spec, TupleSpec, leaves
from adjit.runtime.arguments import Template, describe, item_name, template
from adjit.runtime.signature import Signature

Wrt = int | str | tuple[int | str, ...]


def paths(wrt: Wrt, signature: Signature) -> tuple[str, ...]:
    """`wrt` as paths that start with a parameter's name: 0 becomes "x". Raises ArgumentError if unknown."""
    items = wrt if isinstance(wrt, tuple) else (wrt,)
    if not items:
        raise ArgumentError("wrt is an empty tuple", signature.known())
    found = tuple(_path(item, signature) for item in items)
    for k, path in enumerate(found):
        for other in found[:k]:
            if f"{path}.".startswith(f"{other}.") or f"{other}.".startswith(f"{path}."):
                raise ArgumentError(_twice(found, items, path, other), "name each argument once")
    return found


def _twice(found: tuple[str, ...], items: tuple[object, ...], path: str, other: str) -> str:
    if path != other:
        whole, part = sorted((path, other), key=len)
        return f"wrt names '{whole}' and '{part}', which is inside of it"
    given = " and ".join(f"wrt={item!r}" for item, p in zip(items, found, strict=True) if p == path)
    return f"wrt names '{path}' twice ({given})"


def _path(item: object, signature: Signature) -> str:
    if isinstance(item, str):
        if item.partition(".")[0] not in signature.names:
            raise ArgumentError(
                f"wrt='{item}': {signature.function}() has no such parameter", signature.known()
            )
        return item
    if isinstance(item, bool) or not isinstance(item, int):
        raise ArgumentError(f"wrt={item!r} is not a position, a name or a path", signature.known())
    count = signature.positional - len(signature.prefix)
    position = item + count if item < 0 and signature.variadic is None else item
    if position < 0:
        raise ArgumentError(f"wrt={item}: {signature.function}() has no such position", signature.known())
    parameter, part = signature.parameter(position)
    name = signature.names[parameter]
    return name if part is None else f"{name}.{part}"


@dataclass(frozen=True, slots=True)
class Selection:
    """The leaves that a `wrt` selects.

    active: one flag per leaf. trees: one tree over leaf numbers per path.
    """

    active: tuple[bool, ...]
    trees: tuple[Template, ...]


def select(paths: Sequence[str], of: Leaves) -> Selection:
    """Find the paths in the arguments of a call. Raises ArgumentError where there is nothing to derive by."""
    active = [False] * len(of.all)
    trees: list[Template] = []
    for path in paths:
        spec, start = find(path, of)
        size = sum(1 for _ in leaves(spec))
        on = [i for i in range(start, start + size) if of.differentiable(i)]
        if not on:
            raise ArgumentError(f"wrt='{path}' is {describe(spec)}, which has no derivative", _remedy(spec))
        for i in on:
            active[i] = True
        trees.append(template(spec, count(start), of.differentiable))
    return Selection(tuple(active), tuple(trees))


def _remedy(spec: Spec) -> str:
    return "pass a float (2.0, not 2) or a float array" if describe(spec) != "None" else "pass a value"


def find(path: str, of: Leaves) -> tuple[Spec, int]:
    """The part of the arguments that a path names, and the number of its first leaf."""
    name, *parts = path.split(".")
    at = of.source.signature.names.index(name)
    spec, start = of.specs[at], of.starts[at]
    for part in parts:
        k = _item(spec, part)
        if k is None or not isinstance(spec, TupleSpec):
            inside = (
                [item_name(name, spec, j) for j in range(len(spec.items))]
                if isinstance(spec, TupleSpec)
                else []
            )
            known = f"it has: {', '.join(inside)}" if inside else f"'{name}' is {describe(spec)}"
            raise ArgumentError(f"wrt='{path}': there is no '{part}' in '{name}'", known)
        start += sum(1 for s in spec.items[:k] for _ in leaves(s))
        name, spec = item_name(name, spec, k), spec.items[k]
    return spec, start


def _item(spec: Spec, part: str) -> int | None:
    if not isinstance(spec, TupleSpec):
        return None
    fields = getattr(spec.cls, "_fields", ())
    if part in fields:
        return fields.index(part)
    return int(part) if part.isdecimal() and int(part) < len(spec.items) else None
