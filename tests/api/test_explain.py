"""`explain`: its facts are those of the program that runs: sizes of records, choices, lines."""

from __future__ import annotations

import functools
import inspect
import math

import numpy as np
import pytest
from numba import njit, prange

import adjit as aj
from adjit.transform.facts import (
    Kept,
    Parallel,
    Promoted,
    PulledSum,
    Recomputed,
    Recorded,
    RolledBack,
    Ruled,
    Shadow,
    Trusted,
    ZeroSlope,
)


def line(f, text):
    """The number of the line of f that has the text."""
    source, first = inspect.getsourcelines(f)
    return next(n for n, t in enumerate(source, first) if text in t)


def burgers(u, dt, steps):
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            u[i] = u[i] - dt * u[i] * (u[i] - u[i - 1])
    return u[len(u) // 2]


def linear(u, steps):
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            u[i] = 0.5 * (u[i - 1] + u[i + 1])
    return u[1]


def branching(x):
    s = 1.0
    for i in range(len(x)):
        if x[i] > 0.0:
            s = math.sin(s) * x[i]
    return s


def scratch(x, work):
    s = 0.0
    for i in range(len(x)):
        work[i] = x[i] * x[i]
    for i in range(len(x)):
        s += work[i] * x[i]
    return s


def mixed(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i]
    return s


def stepped(x):
    return np.floor(x) * x + int(x) + aj.stop_gradient(x)


@aj.custom_vjp
def ruled(x):
    return x * x


ruled.defvjp(lambda x: (x * x, (x,)), lambda res, ct: (2 * res[0] * ct,))


def uses_a_rule(x):
    return ruled(x) * x


def around(x):
    s = 0.0
    for i in prange(1, len(x) - 1):
        s += x[i - 1] * x[i + 1] * x[i]
    return s


def looked_up(x, at):
    s = 0.0
    for i in prange(len(at)):
        s += math.sin(x[at[i]]) * x[at[i]]
    return s


def chained(x):
    y = np.zeros(len(x))
    v = 0.0
    for i in prange(len(x)):
        v = x[i] + 0.5 * v * v
        y[i] = v
    return y[3]


@aj.kernel
def scaled(y, alpha, x):
    i = aj.index()
    y[i] = alpha * x[i] * x[i]


def saved_bytes(pullback):
    """Bytes of the arrays that a pullback owns."""
    return sum(a.nbytes for a in pullback._saved if isinstance(a, np.ndarray))


class TestRecords:
    def test_a_store_that_is_rolled_back(self):
        report = aj.explain(burgers, np.linspace(0, 1, 12), 0.1, 7)
        (fact,) = report.of(RolledBack)
        assert (fact.span.line, fact.size, fact.times, fact.most) == (line(burgers, "u[i] ="), 8, 70, False)
        assert not report.of(Recorded)
        assert report.record_bytes == fact.total == 560

    @pytest.mark.usefixtures("uncompiled")
    @pytest.mark.parametrize(
        ("f", "args"),
        [
            (burgers, (np.linspace(0, 1, 12), 0.1, 7)),
            (branching, (np.linspace(1, 2, 9),)),
            (linear, (np.ones(9), 3)),
            (scratch, (np.ones(5), np.zeros(5))),
        ],
        ids=lambda v: getattr(v, "__name__", ""),
    )
    def test_the_bytes_are_those_of_the_program(self, f, args):
        """What a pullback owns: records, kept arrays and copies; an unused record of unknown size has 256 places."""
        names = inspect.signature(f).parameters
        report = aj.explain(f, *args)
        kept = sum(k.size for k in report.of(Kept))
        _, pullback = aj.vjp(f, *[a.copy() if isinstance(a, np.ndarray) else a for a in args])
        owned = saved_bytes(pullback)
        private = sum(a.nbytes for n, a in zip(names, args, strict=True) if isinstance(a, np.ndarray))
        most = report.record_bytes + kept + private
        slack = 256 * 8 * 3 if any(r.most for r in (*report.of(Recorded), *report.of(RolledBack))) else 0
        assert report.record_bytes <= owned <= most + slack

    def test_a_linear_program_has_none(self):
        report = aj.explain(linear, np.ones(9), 5)
        assert not report.of(Recorded) and not report.of(RolledBack)
        assert report.record_bytes == 0
        assert "records: none" in str(report)
        assert "Recorded" not in str(report) and "Rolled back" not in str(report)

    def test_in_a_branch_the_count_is_a_bound(self):
        report = aj.explain(branching, np.ones(6))
        found = [r for r in report.of(Recorded) if r.most]
        assert found and all(r.times == 6 for r in found)
        assert all(r.span.line in range(*_lines(branching)) for r in found)

    def test_a_loop_of_unknown_length_has_no_total(self):
        def newton(x):
            y = x
            while y * y - x > 1e-9:
                y = 0.5 * (y + x / y)
            return y

        report = aj.explain(newton, 2.0)
        assert report.record_bytes is None
        assert any(r.times is None and r.why.startswith("each turn") for r in report.of(Recorded))
        assert "depends on data" in str(report)


def _lines(f):
    source, first = inspect.getsourcelines(f)
    return first, first + len(source)


class TestFacts:
    def test_what_is_active(self):
        report = aj.explain(burgers, np.ones(9), 0.1, 2)
        found = {n.number: n.active for n in report.lines if n.active is not None}
        assert {n: set(names) for n, names in found.items()} == {
            line(burgers, "u[i] ="): {"u", "dt"},
            line(burgers, "return"): {"u"},
        }
        report = aj.explain(burgers, np.ones(9), aj.Const(0.1), 2)
        assert {n.active for n in report.lines if n.active is not None} == {("u",)}
        assert line(burgers, "for _ in") not in found

    def test_a_scratch_buffer_under_const_has_a_shadow(self):
        for work in (aj.Const(np.zeros(6)), np.zeros(6)):
            report = aj.explain(scratch, np.ones(6), work)
            shadows = report.of(Shadow)
            assert [(s.name, s.size) for s in shadows] == (
                [("work", 48)] if isinstance(work, aj.Const) else []
            )
        assert report.active == ("x", "work")

    def test_promotions(self):
        single, double = np.ones(4, np.float32), np.ones(4)
        (fact,) = aj.explain(mixed, single, double).of(Promoted)
        assert (fact.span.line, fact.before, fact.after) == (line(mixed, "s +="), "float32", "float64")
        assert not aj.explain(mixed, single, single).of(Promoted)
        assert not aj.explain(njit(mixed), single, double).of(Promoted)

    def test_zero_derivatives(self):
        report = aj.explain(stepped, 2.5)
        assert len(report.of(ZeroSlope)) == 3
        assert "'numpy.floor'" in str(report) and "a conversion to an integer" in str(report)
        assert not aj.explain(mixed, np.ones(3), np.ones(3)).of(ZeroSlope)

    def test_rules(self):
        (fact,) = aj.explain(uses_a_rule, 2.0).of(Ruled)
        assert (fact.name, fact.rule, fact.span.line) == ("ruled", "defvjp", line(uses_a_rule, "ruled(x)"))

    def test_what_is_computed_again(self):
        def product(x):
            s = 0.0
            for i in range(len(x)):
                s += math.exp(math.sin(x[i]))
            return s

        (fact,) = aj.explain(product, np.ones(3)).of(Recomputed)
        assert "math.exp(...)" in fact.names and "math.sin(...)" in fact.names and fact.loaded == ("x",)


class TestParallel:
    def test_parts_and_choices(self):
        n = 400_000
        forward, *reverse = aj.explain(around, np.ones(n)).of(Parallel)
        assert forward.parts == 64 and not forward.reason and forward.sweep == "forward sweep"
        assert reverse and all(not r.reason for r in reverse)
        report = aj.explain(around, np.ones(n))
        assert report.of(PulledSum) and report.of(PulledSum)[0].array == "dx"
        small = aj.explain(around, np.ones(20)).of(Parallel)
        assert {p.parts for p in small} == {1}

    def test_copies_have_a_size(self):
        n, m = 400_000, 1000
        report = aj.explain(looked_up, np.ones(m), np.zeros(n, np.int64))
        (reverse,) = [p for p in report.of(Parallel) if p.sweep == "reverse sweep"]
        (access,) = reverse.accesses
        assert access.how == "a copy for each part"
        assert reverse.parts is not None and reverse.parts > 1
        assert access.memory == reverse.parts * m * 8

    def test_alternating_parts(self):
        @aj.kernel
        def smooth(new, old):
            i = aj.index()
            if i > 0 and i < len(old) - 1:
                new[i] = old[i] * old[i - 1]

        n = 200_000
        report = aj.explain(smooth, np.zeros(n), np.ones(n), ndrange=n)
        (reverse,) = [p for p in report.of(Parallel) if p.sweep == "reverse sweep"]
        assert ("dold", "every second part at once") in [(a.array, a.how) for a in reverse.accesses]
        assert reverse.parts is not None and reverse.parts % 2 == 0

    def test_what_runs_in_order_says_why(self):
        found = aj.explain(chained, np.ones(9)).of(Parallel)
        assert all(p.reason for p in found) and any("`v`" in p.reason for p in found)
        found = aj.explain(aj.options(around, boundscheck=True), np.ones(9)).of(Parallel)
        assert "its indices are checked" in {p.reason for p in found}

    def test_a_product_that_the_turns_look_at(self):
        def product(x):
            p = 1.0
            for i in prange(len(x)):
                p *= x[i]
            return p

        for fact in aj.explain(product, np.ones(9)).of(Parallel):
            name = "dp" if fact.sweep == "reverse sweep" else "p"
            assert not fact.reason
            assert f"{name}: what each part starts with is found first" in fact.text

    def test_the_report_says_what_the_source_says(self):
        """Comments of the generated source and the report are made of the same notes."""
        n = 50_000
        source = aj.grad(looked_up).source(np.ones(10), np.zeros(n, np.int64))
        report = aj.grad(looked_up).explain(np.ones(10), np.zeros(n, np.int64))
        for fact in report.of(Parallel):
            for access in fact.accesses:
                assert f"{access.array}: {access.how}" in source


class TestTrusted:
    def test_a_scatter_is_taken_at_its_word(self):
        def scatter(y, x, index):
            for i in prange(len(x)):
                y[index[i]] += x[i] * x[i]
            return y[0]

        report = aj.explain(scatter, np.zeros(5), np.ones(5), np.arange(5))
        (fact,) = report.of(Trusted)
        assert fact.array == "y" and fact.span.line == line(scatter, "+=")
        assert "taken at your word" in fact.text and "aj.check_races" in fact.text
        assert fact.text in str(report)

    def test_so_is_a_sweep_in_place(self):
        @aj.kernel
        def relax(u, c):
            i, j = aj.index(2)
            if i > 0 and (i + j) % 2 == c:
                u[i, j] = u[i - 1, j] * 0.5

        (fact,) = aj.explain(relax, np.ones((4, 4)), 0, ndrange=(4, 4)).of(Trusted)
        assert fact.array == "u"

    def test_what_is_seen_to_be_apart_is_not(self):
        def apart(x, y, index):
            n = len(x)
            total = np.zeros(3)
            for i in prange(1, n - 1):
                own = np.zeros(3)
                own[index[i]] = x[i]
                y[i + 1] = x[i - 1] * own[0]
                aj.atomic_add(total, index[i], y[i + 1])
            return total[0]

        assert not aj.explain(apart, np.ones(5), np.ones(5), np.zeros(5, np.int64)).of(Trusted)


class TestOperators:
    def test_each_transformed_function_has_it(self):
        x = np.ones(5)
        assert aj.grad(mixed).explain(x, x).active == ("x",)
        assert aj.value_and_grad(mixed, wrt="y").explain(x, x).active == ("y",)
        assert aj.explain(aj.grad(mixed, wrt=1), x, x).active == ("y",)
        assert aj.jit(mixed).explain(x, x).mode == "primal"
        assert aj.pure(scratch).explain(x, x).mode == "primal"
        assert aj.explain(functools.partial(aj.grad(mixed), x), x).active == ("x",)
        assert aj.explain(aj.grad(aj.grad(lambda t: t**3)), 2.0).mode == "joint"

    def test_kernels(self):
        report = aj.explain(scaled, np.zeros(4), 2.0, np.ones(4), ndrange=4)
        assert report.active == ("y", "alpha", "x") and report.name == "scaled"
        assert aj.explain(scaled, np.zeros(4), aj.Const(2.0), x=aj.Const(np.ones(4)), ndrange=4).active == (
            "y",
        )

    def test_nothing_is_touched(self):
        u = np.linspace(0, 1, 9)
        before = u.copy()
        aj.explain(burgers, u, 0.1, 3)
        aj.grad(burgers).explain(u, 0.1, 3)
        np.testing.assert_array_equal(u, before)

    def test_it_raises_what_the_operator_raises(self):
        with pytest.raises(aj.ArgumentError, match="real scalar"):
            aj.grad(scaled).explain(np.zeros(4), 2.0, np.ones(4), ndrange=4)
        with pytest.raises(aj.ArgumentError, match="has a derivative"):
            aj.explain(branching, aj.Const(np.ones(3)))
        with pytest.raises(aj.ArgumentError, match="missing"):
            aj.explain(mixed, np.ones(3))
        with pytest.raises(aj.MissingRuleError, match="eval"):
            aj.explain(lambda x: eval("x"), 1.0)

    def test_recursion(self):
        def power(x, n):
            return x if n == 1 else x * power(x, n - 1)

        report = aj.explain(power, 2.0, 3)
        assert report.of(Recorded) or report.of(Recomputed)
        assert report.record_bytes is None or report.record_bytes >= 0


class TestText:
    def test_all_functions_of_the_program_are_shown(self):
        def half(x):
            return 0.5 * x * x

        def whole(x):
            return half(x) + half(2.0 * x)

        shown = [n.text.strip() for n in aj.explain(whole, 1.0).lines]
        assert "return 0.5 * x * x" in shown and "return half(x) + half(2.0 * x)" in shown

    def test_every_fact_is_in_the_text(self):
        report = aj.explain(burgers, np.linspace(0, 1, 12), 0.1, 7)
        text = str(report)
        for fact in report.facts:
            if fact.topic:
                assert f"line {fact.span.line}: {fact.text}" in text
        assert f"{line(burgers, 'u[i] ='):5d} *" in text

    def test_rich_and_html(self):
        from rich.console import Console

        report = aj.explain(scratch, np.ones(6), aj.Const(np.zeros(6)))
        console = Console(record=True, width=200, file=open("/dev/null", "w"))
        console.print(report)
        text = console.export_text()
        assert "gets a shadow of its own (48 bytes)" in text and "Internal shadows" in text
        html = report._repr_html_()
        assert html.startswith("<pre") and "<span" in html and "gets a shadow" in html
