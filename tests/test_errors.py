"""Gates how an error looks: file, line, caret under the offending text, reason, remedy."""

from __future__ import annotations

import linecache

import pytest

from adjit.errors import UnsupportedError
from adjit.ir.core import Span

TEXT = "def f(x):\n    return g(x) + 1\n\tindented\n\n"


@pytest.fixture(autouse=True)
def source() -> None:
    linecache.cache["user.py"] = (len(TEXT), None, TEXT.splitlines(keepends=True), "user.py")


@pytest.mark.parametrize(
    ("span", "under"),
    [
        (Span("user.py", 2, 11, 2, 15), "           ^^^^"),
        (Span("user.py", 2), "    ^^^^^^^^^^^^^^^"),  # no column known: the line's own text
        (Span("user.py", 2, 0, 2, 0), "    ^^^^^^^^^^^^^^^"),
        (Span("user.py", 2, 11, 3, 4), "           ^^^^^^^^"),  # goes on in the next line
        (Span("user.py", 1, 0, 2, 5), "^^^^^^^^^"),
        (Span("user.py", 3), "\t^^^^^^^^"),
    ],
)
def test_caret(span: Span, under: str) -> None:
    error = UnsupportedError("no", "do that", span)
    lines = str(error).splitlines()
    assert lines[0] == "no"
    assert lines[1] == f'  File "user.py", line {span.line}'
    assert lines[3] == "    " + under
    assert lines[4] == "  do that"


def test_blank_and_missing_lines_have_no_caret() -> None:
    assert "^" not in str(UnsupportedError("no", span=Span("user.py", 4)))
    assert "^" not in str(UnsupportedError("no", span=Span("nowhere.py", 4)))
    assert str(UnsupportedError("no")) == "no"
