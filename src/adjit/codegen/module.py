"""A generated module: compiled functions, and glue that calls them one after the other.

`render` gives self-contained text: a header, the imports and helpers that the functions use, the functions.
It may be written to a file and imported by a process that never imports adjit, and Numba can cache it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from adjit import rules
from adjit.analysis.ranges import unsigned_indices
from adjit.codegen.callees import callee_names, signature
from adjit.codegen.chains import SCALED
from adjit.codegen.columns import Columns, text_of
from adjit.codegen.emitted import Emitted, Within
from adjit.codegen.expressions import PLAIN, array_name
from adjit.codegen.fourier import FOURIER
from adjit.codegen.lanes import lanes_imports
from adjit.codegen.loose import PLUS
from adjit.codegen.names import RESERVED, Names
from adjit.codegen.numba_cpu import emit_full
from adjit.codegen.outline import is_long, outline
from adjit.codegen.rarely import RARELY
from adjit.codegen.strided import ONE_BY_ONE
from adjit.codegen.threads import RUN_PARTS, on_threads
from adjit.ir.core import Function, Sym
from adjit.ir.types import Array
from adjit.ir.visit import reachable
from adjit.rules import linear

FastMath = bool | frozenset[str]


@dataclass(frozen=True)
class Unit:
    """One function with the options it is compiled under.

    kept: whether its machine code is kept on disk of its own; that of a piece is a part of its caller's. results: how
    many of the results are the user's (None: all); handed: the parameters that get the other results of the unit
    before.
    """

    function: Function
    error_model: str = "python"
    fastmath: FastMath = False
    boundscheck: bool | None = None
    nogil: bool = False
    kept: bool = True
    results: int | None = None
    handed: tuple[Sym, ...] = ()


@dataclass(frozen=True)
class Step:
    """`targets = callee(*args)`; args and targets are names in the glue function."""

    targets: tuple[str, ...]
    callee: str
    args: tuple[str, ...]


@dataclass(frozen=True)
class Glue:
    """A compiled function that runs steps, or lines as they are, and returns the tuple of its results (None if it has
    none).
    """

    name: str
    params: tuple[str, ...]
    steps: tuple[Step | str, ...]
    results: tuple[str, ...]
    nogil: bool = False


@dataclass(frozen=True)
class Module:
    """Units first, then glue; `columns`: the loop over the passes of a Jacobian."""

    units: tuple[Unit, ...]
    glue: tuple[Glue, ...] = ()
    doc: str = ""
    columns: Columns | None = None


_FDIV = '''@njit(cache=True, error_model="numpy")
def fdiv(a, b):
    """IEEE division: never raises."""
    return a / b
'''

GROW = '''@njit(cache=True)
def grow(record, need):
    """A larger copy of a record: at least `need` elements, at least twice as many as before."""
    larger = np.empty(max(need, 2 * record.size), record.dtype)
    larger[: record.size] = record
    return larger
'''

_SEEN_AS = '''def seen_as(a, shape, strides):
    """A view of contiguous memory in another shape, whether or not the array's type says that it is contiguous."""
    return a.reshape(shape)


@overload(seen_as)
def seen_as_typed(a, shape, strides):
    """The same for Numba."""

    def by_type(a, shape, strides):
        return a.reshape(shape)

    def by_strides(a, shape, strides):
        step = a.itemsize
        for axis in range(a.ndim - 1, -1, -1):
            if a.size and a.shape[axis] != 1 and a.strides[axis] != step:
                raise NotImplementedError("incompatible shape for array")
            step *= a.shape[axis]
        return as_strided(a, shape, strides)

    return by_type if a.layout == "C" else by_strides
'''

_SZMUL = '''@njit(cache=True{options})
def szmul(ct, slope):
    """The strong-zero product: 0 times inf or nan is 0."""
    return ct * slope if ct != 0 else ct
