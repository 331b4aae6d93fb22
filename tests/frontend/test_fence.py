"""Gates the fence: what is outside of the subset is refused with its place, never with an internal error."""

from __future__ import annotations

import linecache
import math
import re

import numba as nb
import numpy as np
import pytest

from adjit.errors import AdjitError, MissingRuleError, UnsupportedError
from adjit.frontend import lower
from adjit.ir.structure import Leaf, NoneSpec
from adjit.ir.types import FLOAT64, INT64, Array

X = Leaf(Array(FLOAT64, 1, "C"))
A = Leaf(Array(FLOAT64, 2, "C"))
N = Leaf(INT64)
GLOBAL = np.ones(3)
TABLE = {"a": 1.0}
NAMES = ["a", "b"]

counter = 0


def build(text, **names):
    """The function `f` of a text, with its source known."""
    global counter
    counter += 1
    file = f"<fence {counter}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {"np": np, "math": math, "nb": nb, "GLOBAL": GLOBAL, "TABLE": TABLE, "NAMES": NAMES, **names}
    exec(compile(text, file, "exec"), scope)
    return scope["f"]


def body(text):
    lines = "\n".join("    " + line for line in text.splitlines())
    return f"def f(x, a, n):\n    s = 0.0\n{lines}\n    return s\n"


# (body of f(x, a, n), words that the message must have)
REFUSED = [
    ("y = {'a': 1}", "dict"),
    ("y = {1, 2}", "set"),
    ("y = TABLE['a']", "dict"),
    ("for v in NAMES:\n    s += 1", "list"),
    ("s = 'abc'", "a string"),
    ("s = f'{n}'", "string"),
    ("try:\n    s = 1.0\nexcept ValueError:\n    pass", "try"),
    ("with open('f') as g:\n    pass", "open"),
    ("with nb.objmode(y='float64'):\n    y = 1.0", "objmode"),
    ("import os", "import"),
    ("class K:\n    pass", "class"),
    ("global counter\ncounter = 1", "global"),
    ("def g():\n    nonlocal s\n    s = 1.0\ng()", "nonlocal"),
    ("yield s", "generator"),
    ("print(s)", "print"),
    ("s = x[a]", "used as an index"),
    ("s = x[0, None]", "added to one element"),
    ("s = np.transpose(x, (0, 1))", "1 dimensions"),
    ("s = x.transpose(0, 0)", "axes (0, 0)"),
    ("s = np.moveaxis(x, n, 0)", "as a literal"),
    ("s = x.reshape(2, 2, order='F')", "order"),
    ("s = x.reshape(-1, -1)", "two unknown"),
    ("s = x.reshape(2.0, 2)", "integers"),
    ("s = np.reshape(n, 2)", "a number"),
    ("s = np.ravel([1.0, 2.0])", "list"),
    ("s = x[1, 2]", "2 indices"),
    ("s = x[1.5]", "integer"),
    ("y = [1.0]\ny.remove(1.0)", "remove"),
    ("y = [(k := v) for v in x if v > 0]", ":="),
    ("y = [v for v in x if np.full(2, v)[0] > 0 for k in range(2)]", "writes"),
    ("for v in np.nditer(x):\n    s += 1", "nditer"),
    ("s = x.flat[:2]", "flat"),
    ("y = []\ny.append(x)", "holds a 1-D array"),
    ("y = [1.0]\ny.append(n, n)", "2 arguments"),
    ("y = str(s)", "string"),
    ("y = [[1.0], [2.0]]", "list"),
    ("s = sum(v for v in x if v > 0)", "generator"),
    ("s = undefined_name", "not defined"),
    ("s = math.nosuch(1.0)", "no attribute"),
    ("s = open('x')", "open"),
    ("s = np.random.rand()", "rand"),
    ("if n:\n    y = x\nelse:\n    y = 1.0\ns = y", "on one path"),
    ("if n:\n    y = None\nelse:\n    y = x\ns = y[0]", "on one path"),
    ("y = None\nfor i in range(n):\n    if y is None:\n        y = x[i]\n    s += y", "use two names"),
    ("s = x if n else 1.0", "one branch gives"),
    ("raise KeyError(x[0])", "constants"),
    ("raise nb.errors.TypingError('a')", "builtin"),
    ("x.shape = (1, 2)", "attribute"),
    ("a, *b = x", "unpacked"),
    ("a, b = 1, 2, 3", "unpacked"),
    ("s = (1, 2)[5]", "outside"),
    ("s = len(n)", "len"),
    ("for v in n:\n    s += 1", "loop over a number"),
    ("GLOBAL[0] = 2.0", "captured array is written"),
    ("g = GLOBAL[1:]\nfor i in range(2):\n    g[i] = 2.0", "captured array is written"),
    ("s = (lambda k: s * k)(1, 2)", "takes 1"),
    ("def g(k):\n    return g(k - 1)\ns = g(3)", "calls itself on every path"),
    ("s = max(a)", "max"),
    ("s = int('3')", "string"),
    ("s = '%d' % n", "string"),
    ("match n:\n    case 1:\n        s = 1.0", "match"),
    ("del x[0]", "del"),
    ("s = n in a", "in"),
    ("s = x is a", "is"),
    ("s = (yield)", "generator"),
    ("assert n, f'{n}'", "constant"),
    ("s = object()", "object"),
    ("g = lambda **k: 1.0\ns = g(b=2)", "**k"),
    ("k = {'a': 1}\ns = g(**k)", "dict"),
    ("async def g():\n    pass", "async"),
    ("s = 99999999999999999999999", "64 bits"),
    ("s = range(0, 3, 0)[0]", "step 0"),
    ("s = x.nosuch()", "nosuch"),
    ("s = n.nosuch", "nosuch"),
    ("s = None + 1", "None"),
    ("s = math.sin('a')", "string"),
    ("s = math.sin(1.0, 2.0)", "arguments"),
    ("s = math.sin(x=1.0)", "keywords"),
    ("s = np.zeros(n, order='F')", "order"),
    ("s = np.zeros(n, dtype='U3')", "dtype"),
    ("s = np.zeros(n, dtype=object)", "dtype"),
    ("s = x['a']", "index"),
    ("for i in zip((1, 2), x):\n    s += 1", "zip"),
    ("y: float\ns = y", "read before"),
    ("s = (i for i in range(3))", "generator"),
    ("s = {i: i for i in range(3)}", "dict"),
    ("@nb.njit(error_model='numpy')\ndef g():\n    pass", "options of its own"),
    ("@math.sin\ndef g():\n    pass", "decorated"),
    ("s = nb.typed.Dict()", "Dict"),
    ("s, *t = x", "unpacked"),
    ("s = f(x, a, n)", "calls itself on every path"),
    ("if x:\n    s = 1.0", "array"),
    ("while x:\n    s = 1.0", "array"),
    ("x[0] = x", "array"),
    ("x[0] = (1, 2)", "tuple"),
    ("x[0] = None", "None"),
    ("n[0] = 1.0", "number"),
    ("s = n[0]", "number"),
    ("s = np.array([[1.0], [1.0, 2.0]])[0, 0]", "nested"),
    ("s = eval('1')", "eval"),
    ("s = getattr(x, 'size')", "getattr"),
    ("s = complex('1')", "string"),
    ("s = [1, 2] == [1, 2]", "array"),
    ("s = [1, 2] + [3]", "list"),
    ("s = (1, 2) < (1, 3)", "order"),
    ("s = (1, 2) - (1, 3)", "tuple"),
    ("s = tuple(x)", "unpacked"),
    ("s = sorted(x)", "sorted"),
    ("s = map(math.sin, x)", "map"),
    ("s = x.dtype.name", "dtype"),
    ("s = np.float64", None),
    ("s = range(3)", None),
    ("s = lambda: 1", None),
    ("s = slice(1, 2)", None),
    ("s = x.T.tolist()", "tolist"),
    ("s = [x, x]", "list"),
    ("s = [1.0, 2.0]", "list"),
    ("s = ...", None),
    ("s = b'a'", None),
    ("s = x[0].foo()", "foo"),
    ("s = nb.carray(x, 3)", "carray"),
    ("s = input()", "input"),
    ("raise", "raise"),
    ("raise ValueError('a') from None", "raise"),
    ("f.y = 1", "attribute"),
    ("f.y += 1", "attribute"),
    ("s = super()", "super"),
    ("s = __name__", None),
]


