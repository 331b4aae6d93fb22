"""A program builder that runs the plain function and differentiates by differences; for the api alone."""

import ast
import inspect
import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjit.ir.structure import Leaf, NoneSpec, StaticSpec, TupleSpec, leaves
from adjit.ir.types import Array
from adjit.runtime.arguments import flatten, spec_of

H = 1e-6
builds = []


@dataclass(frozen=True)
class Request:
    f: Any
    specs: tuple
    kind: str
    active: tuple
    width: int = 1
    pure: bool = False
    aux: bool = False
    final: bool = True
    boundscheck: bool = False
    deterministic: bool | None = None
    memory: int | None = None
    debug_nans: bool = False


def rebuild(specs, flat):
    it = iter(flat)

    def one(s):
        match s:
            case Leaf():
                return next(it)
            case TupleSpec(items=items, cls=cls):
                parts = [one(i) for i in items]
                return cls(*parts) if cls else tuple(parts)
            case StaticSpec(value=v):
                return v
        return None

    return [one(s) for s in specs]


def dummy(leaf):
    if isinstance(leaf.type, Array):
        return np.ones((3,) * leaf.type.ndim, leaf.type.dtype.name)
    v = np.dtype(leaf.type.name).type(1)
    return v.item() if leaf.weak else v


def stored_names(f):
    py = getattr(f, "py_func", getattr(f, "primal", f))
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(py)))
    except (SyntaxError, OSError):
        return set()
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            base = node.value
            while isinstance(base, ast.Attribute | ast.Subscript):
                base = base.value
            names.add(base.id)
    return names


class Fake:
    def __init__(self, r):
        builds.append(r)
        self.r = r
        self.captures = ()
        self.source = f"# fake {r.kind}"
        params = list(inspect.signature(getattr(r.f, "py_func", getattr(r.f, "base", r.f))).parameters)
        stored = stored_names(getattr(r.f, "base", r.f)) if not hasattr(r.f, "paths") else set()
        self.writes = tuple(
            isinstance(leaf.type, Array) and p in stored
            for p, s in zip(params, r.specs, strict=True)
            for leaf in leaves(s)
        )
        self.written = tuple(w and not r.pure for w in self.writes)
        self.leaves = tuple(leaf for s in r.specs for leaf in leaves(s))
        value = self.run([dummy(leaf) for leaf in self.leaves])
        self.out = NoneSpec() if value is None else spec_of(value)
        self.n_results = len(list(leaves(self.out)))
        self.carrying = [k for k, leaf in enumerate(leaves(self.out)) if leaf.type.differentiable]
        self.call = getattr(self, r.kind)

    def run(self, flat, states=None):
        own = [v.copy() if isinstance(v, np.ndarray) and (self.r.pure or states is None) else v for v in flat]
        value = self.invoke(rebuild(self.r.specs, own))
        if not self.r.pure:
            return value
        st = tuple(v for v, w in zip(own, self.writes, strict=True) if w and v.dtype.kind == "f")
        return st if value is None else (value, st)

    def invoke(self, values):
        args, kwargs = [], {}
        inner = inspect.signature(getattr(self.r.f, "py_func", getattr(self.r.f, "base", self.r.f)))
        for v, p in zip(values, inner.parameters.values(), strict=True):
            if p.kind is p.KEYWORD_ONLY:
                kwargs[p.name] = v
            elif p.kind is p.VAR_POSITIONAL:
                args += v
            else:
                args.append(v)
        return self.r.f(*args, **kwargs)

    def outputs(self, flat):
        own = [v.copy() if isinstance(v, np.ndarray) else v for v in flat]
        value = self.run(own, states=True)
        return flatten((value,)), own

    def primal(self, *flat):
        return tuple(flatten((self.run(list(flat), states=True),)))

    def inner(self, flat, seeds, shadows, seeded):
        """d<seeds, results>+<shadows, final arrays>, per active leaf."""

        def phi(args):
            out, own = self.outputs(args)
            s = sum(float(np.sum(np.asarray(out[k]) * c)) for k, c in zip(seeded, seeds, strict=True))
            return s + sum(float(np.sum(own[i] * d)) for i, d in shadows.items())

        grads = {}
        for i, on in enumerate(self.r.active):
            if not on:
                continue
            base = np.array(flat[i], dtype=float)
            g = np.zeros(base.shape)
            for at in np.ndindex(base.shape):
                vals = []
                for sign in (1, -1):
                    moved = base.copy()
                    moved[at] += sign * H
                    args = list(flat)
                    args[i] = moved if base.shape else float(moved)
                    vals.append(phi(args))
                g[at] = (vals[0] - vals[1]) / (2 * H)
            grads[i] = g
        return grads

    def joint(self, *flat):
        n = len(self.leaves)
        flat, rest = list(flat[:n]), list(flat[n:])
        w = self.r.width
        arrays = [i for i in range(n) if self.r.active[i] and isinstance(self.leaves[i].type, Array)]
        shadows = {i: rest[k * w : k * w + w] for k, i in enumerate(arrays)}
        seeds = rest[len(arrays) * w :]
        seeded = self.carrying[:1] if self.r.aux else self.carrying
        scalars = []
        for b in range(w):
            entering = {i: s[b].copy() for i, s in shadows.items() if self.writes[i]}
            grads = self.inner(flat, seeds[b::w], entering, seeded)
            for i, s in shadows.items():
                s[b][...] = grads[i] if self.writes[i] else s[b] + grads[i]
            scalars.append([float(grads[i]) for i in grads if i not in arrays])
        value = self.run(flat, states=True)
        return (*flatten((value,)), *(v for group in zip(*scalars, strict=True) for v in group))

    def split(self, *flat):
        flat = list(flat)
        saved = [v.copy() if isinstance(v, np.ndarray) else v for v in flat]
        return (*flatten((self.run(flat, states=True),)), *saved)

    def pullback(self, *rest):
        n = len(self.leaves)
        flat, rest = list(rest[:n]), rest[n:]
        arrays = [i for i in range(n) if self.r.active[i] and isinstance(self.leaves[i].type, Array)]
        grads = self.inner(flat, rest[len(arrays) :], {}, self.carrying)
        for i, s in zip(arrays, rest, strict=False):
            s[...] += grads[i]
        return tuple(float(grads[i]) for i in grads if i not in arrays)

    def forward(self, *flat):
        n = len(self.leaves)
        flat, rest = list(flat[:n]), rest_of(flat, n)
        w = self.r.width
        on = [i for i in range(n) if self.r.active[i]]
        tangents = []
        moved = []
        for b in range(w):
            sides = []
            for sign in (1, -1):
                args = list(flat)
                for k, i in enumerate(on):
                    args[i] = flat[i] + sign * H * rest[k * w + b]
                sides.append(self.outputs(args))
            (p, pa), (m, ma) = sides
            tangents.append([(np.asarray(p[k]) - m[k]) / (2 * H) for k in self.carrying])
            for k, i in enumerate(on):
                if isinstance(flat[i], np.ndarray):
                    moved.append((rest[k * w + b], (pa[i] - ma[i]) / (2 * H), i))
        value = self.run(flat, states=True)
        for target, new, i in moved:
            if self.writes[i]:
                target[...] = new
        tangents = [[t if t.shape else float(t) for t in ts] for ts in tangents]
        return (*flatten((value,)), *(v for group in zip(*tangents, strict=True) for v in group))


def rest_of(flat, n):
    return list(flat[n:])


def build(request):
    return Fake(request)
