"""Launches as calls of Python functions: `handlers[name](address of the pointers to the arguments, table?)`."""

from cupy import cuda

handlers = {}
launched = []


def launchKernel(function, *rest):
    launched.append(cuda.kernels[function][0])
    run(function, rest[-2])


def run(function, arguments):
    name, table = cuda.kernels[function]
    handlers[name](arguments, table)
