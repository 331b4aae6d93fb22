"""Gates: each check of random programs sees the fault that it is there for. Faults are planted in generated source."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjit as aj
from adjit.api.plan import Guard
from adjit.runtime import program as building
from adjit.runtime import sweeps
from adjit.runtime.compile import load
from adjit.testing import checks, first_order, sharing
from adjit.testing.checks import CheckFailure, Subject, check_function, check_subject
from adjit.testing.passes import watched
from adjit.testing.programs import Rejected
from adjit.testing.reuse import forget

pytestmark = pytest.mark.usefixtures("uncompiled")

A = np.array([0.4, -0.7, 1.1])
Plant = Callable[[str], str]


def chain(a, x, p):
    s = 0.0
    for i in range(len(a)):
        a[i] = math.sin(a[i] * x)
        s += a[i] * a[p[i]] * a[i]
    return s


ARGS = (A, 0.8, np.array([1, 0, 2]))


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Plant], None]]:
    """Changes every generated module; at least one must change."""
    render = building.render
    changed: list[bool] = []

    def planted(change: Plant) -> None:
        def rendering(module: Any) -> str:
            text = render(module)
            changed.append(change(text) != text)
            return change(text)

        monkeypatch.setattr(building, "render", rendering)
        monkeypatch.setattr(sweeps, "render", rendering)

    yield planted
    assert any(changed), "the fault was not planted"


def in_function(name: str, old: str, new: str) -> Plant:
    """Puts `new` in place of `old` in generated functions whose name matches."""

    def change(text: str) -> str:
        parts = re.split(r"(?m)^(?=@njit)", text)
        return "".join(re.sub(old, new, p) if re.search(rf"def {name}\(", p) else p for p in parts)

    return change


def kind_of(args: tuple[Any, ...] = ARGS, layouts: tuple[str, ...] = ("C", "C", "C"), f: Any = chain) -> str:
    with pytest.raises(CheckFailure) as caught:
        check_function(f, args, layouts)
    return caught.value.kind


@pytest.mark.parametrize("layouts", [("C", "C", "C"), ("A", "C", "A"), ("N", "C", "N")])
def test_a_right_program_passes(layouts: tuple[str, ...]) -> None:
    check_function(chain, ARGS, layouts)


def test_a_wrong_adjoint(plant: Callable[[Plant], None]) -> None:
    plant(in_function("chain_reverse", r"math\.cos", "math.sin"))
    assert kind_of() in ("dot", "differences")


def test_a_wrong_tangent(plant: Callable[[Plant], None]) -> None:
    plant(in_function("chain_forward", r"math\.cos", "math.sin"))
    assert kind_of() in ("dot", "differences")


def test_an_adjoint_and_a_tangent_that_are_wrong_alike(plant: Callable[[Plant], None]) -> None:
    """A wrong rule: reverse and forward agree, differences do not."""
    plant(in_function(r"chain_\w+", r"math\.cos\((\w+(?: \* \w+)?)\)", r"(1.001 * math.cos(\1))"))
    assert kind_of() == "differences"


def test_a_wrong_second_derivative_alone(plant: Callable[[Plant], None]) -> None:
    plant(in_function("chain_gradient_forward", r"-math\.sin|math\.sin", "0.9 * math.sin"))
    assert kind_of() in ("value", "final state", "second order", "symmetry", "operators differ")


def test_a_tangent_of_the_gradient_that_is_not_symmetric(plant: Callable[[Plant], None]) -> None:
    plant(in_function("chain_gradient_forward", r"return \((\w+), ", r"return (\1, "))
    plant(
        in_function("chain_gradient_forward", r"(?s)return (.*), (\w+)(\)?\s*)\Z", r"return \1, 1.5 * \2\3")
    )
    assert kind_of() in ("symmetry", "second order")


def test_a_wrong_value(plant: Callable[[Plant], None]) -> None:
    plant(in_function("chain", r"s = 0\.0", "s = 1e-16"))
    assert kind_of() == "value"


def test_a_wrong_final_state(plant: Callable[[Plant], None]) -> None:
    plant(in_function("chain_joint", r"( +)return (\(?)result_0", r"\1a_0[0] += 1e-15\n\1return \2result_0"))
    assert kind_of() == "final state"


def test_a_write_outside_an_argument(plant: Callable[[Plant], None]) -> None:
    beyond = "np.lib.stride_tricks.as_strided(a_0, (len(a_0) + 1,))[len(a_0)] = 0.0"
    plant(in_function("chain_joint", r"( +)return (\(?)result_0", rf"\1{beyond}\n\1return \2result_0"))
    assert kind_of() == "canary"


def test_a_write_outside_a_shadow(plant: Callable[[Plant], None]) -> None:
    beyond = "np.lib.stride_tricks.as_strided(da_0, (len(da_0) + 1,))[len(da_0)] = 0.0"
    plant(in_function("chain_joint", r"( +)return (\(?)result_0", rf"\1{beyond}\n\1return \2result_0"))
    assert kind_of() == "canary"


def test_other_bits_the_second_time(plant: Callable[[Plant], None]) -> None:
    noise = "da_0[0] *= 1.0 + 1e-15 * np.random.default_rng().integers(1, 100)"
    plant(in_function("chain_joint", r"( +)return (\(?)result_0", rf"\1{noise}\n\1return \2result_0"))
    assert kind_of() == "repeat"


def test_a_shadow_that_is_overwritten_where_it_should_be_added_to(plant: Callable[[Plant], None]) -> None:
    def squares(a):
        return a[0] * a[0] + a[1] * a[2]

    plant(in_function("squares_reverse", r"(da\[\S+\]) \+= ", r"\1 = "))
    assert kind_of((A,), ("C",), squares) in ("dot", "differences")


def test_another_layout_that_gives_other_numbers(plant: Callable[[Plant], None]) -> None:
    wrong = "locals().get('da_0', np.ones(1))[0] *= 1.0 if a_0.flags.c_contiguous else 1.0 + 1e-15 * (a_0.strides[0] < 0)"
    plant(in_function("chain_joint", r"( +)return (\(?)result_0", rf"\1{wrong}\n\1return \2result_0"))
    assert kind_of() == "layout"


def test_a_lane_of_a_sweep_that_is_wrong(plant: Callable[[Plant], None]) -> None:
    plant(
        in_function(
            "chain_pure_reverse_4|chain_reverse_4", r"vscale\((\w+), ", r"vscale(\1 * [1, 1, 1.1, 1], "
        )
    )
    assert kind_of() == "batch"


def test_a_shadow_of_a_batch_that_is_wrong(plant: Callable[[Plant], None]) -> None:
    plant(in_function("chain_joint", r"lane\((\w+), 2\)\n", r"lane(\1, 1)\n"))
    assert kind_of() == "batch"


@pytest.mark.parametrize("operator", ["check_value_and_grad", "check_vjp"])
def test_operators_that_differ(operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = getattr(first_order, operator)
    monkeypatch.setattr(checks, operator, lambda s, g: right(s, {k: 1.000001 * v for k, v in g.items()}))
    assert kind_of() == "operators differ"


def test_gradients_of_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    """What carries no derivative has None for a gradient, in tuples too."""
    subject = Subject(chain, ((A, 3), 0.5))
    with pytest.raises(CheckFailure, match="carries no derivative"):
        first_order.require_gradients(subject, ((A, 1.0), 0.5), {0: A, 2: 0.5}, "an operator")
    first_order.require_gradients(subject, ((A, None), 0.5), {0: A, 2: 0.5}, "an operator")


def test_a_pass_that_breaks_the_ir(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaking(round_trip: bool) -> Any:
        monkeypatch.setattr("adjit.ir.verify._Verifier.reads", _objects)
        return watched(round_trip)

    monkeypatch.setattr(checks, "watched", breaking)
    assert kind_of() == "illegal IR"


def _objects(self: object, a: object) -> None:
    raise AssertionError("not legal")


def tail(x, n):
    """Reverse mode does not follow a view that a recursive function returns."""
    return x if n == 0 else tail(x[1:], n - 1)


def test_what_reverse_mode_refuses_is_still_held_to_in_forward_mode(
    plant: Callable[[Plant], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def shrinking(x):
        return math.sin(tail(x, 2)[0])

    with pytest.raises(aj.UnsupportedError):
        check_function(shrinking, (A,))
    forget()
    plant(in_function("shrinking_forward", r"math\.cos", "math.sin"))
    assert kind_of((A,), ("C",), shrinking) == "differences"


def test_a_program_without_floats_is_no_test() -> None:
    with pytest.raises(Rejected):
        check_subject(Subject(lambda n: n, (3,)), 0)


def test_an_index_that_is_said_not_to_be_negative_and_is() -> None:
    namespace = load("import numpy as np\n\ndef f(a, i):\n    return a[as_index(i)]\n", compiled=False)
    assert namespace["f"](A, 1) == A[1]
    with pytest.raises(IndexError, match="said not to be negative"):
        namespace["f"](A, -1)
    with pytest.raises(IndexError):
        namespace["f"](A, 3)


def test_memory_that_nobody_wrote_shows() -> None:
    text = "import numpy as np\n\ndef f():\n    return np.empty(2), np.empty(2, np.int64), np.empty_like(np.ones(2))\n"
    floats, ints, like = load(text, compiled=False)["f"]()
    assert np.isnan(floats).all() and (ints < -(2**60)).all() and np.isnan(like).all()


def hand_on(a, b):
    a[0] = 2.0 * b[1]
    return a[0] * b[0] * b[1] + b[2]


SHARED = (A, np.array([0.3, 0.8, -0.2]))


def test_arrays_that_share_memory(monkeypatch):
    subject = Subject(hand_on, SHARED)
    sharing.check_sharing(subject)
    monkeypatch.setattr(Guard, "check", lambda *_: None)
    with pytest.raises(
        CheckFailure, match=r"jit of arrays that share memory|pure of arrays that share memory"
    ):
        sharing.check_sharing(subject)


def test_arrays_that_share_memory_and_are_read():
    def product(a, b):
        return a[0] * b[0] + a[1] * b[2]

    assert len(list(sharing._shared(Subject(product, SHARED)))) == 2
    sharing.check_sharing(Subject(product, SHARED))
