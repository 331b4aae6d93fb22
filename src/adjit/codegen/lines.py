"""Layout of generated lines: indentation, comments, `elif`."""

from __future__ import annotations

INDENT = "    "
_WIDTH = 100


def with_comment(text: str, quoted: str | None, indent: int, mark: str = "#") -> tuple[str, ...]:
    """The line with the quoted source behind it, or above it where that would be too wide.

    mark: what comments begin with in the language of the line.
    """
    if quoted is None or _bare(quoted) == _bare(text):
        return (text,)
    if indent + len(text) + 4 + len(quoted) <= _WIDTH:
        return (f"{text}  {mark} {quoted}",)
    return f"{mark} {quoted}", text


def _bare(text: str) -> str:
    return "".join(text.split("#")[0].split())


def else_lines(lines: list[str], depth: int) -> list[str]:
    """`else:` and its lines; `elif` where they are one `if`."""
    inner = INDENT * (depth + 1)
    tops = [line for line in lines if line.startswith(inner) and not line[len(inner) :].startswith(" ")]
    heads = [line[len(inner) :] for line in tops]
    first = bool(heads) and heads[0].startswith("if ")
    if first and all(h.startswith(("elif ", "else:")) for h in heads[1:]):
        moved = [line.removeprefix(INDENT) for line in lines]
        moved[0] = moved[0].replace("if ", "elif ", 1)
        return moved
    return [f"{INDENT * depth}else:", *lines]
