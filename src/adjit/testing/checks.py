"""Everything that must hold for a differentiated program, whatever it computes.

First derivatives (`first_order`), second derivatives (`second_order`), other layouts, and legal IR after every pass
(`passes`); in each of them the value and the final state are the plain run's, nothing outside the arguments is
written, and a second call gives the same bits.
"""

from __future__ import annotations

import inspect
import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

import adjit as aj
from adjit.errors import MissingRuleError, UnsupportedError
from adjit.testing.batches import check_batches
from adjit.testing.complex_step import ComplexStep
from adjit.testing.first_order import (
    Leaves,
    check_first_order,
    check_forward_alone,
    check_value_and_grad,
    check_vjp,
    reverse,
)
from adjit.testing.passes import PassFault, watched
from adjit.testing.placing import same_bits
from adjit.testing.programs.nodes import Program
from adjit.testing.programs.probe import Probed, Rejected, validate
from adjit.testing.reuse import forget, reused
from adjit.testing.second_order import check_second_order
from adjit.testing.sharing import check_sharing
from adjit.testing.sparse import check_sparsity
from adjit.testing.subject import CheckFailure, Subject, is_float_array, leaves
from adjit.transform import parts

REFUSALS = (UnsupportedError, MissingRuleError)
"""What the fence may say of a program that is fit to run; any other error is a fault."""

ROUND_TRIPS = 64
"""One program in so many has the text of every pass parsed back (of the others only the verifier sees it)."""

TURNS: dict[bool, dict[str, frozenset[int]]] = {
    False: {
        "second order": frozenset(range(16)),
        "value_and_grad": frozenset({0, 3, 8, 11}),
        "vjp": frozenset({1, 6, 9, 14}),
        "layouts": frozenset({4, 7, 12, 15}),
        "batches": frozenset({2, 5, 10, 13}),
        "sparsity": frozenset({3, 6, 11, 14}),
        "sharing": frozenset({0, 7, 9, 10}),
    },
    True: {
        "second order": frozenset({2, 5, 10, 13}),
        "value_and_grad": frozenset({0, 3}),
        "vjp": frozenset({6, 9}),
        "layouts": frozenset({12, 15}),
        "batches": frozenset({4, 7}),
        "sparsity": frozenset({1, 8}),
        "sharing": frozenset({11, 14}),
    },
}
"""Checks that are builds of their own, which is what a check costs: the seeds, modulo 16, that make them, uncompiled
and compiled. Even seeds are dispatchers, odd ones plain functions: each check sees both."""


class Refused(Exception):
    """The fence refuses the program; the text is what the user would read."""


def check(
    program: Program, compiled: bool = False, dtype: str = "float64", boundscheck: bool = False
) -> None:
    """Check a random program; `compiled` selects Numba (else ADJIT_UNCOMPILED=1 must be in the environment).

    With dtype float32, which needs `compiled`, the program is a dispatcher: Numba's types are the reference.

    Raises:
        CheckFailure: with a report.
        Refused: if adjit says that it cannot differentiate this.
        Rejected: if these inputs are no fair test.
    """
    if not compiled and os.environ.get("ADJIT_UNCOMPILED") != "1":
        raise RuntimeError("an uncompiled check needs ADJIT_UNCOMPILED=1 in the environment")
    probed = validate(program)
    folder = _folder(program.seed)
    # Half of the programs are dispatchers, half plain functions with plain callees.
    decorated = program.decorated(dtype)
    function = load(program, folder, decorated)
    reference = load(program, folder, decorated=compiled and not program.arrays, reference=True)
    values = [_in(dtype, argument.value) for argument in program.arguments]
    subject = Subject(
        aj.options(function, boundscheck=True) if boundscheck else function,
        program.packed(values, _globals(function)),
        [argument.layout for argument in program.arguments],
        reference,
        lambda flat: probed(program.packed(flat, probed.namespace)),
        None
        if dtype != "float64" or {"complex", "limits"} & {*program.kinds}
        else ComplexStep(program, probed.base),
        program.exact and ((compiled and decorated) or not _single(values)),
        program.forward,
        load(program, folder, decorated=False, reference=True),
    )
    try:
        check_subject(subject, program.seed, compiled)
    except CheckFailure as failure:
        if compiled and failure.kind in ("value", "final state") and not _as_python(subject):
            raise Rejected("Numba computes something else than Python") from failure
        raise
    except REFUSALS as error:
        raise Refused(str(error)) from error
    except RuntimeError as error:
        if compiled and _unlinked(subject):
            raise Rejected("Numba does not link its own form of the program") from error
        raise
    finally:
        forget()


