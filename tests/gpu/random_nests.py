"""Random programs of kernels that read neighbours: of one to three axes, with guards, ends, rings, colours, in place or not."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

NAMES = "ijk"


@dataclass
class Writer:
    """Writes one program; `lines` are those of its kernels, `calls` of its host function."""

    rng: random.Random
    ndim: int
    lines: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    kernels: int = 0

    def program(self) -> str:
        """The text: kernels k0, k1, ... and `program(a, b, w, at, steps)`, which returns a number."""
        for _ in range(self.rng.choice([1, 2, 2])):
            if self.rng.random() < 0.7:
                self.kernel()
            else:
                self.loops()
        body = "\n".join(f"        {c}" for c in self.calls)
        return (
            "import math\nimport numpy as np\nimport adjit as aj\nfrom numba import prange\n\n\n"
            + "\n".join(self.lines)
            + "\n\ndef program(a, b, w, at, steps):\n    x, y = a * 1.0, b * 1.0\n    z = np.zeros_like(a)\n"
            + f"    for t in range(steps):\n{body}\n"
            + "    return np.sum(x * x) + np.sum(y * w) + np.sum(z * z * w)\n"
        )

    # loops

    def loops(self) -> None:
        """Loops of the host function, over all or a part of the elements, some in steps."""
        rng, axes = self.rng, NAMES[: self.ndim]
        margin = rng.choice([0, 1, 2])
        out, src = rng.choice([("y", "x"), ("z", "x"), ("x", "y"), ("z", "y")])
        self.calls += [f"n{k} = {src}.shape[{d}]" for d, k in enumerate(axes)]
        for d, k in enumerate(axes):
            start = margin + rng.choice([0, 0, 1])
            step = "" if d == 0 else rng.choice(["", "", ", 2", ", 3"])
            stop = f"n{k} - {margin}" if margin else f"n{k}"
            self.calls.append(f"{'    ' * d}for {k} in {'range' if d else 'prange'}({start}, {stop}{step}):")
        body = [
            line.replace("out[", f"{out}[").replace("src[", f"{src}[") for line in self.body(False, margin)
        ]
        if rng.random() < 0.3:
            body = [f"if w[{', '.join(axes)}] > 0.0:", *(f"    {line}" for line in body)]
        self.calls += ["    " * len(axes) + line for line in body]

    # kernels

    def kernel(self) -> None:
        rng, axes = self.rng, NAMES[: self.ndim]
        name = f"k{self.kernels}"
        self.kernels += 1
        in_place = rng.random() < 0.35
        head = f"@aj.kernel\ndef {name}(out, src, w, at, colour):\n"
        index = (
            f"    {', '.join(axes)} = aj.index({self.ndim})\n" if self.ndim > 1 else "    i = aj.index()\n"
        )
        sizes = "".join(f"    n{k} = src.shape[{d}]\n" for d, k in enumerate(axes))
        margin = rng.choice([1, 1, 2]) if in_place or rng.random() < 0.6 else 0
        guards = [f"{margin} <= {k} < n{k} - {margin}" for k in axes] if margin else []
        if in_place:
            guards.append(f"({' + '.join(axes)}) % 2 == colour")
        elif rng.random() < 0.3:
            guards.append(
                rng.choice([f"{axes[0]} % 2 == colour", f"({' + '.join(axes)}) % 3 != colour", "w[{}] > 0.1"])
            )
            guards[-1] = guards[-1].format(", ".join(axes))
        rng.shuffle(guards)
        lines = self.guarded(guards, in_place, margin)
        self.lines.append(head + index + sizes + "".join(f"    {line}\n" for line in lines) + "\n")
        arrays = rng.choice(["x, x", "y, y"]) if in_place else rng.choice(["y, x", "z, x", "x, y", "z, y"])
        colour = rng.choice(["0", "1", "t % 2"])
        shape = rng.choice(["x.shape", "y.shape"]) if self.ndim > 1 else "len(x)"
        self.calls.append(f"{name}({arrays}, w, at, {colour}, ndrange={shape})")
        if rng.random() < 0.4 and not in_place:
            self.calls.append(rng.choice(["x, y = y, x", "x = x * 0.5 + y * 0.1"]))

    def guarded(self, guards: list[str], in_place: bool, margin: int) -> list[str]:
        body = self.body(in_place, margin)
        if not guards:
            return body
        kind = self.rng.choice(["and", "and", "return", "nested"])
        if kind == "return":
            return [*(f"if not ({g}):\n        return" for g in guards), *body]
        if kind == "nested" and len(guards) > 1:
            inner = [f"    if {' and '.join(guards[1:])}:", *(f"        {line}" for line in body)]
            return [f"if {guards[0]}:", *inner]
        return [f"if {' and '.join(guards)}:", *(f"    {line}" for line in body)]

    def body(self, in_place: bool, margin: int) -> list[str]:
        rng, axes = self.rng, NAMES[: self.ndim]
        here = f"[{', '.join(axes)}]"
        reads = [f"src[{self.place(in_place, margin)}]" for _ in range(rng.choice([2, 3, 4, 5]))]
        lines = [f"v{k} = {r}" for k, r in enumerate(reads)]
        names = [f"v{k}" for k in range(len(reads))]
        if rng.random() < 0.5:
            lines.append(f"c = w{here}")
            names.append("c")
        if in_place and rng.random() < 0.5:
            lines.append(f"own = src{here}")
            names.append("own")
        if not in_place and rng.random() < 0.15:
            others = "".join(f", {k}" for k in axes[1:])
            lines.append(f"far = src[at[i]{others}]")
            names.append("far")
        op = rng.choice(["=", "=", "+="])
        lines.append(f"out{here} {op} {self.expression(names)}")
        return lines

    def place(self, in_place: bool, margin: int) -> str:
        """An index: in place, one of the other colour."""
        rng, axes = self.rng, NAMES[: self.ndim]
        if in_place:
            moved = rng.choice(axes)
            by = rng.choice([o for o in (-1, 1, -3, 3) if abs(o) <= margin])
            return ", ".join(_moved(k, by) if k == moved else k for k in axes)
        return ", ".join(self.along(k, margin) for k in axes)

    def along(self, k: str, margin: int) -> str:
        rng = self.rng
        o = rng.choice([0, 0, 1, -1, 2, -2])
        kind = rng.choice(["straight", "straight", "ring", "clamp", "wrap"])
        if o == 0 or (kind == "straight" and abs(o) <= margin):
            return _moved(k, o)
        if kind == "ring":
            return f"({_moved(k, o)}) % n{k}"
        if kind == "clamp":
            return f"max({_moved(k, o)}, 0)" if o < 0 else f"min({_moved(k, o)}, n{k} - 1)"
        return _moved(k, -abs(o))  # counted from the end

    def expression(self, names: list[str]) -> str:
        rng = self.rng
        terms = []
        for v in names:
            other = rng.choice(names)
            terms.append(
                rng.choice(
                    [
                        f"0.25 * {v}",
                        f"{v}",
                        f"0.1 * {v} * {other}",
                        f"0.1 * math.sqrt(1.0 + {v} * {v})",
                        f"0.1 * max({v}, {other})",
                        f"0.1 * min({v}, 0.2) * {other}",
                        f"0.1 * math.exp(-{v} * {v})",
                        f"0.1 * math.sin({v} / (1.0 + {other} * {other}))",
                    ]
                )
            )
        signs = [rng.choice(["+", "-"]) for _ in terms[1:]]
        text = (
            f"0.3 * ({terms[0]}" + "".join(f" {s} {t}" for s, t in zip(signs, terms[1:], strict=True)) + ")"
        )
        return text


def _moved(k: str, by: int) -> str:
    return k if by == 0 else f"{k} {'+' if by > 0 else '-'} {abs(by)}"


def random_program(seed: int) -> tuple[str, int]:
    """A program's text, and how many axes its arrays have."""
    rng = random.Random(seed)
    ndim = rng.choice([1, 2, 2, 2, 3])
    return Writer(rng, ndim).program(), ndim
