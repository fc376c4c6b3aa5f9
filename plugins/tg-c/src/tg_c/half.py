"""float16 and bfloat16: stored in 16 bits, computed with in float32, each result rounded once.

A stored half is a struct, so that C refuses arithmetic on its bits. The conversions are branch-free operations on bits,
which compilers turn into vectors (and then beat the processor's scalar ones); they round half to even, know subnormal
numbers whatever the processor does with those of float32, and keep NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_native.kernels.dtypes import WORDS

if TYPE_CHECKING:
    from tg_c.prelude import Prelude

WIDEN: Final = {
    "float16": """\
static inline f32 tg_widen_f16(f16 x) {
  const u32 e = (x.bits & 0x7fffu) << 13;
  const union { f32 f; u32 b; } small = {(f32)(i32)(x.bits & 0x3ffu) * 0x1p-24f};
  const u32 r = e < 0x800000 ? small.b : e + (e < 0xf800000 ? 0x38000000 : 0x70000000);
  const union { u32 b; f32 f; } y = {r | (x.bits & 0x8000u) << 16};
  return y.f;
}""",
    "bfloat16": """\
static inline f32 tg_widen_bf16(bf16 x) {
  const union { u32 b; f32 f; } y = {(u32)x.bits << 16};
  return y.f;
}""",
}

# The subnormal results of float16 are rounded by an addition to 0.5, whose last place is their unit.
NARROW: Final = {
    "float16": """\
static inline f16 tg_narrow_f16(f32 x) {
  const union { f32 f; u32 b; } all = {x};
  const u32 a = all.b & 0x7fffffff;
  const union { u32 b; f32 f; } size = {a};
  const union { f32 f; u32 b; } small = {size.f + 0.5f};
  u32 r = (a - 0x38000000 + 0xfff + (a >> 13 & 1)) >> 13;
  r = r < 0x7c00 ? r : 0x7c00;
  r = a < 0x38800000 ? small.b - 0x3f000000 : r;
  r = a > 0x7f800000 ? 0x7e00 | (a >> 13 & 0x3ff) : r;
  return (f16){(u16)(r | (all.b >> 16 & 0x8000))};
}""",
    "bfloat16": """\
static inline bf16 tg_narrow_bf16(f32 x) {
  const union { f32 f; u32 b; } all = {x};
  const u32 r = (all.b + 0x7fff + (all.b >> 16 & 1)) >> 16;
  return (bf16){(u16)(x != x ? all.b >> 16 | 0x40 : r)};
}""",
}


def widened(prelude: Prelude, dtype: str, text: str) -> str:
    """A stored half as float32."""
    name = f"tg_widen_{WORDS[dtype]}"
    prelude.need(name, WIDEN[dtype])
    return f"{name}({text})"


def narrowed(prelude: Prelude, dtype: str, text: str) -> str:
    """A float32 as a stored half."""
    name = f"tg_narrow_{WORDS[dtype]}"
    prelude.need(name, NARROW[dtype])
    return f"{name}({text})"
