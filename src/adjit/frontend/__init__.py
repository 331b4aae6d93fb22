"""Source to IR: reads a Python function, refuses what is outside the subset, builds structured SSA."""

from adjit.frontend.fingerprint import fingerprint as fingerprint
from adjit.frontend.lower import Lowered as Lowered
from adjit.frontend.lower import lower as lower
