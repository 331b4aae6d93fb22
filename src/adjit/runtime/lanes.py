"""Several numbers side by side, in memory and in a vector register: what programs that carry tangents at once use.

An array of lanes is a NumPy array with the fields of `lanes_dtype`, so that shape, layout, views and indices are those
of the array whose tangents it holds. In compiled code one element is a vector of LLVM's (`Lanes`): arithmetic on
it is vector instructions whatever the loop around it looks like. The functions below are what generated text calls;
without Numba they work on NumPy arrays (`plain_lanes`).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic, models, register_model
from numba.np.arrayobj import populate_array


@cache
def lanes_dtype(dtype: np.dtype[Any], width: int) -> np.dtype[Any]:
    """The dtype of an array whose elements are `width` numbers, in its field "lanes"."""
    return np.dtype([("lanes", dtype, (width,))])


class Lanes(types.Type):
    """`count` numbers of one float type."""

    def __init__(self, dtype: types.Float, count: int):
        self.dtype, self.count = dtype, count
        super().__init__(name=f"Lanes({dtype}, {count})")

    @property
    def key(self) -> tuple[Any, int]:
        return self.dtype, self.count


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, type_: Lanes):
        super().__init__(manager, type_, _vector(type_))


def _vector(type_: Lanes) -> ir.VectorType:
    element = ir.FloatType() if type_.dtype == types.float32 else ir.DoubleType()
    return ir.VectorType(element, type_.count)


def _of_array(array: Any) -> Lanes:
    field = array.dtype.fields["lanes"].type
    return Lanes(field.dtype, field.nitems)


def _place(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """The address of an element: negative indices count from the end, unsigned ones never do."""
    array, index = sig.args[0], sig.args[1]
    fields = context.make_array(array)(context, builder, args[0])
    numbers = cgutils.unpack_tuple(builder, args[1])
    kinds = index.types if hasattr(index, "types") else [index.dtype] * index.count
    shape = cgutils.unpack_tuple(builder, fields.shape)
    words = []
    for number, kind, extent in zip(numbers, kinds, shape, strict=True):
        word = context.cast(builder, number, kind, types.intp)
        if getattr(kind, "signed", False):
            below = builder.icmp_signed("<", word, word.type(0))
            word = builder.select(below, builder.add(word, extent), word)
        words.append(word)
    pointer = cgutils.get_item_pointer(context, builder, array, fields, words, wraparound=False)
    return builder.bitcast(pointer, _vector(_of_array(array)).as_pointer())


def _align(array: types.Array) -> int:
    return _of_array(array).dtype.bitwidth // 8


@intrinsic
def lanes_at(typing: Any, array: Any, index: Any) -> Any:
    """array[index], as a vector."""

    def load(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.load(_place(context, builder, sig, args), align=_align(sig.args[0]))

    return _of_array(array)(array, index), load


@intrinsic
def put_lanes(typing: Any, array: Any, index: Any, value: Any) -> Any:
    """array[index] = value, a vector or a number for each lane."""

    def store(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vector = _spread(context, builder, args[2], sig.args[2], _of_array(sig.args[0]))
        builder.store(vector, _place(context, builder, sig, args), align=_align(sig.args[0]))
        return context.get_dummy_value()

    return types.none(array, index, value), store


@intrinsic
def lane(typing: Any, array: Any, number: Any) -> Any:
    """One lane of all elements, as a view: an array of numbers of the same shape."""
    kind = _of_array(array)
    made = types.Array(kind.dtype, array.ndim, "A")

    def view(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        fields = context.make_array(sig.args[0])(context, builder, args[0])
        pointer = builder.bitcast(fields.data, _vector(kind).element.as_pointer())
        out = context.make_array(made)(context, builder)
        populate_array(
            out,
            data=builder.gep(pointer, [args[1]]),
            shape=fields.shape,
            strides=fields.strides,
            itemsize=context.get_constant(types.intp, kind.dtype.bitwidth // 8),
            meminfo=fields.meminfo,
            parent=fields.parent,
        )
        return impl_ret_borrowed(context, builder, made, out._getvalue())

    return made(array, types.intp), view


@intrinsic
def put_lane(typing: Any, array: Any, place: Any, lane: Any, value: Any) -> Any:
    """One number of an element of a contiguous array of one axis; the place counts from the start."""

    def store(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        fields = context.make_array(sig.args[0])(context, builder, args[0])
        kind = _of_array(sig.args[0])
        numbers = builder.bitcast(fields.data, _vector(kind).element.as_pointer())
        word = builder.add(builder.mul(args[1], args[1].type(kind.count)), args[2])
        number = context.cast(builder, args[3], sig.args[3], kind.dtype)
        builder.store(number, builder.gep(numbers, [word]))
        return context.get_dummy_value()

    return types.none(array, types.intp, types.intp, value), store


@intrinsic
def put_row(typing: Any, matrix: Any, row: Any, first: Any, count: Any, value: Any) -> Any:
    """matrix[row, first : first + count] = the first `count` lanes; the matrix lies in C's order."""

    def store(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        fields = context.make_array(sig.args[0])(context, builder, args[0])
        kind = sig.args[4]
        extent = cgutils.unpack_tuple(builder, fields.shape)[1]
        word = builder.add(builder.mul(args[1], extent), args[2])
        place = builder.gep(fields.data, [word])
        whole = builder.icmp_signed("==", args[3], args[3].type(kind.count))
        with builder.if_else(whole) as (all_lanes, some):
            with all_lanes:
                into = builder.bitcast(place, _vector(kind).as_pointer())
                builder.store(args[4], into, align=kind.dtype.bitwidth // 8)
            with some, cgutils.for_range(builder, args[3]) as loop:
                lane = builder.trunc(loop.index, ir.IntType(32))
                builder.store(builder.extract_element(args[4], lane), builder.gep(place, [loop.index]))
        return context.get_dummy_value()

    return types.none(matrix, types.intp, types.intp, types.intp, value), store


def _spread(context: Any, builder: Any, value: Any, kind: Any, into: Lanes) -> Any:
    """A vector in the type of number of `into`; a number in every lane."""
    if isinstance(kind, Lanes):
        return _converted(builder, value, kind, into)
    number = context.cast(builder, value, kind, into.dtype)
    vector = _vector(into)
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.IntType(32)(0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), into.count), [0] * into.count)
    return builder.shuffle_vector(one, one, mask)


