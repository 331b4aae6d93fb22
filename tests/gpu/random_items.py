"""Random kernels whose work items record numbers of values that depend on data: `while`, `break`, counts from arrays,
early returns, in place or not, of one or two axes, in loops over time."""

from __future__ import annotations

import random
from dataclasses import dataclass, field


@dataclass
class Writer:
    """Writes one program: kernels k0, k1, ... and `program(a, b, w, s, count, steps)`, which returns a number.

    w is read only, s is of float32, count of integers. `names` are a work item's numbers.
    """

    rng: random.Random
    ndim: int
    names: list[str] = field(default_factory=list)
    made: int = 0

    def program(self) -> str:
        """The text."""
        rng = self.rng
        kernels = [self.kernel(k) for k in range(rng.choice([1, 1, 2]))]
        calls: list[str] = []
        shape = rng.choice(["x.shape", "y.shape"]) if self.ndim > 1 else "len(x)"
        for k in range(len(kernels)):
            order = rng.choice(["y, x", "x, y", "z, x", "z, y"])
            calls.append(f"k{k}({order}, w, r, acc, count, {rng.choice(['0', 't'])}, ndrange={shape})")
        if rng.random() < 0.3:
            calls.append("x, y = y, x")
        body = "\n".join(f"        {c}" for c in calls)
        return (
            "import math\nimport numpy as np\nimport adjit as aj\n\n\n"
            + "\n".join(kernels)
            + "\n\ndef program(a, b, w, s, count, steps):\n    x, y, z = a * 1.0, b * 1.0, b * 0.5\n    r = s.copy()\n"
            + f"    acc = np.zeros(5)\n    for t in range(steps):\n{body}\n"
            + "    return np.sum(x * x) + np.sum(y * w) + np.sum(z * z * w) + np.sum(r) + np.sum(acc * acc)\n"
        )

    def kernel(self, k: int) -> str:
        rng = self.rng
        self.names, self.made = ["v0", "v1"], 0
        own = "i" if self.ndim == 1 else "i, j"
        lines = [f"{own} = aj.index({self.ndim})" if self.ndim > 1 else "i = aj.index()"]
        lines += [f"here = {'i' if self.ndim == 1 else 'i * out.shape[1] + j'}", "n = len(count)"]
        lines += [f"v0 = {self.read()}", f"v1 = {rng.choice(['0.3', self.read()])}"]
        if rng.random() < 0.3:
            lines += ["f = r[here % len(r)]" if self.ndim > 1 else "f = r[i]"]
            self.names.append("f")
        if rng.random() < 0.3:
            lines.append("c = np.zeros(3)")
            self.names.append("c[here % 3]")
        if rng.random() < 0.3:
            lines += [f"if {self.condition()}:", *indented([*self.stored(), "return"])]
        lines += self.block(0, False, rng.choice([2, 3]))
        if rng.random() < 0.8:
            lines += self.stored()
        if "f" in self.names and self.ndim == 1 and rng.random() < 0.5:
            lines.append(f"r[i] = {self.expression()}")
        head = f"@aj.kernel\ndef k{k}(out, src, w, r, acc, count, t):\n"
        return head + "".join(f"    {line}\n" for line in lines) + "\n"

    # statements

    def block(self, depth: int, inside: bool, most: int) -> list[str]:
        rng = self.rng
        lines: list[str] = []
        for _ in range(rng.randint(1, most)):
            kind = rng.choice(["set", "set", "if", "while", "for", "store", "local", "add"])
            if depth == 0 and not lines and rng.random() < 0.7:
                kind = rng.choice(["while", "for"])
            if depth > 2 and kind in ("while", "for", "if"):
                kind = "set"
            lines += getattr(self, f"_{kind}")(depth, inside)
        if inside and rng.random() < 0.3:
            lines += [f"if {self.condition()}:", f"    {rng.choice(['break', 'break', 'continue'])}"]
            lines += self._set(depth, inside)
        if depth and rng.random() < 0.08:
            lines += [f"if {self.condition()}:", *indented([*self.stored(), "return"])]
        return lines

    def _set(self, depth: int, inside: bool) -> list[str]:
        name = self.rng.choice(["v0", "v1", "v0", "v1", *(n for n in self.names if n != "f")])
        return [f"{name} = {self.expression()}"]

    def _if(self, depth: int, inside: bool) -> list[str]:
        lines = [f"if {self.condition()}:", *indented(self.block(depth + 1, inside, 2))]
        return (
            [*lines, "else:", *indented(self.block(depth + 1, inside, 2))]
            if self.rng.random() < 0.4
            else lines
        )

    def _while(self, depth: int, inside: bool) -> list[str]:
        turn = self.counter()
        body = self.block(depth + 1, True, 2)
        most = self.rng.choice(["3", "4", "7", "count[(here + 1) % n] + 1"])
        if self.rng.random() < 0.5:
            return [
                f"{turn} = 0",
                f"while {self.condition()} and {turn} < {most}:",
                f"    {turn} += 1",
                *indented(body),
            ]
        return [f"{turn} = 0", f"while {turn} < {most}:", f"    {turn} += 1", *indented(body)]

    def _for(self, depth: int, inside: bool) -> list[str]:
        q = self.counter()
        trips = self.rng.choice(
            ["count[here % n]", "count[(here + t) % n]", "3", "min(count[here % n], 2)", "here % 4"]
        )
        step = self.rng.choice(
            [f"range({trips})", f"range({trips})", f"range({trips}, 0, -1)", f"range(1, {trips}, 2)"]
        )
        body = self.block(depth + 1, True, 2)
        if self.rng.random() < 0.3:
            body.append(f"v1 = v1 * 0.9 + 0.05 * w[{self.place(q)}]")
        return [f"for {q} in {step}:", *indented(body)]

    def _store(self, depth: int, inside: bool) -> list[str]:
        own = "i" if self.ndim == 1 else "i, j"
        if self.rng.random() < 0.5:
            return [*self.stored(), f"v0 = {self.expression()} + 0.5 * out[{own}]"]
        return self.stored()

    def _local(self, depth: int, inside: bool) -> list[str]:
        if "c[here % 3]" not in self.names:
            return self._set(depth, inside)
        at = self.rng.choice(["here % 3", "(here + t) % 3", "0"])
        return [
            f"c[{at}] = {self.expression()}",
            f"v1 = v1 * 0.5 + 0.4 * c[{self.rng.choice(['1', 'here % 3'])}]",
        ]

    def _add(self, depth: int, inside: bool) -> list[str]:
        return [
            f"aj.atomic_add(acc, {self.rng.choice(['here % 5', 'count[here % n] % 5'])}, {self.expression()})"
        ]

    def stored(self) -> list[str]:
        own = "i" if self.ndim == 1 else "i, j"
        return [f"out[{own}] {self.rng.choice(['=', '=', '+='])} {self.expression()}"]

    # expressions

    def counter(self) -> str:
        self.made += 1
        return f"q{self.made}"

    def place(self, along: str) -> str:
        if self.ndim == 1:
            return f"(i + {along}) % len(w)"
        return self.rng.choice([f"(i + {along}) % w.shape[0], j", f"i, (j + {along}) % w.shape[1]"])

    def read(self) -> str:
        own = "i" if self.ndim == 1 else "i, j"
        return self.rng.choice([f"src[{own}]", f"w[{own}]", f"w[{self.place('1')}]", f"out[{own}]"])

    def condition(self) -> str:
        rng = self.rng
        a = rng.choice(self.names)
        return rng.choice(
            [
                f"{a} > {rng.choice(['0.2', '-0.3', '0.05'])}",
                f"abs({a}) < {rng.choice(['0.9', '0.4'])}",
                f"{a} * {rng.choice(self.names)} < 0.1",
                "count[here % n] > 1",
                f"src[{'i' if self.ndim == 1 else 'i, j'}] > {rng.choice(self.names)}",
            ]
        )

    def expression(self) -> str:
        rng = self.rng
        a, b = rng.choice(self.names), rng.choice(self.names)
        return rng.choice(
            [
                f"math.sin({a} + 0.7 * {b})",
                f"0.8 * {a} - 0.3 * {b} * {a}",
                f"{a} * math.cos({b})",
                f"0.5 * {a} + 0.4 * {self.read()}",
                f"math.exp(-{a} * {a}) * {self.read()}",
                f"max({a}, 0.3 * {b}) * 0.9",
                f"{a} / (1.0 + {b} * {b})",
            ]
        )


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def random_items(seed: int) -> tuple[str, int]:
    """A program's text, and how many axes its arrays have."""
    rng = random.Random(seed)
    ndim = rng.choice([1, 1, 2])
    return Writer(rng, ndim).program(), ndim
