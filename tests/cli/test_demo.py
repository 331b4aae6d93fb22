"""The command line: what it prints, and how it fails."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from adjit import UnsupportedError
from adjit.cli import app as application
from adjit.cli.demonstrate import DIFFERENCES, ROUNDS, Program, measure
from adjit.cli.demos import gauss_seidel, particles
from adjit.errors import DeviceError

LINES = ("loss", "gradient norm", "finite differences", "forward", "gradient / forward")


def run(*words: str):
    return CliRunner().invoke(application.app, words)


@pytest.mark.parametrize(
    ("words", "titles"),
    [
        (("demo", "particles", "--n", "40"), ("particles, N=40",)),
        (
            ("demo", "gauss-seidel", "--n", "5", "--sweeps", "3"),
            ("lexicographic Gauss-Seidel, n=5, K=3", "red-black Gauss-Seidel, n=5, K=3"),
        ),
    ],
)
def test_a_demonstration_prints_value_gradient_differences_and_times(words, titles):
    result = run(*words)
    assert result.exit_code == 0, result.output
    for expected in (*titles, *LINES):
        assert expected in result.output


@pytest.mark.parametrize(
    "program",
    [
        Program("particles", particles.density_loss, particles.inputs(60), step=1e-6),
        Program("lexicographic", gauss_seidel.lexicographic_loss, gauss_seidel.inputs(6, 4), step=1e-2),
        Program("red-black", gauss_seidel.red_black_loss, gauss_seidel.inputs(6, 4), step=1e-2),
    ],
    ids=lambda program: program.title,
)
def test_the_gradient_agrees_with_finite_differences(program):
    steps: list[None] = []
    found = measure(program, lambda: steps.append(None))
    assert found.loss == program.loss(*program.arguments)
    assert np.isfinite(found.gradient_norm)
    assert found.gradient_norm > 0
    assert found.worst_difference < 1e-5
    assert len(steps) == 2 + DIFFERENCES + ROUNDS


@pytest.mark.parametrize("name", ["particles", "red-black"])
def test_on_a_device_it_finds_what_it_finds_on_the_cpu(name):
    pytest.importorskip("pyopencl")
    step = 1e-6 if name == "particles" else 1e-2
    given = particles.inputs(60) if name == "particles" else gauss_seidel.inputs(6, 4)
    here, there = {
        "particles": (particles.density_loss, particles.density_loss_in_steps),
        "red-black": (gauss_seidel.red_black_loss, gauss_seidel.red_black_on_device),
    }[name]
    want = measure(Program(name, here, given, step))
    found = measure(Program(name, there, given, step, "opencl"))
    assert found.loss == pytest.approx(want.loss, rel=1e-12)
    assert found.gradient_norm == pytest.approx(want.gradient_norm, rel=1e-10)
    assert found.worst_difference < 1e-5


def test_the_command_runs_on_a_device():
    pytest.importorskip("pyopencl")
    result = run("demo", "gauss-seidel", "--n", "5", "--sweeps", "3", "--device", "opencl")
    assert result.exit_code == 0, result.output
    assert "red-black Gauss-Seidel, n=5, K=3" in result.output and "lexicographic" not in result.output


def test_a_device_without_its_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    result = run("demo", "particles", "--device", "cuda")
    assert isinstance(result.exception, DeviceError) and "adjit[cuda]" in str(result.exception)


def test_a_wrong_gradient_would_be_seen(monkeypatch):
    from adjit.cli import demonstrate

    right = demonstrate.aj.value_and_grad

    def wrong(loss):
        def call(*arguments):
            value, gradient = right(loss)(*arguments)
            return value, 1.01 * gradient

        return call

    monkeypatch.setattr(demonstrate.aj, "value_and_grad", wrong)
    program = Program("red-black", gauss_seidel.red_black_loss, gauss_seidel.inputs(6, 4), step=1e-2)
    assert measure(program).worst_difference == pytest.approx(0.01, rel=1e-3)


def test_inputs_are_the_same_for_the_same_seed():
    for inputs in (particles.inputs, gauss_seidel.inputs):
        np.testing.assert_array_equal(inputs(9)[0], inputs(9)[0])
        assert not np.array_equal(inputs(9)[0], inputs(9, seed=1)[0])


def test_version():
    result = run("--version")
    assert result.exit_code == 0
    assert result.output.split()[0] == "adjit"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("demo", "heat"), "gauss-seidel"),
        (("demo", "particles", "--n", "0"), "--n"),
        (("demo",), "particles"),
    ],
)
def test_wrong_words_are_explained(words, said):
    result = run(*words)
    assert result.exit_code == 2
    assert said in " ".join(result.output.replace("│", " ").split())


def test_an_error_of_adjit_is_a_message_and_not_a_traceback(monkeypatch, capsys):
    def refuse():
        raise UnsupportedError("'f' calls print", "take it out")

    monkeypatch.setattr(application, "app", refuse)
    with pytest.raises(SystemExit) as stopped:
        application.main()
    assert stopped.value.code == 1
    assert capsys.readouterr().err == "UnsupportedError: 'f' calls print\n  take it out\n"


@pytest.mark.parametrize("name", ["particles", "gauss_seidel"])
def test_the_examples_are_the_demonstrations(name):
    from pathlib import Path

    example = Path(__file__).resolve().parents[2] / "examples" / f"{name}.py"
    assert example.read_text() == Path(sys.modules[f"adjit.cli.demos.{name}"].__file__).read_text()
