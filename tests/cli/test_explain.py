"""`adjit explain file.py:f`."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

import adjit as aj
from adjit.cli.app import app

PROGRAM = """
import numpy as np
import adjit as aj

def loss(x, k):
    s = 0.0
    for i in range(len(x)):
        s += k * x[i] * x[i]
    return s

gradient = aj.grad(loss)

@aj.kernel
def scale(y, x):
    i = aj.index()
    y[i] = 2.0 * x[i]
{more}
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "explained_program.py"
    path.write_text(PROGRAM.format(more="def example():\n    return np.ones(3), 2.0\n"))
    return path


def run(*args):
    return CliRunner().invoke(app, ["explain", *map(str, args)])


def test_arguments_from_an_expression(program):
    found = run(f"{program}:loss", "--plain", "--args", "np.ones(9), 0.5")
    assert found.exit_code == 0, found.output
    assert "with respect to: x, k" in found.stdout and "s += k * x[i] * x[i]" in found.stdout


def test_arguments_from_the_example(program):
    found = run(f"{program}:gradient", "--plain")
    assert found.exit_code == 0 and "with respect to: x\n" in found.stdout
    assert "loss" in run(f"{program}:loss").stdout


def test_keywords(program):
    found = run(f"{program}:scale", "--plain", "--args", "np.ones(3), np.ones(3), dict(ndrange=3)")
    assert found.exit_code == 0 and "with respect to: y, x" in found.stdout


def test_html(program, tmp_path):
    page = tmp_path / "page.html"
    assert run(f"{program}:loss", "--html", page).exit_code == 0
    assert page.read_text().startswith("<pre")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("loss",), "is not file.py:name"),
        (("{program}:missing",), "has no function 'missing'"),
        (("nowhere.py:f",), "there is no file"),
        (("{program}:loss", "--args", "np.ones(3"), "SyntaxError"),
    ],
)
def test_what_is_wrong_is_said(program, args, message):
    found = run(*(a.format(program=program) for a in args))
    assert isinstance(found.exception, aj.ArgumentError)
    assert message in str(found.exception)
