"""Cases of `ops/groups`: rows of drawn bytes in each format, beside the formats written out group by group.

Drawn bytes make scales of all kinds: subnormal, infinite, NaN.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import InputError, ShapeError
from tg.ops.groups import FAMILY, MatMulGroups
from tg.plugin.case import Case, f32, u8
from tg_conformance.cases.family import of_family

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.types.choices import PackedFormat

    Group = Callable[[bytes], list[Any]]


def drawn(draws: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Any:
    """Bytes, all of them alike often."""
    return draws.integers(0, 256, shape, dtype=np.uint8)


def _half(b: bytes) -> np.float32:
    return np.float32(np.frombuffer(b[:2], "<f2")[0])


def _signed(b: bytes) -> list[int]:
    return [x - 256 * (x > 127) for x in b]


def _nibbles(b: bytes) -> list[int]:
    return [x & 15 for x in b] + [x >> 4 for x in b]


def _q8_0(b: bytes) -> list[Any]:
    return [_half(b) * np.float32(q) for q in _signed(b[2:])]


def _q4_0(b: bytes) -> list[Any]:
    return [_half(b) * np.float32(q - 8) for q in _nibbles(b[2:])]


def _q4_1(b: bytes) -> list[Any]:
    return [_half(b) * np.float32(q) + _half(b[2:]) for q in _nibbles(b[4:])]


def _q5_0(b: bytes) -> list[Any]:
    fifths = int.from_bytes(b[2:6], "little")
    return [_half(b) * np.float32(q + (fifths >> k & 1) * 16 - 16) for k, q in enumerate(_nibbles(b[6:]))]


def _q4_k(b: bytes) -> list[Any]:
    s, values = b[4:16], []
    for part in range(8):
        if part < 4:
            scale, least = s[part] & 63, s[part + 4] & 63
        else:
            scale = s[part + 4] & 15 | s[part - 4] >> 6 << 4
            least = s[part + 4] >> 4 | s[part] >> 6 << 4
        pair = b[16 + part // 2 * 32 :][:32]
        numbers = [x >> 4 * (part % 2) & 15 for x in pair]
        values += [_half(b) * np.float32(scale) * np.float32(q) - _half(b[2:]) * np.float32(least) for q in numbers]
    return values


def _q6_k(b: bytes) -> list[Any]:
    scales, values = _signed(b[192:208]), []
    for k in range(256):
        half, place = divmod(k, 128)
        quarter, column = divmod(place, 32)
        low = b[64 * half + 32 * (quarter % 2) + column] >> 4 * (quarter // 2) & 15
        high = b[128 + 32 * half + column] >> 2 * quarter & 3
        values.append(_half(b[208:]) * np.float32(scales[k // 16]) * np.float32((low | high << 4) - 32))
    return values


GROUPS: Final[dict[PackedFormat, tuple[int, Group]]] = {
    "q8_0": (34, _q8_0),
    "q4_0": (18, _q4_0),
    "q4_1": (20, _q4_1),
    "q5_0": (22, _q5_0),
    "q4_k": (144, _q4_k),
    "q6_k": (210, _q6_k),
}


def unpacked(q: Any, format: PackedFormat) -> Any:
    """The values of rows of bytes, one group after the other."""
    size, of_group = GROUPS[format]
    groups = np.ascontiguousarray(q).reshape(-1, size)
    with np.errstate(all="ignore"):
        values = [of_group(group.tobytes()) for group in groups]
    return np.array(values, np.float32).reshape(*q.shape[:-1], -1)


def _product(x: Any, q: Any) -> Any:
    return x @ unpacked(q, "q8_0").T


def small_scales(draws: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Any:
    """Two groups in a row, whose scales (and least values, where there are some) are about 1."""
    q = drawn(draws, dtype, shape)
    size = shape[-1] // 2
    q[..., 1::size] = 0x3C
    if size == GROUPS["q4_1"][0]:
        q[..., 3::size] = 0xBC
    return q


CASES: Final = of_family(
    FAMILY.path,
    [
        Case(
            functools.partial(tg.dequantize_groups, format=name),
            [u8("n", 2 * size, values=drawn, static=True)],
            name=f"dequantize_groups {name}",
            oracle=functools.partial(unpacked, format=name),
            accuracy=0,
        )
        for name, (size, _) in GROUPS.items()
    ],
    Case(
        tg.vmap(functools.partial(tg.dequantize_groups, format="q4_0")),
        [u8("n", 36, values=drawn, static=True)],
        name="dequantize_groups in a batch",
        oracle=functools.partial(unpacked, format="q4_0"),
        accuracy=0,
    ),
    Case(
        lambda x, q: x @ tg.dequantize_groups(q, "q8_0").T,
        [f32("n", 64, static=True), u8(5, 68, values=small_scales, static=True)],
        name="matmul with groups",
        oracle=_product,
        condition=lambda x, q: abs(x) @ abs(unpacked(q, "q8_0")).T,
        gradient=True,
    ),
    [
        Case(
            MatMulGroups(name),
            [f32(*lead, rows, 64, static=True), u8(11, 2 * size, values=small_scales, static=True)],
            name=f"matmul_groups {name}, {'x'.join(map(str, (*lead, rows)))} rows",
            oracle=lambda x, q, name=name: x @ unpacked(q, name).T,
            condition=lambda x, q, name=name: abs(x) @ abs(unpacked(q, name)).T,
            gradient=rows == 1,
        )
        for name, size in (("q8_0", 34), ("q4_0", 18), ("q4_1", 20))
        for lead, rows in (((), 1), ((), "n"), ((2,), 5))
    ],
    Case(
        lambda q: tg.dequantize_groups(q, "q8_0"),
        [u8("n", 35, values=drawn, static=True)],
        name="dequantize_groups of half a group",
        raises=ShapeError,
    ),
    Case(
        lambda q: tg.dequantize_groups(q, "q9"),  # type: ignore[arg-type]
        [u8("n", 34, values=drawn, static=True)],
        name="dequantize_groups in no format",
        raises=InputError,
    ),
)
