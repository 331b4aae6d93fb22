"""The report of `aj.explain` by rich: colours, a table for each section; HTML for notebooks."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from adjit.api.report import Line, Report

_HTML = "<pre style='white-space:pre;overflow-x:auto;line-height:1.3'>{code}</pre>"


def rich_report(report: Report) -> RenderableType:
    """The report for a terminal."""
    head, *rest = report.summary()
    parts: list[RenderableType] = [Text(head, style="bold"), *(Text(f"  {line}") for line in rest), Text()]
    file = None
    for line in report.lines:
        if line.file != file:
            file = line.file
            parts.append(Text(f"{file}  (* carries derivatives)", style="dim"))
        parts += _line(line)
    for topic, facts in report.sections():
        table = Table("line", "what", title=topic, title_justify="left", title_style="bold")
        for fact in facts:
            table.add_row(str(fact.span.line), Text(fact.text))
        parts += [Text(), table]
    return Group(*parts)


def _line(line: Line) -> list[RenderableType]:
    mark = Text(f"{line.number:5d} ", style="dim")
    mark.append(" " if line.active is None else "*", style="bold green")
    mark.append(" ")
    code = Syntax("", "python", background_color="default").highlight(line.text)
    code.rstrip()
    indent = " " * (8 + len(line.text) - len(line.text.lstrip()))
    notes = [Text(f"{indent}| {fact.text}", style="cyan") for fact in line.facts]
    return [mark + code, *notes]


def html(report: Report) -> str:
    """The report for a notebook."""
    console = Console(record=True, file=io.StringIO(), width=140)
    console.print(rich_report(report))
    return console.export_html(inline_styles=True, code_format=_HTML)
