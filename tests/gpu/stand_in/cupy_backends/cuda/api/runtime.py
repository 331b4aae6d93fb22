"""Copies within the host's memory."""

import ctypes

memcpyHostToDevice, memcpyDeviceToHost, memcpyDeviceToDevice = 1, 2, 3


def getDevice():
    return 0


def memsetAsync(address, value, size, stream):
    ctypes.memset(address, value, size)


def memcpyAsync(target, source, size, kind, stream):
    ctypes.memmove(target, source, size)


def memGetInfo():
    return 1, 2


def streamSynchronize(stream):
    """Everything is done at once."""
