"""What differs between OpenCL C and CUDA C++: words, built-in indices, atomic operations.

Both are written in the same names: `int64`, `uint64` and so on are types of those widths, `index` is the type of
places in memory (`INDEX`, an `int` where every array of a launch is small enough, else 64 bits wide).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dialect:
    """The words of one language.

    item: the number of the work item along an axis; items: how many there are; lane, block: of the first axis, the
    place in the work-group, and the group's; group: the work-group's along an axis. function: what stands before a
    helper function. wide: the integer type of 64 bits. given: a pointer or a float as a parameter; fetched: the line
    that takes it, if there is one. pairs: whether atomic sums to two float32 elements side by side are one operation.
    """

    name: str
    kernel: str
    function: str
    pointer: str
    restrict: str
    shared: str
    barrier: str
    item: str
    items: str
    lane: str
    block: str
    group: str
    wide: str
    head: str
    given: str = ""
    fetched: str = ""
    pairs: bool = False


OPENCL = Dialect(
    name="OpenCL C",
    kernel="__kernel void",
    function="static inline",
    pointer="__global ",
    restrict="restrict ",
    shared="__local",
    barrier="barrier(CLK_LOCAL_MEM_FENCE);",
    item="get_global_id({axis})",
    items="get_global_size(0)",
    lane="get_local_id(0)",
    block="get_group_id(0)",
    group="get_group_id({axis})",
    wide="long",
    head="",
)

CUDA = Dialect(
    name="CUDA C++",
    kernel='extern "C" __global__ void',
    function="static __device__ inline",
    pointer="",
    restrict="__restrict__ ",
    shared="__shared__",
    barrier="__syncthreads();",
    item="((int64)blockIdx.{letter} * blockDim.{letter} + threadIdx.{letter})",
    items="((int64)gridDim.x * blockDim.x)",
    lane="threadIdx.x",
    block="blockIdx.x",
    group="blockIdx.{letter}",
    wide="long long",
    head="""#define NAN __int_as_float(0x7fffffff)
#define INFINITY __int_as_float(0x7f800000)
#ifdef TABLE  // what is given stands in a table, so that a recorded run can be repeated with other arrays
#define GIVEN(type, name) type const *name##_slot
#define FETCH(type, name) type const name = *name##_slot;
#else
#define GIVEN(type, name) type name
#define FETCH(type, name)
#endif""",
    given="GIVEN({type}, {name})",
    fetched="FETCH({type}, {name})",
    pairs=True,
)


def given(dialect: Dialect, type: str, name: str) -> tuple[str, list[str]]:
    """A pointer or a float as a parameter, and the line at the kernel's top that takes it, if there is one.

    Declared as `type` would be before a name: "double", "const float *restrict ".
    """
    gap = "" if type.endswith(("*", " ")) else " "
    if not dialect.fetched:
        return f"{type}{gap}{name}", []
    words = {"type": type.rstrip(), "name": name}
    return dialect.given.format(**words), [dialect.fetched.format(**words)]


def item(dialect: Dialect, axis: int) -> str:
    """The number of the work item along an axis."""
    return dialect.item.format(axis=axis, letter="xyz"[axis])


def group(dialect: Dialect, axis: int) -> str:
    """The number of the work-group along an axis."""
    return dialect.group.format(axis=axis, letter="xyz"[axis])


_GROUPED = """#ifdef GROUPED  // the same for many groups of arrays at once, each so far behind the one before
#define PLACE(name) const int64 name, const int64 name##_step
#define FIRST(name, group) name + (int64)group * name##_step
#else
#define PLACE(name) const int64 name
#define FIRST(name, group) name
#endif"""


def header(dialect: Dialect, fp64: bool, wide_atomics: bool) -> str:
    """What stands at the top of the text."""
    lines: list[str] = []
    if dialect is OPENCL:
        lines += ["#pragma OPENCL EXTENSION cl_khr_fp64 : enable"] if fp64 else []
        lines += ["#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable"] if wide_atomics else []
    lines += ["typedef signed char int8_;", "typedef unsigned char uint8_;", "typedef short int16_;"]
    lines += ["typedef unsigned short uint16_;", "typedef unsigned int uint32;"]
    lines += [f"typedef {dialect.wide} int64;", f"typedef unsigned {dialect.wide} uint64;"]
    lines += ["#ifndef INDEX", "#define INDEX int64", "#endif", "typedef INDEX index;"]
    lines += ["#ifndef BLOCK", "#define BLOCK 64", "#endif"]
    lines += [_GROUPED]
    lines += [dialect.head] if dialect.head else []
    return "\n".join(lines) + "\n"
