"""Types of the IR: scalars, arrays, and lists of array references.

Tuples do not exist in the IR; the frontend explodes them into their leaves.
Before typing, a scalar's dtype may be `UNKNOWN` and an array's layout may be "?".
"""

from dataclasses import dataclass, replace

_FLOATS = ("float32", "float64")
_COMPLEX = ("complex64", "complex128")
_SIGNED = ("int8", "int16", "int32", "int64")
_UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
_INTEGRAL = frozenset({*_SIGNED, *_UNSIGNED, "bool"})


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number type, by its NumPy name; "?" before typing.

    lanes: more than one for so many numbers of it side by side (tangents that are carried at once).
    """

    name: str
    lanes: int = 1

    @property
    def is_float(self) -> bool:
        return self.name in _FLOATS

    @property
    def is_complex(self) -> bool:
        return self.name in _COMPLEX

    @property
    def is_int(self) -> bool:
        return self.name in _SIGNED or self.name in _UNSIGNED

    @property
    def is_unsigned(self) -> bool:
        return self.name in _UNSIGNED

    @property
    def is_integral(self) -> bool:
        """Whether values are integers or bools."""
        return self.name in _INTEGRAL

    @property
    def is_bool(self) -> bool:
        return self.name == "bool"

    @property
    def differentiable(self) -> bool:
        """Whether values of this type can carry derivatives."""
        return self.is_float or self.is_complex

    @property
    def part(self) -> "Scalar":
        """The type of a complex number's parts; any other type itself."""
        return Scalar(f"float{self.itemsize * 4}") if self.is_complex else self

    @property
    def complexified(self) -> "Scalar":
        """The complex type whose parts are of this float type; any other type itself."""
        return Scalar(f"complex{self.itemsize * 16}") if self.is_float else self

    @property
    def known(self) -> bool:
        return self.name != "?"

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        if self.name == "bool":
            return 1
        return int("".join(c for c in self.name if c.isdigit())) // 8 * self.lanes

    @property
    def single(self) -> "Scalar":
        """The type of one lane."""
        return Scalar(self.name) if self.lanes > 1 else self

    def __str__(self) -> str:
        return f"{self.name}x{self.lanes}" if self.lanes > 1 else self.name


@dataclass(frozen=True, slots=True)
class Array:
    """A reference to strided memory. `layout` is Numba's: "C", "F", "A", or "?" before typing."""

    dtype: Scalar
    ndim: int
    layout: str = "?"
    readonly: bool = False

    @property
    def differentiable(self) -> bool:
        return self.dtype.differentiable

    @property
    def known(self) -> bool:
        return self.dtype.known and self.layout != "?"

    def __str__(self) -> str:
        lock = ", readonly" if self.readonly else ""
        return f"array({self.dtype}, {self.ndim}d, {self.layout}{lock})"


@dataclass(frozen=True, slots=True)
class RefList:
    """A growing list of references to arrays of one type (a record of references)."""

    element: Array

    @property
    def differentiable(self) -> bool:
        return self.element.differentiable

    @property
    def known(self) -> bool:
        return self.element.known

    def __str__(self) -> str:
        return f"reflist({self.element})"


Type = Scalar | Array | RefList

BOOL = Scalar("bool")
INT64 = Scalar("int64")
UINT64 = Scalar("uint64")
FLOAT32 = Scalar("float32")
FLOAT64 = Scalar("float64")
COMPLEX64 = Scalar("complex64")
COMPLEX128 = Scalar("complex128")
UNKNOWN = Scalar("?")


def any_layout(t: Type) -> Type:
    """The type of an array that stands beside one of type `t` (a shadow, a tangent) and may have any layout."""
    return replace(t, layout="A", readonly=False) if isinstance(t, Array) else t
