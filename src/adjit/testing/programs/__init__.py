"""Random programs in the language that adjit differentiates, built as trees so that failures can be shrunk.

`generate(seed)` returns a `Program` that is known to run: it terminates, stays in bounds, keeps its values
O(1) and stands clear of every kink. `Program.source()` is ordinary Python that Numba compiles.
"""

from adjit.testing.programs.generate import generate as generate
from adjit.testing.programs.nodes import Argument as Argument
from adjit.testing.programs.nodes import Program as Program
from adjit.testing.programs.probe import Probe as Probe
from adjit.testing.programs.probe import Rejected as Rejected
