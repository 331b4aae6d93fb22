"""Which names a loop must carry: scopes, assigned names and liveness, on the syntax tree.

`Facts` of a loop: `assigned`, the names bound in its test, target or body; `start`, the names whose value at
the start of a turn may still be read; `after`, the names whose value may be read once the loop has ended.
Reads by nested functions count as reads everywhere. Too many names live is safe, too few is not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from adjit.frontend.lasting import lasting

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about one loop's names."""

    assigned: tuple[str, ...]
    start: frozenset[str]
    after: frozenset[str]


@dataclass(frozen=True, slots=True)
class Scope:
    """A function's local names, and the facts of its loops by node."""

    names: frozenset[str]
    loops: dict[ast.AST, Facts]


def own_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes and what is under them, except what belongs to nested scopes."""
    for node in nodes:
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from own_nodes(
                [*node.decorator_list, *node.args.defaults, *_present(node.args.kw_defaults)]
            )
        elif isinstance(node, ast.Lambda):
            yield from own_nodes([*node.args.defaults, *_present(node.args.kw_defaults)])
        elif not isinstance(node, _SCOPES):
            yield from own_nodes(ast.iter_child_nodes(node))


def _present(items: Sequence[ast.expr | None]) -> list[ast.expr]:
    return [item for item in items if item is not None]


def assigned(nodes: Iterable[ast.AST]) -> tuple[str, ...]:
    """Names bound by these nodes, in order of first sight, nested scopes excluded."""
    found: dict[str, None] = {}
    inner: set[int] = set()
    for node in own_nodes(nodes):
        if isinstance(node, _COMPREHENSIONS):
            inner.update(id(n) for g in node.generators for n in ast.walk(g.target))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in inner:
            found[node.id] = None
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[node.name] = None
        elif isinstance(node, ast.alias):
            found[(node.asname or node.name).split(".")[0]] = None
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found[node.name] = None
    return tuple(found)


def parameters(node: ast.FunctionDef | ast.Lambda) -> list[str]:
    """The names of a function's parameters."""
    a = node.args
    names = [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
    return names + [p.arg for p in (a.vararg, a.kwarg) if p is not None]


@lasting
def scope_of(node: ast.FunctionDef | ast.Lambda) -> Scope:
    """The scope of a function; computed once."""
    body = node.body if isinstance(node, ast.FunctionDef) else [node.body]
    names = frozenset((*parameters(node), *assigned(body)))
    liveness = _Liveness(_read_inside(body))
    if isinstance(node, ast.FunctionDef):
        liveness.block(node.body, frozenset(), frozenset(), frozenset())
    return Scope(names, liveness.loops)


def _read_inside(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Names read in nested functions: live everywhere."""
    found: set[str] = set()
    for node in own_nodes(nodes):
        if isinstance(node, _SCOPES):
            found.update(_reads(node))
    return frozenset(found)


def _reads(*nodes: ast.AST | None) -> frozenset[str]:
    return frozenset(
        n.id
        for node in nodes
        if node is not None
        for n in ast.walk(node)
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store)
    )


Names = frozenset[str]


class _Liveness:
    """One backward walk; loops iterate to their fixed point."""

    def __init__(self, always: Names):
        self.always = always
        self.loops: dict[ast.AST, Facts] = {}

    def block(self, stmts: Sequence[ast.stmt], out: Names, brk: Names, cont: Names) -> Names:
        for stmt in reversed(stmts):
            out = self.stmt(stmt, out, brk, cont)
        return out | self.always

    def kill(self, out: Names, targets: Iterable[ast.AST]) -> Names:
        bound = frozenset(n.id for t in targets for n in _bound(t))
        reads = frozenset(r for t in targets for r in _reads(t))
        return (out - bound) | reads | (self.always & out)

    def stmt(self, stmt: ast.stmt, out: Names, brk: Names, cont: Names) -> Names:
        match stmt:
            case ast.Return():
                return _reads(stmt.value) | self.always
            case ast.Raise():
                return _reads(stmt)
            case ast.Break():
                return brk
            case ast.Continue():
                return cont
            case ast.If():
                then = self.block(stmt.body, out, brk, cont)
                els = self.block(stmt.orelse, out, brk, cont)
                return then | els | _reads(stmt.test)
            case ast.While():
                return self.loop(stmt, out, brk, cont)
            case ast.For():
                return self.loop(stmt, out, brk, cont) | _reads(stmt.iter)
            case ast.Assign():
                return self.kill(out, stmt.targets) | _reads(stmt.value)
            case ast.AnnAssign() if stmt.value is not None:
                return self.kill(out, [stmt.target]) | _reads(stmt.value)
            case ast.AugAssign():
                named = frozenset({stmt.target.id}) if isinstance(stmt.target, ast.Name) else frozenset[str]()
                return out | named | _reads(stmt.target, stmt.value)
            case ast.FunctionDef():
                return (out - {stmt.name}) | (self.always & out) | _reads(stmt)
            case _:
                return out | _reads(stmt)

    def loop(self, node: ast.While | ast.For, out: Names, brk: Names, cont: Names) -> Names:
        leave = self.block(node.orelse, out, brk, cont)
        head = leave
        while True:
            start = self.turn(node, head, leave, out)
            new = head | start
            if isinstance(node, ast.For):
                new = head | self.kill(start, [node.target])
            if new == head:
                break
            head = new
        nodes = [node.test, *node.body] if isinstance(node, ast.While) else [node.target, *node.body]
        begin = start if isinstance(node, ast.While) else self.kill(start, [node.target])
        self.loops[node] = Facts(assigned(nodes), begin, out | leave)
        return head

    def turn(self, node: ast.While | ast.For, head: Names, leave: Names, out: Names) -> Names:
        """Live where the body starts (for a while: where the test does)."""
        body = self.block(node.body, head, out, head)
        return body | leave | _reads(node.test) if isinstance(node, ast.While) else body


def _bound(target: ast.AST) -> Iterator[ast.Name]:
    """Names that an assignment to the target surely binds."""
    if isinstance(target, ast.Name):
        yield target
    elif isinstance(target, ast.Tuple | ast.List):
        for item in target.elts:
            yield from _bound(item)
    elif isinstance(target, ast.Starred):
        yield from _bound(target.value)
