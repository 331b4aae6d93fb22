"""Replays of one program with the stand-in for CuPy and for the driver's graphs (run in a process of its own)."""

import ctypes
import os
import sys

os.environ["ADJIT_UNCOMPILED"] = "1"
import cupy as cp
import numpy as np
from cupy_backends.cuda.api import driver

import adjit as aj
from adjit.runtime.cuda import nodes
from adjit.runtime.cuda.device import HOLDERS, allocated

_FIELDS = 8  # of the kernel below: n; memory, place, extent of two arrays; c


class Graphs:
    """The driver's interface to graphs: nodes are kernels with copies of their arguments."""

    def __init__(self):
        self.graphs, self.replays, self.destroyed = [], 0, 0

    def _made(self, target, nodes):
        self.graphs.append(nodes)
        ctypes.cast(target, ctypes.POINTER(ctypes.c_void_p))[0] = len(self.graphs)
        return 0

    def cuGraphCreate(self, graph, flags):
        return self._made(graph, [])

    def cuGraphAddKernelNode_v2(self, node, graph, before, count, params):
        own = self.graphs[graph.value - 1]
        assert count == int(bool(own))
        given = ctypes.cast(params, ctypes.POINTER(nodes._KernelNode))[0]
        pointers = (ctypes.c_void_p * _FIELDS).from_address(given.kernelParams)
        words = [ctypes.create_string_buffer(ctypes.string_at(p, 8), 8) for p in pointers]
        own.append((given.func or 0, words, (ctypes.c_void_p * _FIELDS)(*map(ctypes.addressof, words))))
        return 0

    def cuGraphInstantiateWithFlags(self, target, graph, flags):
        return self._made(target, list(self.graphs[graph.value - 1]))

    def cuGraphLaunch(self, executable, stream):
        self.replays += 1
        for function, _, pointers in self.graphs[executable - 1]:
            driver.run(function, ctypes.addressof(pointers))
        return 0

    def cuGraphExecDestroy(self, executable):
        self.destroyed += 1
        return 0

    def cuGraphDestroy(self, graph):
        return 0


@aj.kernel
def axpy(y, x, c):
    i = aj.index()
    y[i] = y[i] + c * x[i]


def program(y, x, dt, k):
    for s in range(3):
        axpy(y, x, dt * (1.0 + s) / k, ndrange=len(y))
    return y


X = np.array([0.5, -1.0, 2.0, 0.25])
graphs = Graphs()
nodes._library = lambda: graphs
f = aj.jit(program)
source = f.source(cp.asarray(np.ones(4)), cp.asarray(np.ones(4)), 0.5, 2.0)
name = source.partition('SOURCE.kernel("')[2].partition('"')[0]
signature = next(line for line in source.split("\n") if "__global__" in line)
x_first = signature.index("x_memory") < signature.index("y_memory")


def kernel(arguments, table):
    pointers = (ctypes.c_void_p * _FIELDS).from_address(arguments)
    n = ctypes.c_int64.from_address(pointers[0]).value
    first, second = (ctypes.c_uint64.from_address(pointers[k]).value for k in (1, 4))
    at_c = pointers[7]
    if table:
        first, second = (ctypes.c_uint64.from_address(p).value for p in (first, second))
        at_c = ctypes.c_uint64.from_address(at_c).value
    c = ctypes.c_double.from_address(at_c).value
    x, y = (first, second) if x_first else (second, first)
    x, y = (np.frombuffer((ctypes.c_char * (8 * n)).from_address(p)) for p in (x, y))
    y += c * x


driver.handlers[name] = kernel


def check(n, scale, dt, k=2.0):
    x, y = cp.asarray(np.full(n, scale)), cp.asarray(np.arange(float(n)))
    result = f(y, x, dt, k)
    want = np.arange(float(n)) + scale * dt * 6.0 / k
    np.testing.assert_allclose(y.get(), want)
    assert result.data.ptr == y.data.ptr


def kept():
    return [len(p._graphs) for p in HOLDERS]


for turn in range(6):
    check(4, 1.0 + turn, 0.5 * turn)
assert (graphs.replays, len(driver.launched)) == (5, 3)
try:
    check(4, 1.0, 1.0, k=0.0)
except ZeroDivisionError:
    pass
else:
    sys.exit("a division by zero did not raise")
check(4, 3.0, 0.25)
assert (graphs.replays, len(driver.launched)) == (6, 3)

cp.cuda.failures.append(1)
allocated(8)
assert kept() == [0] and graphs.destroyed == 1
check(4, 3.0, 0.5)
assert kept() == [1] and graphs.replays == 7

for n in range(5, 12):
    for _ in range(3):
        check(n, 2.0, 1.0)
assert kept() == [4] and graphs.destroyed == 5


def stepped(y, x, dt):
    k = np.argsort(x)
    x = np.cumsum(x)
    for s in range(3):
        axpy(y, x, dt * (1.0 + s), ndrange=len(y))
    return y, k


before, g = graphs.replays, aj.jit(stepped)
driver.handlers[
    g.source(cp.asarray(X), cp.asarray(X), 0.5).partition('SOURCE.kernel("')[2].partition('"')[0]
] = kernel
for turn in range(4):  # CuPy makes a step of it, so that it is no graph
    x, y = cp.asarray(X * (turn - 1)), cp.asarray(X)
    _, k = g(y, x, 0.5)
    np.testing.assert_allclose(y.get(), X + 3.0 * np.cumsum(X * (turn - 1)))
    np.testing.assert_array_equal(k.get(), np.argsort(X * (turn - 1), kind="stable"))
assert graphs.replays == before

cp.cuda.failures += [1, 1]
try:
    allocated(8)
except aj.MemoryLimitError:
    print("all right")
