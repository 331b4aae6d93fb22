"""The user's source lines as comments of generated lines."""

from __future__ import annotations

import linecache

from adjit.ir.core import Span


def source_line(span: Span) -> str | None:
    """The line of the user's source, stripped; None where there is none."""
    text = linecache.getline(span.file, span.line).strip()
    return text or None
