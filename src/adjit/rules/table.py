"""The documentation's table of supported operations: `python -m adjit.rules.table > docs/support.md`."""

from __future__ import annotations

from adjit.rules import Rule, groups, linear
from adjit.rules.linear import WholeRule

_HEAD = """\
# Supported operations

Generated from the rules by `python -m adjit.rules.table`; do not edit. Every spelling below is tested: that
Numba compiles it on scalars, and that its first and second derivatives are right, in float64 and float32.

*Derivative*: the operands, counted from the left, that carry one; the others are constants to
differentiation. *Complex*: the same for complex operands or results; "refused": Numba or adjit does not
take them. *Where it has no derivative*: what is passed on there. Everywhere a zero cotangent stays
zero, however large the slope (0 times inf is 0).
"""


_FLAT = frozenset("eq ne not_ isnan isinf isfinite rint stop_gradient".split())
"""Operations that take complex numbers and have no derivative."""


_WHOLE = """\
# Whole arrays

Computed by BLAS and LAPACK, through Numba, and by NumPy's `np.fft`, and so are their derivatives; no strong zero holds
inside of them.
"""


def markdown() -> str:
    """The page, in Markdown."""
    sections = [_section(title, rules) for title, rules in groups().items()]
    named = {title: rules for title, rules in linear.groups().items() if any(r.spellings for r in rules)}
    whole = [_whole(title, rules) for title, rules in named.items()]
    return "\n".join([_HEAD, *sections, _WHOLE, *whole])


def _section(title: str, rules: tuple[Rule, ...]) -> str:
    rows = [_row(rule) for rule in rules]
    head = "| operation | derivative | complex | where it has no derivative |\n|---|---|---|---|"
    return "\n".join([f"## {title}\n", head, *rows, ""])


def _whole(title: str, rules: tuple[WholeRule, ...]) -> str:
    rows: list[str] = []
    for rule in {rule.spellings: rule for rule in reversed(rules)}.values():  # one of several norms
        names = ", ".join(f"`{name.replace('numpy.', 'np.')}`" for name in rule.spellings)
        complex_ = "the result" if rule.real_only else "yes" if rule.takes_complex else "refused"
        if names:
            rows.append(f"| {names} | {complex_} | {rule.convention} | {rule.reference} |")
    head = "| operation | complex | singular and degenerate cases | formula |\n|---|---|---|---|"
    return "\n".join([f"## {title}\n", head, *reversed(rows), ""])


def _row(rule: Rule) -> str:
    names = [_printed(rule)] if rule.symbol is not None else []
    names += [name.replace("numpy.", "np.") for name in _named(rule)]
    spelled = ", ".join(f"`{name}`".replace("|", "\\|") for name in names)
    if not names:
        spelled = f"*{rule.op.replace('_', ' ')}* (internal)"
    real = _carriers(rule, rule.slopes)
    return f"| {spelled} | {real} | {_on_complex(rule)} | {rule.convention.replace('|', chr(92) + '|')} |"


def _printed(rule: Rule) -> str:
    return rule.form().format(*"xyz"[: rule.arity])


def _named(rule: Rule) -> tuple[str, ...]:
    return (*rule.spellings, *rule.aliases, *rule.complex_spellings)


def _on_complex(rule: Rule) -> str:
    if not rule.takes_complex:
        return "none" if not rule.slopes and rule.op in _FLAT else "refused"
    return _carriers(rule, rule.slopes if rule.analytic else rule.complex_slopes)


def _carriers(rule: Rule, slopes: tuple[object, ...]) -> str:
    carriers = [k for k, slope in enumerate(slopes) if slope is not None]
    if not carriers:
        return "none"
    if len(carriers) == rule.arity:
        return "yes" if rule.arity == 1 else "all"
    return ", ".join(str(k + 1) for k in carriers)


if __name__ == "__main__":
    print(markdown(), end="")
