"""Options and fixtures of the whole suite."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.old_pocl import name_processor


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write golden files instead of comparing")
    parser.addoption("--slow", action="store_true", help="run the tests marked `slow` too (make test-all)")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: part of a wide grid; only run with --slow (make test-all)")
    name_processor()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--slow"):
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with `golden/NAME.txt` beside the test, or writes it there with --update-golden."""
    folder = Path(request.path).parent / "golden"

    def compare(name: str, text: str) -> None:
        path = folder / f"{name}.txt"
        if request.config.getoption("--update-golden"):
            folder.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        assert path.exists(), f"no {path.name}: run pytest with --update-golden, and read what it wrote"
        assert text == path.read_text(encoding="utf-8"), (
            f"{path.name} differs: --update-golden, and read the difference"
        )

    return compare


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Generated programs run as plain Python: for wide grids, where compiling would take the time."""
    from adjit.api import engine

    monkeypatch.setenv("ADJIT_UNCOMPILED", "1")
    monkeypatch.setattr(engine, "_stores", OrderedDict())
    monkeypatch.setattr(engine, "_engines", {})
