"""Statements: assignments, branches, exits, raises. Loops are in `loops`."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence

from adjit.frontend import (
    elements,
    expressions,
    fancy,
    growing,
    indexing,
    inline,
    library,
    list_names,
    loops,
    parts,
    remedies,
    stores,
)
from adjit.frontend.context import BREAK, CONTINUE, RESULT, RETURN, Branch, DeadPath, Lowering
from adjit.frontend.fence import STATEMENTS
from adjit.frontend.options import KEYS as OPTIONS
from adjit.frontend.values import (
    NONE,
    Closure,
    Elements,
    FlatValue,
    Growing,
    Static,
    TupleValue,
    Value,
    is_array,
    is_scalar,
)
from adjit.ir.core import TRUE, Const, If, Raise, Sym, Undef, const, name_fresh


def run(lx: Lowering, stmts: Sequence[ast.stmt]) -> None:
    """Lower statements in order; what follows a possible exit is guarded by it."""
    for k, stmt in enumerate(stmts):
        rest = stmts[k + 1 :]
        if lx.env.left:
            return
        if isinstance(stmt, ast.If):
            with lx.at(stmt):
                if _if(lx, stmt, rest):
                    return
        else:
            with lx.at(stmt):
                _statement(lx, stmt)
        if lx.env.left:
            return
        flags = lx.env.exits()
        if flags and rest:
            with lx.at(rest[0]):
                lx.guarded(flags, lambda rest=rest: run(lx, rest))
            return


def _if(lx: Lowering, node: ast.If, rest: Sequence[ast.stmt]) -> bool:
    """Lower an `if`. True if `rest` was put into the branch that comes back, as the other one leaves."""
    test = expressions.truth(lx, expressions.evaluate(lx, node.test), node.test)
    if isinstance(test, Const):
        run(lx, node.body if test.value else node.orelse)
        return False
    base = lx.env
    then = lx.attempt(base.copy(), lambda: run(lx, node.body))
    els = lx.attempt(base.copy(), lambda: run(lx, node.orelse))
    consumed = _resume(lx, then, els, rest) if rest else False
    lx.join(test, then, els)
    return consumed


def _resume(lx: Lowering, then: Branch, els: Branch, rest: Sequence[ast.stmt]) -> bool:
    if then.env.left == els.env.left:
        return False
    branch = els if then.env.left else then
    if branch.env.exits():
        lx.resume(branch, lambda: lx.guarded(branch.env.exits(), lambda: run(lx, rest)))
    else:
        lx.resume(branch, lambda: run(lx, rest))
    return True


def _statement(lx: Lowering, stmt: ast.stmt) -> None:
    match stmt:
        case ast.Assign():
            _assign(lx, stmt)
        case ast.AugAssign():
            _aug_assign(lx, stmt)
        case ast.AnnAssign():
            if stmt.value is not None:
                bind(lx, stmt.target, expressions.held(lx, stmt.value))
        case ast.For():
            loops.run_for(lx, stmt)
        case ast.While():
            loops.run_while(lx, stmt)
        case ast.Return():
            value = NONE if stmt.value is None else expressions.held(lx, stmt.value)
            lx.env.names[RETURN] = TRUE
            lx.env.names[RESULT] = value
        case ast.Break():
            lx.env.names[BREAK] = TRUE
        case ast.Continue():
            lx.env.names[CONTINUE] = TRUE
        case ast.Pass():
            pass
        case ast.Expr():
            _expression(lx, stmt)
        case ast.Raise():
            _raise(lx, stmt)
        case ast.Assert():
            _assert(lx, stmt)
        case ast.FunctionDef():
            _define(lx, stmt)
        case ast.Delete():
            _delete(lx, stmt)
        case ast.With():
            _with(lx, stmt)
        case _:
            reason, remedy = STATEMENTS.get(
                type(stmt), (f"a '{type(stmt).__name__}' statement is not supported", "")
            )
            lx.refuse(stmt, reason, remedy)


# assignments


def _assign(lx: Lowering, stmt: ast.Assign) -> None:
    stored = len(stmt.targets) == 1 and isinstance(stmt.targets[0], ast.Subscript)
    value = (expressions.lazily if stored else expressions.held)(lx, stmt.value)
    for target in stmt.targets:
        bind(lx, target, value)


def bind(lx: Lowering, target: ast.expr, value: Value) -> None:
    """Assign a value to a name, an element, or a tuple of those."""
    match target:
        case ast.Name():
            list_names.refuse_shown(lx, value, target)
            _name(lx, value, target.id)
            lx.env.names[target.id] = lx.named(value, target)
        case ast.Tuple() | ast.List():
            _unpack(lx, target, value)
        case ast.Subscript() | ast.Attribute():
            mark = lx.builder.mark()
            where = parts.place(lx, target)
            if where is not None:
                value = elements.settle(lx, value, mark, target)
                _store_part(lx, target, where, value)
                return
            if isinstance(target, ast.Attribute):
                lx.refuse(target, f"the attribute '{target.attr}' is assigned", "return the value instead")
            owner, index = indexing.place(lx, target)
            store(lx, target, owner, index, elements.settle(lx, value, mark, target))
        case _:
            lx.refuse(target, "this assignment is not supported", "assign to names, elements and slices")


def _name(lx: Lowering, value: Value, name: str) -> None:
    """What was just computed, and has no name yet, is called as the program calls it."""
    if isinstance(value, Sym) and lx.builder.just_made(value):
        if not any(v is value for v in lx.env.names.values()):
            name_fresh(value, name)


def store(lx: Lowering, node: ast.expr, owner: Value, index: Value, value: Value, update: str = "") -> None:
    """`owner[index] = value`, for one element or a part of an array. update: see `ir.core.Store`."""
    if isinstance(owner, FlatValue):
        at = indexing.flat_index(lx, owner, index, node)
        with lx.at(node):
            lx.builder.store(owner.array, at, expressions.number(lx, value, node))
        return
    if isinstance(owner, Growing):
        growing.store(lx, owner, index, value, node)
        return
    if not isinstance(owner, Sym) or not is_array(owner):
        lx.refuse(node, f"an element of {lx.kind(owner)} is assigned", "elements of arrays can be assigned")
    parts = indexing.parts_of(index)
    if any(elements.is_whole(p) for p in parts):
        fancy.scatter(lx, owner, parts, value, node)
        return
    if indexing.is_part(lx, owner, parts, node):
        if owner in lx.lists:
            lx.refuse(node, "a part of a list is assigned", "make it an array: np.array(...)")
        target = indexing.section(lx, owner, parts, node)
        assert isinstance(target, Elements)
        stores.assign(lx, target, value, node)
        return
    base, items = indexing.resolve(lx, owner, parts, node)
    if elements.ndim_of(value):
        lx.refuse(node, "an array is assigned to one element", "assign a number, or index with slices")
    if not (is_scalar(value) or elements.is_whole(value)):
        lx.refuse(node, f"{lx.kind(value)} is assigned to an array's element", "assign a number")
    with lx.at(node):
        lx.builder.store(base, indexing.scalars(items), expressions.number(lx, value, node), update)


def _unpack(lx: Lowering, target: ast.Tuple | ast.List, value: Value) -> None:
    star = next((k for k, t in enumerate(target.elts) if isinstance(t, ast.Starred)), None)
    count = len(target.elts)
    if is_array(value) and not isinstance(value, Undef) and value not in lx.lengths and star is None:
        inline.call_library(lx, library.check_unpacked, [value, const(count)], target)
        for k, t in enumerate(target.elts):
            bind(lx, t, indexing.load(lx, value, const(k), target))
        return
    value = growing.settled(lx, value)
    items = expressions.items_of(lx, value, target)
    if star is None:
        if len(items) != count:
            lx.refuse(target, f"{len(items)} values are unpacked into {count} names", "give as many names")
        for t, v in zip(target.elts, items, strict=True):
            bind(lx, t, v)
        return
    if len(items) < count - 1:
        lx.refuse(target, f"{len(items)} values are unpacked into {count} names", "give as many names")
    tail = count - star - 1
    middle = TupleValue(tuple(items[star : len(items) - tail]))
    starred = target.elts[star]
    assert isinstance(starred, ast.Starred)
    values = [*items[:star], middle, *items[len(items) - tail :]]
    targets = [*target.elts[:star], starred.value, *target.elts[star + 1 :]]
    for t, v in zip(targets, values, strict=True):
        bind(lx, t, v)


def _aug_assign(lx: Lowering, stmt: ast.AugAssign) -> None:
    if isinstance(stmt.target, ast.Name):
        old = expressions.lookup(lx, stmt.target.id, stmt.target)
        if is_array(old) and isinstance(old, Sym):
            if old in lx.lists:
                growing.method(lx, old, "extend")
                lx.refuse(stmt, "a list is updated in place", remedies.FIXED)
            _update(lx, stmt, elements.whole(lx, old), stmt.target, _reduced(lx, stmt, old))
            return
        right = expressions.evaluate(lx, stmt.value)
        if isinstance(old, Growing) and isinstance(stmt.op, ast.Add):
            old = expressions.as_it_is(lx, ast.Name(stmt.target.id, ast.Load()), old)
            assert isinstance(old, Growing)
            growing.call(lx, old, "extend", [right], stmt)
            return
        with lx.at(stmt):
            value = expressions.binary(lx, stmt.op, old, right, stmt, name=stmt.target.id)
            value = elements.solid(lx, value, stmt)
        lx.env.names[stmt.target.id] = value
    else:
        where = parts.place(lx, stmt.target)
        if where is not None:
            _update_part(lx, stmt, where)
            return
        if isinstance(stmt.target, ast.Attribute):
            lx.refuse(stmt, "an attribute is updated in place", "return the value instead")
        owner, index = indexing.place(lx, stmt.target)
        index = elements.solid(lx, index, stmt.target)
        old = indexing.elements_at(lx, owner, index, stmt.target)
        if isinstance(old, Elements) and old.part is not None:
            _update(lx, stmt, old, stmt.target)
            return
        old = elements.solid(
            lx, old, stmt.target
        )  # NumPy takes a copy of elements that are picked one by one
        right = elements.apart(expressions.lazily(lx, stmt.value))
        with lx.at(stmt):
            value = expressions.binary(lx, stmt.op, old, right, stmt)
        store(lx, stmt.target, owner, index, value)


def _store_part(lx: Lowering, node: ast.expr, where: parts.Where, value: Value) -> None:
    """`z.real[index] = value`, of complex numbers."""
    owner, name, index = where
    index = elements.solid(lx, index, node)
    store(lx, node, owner, index, parts.beside(lx, (owner, name, index), value, node))


def _update_part(lx: Lowering, stmt: ast.AugAssign, where: parts.Where) -> None:
    """`z.real[index] += value`, of complex numbers."""
    owner, name, index = where
    where = (owner, name, elements.solid(lx, index, stmt.target))
    old = parts.at(lx, where, stmt.target)
    right = elements.apart(expressions.lazily(lx, stmt.value))
    with lx.at(stmt):
        _store_part(lx, stmt.target, where, expressions.binary(lx, stmt.op, old, right, stmt))


def _reduced(lx: Lowering, stmt: ast.AugAssign, array: Sym) -> str:
    """How turns of a `prange` loop may meet in `array += value`, which Numba takes for a reduction of whole arrays."""
    if array not in lx.shared or lx.items:
        return ""
    if isinstance(stmt.op, ast.Add | ast.Sub):
        return "add"
    lx.in_order = True
    return ""


def _update(lx: Lowering, stmt: ast.AugAssign, target: Elements, node: ast.expr, update: str = "") -> None:
    """An array, or a part of one, is updated in place. update: see `ir.core.Store`."""
    right = elements.apart(expressions.lazily(lx, stmt.value))
    with lx.at(stmt):
        value = expressions.binary(lx, stmt.op, target, right, stmt)
        if elements.ndim_of(value) > len(target.shape):
            lx.refuse(
                stmt, f"{lx.kind(target)} is updated with {lx.kind(right)}", "it must not have more axes"
            )
        stores.refuse_narrowing(lx, target, value, stmt)
        stores.assign(lx, target, value, node, update)


# other statements


def _expression(lx: Lowering, stmt: ast.Expr) -> None:
    if isinstance(stmt.value, ast.Constant):
        return
    expressions.evaluate(lx, stmt.value)


def _define(lx: Lowering, stmt: ast.FunctionDef) -> None:
    for decorator in stmt.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        value = expressions.evaluate(lx, target)
        name = getattr(value.value, "__name__", "") if isinstance(value, Static) else ""
        if name not in ("njit", "jit"):
            lx.refuse(decorator, "a decorated nested function is not supported", "define it outside")
        if isinstance(decorator, ast.Call) and any(k.arg in OPTIONS for k in decorator.keywords):
            lx.refuse(decorator, "a nested function with options of its own", "define it outside")
    lx.env.names[stmt.name] = closure(lx, stmt)


def closure(lx: Lowering, node: ast.FunctionDef | ast.Lambda) -> Closure:
    """A nested function; its defaults are evaluated now."""
    defaults = tuple(expressions.evaluate(lx, d) for d in node.args.defaults)
    keywords = {
        a.arg: expressions.evaluate(lx, d)
        for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if d is not None
    }
    for value in (*defaults, *keywords.values()):
        list_names.refuse_shown(lx, value, node)
    return Closure(node, lx.frame, defaults, keywords)


def _delete(lx: Lowering, stmt: ast.Delete) -> None:
    for target in stmt.targets:
        if not isinstance(target, ast.Name):
            lx.refuse(
                target, "'del' of something that is not a name", "leave it out, or take np.delete(a, i)"
            )


def _with(lx: Lowering, stmt: ast.With) -> None:
    text = ast.unparse(stmt.items[0].context_expr)
    if "objmode" in text:
        lx.refuse(
            stmt, "object mode ('numba.objmode') cannot be differentiated", "move it out of the function"
        )
    lx.refuse(stmt, f"'with {text}' cannot be differentiated", "move it out of the function")


def _raise(lx: Lowering, stmt: ast.Raise) -> None:
    if stmt.exc is None or stmt.cause is not None:
        lx.refuse(stmt, "only 'raise Exception(constants)' is supported", "raise a new exception")
    call = stmt.exc if isinstance(stmt.exc, ast.Call) else None
    name = _exception(lx, call.func if call else stmt.exc)
    args = _constants(lx, call) if call else ()
    lx.builder.append(Raise(name, args, lx.span(stmt)))
    raise DeadPath


def _exception(lx: Lowering, node: ast.expr) -> str:
    value = expressions.evaluate(lx, node)
    cls = value.value if isinstance(value, Static) else None
    if (
        not isinstance(cls, type)
        or not issubclass(cls, BaseException)
        or getattr(builtins, cls.__name__, None) is not cls
    ):
        lx.refuse(
            node, "only builtin exceptions can be raised", "raise ValueError or another builtin exception"
        )
    return cls.__name__


def _constants(lx: Lowering, call: ast.Call) -> tuple[str | int | float, ...]:
    if call.keywords:
        lx.refuse(call, "keywords of an exception are not supported", "give its message by position")
    found: list[str | int | float] = []
    for arg in call.args:
        value = Static("") if isinstance(arg, ast.JoinedStr) else expressions.evaluate(lx, arg)
        plain = value.value if isinstance(value, Static | Const) else None
        if isinstance(arg, ast.JoinedStr) or not isinstance(plain, str | int | float):
            lx.refuse(arg, "an exception's arguments must be constants", "give the message as a plain string")
        found.append(plain)
    return tuple(found)


def _assert(lx: Lowering, stmt: ast.Assert) -> None:
    test = expressions.truth(lx, expressions.evaluate(lx, stmt.test), stmt.test)
    if test == TRUE:
        return
    message: tuple[str | int | float, ...] = ()
    if stmt.msg is not None:
        value = Static("") if isinstance(stmt.msg, ast.JoinedStr) else expressions.evaluate(lx, stmt.msg)
        plain = value.value if isinstance(value, Static | Const) else None
        if isinstance(stmt.msg, ast.JoinedStr) or not isinstance(plain, str | int | float):
            lx.refuse(stmt.msg, "an assertion's message must be a constant", "give it as a plain string")
        message = (plain,)
    node = Raise("AssertionError", message, lx.span(stmt))
    if isinstance(test, Const):
        lx.builder.append(node)
        raise DeadPath
    lx.builder.append(If(lx.negate(test, "fails"), (node,), (), span=lx.span(stmt)))
