"""Recognises endless loops that print as `while cond:`.

The canonical form of a `while`, as the frontend makes it, is

    loop carry (p = init):
      <pre: statements that compute c>
      if c: <work>  yield w           else: yield p
      -> r
      next r
      stop not_(c)        (or: stop is a result of the If that is True in the else branch)
"""

from __future__ import annotations

from dataclasses import dataclass

from adjit.ir.core import TRUE, Atom, Block, If, Let, Loop, Stmt, Sym


@dataclass(frozen=True, slots=True)
class While:
    """`while True: pre; if not cond: break; work; params = nexts; if stop: break`."""

    pre: Block
    cond: Atom
    work: Block
    nexts: tuple[Atom, ...]
    stop: Atom | None
    branch: If


def as_while(loop: Loop) -> While | None:
    """The loop as a `while`, or None where it is not of the canonical form."""
    if loop.index is not None or not isinstance(loop.stop, Sym):
        return None
    branch, rest = _tail(loop)
    if branch is None or branch.els:
        return None
    drop, stop = _exit(loop, branch, rest)
    if drop is None:
        return None
    nexts = _nexts(loop, branch)
    if nexts is None:
        return None
    pre = tuple(s for s in rest if s is not drop)
    return While(pre, branch.cond, branch.then, nexts, stop, branch)


def _tail(loop: Loop) -> tuple[If | None, Block]:
    """The If that ends the body (a `not_` may follow it), and the other statements."""
    body = loop.body
    if body and isinstance(body[-1], If):
        return body[-1], body[:-1]
    if len(body) > 1 and isinstance(body[-2], If) and isinstance(body[-1], Let):
        return body[-2], (*body[:-2], body[-1])
    return None, ()


def _exit(loop: Loop, branch: If, rest: Block) -> tuple[Stmt | bool | None, Atom | None]:
    """The statement that only computes the stop flag (True: none), and the flag after the work."""
    for k, r in enumerate(branch.results):
        if r == loop.stop:
            return (True, branch.then_values[k]) if branch.else_values[k] == TRUE else (None, None)
    for stmt in rest:
        if isinstance(stmt, Let) and stmt.target == loop.stop:
            negated = stmt.op == "not_" and stmt.args[0] == branch.cond
            return (stmt, None) if negated and stmt.target not in loop.nexts else (None, None)
    return None, None


def _nexts(loop: Loop, branch: If) -> tuple[Atom, ...] | None:
    """What the params become after the work, or None where the exit changes them."""
    position = {r: k for k, r in enumerate(branch.results)}
    nexts: list[Atom] = []
    for p, after in zip(loop.params, loop.nexts, strict=True):
        if after == p:
            nexts.append(p)
        elif isinstance(after, Sym) and after in position and branch.else_values[position[after]] == p:
            nexts.append(branch.then_values[position[after]])
        else:
            return None
    used = [r for r in (*loop.nexts, loop.stop) if r in position]
    return tuple(nexts) if len(used) == len(set(used)) else None
