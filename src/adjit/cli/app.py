"""The `adjit` command: collects the subcommands and turns errors into messages."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer
from rich.console import Console

from adjit.cli.demo import demo
from adjit.cli.explain import explain
from adjit.cli.fuzz import fuzz
from adjit.errors import AdjitError

app = typer.Typer(
    name="adjit",
    help="Exact derivatives of Numba-style Python, at compiled speed.",
    no_args_is_help=True,
    add_completion=False,
)
app.command()(demo)
app.command()(explain)
app.command()(fuzz)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"adjit {version('adjit')}")
        raise typer.Exit


@app.callback()
def _options(  # pyright: ignore[reportUnusedFunction]
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; errors that adjit foresees are printed without a traceback, and exit with 1."""
    try:
        app()
    except AdjitError as error:
        console = Console(stderr=True)
        console.print(
            f"{type(error).__name__}: {error}", style="red", markup=False, highlight=False, soft_wrap=True
        )
        sys.exit(1)
