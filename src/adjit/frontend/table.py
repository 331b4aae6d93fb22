"""The documentation's table of array functions: `python -m adjit.frontend.table > docs/numpy.md`."""

from __future__ import annotations

from adjit.frontend import array_functions, folds, norms

_HEAD = """\
# NumPy functions of arrays

Generated from the frontend by `python -m adjit.frontend.table`; do not edit. Of each function a sample is tested: its
value is NumPy's, and its derivatives in forward and reverse mode are those of differences. What is not here, nor in the
[table of operations](support.md) (which work on whole arrays too), is refused with what to write instead.

* Derivatives go through arrays of floats. Indices, counts, bins and orders have none: an element stays where it is
  under a small change. Equal elements keep their order; of those the first has the derivative of `np.unique`.
* An axis, `keepdims`, a mode, subscripts, `n` of `np.diff` and `k` of `np.rot90` are constants.
* `np.flip`, `np.rot90` and `np.split` give views, as in NumPy. What NumPy gives as a view that adjit cannot make
  (`np.broadcast_to`, `np.diagonal`, sliding windows, `np.diag` of a matrix in a plain function) is a copy when it has a
  name, and refused where a view would show something else.
  `reshape` and `ravel` are views of contiguous memory and copy other.
* What Numba computes in an order of its own (percentiles, sums) follows Numba. What Numba lacks (`np.pad`,
  `np.add.at`, `np.gradient`, axes of sorts and medians) follows NumPy.
* So `np.sum`, `np.mean`, `np.std` and other reductions of a plain function agree with the plain call to rounding, not
  to the bit: NumPy adds pairwise, Numba and adjit in order. `np.dot`, `@` and `np.linalg.norm` add in an order of their
  own under njit too, and `np.exp` and its kin of whole arrays are NumPy's own to the last bit or two.
* `np.fft` is NumPy's own, called from compiled code, so that values are NumPy's to the bit. `axis`, `axes` and `norm`
  are constants; `n` and `s` may be computed. Numba has no `np.fft` without `rocket-fft`, whose values differ by
  rounding: a dispatcher that calls it runs here, and may not by itself.
* `z.real`, `z.imag`, `np.real` and `np.imag` of complex arrays are read as NumPy reads its views; one that has a name
  is a copy, and refused where a view would show something else.
* `out=` of a ufunc, also as a last argument, stores its values there as NumPy does, whatever it overlaps with.
* `np.partition` and `np.argpartition` sort all of it, which is one of the orders that NumPy allows.
* `np.interp` at a point has the derivative of the piece behind it; `np.clip` at a bound passes it to the element.
* `at` is there for every function of two operands that has a rule, `outer` too; `reduce` and `accumulate` for add,
  multiply, maximum and minimum, `reduce` for logical_and and logical_or.
"""


def markdown() -> str:
    """The page, in Markdown."""
    groups = {"Reductions and products": (folds, norms), **array_functions.GROUPS}
    sections = [_section(title, modules) for title, modules in groups.items()]
    methods = ", ".join(f"`a.{name}`" for name in sorted(_methods()))
    return "\n".join([_HEAD, *sections, f"## Methods\n\n{methods}\n"])


def _methods() -> set[str]:
    from adjit.frontend.expressions import FOLDS

    known = {"copy", "astype", "fill", "flatten"}
    return {*FOLDS, *known, *array_functions.METHODS} - array_functions.REFUSED_METHODS


def _section(title: str, modules: tuple[object, ...]) -> str:
    names = {_name(f) for module in modules for f in module.HANDLERS}  # type: ignore[attr-defined]
    return f"## {title}\n\n{', '.join(f'`{name}`' for name in sorted(names))}\n"


def _name(function: object) -> str:
    module = str(getattr(function, "__module__", "numpy"))
    prefix = next((p for word, p in _PREFIXES.items() if word in module), "np.")
    return prefix + str(getattr(function, "__name__", ""))


_PREFIXES = {
    "linalg": "np.linalg.",
    "fft": "np.fft.",
    "polynomial": "np.polynomial.polynomial.",
    "stride_tricks": "np.lib.stride_tricks.",
}


if __name__ == "__main__":
    print(markdown(), end="")
