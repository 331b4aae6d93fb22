"""Dependencies point one way: design, section 3. Imports inside functions count as well."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "adjit"

# Each layer may import itself, `errors`, and the layers named here.
MAY_IMPORT = {
    "errors": {"ir"},
    "ir": set(),
    "rules": {"ir"},
    "frontend": {"ir", "rules"},
    "analysis": {"ir", "rules"},
    "transform": {"ir", "rules", "frontend", "analysis"},
    "codegen": {"ir", "rules", "frontend", "analysis", "transform"},
    "runtime": {"ir", "rules", "frontend", "analysis", "transform", "codegen"},
    "api": {"ir", "rules", "frontend", "analysis", "transform", "codegen", "runtime"},
    "interop": {"ir", "api"},
    "ode": {"ir", "api"},
    "indexed": {"ir", "api"},
}
# The package itself re-exports; the command line and the test support stand outside and may see everything below.
EVERYTHING = set(MAY_IMPORT) | {"adjit"}
MAY_IMPORT |= {
    "adjit": EVERYTHING,
    "testing": EVERYTHING,
    "cli": EVERYTHING | {"cli", "testing"},
    "__main__": {"cli"},
}

MODULES = sorted(SOURCE.rglob("*.py"))


def name_of(path: Path) -> str:
    """The dotted name of a module of adjit."""
    parts = ["adjit", *path.relative_to(SOURCE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer_of(module: str) -> str:
    """The folder, or top-level module, that a dotted name is in: "adjit" for the package itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "adjit"


def exists(module: str) -> bool:
    place = SOURCE.joinpath(*module.split(".")[1:])
    return place.is_dir() or place.with_suffix(".py").exists()


def imported_by(path: Path) -> Iterator[tuple[int, str]]:
    """Line and dotted name of each module of adjit that a file imports, anywhere in it."""
    package = name_of(path).split(".") if path.name == "__init__.py" else name_of(path).split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, node.module] if node.module else above)
            names = [
                f"{base}.{alias.name}" if exists(f"{base}.{alias.name}") else base for alias in node.names
            ]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name.split(".")[0] == "adjit")


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_down(path: Path):
    own = layer_of(name_of(path))
    assert own in MAY_IMPORT, f"{own} is a new layer: say in MAY_IMPORT what it may import"
    allowed = MAY_IMPORT[own] | {own, "errors"}
    wrong = [f"line {line}: {name}" for line, name in imported_by(path) if layer_of(name) not in allowed]
    assert not wrong, f"{own} may import only {sorted(allowed)}"


def test_imports_inside_functions_and_relative_ones_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(globals(), "SOURCE", tmp_path)
    (tmp_path / "ir").mkdir()
    (tmp_path / "ir" / "core.py").touch()
    (tmp_path / "api").mkdir()
    module = tmp_path / "ir" / "bad.py"
    module.write_text(
        "import numpy\ndef f():\n    from adjit import api\n    from ..api import grad\n    from . import core\n"
    )
    assert list(imported_by(module)) == [(3, "adjit.api"), (4, "adjit.api"), (5, "adjit.ir.core")]


def test_importing_adjit_does_not_import_the_command_line():
    import subprocess
    import sys

    check = "import adjit, sys; print([m for m in ('typer', 'rich', 'adjit.cli', 'adjit.testing') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", check], text=True).strip() == "[]"
