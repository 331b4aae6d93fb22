"""Complex arguments of a derivative, refused by name."""

from __future__ import annotations

from adjit.analysis.complex_values import REMEDY, is_complex
from adjit.api.source import Source
from adjit.errors import UnsupportedError
from adjit.ir.structure import Spec, leaves
from adjit.runtime.arguments import leaf_names
from adjit.runtime.signature import place


def refuse_complex_arguments(source: Source, specs: tuple[Spec, ...]) -> None:
    """Raise UnsupportedError for the first leaf of the arguments that is complex."""
    for spec, parameter in zip(specs, source.signature.names, strict=True):
        for leaf, name in zip(leaves(spec), leaf_names(spec, parameter), strict=True):
            if is_complex(leaf.type):
                raise UnsupportedError(
                    f"'{name}' is {leaf.type}: complex numbers are not differentiated",
                    REMEDY,
                    place(source.signature.py_func),
                )
