"""adjit: exact derivatives of Numba-style Python, at compiled speed.

A name's module is imported when the name is first used, so that `import adjit` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adjit.api.annotations import Active as Active
    from adjit.api.annotations import Batch as Batch
    from adjit.api.annotations import BatchDuplicated as BatchDuplicated
    from adjit.api.annotations import Const as Const
    from adjit.api.annotations import Duplicated as Duplicated
    from adjit.api.annotations import Forward as Forward
    from adjit.api.annotations import Result as Result
    from adjit.api.annotations import Reverse as Reverse
    from adjit.api.atomic import atomic_add as atomic_add
    from adjit.api.atomic import atomic_max as atomic_max
    from adjit.api.atomic import atomic_min as atomic_min
    from adjit.api.autodiff import autodiff as autodiff
    from adjit.api.check import CheckReport as CheckReport
    from adjit.api.check import check_grad as check_grad
    from adjit.api.custom import custom_jvp as custom_jvp
    from adjit.api.custom import custom_vjp as custom_vjp
    from adjit.api.debug import debug_nans as debug_nans
    from adjit.api.explain import explain as explain
    from adjit.api.grad import grad as grad
    from adjit.api.grad import value_and_grad as value_and_grad
    from adjit.api.hessian import hessian as hessian
    from adjit.api.hessian import hvp as hvp
    from adjit.api.hessian import laplacian as laplacian
    from adjit.api.index import index as index
    from adjit.api.jacobian import jacfwd as jacfwd
    from adjit.api.jacobian import jacobian as jacobian
    from adjit.api.jacobian import jacrev as jacrev
    from adjit.api.jit import jit as jit
    from adjit.api.jvp import jvp as jvp
    from adjit.api.kernel import kernel as kernel
    from adjit.api.options import options as options
    from adjit.api.prepare import prepare as prepare
    from adjit.api.pure import pure as pure
    from adjit.api.races import RaceReport as RaceReport
    from adjit.api.races import check_races as check_races
    from adjit.api.sparse.sparsity import sparsity as sparsity
    from adjit.api.stop_gradient import stop_gradient as stop_gradient
    from adjit.api.vjp import vjp as vjp
    from adjit.errors import AdjitError as AdjitError
    from adjit.errors import ArgumentError as ArgumentError
    from adjit.errors import CheckError as CheckError
    from adjit.errors import DeviceError as DeviceError
    from adjit.errors import MemoryLimitError as MemoryLimitError
    from adjit.errors import MissingRuleError as MissingRuleError
    from adjit.errors import UnsupportedError as UnsupportedError

__all__ = [
    "Active",
    "AdjitError",
    "ArgumentError",
    "Batch",
    "BatchDuplicated",
    "CheckError",
    "CheckReport",
    "Const",
    "DeviceError",
    "Duplicated",
    "Forward",
    "MemoryLimitError",
    "MissingRuleError",
    "RaceReport",
    "Result",
    "Reverse",
    "UnsupportedError",
    "atomic_add",
    "atomic_max",
    "atomic_min",
    "autodiff",
    "check_grad",
    "check_races",
    "custom_jvp",
    "custom_vjp",
    "debug_nans",
    "explain",
    "grad",
    "hessian",
    "hvp",
    "index",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "kernel",
    "laplacian",
    "options",
    "prepare",
    "pure",
    "sparsity",
    "stop_gradient",
    "value_and_grad",
    "vjp",
]

_HOMES = {
    "adjit.api.annotations": (
        "Active",
        "Batch",
        "BatchDuplicated",
        "Const",
        "Duplicated",
        "Forward",
        "Result",
        "Reverse",
    ),
    "adjit.api.atomic": ("atomic_add", "atomic_max", "atomic_min"),
    "adjit.api.autodiff": ("autodiff",),
    "adjit.api.check": ("CheckReport", "check_grad"),
    "adjit.api.custom": ("custom_jvp", "custom_vjp"),
    "adjit.api.debug": ("debug_nans",),
    "adjit.api.explain": ("explain",),
    "adjit.api.grad": ("grad", "value_and_grad"),
    "adjit.api.hessian": ("hessian", "hvp", "laplacian"),
    "adjit.api.index": ("index",),
    "adjit.api.jacobian": ("jacfwd", "jacobian", "jacrev"),
    "adjit.api.jit": ("jit",),
    "adjit.api.jvp": ("jvp",),
    "adjit.api.kernel": ("kernel",),
    "adjit.api.options": ("options",),
    "adjit.api.prepare": ("prepare",),
    "adjit.api.pure": ("pure",),
    "adjit.api.races": ("RaceReport", "check_races"),
    "adjit.api.sparse.sparsity": ("sparsity",),
    "adjit.api.stop_gradient": ("stop_gradient",),
    "adjit.api.vjp": ("vjp",),
    "adjit.errors": (
        "AdjitError",
        "ArgumentError",
        "CheckError",
        "DeviceError",
        "MemoryLimitError",
        "MissingRuleError",
        "UnsupportedError",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'adjit' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
