"""The user's source lines as comments of generated lines."""

from __future__ import annotations

import linecache

from adjit.ir.core import Span

_WIDTH = 100


def source_line(span: Span) -> str | None:
    """The line of the user's source, stripped; None where there is none."""
    text = linecache.getline(span.file, span.line).strip()
    return text or None


def with_comment(text: str, quoted: str | None, indent: int) -> tuple[str, ...]:
    """The line with the quoted source behind it, or above it where that would be too wide."""
    if quoted is None or _bare(quoted) == _bare(text):
        return (text,)
    if indent + len(text) + 4 + len(quoted) <= _WIDTH:
        return (f"{text}  # {quoted}",)
    return f"# {quoted}", text


def _bare(text: str) -> str:
    return "".join(text.split("#")[0].split())