def _as_python(subject: Subject) -> bool:
    """Whether Numba's plain run ends as Python's does: it loses stores of inlined closures at times (0.68)."""
    plain = Subject(subject.python, subject.trees, subject.layouts, exact=False)
    want, final = plain.plain()
    got, ended = subject.plain()
    return all(
        np.allclose(np.asarray(a, complex), np.asarray(b, complex), rtol=1e-3, atol=1e-3)
        for a, b in zip((got, *ended), (want, *final), strict=True)
        if a is not None
    )


def _unlinked(subject: Subject) -> bool:
    """Whether the plain run ends in Numba's linker: it loses functions that call themselves at times (0.68)."""
    try:
        subject.plain()
    except RuntimeError as error:
        return "unresolved symbol" in str(error)
    return False


@cache
def _home() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="adjit-fuzz-")


def _folder(seed: int) -> Path:
    """Where the modules of a program are written.

    Not a new folder each time: what is read of a function is kept by its code, which a program has in common with its
    shrunk forms, so that errors may name the file of an earlier check.
    """
    home = Path(_home().name)
    for other in home.iterdir():
        if other.name != str(seed):
            shutil.rmtree(other)
    (home / str(seed)).mkdir(exist_ok=True)
    return home / str(seed)


def check_function(
    function: Callable[..., Any],
    args: Sequence[Any],
    layouts: Sequence[str] = (),
    plain: str | None = None,
    exact: bool = True,
) -> None:
    """Check any function on these arguments (the form that a saved failure is run in).

    plain: the text of a module in which a function of the same name computes the same without adjit; by default the
    reference is plain Python in uncompiled mode, else the dispatcher itself, or Numba's compile of the function.
    exact: whether it computes the same bits.
    """
    python = getattr(function, "py_func", function)
    uncompiled = os.environ.get("ADJIT_UNCOMPILED") == "1"
    single = _single([leaf for a in args for leaf in leaves(a)])
    exact = exact and (not single or not (uncompiled or python is function))
    if plain is not None:
        namespace: dict[str, Any] = {"__name__": "plain"}
        exec(compile(plain, "<plain>", "exec"), namespace)
        reference = namespace[python.__name__]
    else:
        reference = python if uncompiled else njit(python) if python is function else function
    forward = plain is None or "custom_vjp" not in inspect.getsource(inspect.getmodule(python) or python)
    line = None if plain is None else _line_of(getattr(reference, "py_func", reference), args)
    check_subject(Subject(function, args, layouts, reference, line, exact=exact, forward=forward), None)


def _line_of(reference: Callable[..., Any], args: Sequence[Any]) -> Callable[[Sequence[Any]], float]:
    template = Subject(reference, args)
    return lambda flat: float(reference(*template.call_args(flat, reference)))


def _globals(function: Any) -> dict[str, Any]:
    return getattr(function, "py_func", function).__globals__


def _in(dtype: str, value: Any) -> Any:
    real = is_float_array(value) and value.dtype.kind == "f"
    return value.astype(dtype) if dtype != "float64" and real else value


def _single(values: Sequence[Any]) -> bool:
    return any(is_float_array(v) and v.dtype in (np.float32, np.complex64) for v in values)


