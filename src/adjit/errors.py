"""Every error that adjit raises for the user's sake: file, line, caret, reason, remedy."""

from __future__ import annotations

import linecache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adjit.ir.core import Span


class AdjitError(Exception):
    """Base of all errors. `span` is the place in the user's source, if there is one."""

    def __init__(self, reason: str, remedy: str = "", span: Span | None = None):
        self.reason, self.remedy, self.span = reason, remedy, span
        super().__init__(_message(reason, remedy, span))


class UnsupportedError(AdjitError, NotImplementedError):
    """The program uses something that adjit cannot differentiate."""


class MissingRuleError(AdjitError):
    """A call has no known derivative."""


class ArgumentError(AdjitError, ValueError):
    """An argument does not fit: its type, structure, shape, dtype, layout, aliasing or writability."""


class CallError(ArgumentError, TypeError):
    """A call without an argument, or with one too many or unknown: also the TypeError of Python's own call."""


class MemoryLimitError(AdjitError, MemoryError):
    """A record would not fit in memory."""


class DeviceError(AdjitError, RuntimeError):
    """A device is missing or failed."""


class CheckError(AdjitError, AssertionError):
    """A check (`check_grad`, `debug_nans`, `check_races`) found a fault."""


def _message(reason: str, remedy: str, span: Span | None) -> str:
    lines = [reason]
    if span is not None and span.line > 0:
        lines.append(f'  File "{span.file}", line {span.line}')
        text = linecache.getline(span.file, span.line).rstrip("\n")
        if text.strip():
            lines += [f"    {text}", f"    {_caret(text, span)}"]
    if remedy:
        lines.append(f"  {remedy}")
    return "\n".join(lines)


def _caret(text: str, span: Span) -> str:
    start = max(span.column, len(text) - len(text.lstrip()))
    end = span.end_column if span.end_line == span.line and span.end_column > start else len(text)
    pad = "".join("\t" if c == "\t" else " " for c in text[:start])
    return pad + "^" * max(1, end - start)
