"""Run the api against the real program builder, or with ADJIT_TEST_FAKE=1 against differences."""

import os
import sys

if os.environ.get("ADJIT_TEST_FAKE") == "1":
    import adjit.runtime

    from . import fake_program

    sys.modules["adjit.runtime.program"] = fake_program
    adjit.runtime.program = fake_program
