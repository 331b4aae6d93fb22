"""Documentation is checked: every python block runs, every link leads somewhere, every make goal exists.

The blocks of one page are one program: a later block may use what an earlier one defined.
"""

from __future__ import annotations

import linecache
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def page_name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def program_of(page: Path) -> str:
    """The page's python blocks, each at its own line, so that a traceback names the line of the page."""
    text = page.read_text(encoding="utf-8")
    lines = [""] * text.count("\n")
    for block in FENCE.finditer(text):
        if block[1] == "python":
            first = text.count("\n", 0, block.start(2))
            lines[first : first + block[2].count("\n")] = block[2].splitlines()
    return "\n".join(lines)


PROGRAMS = [page for page in PAGES if program_of(page).strip()]


@pytest.mark.parametrize("page", PROGRAMS, ids=page_name)
def test_the_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    source = program_of(page)
    file = tmp_path / f"{page.stem}.py"  # on disk, because adjit reads the source of what it differentiates
    file.write_text(source, encoding="utf-8")
    linecache.checkcache(str(file))
    exec(compile(source, str(file), "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_lead_somewhere(page: Path):
    links = [link.split("#")[0] for link in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8")))]
    lost = [link for link in links if link and "://" not in link and not (page.parent / link).exists()]
    assert not lost


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_goals_of_make_exist(page: Path):
    goals = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    shell = "\n".join(
        block[2] for block in FENCE.finditer(page.read_text(encoding="utf-8")) if block[1] == "sh"
    )
    assert set(re.findall(r"^make ([a-z]+)", shell, re.MULTILINE)) <= goals


def test_the_pages_are_found():
    assert ROOT / "README.md" in PROGRAMS
    assert ROOT / "docs" / "tutorial.md" in PROGRAMS
