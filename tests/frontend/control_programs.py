"""Random programs made of control flow only: nested loops, exits, conditionally bound names, rebound names."""

from __future__ import annotations

import random


class Writer:
    """Writes one function `f(x, n)` from a seed; every loop is bounded."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.count = 0
        self.budget = self.random.randint(6, 30)

    def source(self) -> str:
        """The program's text."""
        self.lines = ["def f(x, n):", "    s = 0"]
        for name in self.random.sample(["a", "b", "c", "i", "j"], self.random.choice([3, 4, 5, 5, 5])):
            self.lines.append(f"    {name} = {self.random.randint(-2, 3)}")
        if self.random.random() < 0.3:
            self.lines += ["    def g(k):", f"        return k + {self.random.choice('abcs')}"]
            self.nested = True
        else:
            self.nested = False
        self.block(1, 0)
        if self.random.random() < 0.8:
            self.lines.append(f"    return s, {self.name()}, {self.name()}")
        else:
            self.lines.append("    return s, 0, 0")
        return "\n".join(self.lines) + "\n"

    def name(self) -> str:
        return self.random.choice(["a", "b", "c", "i", "j"])

    def value(self) -> str:
        r = self.random
        pick = r.random()
        if pick < 0.3:
            return str(r.randint(-3, 4))
        if pick < 0.6:
            return self.name()
        if pick < 0.7:
            return f"x[{r.randint(0, 3)}]"
        if pick < 0.8:
            return f"({self.name()} + {self.name()})"
        if pick < 0.85 and self.nested:
            return f"g({self.name()})"
        if pick < 0.9:
            return f"({self.value()} if {self.test()} else {self.value()})"
        return "s % 7"

    def test(self) -> str:
        r = self.random
        pick = r.random()
        if pick < 0.5:
            return f"{self.name()} {r.choice(['<', '>', '==', '<=', '!='])} {self.value()}"
        if pick < 0.7:
            return f"s % {r.randint(2, 4)} == {r.randint(0, 2)}"
        if pick < 0.8:
            return f"not ({self.test()})"
        if pick < 0.9:
            return f"({self.test()} {r.choice(['and', 'or'])} {self.test()})"
        return f"{self.value()} < {self.name()} < {self.value()}"

    def block(self, depth: int, loops: int) -> None:
        for _ in range(self.random.randint(1, 4)):
            self.statement(depth, loops)

    def emit(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def statement(self, depth: int, loops: int) -> None:
        self.budget -= 1
        r = self.random
        pick = r.random()
        if self.budget < 0 or depth > 6:
            pick *= 0.45
        if pick < 0.15:
            self.emit(depth, f"s = s * 3 % 1009 + {self.value()}")
        elif pick < 0.25:
            self.emit(depth, f"{self.name()} = {self.value()}")
        elif pick < 0.28:
            self.emit(depth, f"{self.name()} += {self.value()}")
        elif pick < 0.31:
            self.emit(depth, f"x[{r.randint(0, 3)}] = {self.value()} % 11")
        elif pick < 0.34:
            a, b = self.name(), self.name()
            self.emit(depth, f"{a}, {b} = {self.value()}, {self.value()}")
        elif pick < 0.45:
            options = ["pass", f"s += {self.value()}"]
            options += ["break", "continue", "break", "continue"] if loops else []
            options += ["return s, 1, 2"] if r.random() < 0.5 else []
            options += ["raise ValueError('no')"] if r.random() < 0.2 else []
            self.emit(depth, r.choice(options))
        elif pick < 0.7:
            self.branch(depth, loops)
        elif pick < 0.9:
            self.for_(depth, loops)
        else:
            self.while_(depth, loops)

    def branch(self, depth: int, loops: int) -> None:
        self.emit(depth, f"if {self.test()}:")
        self.block(depth + 1, loops)
        if self.random.random() < 0.3:
            self.emit(depth, f"elif {self.test()}:")
            self.block(depth + 1, loops)
        if self.random.random() < 0.5:
            self.emit(depth, "else:")
            self.block(depth + 1, loops)

    def for_(self, depth: int, loops: int) -> None:
        r = self.random
        bounds = r.choice(["n", "3", "1, n", "n, 0, -1", f"{self.name()} % 4", "0, 5, 2"])
        over = r.choice([f"range({bounds})"] * 5 + ["x", "(1, 2, n)", f"reversed(range({bounds}))"])
        self.emit(depth, f"for {self.name()} in {over}:")
        self.block(depth + 1, loops + 1)
        self.orelse(depth, loops)

    def while_(self, depth: int, loops: int) -> None:
        self.count += 1
        k = f"k{self.count}"
        self.emit(depth, f"{k} = 0")
        test = self.random.choice(
            [f"{k} < {self.random.randint(1, 4)}", f"{k} < 5 and {self.test()}", "True"]
        )
        self.emit(depth, f"while {test}:")
        self.emit(depth + 1, f"{k} += 1")
        if test == "True":
            self.emit(depth + 1, f"if {k} > {self.random.randint(1, 4)}:")
            self.emit(depth + 2, "break" if self.random.random() < 0.7 else "return s, 7, 7")
        self.block(depth + 1, loops + 1)
        self.orelse(depth, loops)

    def orelse(self, depth: int, loops: int) -> None:
        if self.random.random() < 0.25:
            self.emit(depth, "else:")
            self.block(depth + 1, loops)