def load(program: Program, folder: Path, decorated: bool, reference: bool = False) -> Callable[..., Any]:
    """The program's function, from a real file, so that its source can be read.

    reference: with the stand-ins that any Python runs in place of what only adjit understands.
    """
    kind = ("_njit" if decorated else "") + ("_reference" if reference else "")
    path = folder / f"fuzz_{program.seed}{kind}.py"
    text = program.source(njit=decorated, reference=reference)
    path.write_text(text)
    namespace: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
    exec(compile(text, str(path), "exec"), namespace)
    return namespace[program.name]


def check_subject(subject: Subject, seed: int | None, compiled: bool = False) -> None:
    """All checks, most telling first; with a seed, those whose turn it is."""
    if not subject.wrt:
        raise Rejected("nothing to differentiate")
    rng = np.random.default_rng(seed or 0)
    with ExitStack() as stack:
        stack.enter_context(reused())
        stack.enter_context(fine_parts())
        stack.enter_context(watched(round_trip=seed is None or seed % ROUND_TRIPS == 5))
        try:
            _check_all(subject, _whose_turn(seed, compiled), rng)
        except REFUSALS:
            _check_refused(subject, rng)
            raise
        except PassFault as fault:
            raise CheckFailure("illegal IR", str(fault)) from fault


@contextmanager
def fine_parts() -> Generator[None]:
    """Within it, parallel loops are cut into parts of a few turns, and arrays copied for parts, whatever that costs."""
    before = parts.GRAIN, parts.COPY
    parts.GRAIN, parts.COPY = 1, 0
    try:
        yield
    finally:
        parts.GRAIN, parts.COPY = before


def _whose_turn(seed: int | None, compiled: bool) -> set[str]:
    """The checks of `TURNS` that are made: without a seed, every one."""
    return {name for name, seeds in TURNS[compiled].items() if seed is None or seed % 16 in seeds}


def _check_all(subject: Subject, turn: set[str], rng: np.random.Generator) -> None:
    gradient = check_first_order(subject, rng)
    if subject.forward and "second order" in turn:
        check_second_order(subject, gradient, rng)
    if "value_and_grad" in turn:
        check_value_and_grad(subject, gradient)
    if "vjp" in turn:
        check_vjp(subject, gradient)
    if subject.forward and "batches" in turn:
        check_batches(subject, rng)
    if subject.forward and not subject.complex and "sparsity" in turn:
        check_sparsity(subject, rng)
    if "sharing" in turn:
        check_sharing(subject)
    _check_layouts(subject, gradient, anew="layouts" in turn)


def _check_refused(subject: Subject, rng: np.random.Generator) -> None:
    """What reverse mode refuses, forward mode may still take."""
    try:
        check_forward_alone(subject, rng)
    except REFUSALS:
        return


def _check_layouts(subject: Subject, gradient: Leaves, anew: bool) -> None:
    """Arrays of other strides give the same bits: strided ones turned round, `anew` the others strided too."""
    turned = {"C": "N", "F": "A", "A": "N"} if anew else {"A": "N"}
    layouts = [turned.get(layout, layout) for layout in subject.layouts]
    layouts = [
        layout if isinstance(v, np.ndarray) else "C"
        for layout, v in zip(layouts, subject.values, strict=True)
    ]
    if layouts == list(subject.layouts):
        return
    other = subject.with_layouts(layouts)
    still: Leaves = {k: np.zeros(np.shape(subject.values[k])) for k in subject.arrays}
    found = reverse(other, still)
    for k in subject.wrt:
        same = same_bits(found[k], gradient[k]) or (
            not subject.exact and subject.close(found[k], gradient[k])
        )
        if not same:
            raise CheckFailure(
                "layout", f"leaf {k} in {layouts}: {found[k]}, in {subject.layouts}: {gradient[k]}"
            )


__all__ = ["CheckFailure", "Probed", "Subject", "check", "check_function", "check_subject", "load"]