'''

_CHOOSE = '''@njit(cache=True{options})
def choose(condition, a, b):
    """One of two values."""
    return a if condition else b
'''

_DOT_ADD = '''_gemm = types.ExternalFunction(
    "numba_xxgemm",
    types.intc(
        *(types.char,) * 3, *(types.intp,) * 3, types.voidptr, types.voidptr, types.intp, types.voidptr, types.intp,
        types.voidptr, types.voidptr, types.intp,
    ),
)


@njit(cache=True)
def dot_add(a, b, out):
    """out += a @ b, in one call of BLAS where all three lie as it wants them."""
    m, n = out.shape
    k = a.shape[1]
    size = out.itemsize
    rows = a.strides[1] == size and a.strides[0] >= size * max(1, k)
    columns = a.strides[0] == size and a.strides[1] >= size * max(1, m)
    rows_b = b.strides[1] == size and b.strides[0] >= size * max(1, n)
    columns_b = b.strides[0] == size and b.strides[1] >= size * max(1, k)
    plain = out.strides[1] == size and out.strides[0] >= size * max(1, n)
    fits = a.shape[0] == m and b.shape[0] == k and b.shape[1] == n and m > 0 and n > 0 and k > 0
    if fits and plain and (rows or columns) and (rows_b or columns_b):
        one = np.ones(1, out.dtype)
        _gemm(
            100 if size == 8 else 115, 110 if rows_b else 116, 110 if rows else 116, n, m, k, one.ctypes, b.ctypes,
            b.strides[0 if rows_b else 1] // size, a.ctypes, a.strides[0 if rows else 1] // size, one.ctypes,
            out.ctypes, out.strides[0] // size,
        )
    else:
        t = np.dot(np.ascontiguousarray(a), np.ascontiguousarray(b))
        for i in range(m):
            for j in range(n):
                out[i, j] += t[i, j]
