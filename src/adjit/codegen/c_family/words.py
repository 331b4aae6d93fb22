"""Words that variables of kernels do not have as names: those of C, OpenCL C and CUDA C++, and what the text calls."""

from __future__ import annotations

TAKEN = frozenset(
    """
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while _Bool true false
    bool class catch delete explicit export friend mutable namespace new operator private protected public template this
    throw try typeid typename using virtual and or not xor bitand bitor compl constexpr decltype noexcept nullptr
    static_assert thread_local alignas alignof asm char16_t char32_t wchar_t reinterpret_cast static_cast dynamic_cast
    const_cast kernel global local constant half quad complex imaginary uchar ushort uint ulong size_t ptrdiff_t
    intptr_t uintptr_t image2d_t event_t sampler_t vec_step pipe generic read_only write_only read_write index int64
    uint64 uint32 int8_ uint8_ int16_ uint16_ INDEX BLOCK NAN INFINITY half_ lane threadIdx blockIdx blockDim gridDim
    warpSize exp exp2 exp10 expm1 log log1p log2 log10 sqrt cbrt sin cos tan asin acos atan atan2 sinh cosh tanh asinh
    acosh atanh erf erfc lgamma tgamma floor ceil trunc rint hypot copysign nextafter fmod fabs ldexp pow isnan isinf
    isfinite signbit barrier get_global_id get_global_size get_local_id get_group_id atomic_add atomic_min atomic_max
    atomic_cmpxchg atom_cmpxchg as_float as_double as_uint as_ulong as_long atomicAdd atomicMin atomicMax atomicCAS
    atomicInc last arrived came GIVEN FETCH TABLE GROUPED PLACE FIRST slice_start slice_length min max abs linux unix
    NULL CHAR_BIT M_PI M_E
    """.split()
)