@pytest.mark.parametrize(("text", "words"), REFUSED, ids=[t.splitlines()[0] for t, _ in REFUSED])
def test_refused(text, words):
    f = build(body(text))
    with pytest.raises(AdjitError) as caught:
        lower(f, (X, A, N))
    message = str(caught.value)
    assert words is None or words in message, message
    assert re.search(r"line \d+", message), message
    assert "^" in message


def test_missing_rule_says_how_to_give_one():
    f = build("def f(x):\n    return np.linalg.eig(x)\n")
    with pytest.raises(MissingRuleError, match="custom_vjp") as caught:
        lower(f, (A,))
    assert caught.value.span.line == 2


def test_mixed_returns():
    f = build("def f(n):\n    if n > 0:\n        return 1.0\n")
    with pytest.raises(UnsupportedError, match="ends without 'return'"):
        lower(f, (N,))
    f = build("def f(n):\n    if n > 0:\n        return 1.0\n    return None\n")
    with pytest.raises(UnsupportedError, match="on one path"):
        lower(f, (N,))
    f = build("def f(n):\n    if n > 0:\n        return 1.0, 2.0\n    return 1.0\n")
    with pytest.raises(UnsupportedError, match="on one path"):
        lower(f, (N,))


def test_no_source():
    scope = {}
    exec("def f(x): return x", scope)
    for f in (scope["f"], math.sin, int, "text", 3):
        with pytest.raises(UnsupportedError):
            lower(f, (N,))


def test_changed_source():
    f = build("def f(x):\n    return x * 2.0\n")
    file = f.__code__.co_filename
    text = "def f(x):\n    return x * 3.0\n"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    with pytest.raises(UnsupportedError, match="changed"):
        lower(f, (N,))
    text = "\n\n# moved\ndef f(x):\n    return x * 2.0\n"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    assert lower(f, (N,)).function.name == "f"


def test_lambdas_of_one_line():
    f, g, h = (lambda x: x * 2.0), (lambda x: x * 3.0), lambda x: x * 2.0  # fmt: skip
    consts = [lower(k, (Leaf(FLOAT64),)).function.body[0].args[1].value for k in (f, g, h)]
    assert consts == [2.0, 3.0, 2.0]


def test_none_is_pruned():
    f = build("def f(x, w):\n    if w is None or w[0] > 1:\n        return x[0]\n    return w.nonsense\n")
    assert lower(f, (X, NoneSpec())).captures == ()
