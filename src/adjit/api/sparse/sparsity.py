"""`sparsity`: which outputs of a function may depend on which inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjit.api.sparse.jacobian import SparseJacobian
from adjit.api.wrt import Wrt


def sparsity(f: Callable[..., Any], *args: Any, wrt: Wrt = 0, **kwargs: Any) -> Any:
    """The sparsity pattern of f's Jacobian: a boolean `scipy.sparse.csr_array` of shape (outputs, inputs).

    Outputs are the numbers of the result, inputs those that `wrt` names, in C order, leaf after leaf. The pattern of a
    scalar function's Hessian is `aj.sparsity(aj.grad(f), *args)`. It is derived from the program: through both sides of
    branches on floats, with the shapes, integers and bools of these arguments.
    Returns: the pattern. Its attribute `proven` says whether it holds for all values of the floats; if not, `reasons`
    says why (an index that is computed from floats, say), and it is the pattern at these arguments.
    Raises: ArgumentError as `jacobian`, and where SciPy is not installed; UnsupportedError, with the line, for what
    is not derived; MemoryLimitError where the pattern has too many entries.
    """
    return SparseJacobian(f, wrt).prepare(*args, **kwargs).pattern.matrix()
