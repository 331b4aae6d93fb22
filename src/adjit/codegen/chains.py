"""Products that the next turn of a loop waits for, without a look at what they multiply.

    for i carry (c): ...; t = szmul(c, s); next t + d[i]   ->   for i carry (c): ...; t = scaled(c, s); next t + d[i]

The strong-zero product is `c * s if c != 0 else c`: a comparison and a choice behind every product. Where each turn
begins with what the one before came to, all three are waited for, turn after turn. `scaled` looks at the slope
instead, which no turn waits for: a finite one needs no choice, and the processor guesses that it is one. (Thomas'
algorithm backwards takes half the time.) In loops whose turns do not wait for each other the choice stays: it can be
vectorised, a branch cannot. Used on adjoint code, as the last step before it is printed, but not where infinity and
NaN are said not to occur.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from adjit.ir.core import Atom, Block, Function, If, Let, Loop, Stmt, Sym
from adjit.ir.types import Scalar
from adjit.ir.visit import Rewriter, blocks, operands, targets, used

SCALED = '''@intrinsic
def scaled(context, ct, slope):
    """ct * slope, but 0 where ct is 0 and slope is infinite or NaN. Expects a finite slope."""

    def multiply(target, builder, signature, args):
        x, y = args
        nothing = x.type(0.0)
        product = builder.fmul(x, y)
        start = builder.basic_block
        rare, after = (builder.append_basic_block(name) for name in ("rare", "after"))
        finite = builder.fcmp_ordered("==", builder.fsub(y, y), nothing)
        builder.cbranch(finite, after, rare).set_weights([1000000, 1])
        builder.position_at_end(rare)
        chosen = builder.select(builder.fcmp_unordered("!=", x, nothing), product, x)
        builder.branch(after)
        builder.position_at_end(after)
        result = builder.phi(x.type)
        result.add_incoming(product, start)
        result.add_incoming(chosen, rare)
        return result

    return ct(ct, slope), multiply
'''


def chains(function: Function) -> Function:
    """The function with such products marked (see the module)."""
    return replace(function, body=_Chains().block(function.body))


class _Chains(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self._marked: set[int] = set()

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, Loop):
            self._marked |= _on_cycles(stmt)
        marked = id(stmt) in self._marked
        rebuilt = self.rebuild(stmt)
        if marked and isinstance(rebuilt, Let):
            rebuilt = replace(rebuilt, fn="scaled")
        return (rebuilt,)


def _on_cycles(loop: Loop) -> set[int]:
    """Products of floats whose result is what one of their own first operands is made of, a turn later."""
    products = [s for s in _own(loop.body) if isinstance(s, Let) and s.op == "szmul" and _plain(s)]
    if not products or not any(_is_float(p) for p in loop.params):
        return set()
    after = _edges(loop)
    return {id(s) for s in products if s.args[0] in _reached(s.target, after)}


def _own(block: Block) -> Iterable[Stmt]:
    """The statements of a loop's turn, with those in branches, without those of loops inside."""
    for s in block:
        yield s
        if isinstance(s, If):
            for sub in blocks(s):
                yield from _own(sub)


def _edges(loop: Loop) -> dict[Atom, list[Sym]]:
    """What is made of each symbol, from one turn to the next; not through memory."""
    after: dict[Atom, list[Sym]] = defaultdict(list)
    for p, n in zip(loop.params, loop.nexts, strict=True):
        after[n].append(p)
    for s in _own(loop.body):
        match s:
            case If():
                for r, *values in zip(s.results, s.then_values, s.else_values, strict=True):
                    for a in (s.cond, *values):
                        after[a].append(r)
            case Loop():
                inner = used((s,))
                for r in s.results:
                    for a in inner:
                        after[a].append(r)
            case Let():
                for a in operands(s):
                    after[a] += targets(s)
            case _:
                pass
    return after


def _reached(start: Sym, after: dict[Atom, list[Sym]]) -> set[Sym]:
    seen: set[Sym] = set()
    todo = [start]
    while todo:
        for s in after.get(todo.pop(), ()):
            if s not in seen:
                seen.add(s)
                todo.append(s)
    return seen


def _plain(let: Let) -> bool:
    return let.fn is None and _is_float(let.target) and all(a.type == let.target.type for a in let.args)


def _is_float(s: Sym) -> bool:
    return isinstance(s.type, Scalar) and s.type.is_float and s.type.lanes == 1