'''

_HELPERS = {
    "dot_add": _DOT_ADD,
    "fourier": FOURIER,
    "fdiv": _FDIV,
    "grow": GROW,
    "one_by_one": ONE_BY_ONE,
    "plus": PLUS,
    "run_parts": RUN_PARTS,
    "rarely": RARELY,
    "scaled": SCALED,
    "seen_as": _SEEN_AS,
    "szmul": _SZMUL,
    "choose": _CHOOSE,
}
_COMMENT = re.compile(r"^ *#.*$|  # .*$", re.MULTILINE)
"""Lines of the user's program stand in comments; what they call is not called."""
_SCALARS = frozenset({
    "complex128", "complex64", "float32", "float64", "int16", "int32", "int64", "int8",
    "uint16", "uint32", "uint64", "uint8",
})  # fmt: skip


def render(module: Module, comments: bool = True, plain: bool = False) -> str:
    """The text of the module.

    `plain` prints IEEE divisions as calls also where the error model makes `/` one, and tests of indices that are said
    not to be negative: for running without Numba.
    """
    callees = callee_names((u.function for u in module.units), (g.name for g in module.glue))
    taken = (*(u.function.name for u in module.units), *(g.name for g in module.glue), *callees.values())
    taken = (*taken, module.columns.name) if module.columns else taken
    names = Names(RESERVED | frozenset(taken))
    units = [part for whole in _with_called(module.units) for part in _cut(whole, names, callees)]
    printed = callees | {u.function.name: u.function.name for u, _ in units if not u.kept}
    models = [PLAIN if plain else u.error_model for u, _ in units]
    emitted = [
        emit_full(u.function, m, comments, printed, within)
        for (u, within), m in zip(units, models, strict=True)
    ]
    pairs = zip(units, emitted, strict=True)
    parts = [_decorate_below_doc(u, e, u.function.name in callees) for (u, _), e in pairs]
    parts += [_glue(g) for g in module.glue]
    parts += [text_of(module.columns)] if module.columns else []
    body = "\n\n".join(parts)
    code = _COMMENT.sub("", body)
    called = _called(code)
    helpers = _helpers(called, frozenset().union(*(e.ops for e in emitted)), module.units)
    lists = sorted({a for e in emitted for a in e.lists}, key=array_name)
    head = [*_docstring(module.doc), _imports(code + helpers, called | _called(helpers), lists)]
    return "\n\n\n".join(part.rstrip("\n") for part in (*head, helpers, body) if part) + "\n"


def _with_called(units: tuple[Unit, ...]) -> list[Unit]:
    """Every function to print: called functions before their callers."""
    found: dict[str, Unit] = {}
    for unit in units:
        for f in reversed(reachable(unit.function, unit.function.functions)):
            found.setdefault(f.name, replace(unit, function=f))
        found[unit.function.name] = unit
    return list(found.values())


def _cut(unit: Unit, names: Names, callees: Mapping[str, str]) -> list[tuple[Unit, Within | None]]:
    """The unit; or its pieces, those called before those that call, and what is left of it.

    A function that calls itself stays whole: a piece that called it back would be mutual recursion (see `callees`).
    """
    if unit.function.name in callees:
        known = Within(unsigned_indices(unit.function), frozenset())
        return [(unit, known if is_long(unit.function) else None)]
    cut = on_threads(unit.function, names.fresh)
    parts = [replace(unit, function=f, kept=False) for f in cut.parts]
    passed, found = cut.passed, list[Unit]()
    for whole in (*parts, replace(unit, function=cut.main)):
        if is_long(whole.function):
            cut_again = outline(whole.function, names.fresh)
            passed |= cut_again.passed
            found += (replace(unit, function=piece, kept=False) for piece in cut_again.pieces)
            whole = replace(whole, function=cut_again.main)
        found.append(whole)
    if len(found) == 1 and not is_long(unit.function):
        return [(unit, None)]
    unsigned = unsigned_indices(unit.function, passed)
    others = frozenset(u.function.name for u in found) - {unit.function.name}
    helpers = is_long(unit.function)
    return [(u, Within(unsigned, others - {u.function.name}, helpers)) for u in found]


def _docstring(doc: str) -> list[str]:
    title = "Generated by adjit; compiled by Numba. Do not edit: it is named by its content."
    return [f'"""{title}\n\n{doc}\n"""' if doc else f'"""{title}"""']


def _called(text: str) -> set[str]:
    """Bare names that the text calls. (Read backwards a call starts with its parenthesis, which is found fast.)"""
    return {name[::-1] for name in re.findall(r"\((\w+)(?![\w.])", text[::-1])}


def _constants(text: str) -> list[str]:
    """The names of infinity and NaN that the text reads."""
    if "inf" not in text and "nan" not in text:
        return []
    return sorted(set(re.findall(r"(?<![\w.])(?:inf|nan)\b", text)))


def _reads(text: str, module: str) -> bool:
    """Whether the text reads something of a module."""
    prefix = f"{module}."
    return prefix in text and re.search(rf"(?<![\w.]){module}\.", text) is not None


def _imports(text: str, called: set[str], lists: list[Array]) -> str:
    scalars = called & _SCALARS
    scalars |= {a.dtype.name for a in lists if not a.dtype.is_bool and a.dtype.lanes == 1}
    lines = [f"import {m}" for m in ("cmath", "ctypes", "math") if _reads(text, m)]
    constants = _constants(text)
    lines += [f"from math import {', '.join(constants)}"] if constants else []
    lines += ["", "import numpy as np"] if re.search(r"\bnp\.", text) else []
    names = [
        *sorted(scalars),
        "njit",
        *(["get_num_threads"] if "run_parts" in called else []),
        *(["types"] if lists or "types." in text else []),
    ]
    lines += ["", *(["from llvmlite import binding"] if "binding." in text else [])]
    lines += [f"from numba import {', '.join(names)}"]
    if called & {"run_parts", "rarely", "one_by_one"}:
        lines[-1:-1] = ["from llvmlite import ir"]
    if "run_parts" in called:
        lines += ["from numba.core import cgutils", "from numba.core.callconv import Status, excinfo_ptr_t"]
    extending = [name for name in ("intrinsic", "overload") if f"@{name}" in text]
    lines += [f"from numba.extending import {', '.join(extending)}"] if extending else []
    lines += ["from numpy.lib.stride_tricks import as_strided"] if "as_strided(" in text else []
    in_lanes = {str(a.dtype) for a in lists if a.dtype.lanes > 1}
    lines += ["from numba import from_dtype"] if in_lanes else []
    lines += lanes_imports(text, called, in_lanes)
    if lists:
        lines += ["from numba.typed import List", ""]
        lines += [f"{array_name(a)} = {_array_type(a)}" for a in lists]
    return "\n".join(lines).strip("\n")


def _array_type(a: Array) -> str:
    dtype = "types.boolean" if a.dtype.is_bool else a.dtype.name
    dtype = f"from_dtype({a.dtype})" if a.dtype.lanes > 1 else dtype
    lock = ", readonly=True" if a.readonly else ""
    return f'types.Array({dtype}, {a.ndim}, "{a.layout}"{lock})'


def _helpers(called: set[str], ops: frozenset[str], units: tuple[Unit, ...]) -> str:
    fast = next((f", {_fastmath(u.fastmath)}" for u in units if u.fastmath), "")
    texts = [text.replace("{options}", fast) for name, text in _HELPERS.items() if name in called]
    pure = [text for name, text in linear.sources().items() if name in called and name not in _HELPERS]
    texts += [f"@njit(cache=True)\n{text}" for text in pure]
    special = rules.prelude(sorted(ops))
    if special:
        texts.append(re.sub(r"^def ", '@njit(cache=True, error_model="numpy")\ndef ', special, flags=re.M))
    return "\n\n".join(texts)


def _decorator(unit: Unit, called: bool) -> str:
    options = [f'"{signature(unit.function)}"'] if called else []
    options += ["cache=True"] if unit.kept else []
    if unit.error_model != "python":
        options.append(f'error_model="{unit.error_model}"')
    if unit.fastmath:
        options.append(_fastmath(unit.fastmath))
    if unit.boundscheck is not None:
        options.append(f"boundscheck={unit.boundscheck}")
    if unit.nogil:
        options.append("nogil=True")
    return f"@njit({', '.join(options)})\n" if options else "@njit\n"


def _fastmath(flags: FastMath) -> str:
    return f"fastmath={flags if isinstance(flags, bool) else '{' + _quoted(flags) + '}'}"


def _quoted(flags: frozenset[str]) -> str:
    return ", ".join(f'"{flag}"' for flag in sorted(flags))


def _decorate_below_doc(unit: Unit, emitted: Emitted, called: bool) -> str:
    """The function's comment block, the decorator, the def."""
    lines = emitted.text.splitlines(keepends=True)
    at = next(k for k, line in enumerate(lines) if line.startswith("def "))
    return "".join([*lines[:at], _decorator(unit, called), *lines[at:]])


def _glue(glue: Glue) -> str:
    lines = [f"@njit(cache=True{', nogil=True' if glue.nogil else ''})"]
    lines.append(f"def {glue.name}({', '.join(glue.params)}):")
    for step in glue.steps:
        if isinstance(step, str):
            lines.append(f"    {step}")
            continue
        call = f"{step.callee}({', '.join(step.args)})"
        lines.append(f"    {_tuple(step.targets)} = {call}" if step.targets else f"    {call}")
    lines.append(f"    return {_tuple(glue.results)}" if glue.results else "    return None")
    return "\n".join(lines) + "\n"


def _tuple(names: tuple[str, ...]) -> str:
    return f"({names[0]},)" if len(names) == 1 else ", ".join(names)
