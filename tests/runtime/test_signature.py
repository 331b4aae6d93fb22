"""Binding: what `inspect` binds, for every way of giving arguments; errors where Python raises TypeError."""

from __future__ import annotations

import functools
import inspect
import itertools

import pytest

import adjit as aj
from adjit.api.source import source_of


def two(a, b):
    return a, b


def one(a):
    return a


def optional(a, b=2, *, c, d=4):
    return a, b, c, d


def variadic(a, *rest, k=1):
    return a, rest, k


FUNCTIONS = [
    one,
    two,
    optional,
    variadic,
    functools.partial(optional, c=30),
    functools.partial(optional, 10),
    functools.partial(optional, 10, b=20),
    functools.partial(two, b=5),
]


def plain(f, args, kwargs):
    """The values of f's parameters, in order; None where the call is wrong."""
    given = f.func if isinstance(f, functools.partial) else f
    if isinstance(f, functools.partial):
        args, kwargs = (*f.args, *args), {**f.keywords, **kwargs}
    try:
        bound = inspect.signature(given).bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    return tuple(bound.arguments.values())


@pytest.mark.parametrize("f", FUNCTIONS)
def test_every_form_of_a_call_binds_as_python_binds_it(f):
    signature = source_of(f).signature
    names = ("a", "b", "c", "d", "x")
    right = 0
    for count in range(4):
        for r in range(4):
            for chosen in itertools.permutations(names, r):
                args = tuple(range(100, 100 + count))
                kwargs = {n: 200 + k for k, n in enumerate(chosen)}
                expected = plain(f, args, kwargs)
                for _ in range(2):  # the form is kept after the first call
                    if expected is None:
                        with pytest.raises(aj.ArgumentError):
                            signature.bind(args, kwargs)
                    else:
                        right += 1
                        assert signature.bind(args, kwargs) == expected
    assert right > 3


def test_defaults_that_are_replaced_count_from_the_next_call():
    def f(a, b=2):
        return a, b

    signature = source_of(f).signature
    assert signature.bind((1,), {}) == (1, 2)
    f.__defaults__ = (7,)
    assert signature.bind((1,), {}) == (1, 7)
    f.__defaults__ = None
    with pytest.raises(aj.ArgumentError):
        signature.bind((1,), {})
