"""Gates: the text, the verifier and the last step of operations of whole arrays."""

from __future__ import annotations

import re

import numpy as np
import pytest

import adjit as aj
from adjit.codegen.accumulate import accumulated
from adjit.ir.core import Alloc, Function, Sym, Whole, const
from adjit.ir.parser import parse
from adjit.ir.printer import to_text
from adjit.ir.types import FLOAT64, Array
from adjit.ir.verify import verify
from adjit.testing.interpret import interpret
from adjit.transform.clean import clean

from .programs import A, B, numbers

TEXT = """\
function f(a: array(float64, 2d, C), b: array(float64, 2d, C)):
  w: array(float64, 1d, C) = alloc (2:int64)
  v: array(float64, 2d, C) = alloc (2:int64, 2:int64)
  whole w, v = eigh(a)
  c: array(float64, 2d, C) = alloc (2:int64, 2:int64)
  whole c = matmul(v, b)
  return w, c
"""


def test_the_text_is_read_back_and_means_the_same() -> None:
    f = verify(parse(TEXT))
    assert to_text(f) == TEXT
    a, b = numbers(2, 2), numbers(2, 2, seed=1)
    w, c = interpret(f, (a, b))
    values, vectors = np.linalg.eigh(a)
    np.testing.assert_allclose(w, values)
    np.testing.assert_allclose(c, vectors @ b)


def test_the_verifier_knows_results() -> None:
    m = Array(FLOAT64, 2, "C")
    a, c = Sym("a", m), Sym("c", m)
    made = Alloc(c, (const(2), const(2)))
    for outs, args, why in (((c, c), (a,), "two results"), ((c,), (c,), "read and written")):
        f = Function("f", (a,), (made, Whole(outs, "inv", args)), (c,))
        with pytest.raises(AssertionError, match=why):
            verify(f)


def test_what_nobody_reads_is_dropped_unless_it_may_raise() -> None:
    text = TEXT.replace("return w, c", "return w")
    f = parse(text)
    assert "matmul" not in to_text(clean(f, keep_raising=True))
    assert "eigh" in to_text(clean(f))
    g = parse(text.replace("return w", "return"))
    assert "eigh" in to_text(clean(g, keep_raising=True)) and "eigh" not in to_text(clean(g))


SUM = """\
function f(x: array(float64, 2d, C), y: array(float64, 2d, C), s: array(float64, 2d, C)):
  n: int64 = dim(x, 0:int64)
  m: int64 = dim(y, 1:int64)
  t: array(float64, 2d, C) = alloc (n, m)
  whole t = matmul(x, y)
  sn: int64 = dim(s, 0:int64)
  sm: int64 = dim(s, 1:int64)
  for i: int64 in range(0:int64, sn, 1:int64):
    for j: int64 in range(0:int64, sm, 1:int64):
      p: float64 = load s[i, j]
      q: float64 = load t[i, j]
      r: float64 = add(p, q)
      store s[i, j] = r
  return
"""


def test_sums_of_products_are_one_call() -> None:
    assert "whole s = matmul_add(x, y)" in to_text(accumulated(parse(SUM)))
    assert "for" not in to_text(accumulated(parse(SUM)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("add(p, q)", "sub(p, q)"),
        ("range(0:int64, sm", "range(0:int64, m"),
        ("range(0:int64, sn", "range(1:int64, sn"),
        ("matmul(x, y)", "matmul(x, s)"),
        ("load t[i, j]", "load t[j, i]"),
        ("  return", "  e: float64 = load t[0:int64, 0:int64]\n  return e"),
    ],
)
def test_other_sums_stay(old: str, new: str) -> None:
    assert "matmul_add" not in to_text(accumulated(parse(SUM.replace(old, new))))


def test_compiled_sums_of_products() -> None:
    def f(a, b):
        c = a @ b
        return np.sum(c * c) + np.sum(a[:, 1:] @ b[1:])

    for a, b in ((A, B), (np.asfortranarray(A), B), (A[:, ::2], B[::2]), (A[:0], B), (A, B[:, :0])):
        da, db = aj.grad(f, wrt=(0, 1))(a, b)
        one = np.ones((len(a), b.shape[1]))
        expected = 2 * (a @ b) @ b.T, 2 * a.T @ (a @ b)
        expected[0][:, 1:] += one @ b[1:].T
        expected[1][1:] += a[:, 1:].T @ one
        np.testing.assert_allclose(da, expected[0], rtol=1e-12)
        np.testing.assert_allclose(db, expected[1], rtol=1e-12)
    assert re.search(r"dot_add\(\w+, \w+, da\w*\)", aj.grad(f, wrt=(0, 1)).source(A, B))


STORED = (
    SUM.replace("      p: float64 = load s[i, j]\n", "")
    .replace("      r: float64 = add(p, q)\n", "")
    .replace("= r", "= q")
)
CLEARED = STORED.replace(
    "  for i: int64 in range(0:int64, sn",
    "  for k: int64 in range(0:int64, sn, 1:int64):\n    store s[k, 0:int64] = 0.0:float64\n  for i: int64 in range(0:int64, sn",
)


@pytest.mark.parametrize("text", [STORED, CLEARED], ids=["stored", "cleared"])
def test_products_are_made_where_they_are_stored(text: str) -> None:
    assert "whole s = matmul(x, y)" in to_text(accumulated(parse(text)))
    assert "load" not in to_text(accumulated(parse(text)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("range(0:int64, sm", "range(0:int64, m"),
        ("range(0:int64, sn, 1:int64):\n    for", "range(1:int64, sn, 1:int64):\n    for"),
        ("matmul(x, y)", "matmul(x, s)"),
        ("load t[i, j]", "load t[j, i]"),
        ("s: array(float64, 2d, C)", "s: array(float64, 2d, F)"),
        ("store s[k, 0:int64] = 0.0:float64", "store x[k, 0:int64] = 0.0:float64"),
        ("  return", "  e: float64 = load t[0:int64, 0:int64]\n  return e"),
    ],
)
def test_other_stores_stay(old: str, new: str) -> None:
    assert "whole s" not in to_text(accumulated(parse(CLEARED.replace(old, new))))


def test_compiled_products_are_made_where_they_are_stored() -> None:
    def f(a, b):
        c = np.maximum(a @ b, 0.1)
        return np.sum(c * c)

    for a, b in (
        (A, B),
        (np.asfortranarray(A), B),
        (A[:, ::2], B[::2]),
        (A[:0], B),
        (A, B[:, :0]),
        (A[:, :0], B[:0]),
    ):
        da, db = aj.grad(f, wrt=(0, 1))(a, b)
        slope = np.where(a @ b >= 0.1, 2 * (a @ b), 0.0)
        np.testing.assert_allclose(da, slope @ b.T, rtol=1e-12)
        np.testing.assert_allclose(db, a.T @ slope, rtol=1e-12)
    assert re.search(r"np\.dot\(\w+, \w+, da\)", aj.grad(f, wrt=(0, 1)).source(A, B))