def _converted(builder: Any, value: Any, kind: Lanes, into: Lanes) -> Any:
    if kind.dtype == into.dtype:
        return value
    change = builder.fpext if into.dtype == types.float64 else builder.fptrunc
    return change(value, _vector(into))


@intrinsic(prefer_literal=True)
def spread(typing: Any, value: Any, count: Any) -> Any:
    """A number in each of `count` lanes."""
    kind = Lanes(types.unliteral(value), count.literal_value)

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _spread(context, builder, args[0], sig.args[0], kind)

    return kind(types.unliteral(value), count), code


def _common(*kinds: Any) -> Lanes:
    return next(kind for kind in kinds if isinstance(kind, Lanes))


def _binary(name: str, doc: str) -> Any:
    def typed(typing: Any, a: Any, b: Any) -> Any:
        into = _common(a, b)

        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            pair = [_spread(context, builder, v, k, into) for v, k in zip(args, sig.args, strict=True)]
            return getattr(builder, name)(*pair)

        return into(a, b), code

    typed.__doc__ = doc
    typed.__name__ = f"lanes_{name}"
    return intrinsic(typed)


vadd = _binary("fadd", "a + b, lane by lane; one of the two may be a number.")
vsub = _binary("fsub", "a - b, lane by lane.")
vmul = _binary("fmul", "a * b, lane by lane.")
vdiv = _binary("fdiv", "a / b, lane by lane; IEEE division.")


@intrinsic
def vneg(typing: Any, a: Any) -> Any:
    """-a, lane by lane."""
    return a(a), lambda context, builder, sig, args: builder.fneg(args[0])


@intrinsic
def vscale(typing: Any, ct: Any, slope: Any) -> Any:
    """The strong-zero product, lane by lane: 0 where ct is, whatever the slope."""
    into = _common(ct, slope)

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        a, b = (_spread(context, builder, v, k, into) for v, k in zip(args, sig.args, strict=True))
        zero = ir.Constant(a.type, [0.0] * into.count)
        return builder.select(builder.fcmp_unordered("!=", a, zero), builder.fmul(a, b), a)

    return into(ct, slope), code


@intrinsic
def vwhere(typing: Any, condition: Any, a: Any, b: Any) -> Any:
    """a if condition else b; the condition is one for all lanes."""
    into = _common(a, b)

    def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pair = [_spread(context, builder, v, k, into) for v, k in zip(args[1:], sig.args[1:], strict=True)]
        return builder.select(context.cast(builder, args[0], sig.args[0], types.boolean), *pair)

    return into(condition, a, b), code


def _cast(to: types.Float) -> Any:
    def typed(typing: Any, a: Any) -> Any:
        into = Lanes(to, a.count)

        def code(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _converted(builder, args[0], sig.args[0], into)

        return into(a), code

    typed.__doc__ = f"Each lane as {to}."
    typed.__name__ = f"lanes_as_{to}"
    return intrinsic(typed)


vfloat32, vfloat64 = _cast(types.float32), _cast(types.float64)


def plain_lanes() -> dict[str, Any]:
    """The same names for text that runs without Numba: a vector is a NumPy array."""

    def at(array: Any, index: Any) -> Any:
        return array[index]["lanes"].copy()

    def put(array: Any, index: Any, value: Any) -> None:
        array["lanes"][index] = value

    def put_one(array: Any, place: Any, lane: Any, value: Any) -> None:
        array["lanes"][place, lane] = value

    def put_row(matrix: Any, row: Any, first: Any, count: Any, value: Any) -> None:
        matrix[row, first : first + count] = value[:count]

    def scale(ct: Any, slope: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.where(ct != 0, ct * slope, ct)

    def divide(a: Any, b: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.divide(a, b)

    return {
        "lanes_dtype": lanes_dtype,
        "lane": lambda array, number: array["lanes"][..., number],
        "lanes_at": at,
        "put_lane": put_one,
        "put_lanes": put,
        "put_row": put_row,
        "spread": lambda value, count: np.full(count, value),
        "vadd": lambda a, b: a + b,
        "vsub": lambda a, b: a - b,
        "vmul": lambda a, b: a * b,
        "vdiv": divide,
        "vneg": lambda a: -a,
        "vscale": scale,
        "vwhere": lambda condition, a, b: a if condition else b,
        "vfloat32": lambda a: np.asarray(a, np.float32),
        "vfloat64": lambda a: np.asarray(a, np.float64),
    }
