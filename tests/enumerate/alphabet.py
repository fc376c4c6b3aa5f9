"""The letters that programs are written with, by families of rules: operations as text over operands and constants.

In a letter's text `a b c` are operands of one dtype, `p q` truth values, `k` an integer scalar, and `K` the constants
of the dtype. What the rules of a family match adds its functions, and their left sides and examples are letters too.
"""

from __future__ import annotations

import functools
import re
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

import tg
import tg.linalg
from tests.enumerate.edits import edited
from tests.fuzz.noise import limits
from tg.graph.traversal import sorted_applies
from tg.ops.elementwise.record import ElementwiseFunction
from tg.rewrite.pattern import PatternNode, term_of
from tg.rewrite.rule import Equation
from tg.rules import catalog
from tg.types.dtypes import is_complex, is_integer, numpy_dtype
from tg.types.lengths import minimum

FLOATS = ("float64", "float64", "float64", "float32", "float16", "bfloat16")
COMPLEX = ("complex128", "complex64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
EVERY = (*FLOATS, *COMPLEX, *INTEGERS, "bool")


class Letter(NamedTuple):
    """An operation: its text, a function of constants and operands, the kinds of dtypes it is for, its operands."""

    text: str
    build: object
    kinds: str
    names: tuple
    alike: bool = False  # whether all its operands have one type

    def __repr__(self):
        return self.text


@functools.cache
def constants(dtype):
    """The constants of a dtype: small and large ones whose square is out of range, and the edges."""
    if dtype == "bool":
        return SimpleNamespace(zero=False, one=True, other=True)
    if is_integer(dtype):
        info = np.iinfo(dtype)
        return SimpleNamespace(
            zero=0, one=1, least=int(info.min), most=int(info.max), width=info.bits, half=info.bits // 2 + 1,
            last=info.bits - 1, other=info.bits // 2 - 1,
        )  # fmt: skip
    info = limits(numpy_dtype(dtype))
    power = round(np.log2(info.largest) * 0.65)
    return SimpleNamespace(
        zero=0.0, one=1.0, small=2.0**-power, large=2.0**power, tiny=float(info.tiny), most=float(info.largest),
        least=float(info.least), eps=float(info.eps), small10=float(f"1e{-int(power * 0.301)}"),
        large10=float(f"1e{int(power * 0.301)}"), root=2.0 ** -round(power / 10), high=2.0 ** round(power / 10),
        rate=2.0 ** -round(power / 21),
    )  # fmt: skip


def steps(a):
    """1, 2, ... along the last axis: a factor that is known not to be 0."""
    return tg.cast(tg.arange(1, a.shape[-1] + 1), a.dtype)


def square(a):
    """The largest square corner of matrices."""
    n = minimum(*a.shape[-2:])
    return a[..., :n, :n]


def sides(a):
    """Right sides of four rows."""
    corner = square(a)[..., :2, :2]
    return tg.concatenate([corner, corner], -2)


def definite(a):
    """Matrices of which it is promised that they are positive definite: their diagonals outweigh their rows."""
    half = square(a)
    real = tg.real(half) if is_complex(a.dtype) else half
    small = tg.clip(real + tg.swapaxes(real, -1, -2), -0.5, 0.5)
    n = half.shape[-1]
    return tg.assume(tg.cast(small + n * tg.eye(n, dtype=real.dtype), a.dtype), positive_definite=True)


def spiked(a, b):
    """A multiple of the identity and a product of one column: four rows."""
    u = sides(a)[..., :1]
    return b[..., :1, :1] * tg.eye(4, dtype=a.dtype) + u @ tg.swapaxes(u, -1, -2)


def three(a):
    """Three diagonals of square matrices, and zeros."""
    return tg.triu(tg.tril(square(a), 1), -1)


def reflected(a):
    """An orthogonal matrix of as many rows as a has columns."""
    n = a.shape[-1]
    v = tg.cast(tg.arange(1, n + 1), a.dtype)
    return tg.assume(tg.eye(n, dtype=a.dtype) - 2 * tg.outer(v, v) / tg.sum(v * v), orthogonal=True)


WORDS = {
    "tg": tg,
    "np": np,
    "steps": steps,
    "square": square,
    "sides": sides,
    "definite": definite,
    "reflected": reflected,
    "spiked": spiked,
    "three": three,
    "linalg": tg.linalg,
    "turned": tg.matrix_transpose,
}


def letter(text, kinds="fc"):
    """A letter of its text."""
    names = tuple(n for n in ("a", "b", "c", "p", "q", "k") if re.search(rf"\b{n}\b", text))
    return Letter(text, eval(f"lambda K, {', '.join(names)}: {text}", WORDS), kinds, names)


def letters(text, kinds="fc"):
    """One letter in each line."""
    return tuple(letter(line.strip(), kinds) for line in text.strip().splitlines())


NEAR = letters(
    "-a\n1 / a\na * a\ntg.square(a)\ntg.reciprocal(a)\n2 * a\na * -3\na / 2\na + 1\n1 - a\na - 1\ntg.absolute(a)"
)
ENDS = letters(
    """a * K.small
    a * K.large
    a / K.large
    a / K.small
    a * K.small10
    a / K.large10
    K.small / a
    a + K.small
    a * K.tiny
    a * K.root
    a * K.rate
    a * 0
    a + 0
    a * -0.0
    a + -0.0
    a - 0
    a * -1
    a / -1"""
)
PAIRS = letters("a + b\na - b\na * b\na / b\na * b\na / b")
GATES = letters(
    """tg.gate(a, b)
    tg.gate(a, 1 / b)
    tg.gate(a * b, 1 / b)
    tg.gate(a, tg.square(b))
    tg.gate(-a, b)
    tg.gate(a * -3, b)"""
)
MOVES = letters(
    """a[..., ::-1]
    tg.roll(a, 1, -1)
    a[..., 1:]
    a[..., :-1]
    a[..., :1]
    a[..., 0]
    a[..., ::2]
    a[..., [1, 0, 1]]
    tg.concatenate([a, b], -1)
    tg.reshape(a, (-1,))
    a[..., None]
    a[None]
    tg.swapaxes(a, -1, -2)
    tg.broadcast_to(a, b.shape)
    tg.expand_dims(a, -2)
    tg.stack([a, b], -1)
    tg.repeat(a, 2, -1)""",
    "fciub",
)
REDUCTIONS = letters(
    """tg.sum(a, -1, keepdims=True)
    tg.sum(a, -1)
    tg.sum(a)
    tg.sum(a, 0)
    tg.max(a, -1, keepdims=True)
    tg.min(a, -1, keepdims=True)
    tg.prod(a, -1, keepdims=True)
    tg.prod(a, -1)
    tg.mean(a, -1, keepdims=True)
    tg.max(a)
    tg.min(a, -1)""",
    "fiu",
)
COMPLEX_REDUCTIONS = letters("tg.sum(a, -1, keepdims=True)\ntg.sum(a, -1)\ntg.prod(a, -1)\ntg.mean(a, 0)", "c")
WHOLE = letters(
    """a + b
    a - b
    a * b
    -a
    a + 1
    1 - a
    a * 2
    a * 3
    a - K.most
    a * K.most
    a + K.least
    a // 2
    a % 2
    a // 3
    a % 8
    tg.square(a)
    tg.absolute(a)
    tg.maximum(a, b)
    tg.minimum(a, K.most)
    tg.maximum(a, 0)
    a // b
    a % b
    a // K.most
    tg.sign(a)""",
    "iu",
)
BITS = letters(
    """a & b
    a | b
    a ^ b
    ~a
    a & 15
    a | K.most
    a ^ K.most
    a & 0
    a << 1
    a << K.half
    a << K.other
    a >> 1
    a >> K.half
    a >> K.other
    a >> K.last
    a << K.last
    a >> K.width
    a << b
    a >> b""",
    "iu",
)
LOGIC = letters(
    """p & q
    p | q
    p ^ q
    ~p
    tg.logical_not(p)
    p == q
    p != q
    tg.where(p, q, True)
    tg.where(p, False, q)
    tg.where(p, ~p, q)
    tg.logical_and(p, q)
    p < q
    tg.any(p)
    tg.all(p, -1)""",
    "fiub",
)
ORDER = letters(
    "a < b\na <= b\na > b\na >= b\na == b\na != b\na < 0\na >= 0\na == 0\na != 1\n0 < a\na > K.one\na == a", "fiu"
)
CHOICE = letters(
    """tg.where(p, a, b)
    tg.where(p, a, 0)
    tg.where(p, 0, a)
    tg.where(p, a, 1)
    tg.where(p, a, a)
    tg.where(p, -a, a)
    tg.where(a > 0, a, b)
    tg.where(a < b, a, b)
    tg.cast(p, a.dtype)
    a * p
    tg.maximum(a, b)
    tg.minimum(a, b)
    tg.clip(a, 0, 1)
    tg.maximum(a, 0)""",
    "fiu",
)
CASTS = letters(
    """tg.cast(a, "float64")
    tg.cast(a, "float32")
    tg.cast(a, "float16")
    tg.cast(a, "bfloat16")
    tg.cast(a, "int8")
    tg.cast(a, "int32")
    tg.cast(a, "int64")
    tg.cast(a, "uint8")
    tg.cast(a, "uint64")
    tg.cast(a, "bool")
    tg.cast(p, "int32")
    tg.cast(p, "float64")""",
    "fiu",
)
MOVED = letters(
    """tg.exp(a)
    1 / a
    a[None]
    a[..., None]
    a * b
    a / b
    tg.exp(a)[None]
    tg.exp(b)[..., None]
    -a
    tg.sum(a, -1, keepdims=True)
    tg.sum(a * b, -1, keepdims=True)
    tg.gate(a, b)
    tg.gate(a * -3, 1 / b)
    a * b / (a * c)
    tg.broadcast_to(a, b.shape)
    (1 / tg.exp(a))[None]
    (-tg.exp(a))[None]
    (1 / tg.exp(a))[..., None]
    a * b / b"""
)
SCALES = letters(
    """steps(a)
    tg.gate(a * -3, 1 / b)
    a * b / (a * c)
    a * b / c
    a * b
    tg.gate(-a, b)
    (a * K.rate) ** 16
    (a * K.rate) ** 16 * (b * K.rate) ** 16
    a * 3
    1 / a
    tg.square(a)
    a * K.high"""
)
SLOPES = letters(
    """tg.gate(a * -3, 1 / b) * steps(a)
    a / (steps(a) * b)
    tg.gate(a * 2, b) * c
    a * b / (steps(a) * c)
    tg.grad(tg.sum(tg.log(a) * b * -3), a) * steps(a)
    steps(a) * a
    steps(a) / a
    a * b"""
)
POWERS = letters(
    """a ** 2
    a ** 3
    a ** -1
    a ** -2
    a ** 0.5
    a ** -0.5
    a ** 16
    a ** 4
    a ** 1.5
    a ** b
    tg.sqrt(a)
    1 / tg.sqrt(a)
    2.0 ** a
    tg.absolute(a) ** 0.5
    (a * K.rate) ** 16
    tg.square(a)
    a ** 0
    a ** (b + 1)
    tg.cbrt(a)"""
)
UPDATES = letters(
    """tg.zeros_like(a)
    a.at[..., 0:2].set(b[..., 0:2])
    a.at[..., 2:4].set(b[..., 2:4])
    a.at[..., 1:3].set(b[..., 1:3])
    a.at[..., 1:3].add(b[..., 1:3])
    a.at[..., 0].set(b[..., 1])
    a.at[..., ::2].set(b[..., ::2])
    a.at[..., 1:].add(b[..., :-1])
    a.at[..., [0, 2]].set(b[..., [1, 1]])
    a.at[..., [0, 0]].add(b[..., [1, 2]])
    a.at[..., 1:3].set(0)
    tg.ones_like(a)
    tg.zeros_like(a).at[..., 1:3].add(b[..., 1:3])
    tg.zeros_like(a).at[..., 1:].add(a[..., 1:])
    tg.zeros_like(a).at[..., 0:2].set(a[..., 0:2])
    a[..., 1:3]
    a[..., 2]
    a[..., -1]
    a[..., ::-2]
    tg.diff(a)
    tg.pad(a, 1)
    tg.tile(a, 2)
    tg.tril(a)
    tg.triu(a, 1)
    tg.diagonal(a)
    tg.diag(a)""",
    "fciu",
)
WRITES = letters(
    """tg.zeros_like(a)
    a.at[..., 0:2].set(b[..., 0:2])
    a.at[..., 2:4].set(b[..., 2:4])
    a.at[..., 1:3].set(b[..., 1:3])
    a.at[..., 0:2].set(b[..., 1:3]).at[..., 2:4].set(c[..., 0:2])
    a.at[..., 2:].set(b[..., 2:]).at[..., :2].set(c[..., :2])
    a.at[..., :1].set(b[..., 1:2])
    a.at[..., 1:].set(b[..., :-1])
    a.at[..., 1:2].add(b[..., :1])
    a.at[..., ::2].set(b[..., ::2])
    a.at[..., 1::2].set(b[..., 1::2])
    a.at[1:3].set(b[1:3])
    a.at[0:2].set(b[0:2])
    a.at[2:4].set(b[2:4])
    a.at[0:1].set(b[1:2]).at[1:].set(c[1:])
    a.at[1:, 1:].set(b[1:, :-1])""",
    "fciu",
)
SIZED = letters(
    """a[..., :k]
    a[..., k:]
    a[..., k]
    a[..., a[0] > 0]
    a[a > 0]
    tg.broadcast_to(a, (k, *a.shape))
    tg.zeros((k,), dtype=a.dtype)
    tg.cast(tg.arange(k), a.dtype)
    tg.reshape(a, (-1, 2))
    tg.reshape(a, (2, -1))
    a * tg.cast(a.shape[-1], a.dtype)
    a[..., : a.shape[-1] // 2]
    tg.tile(a, k)""",
    "fi",
)
SCALARS = letters(
    """k + 1
    k * 2
    k // 2
    k * 2 // 2
    k - 1
    tg.maximum(k, 1)
    tg.minimum(k, 3)
    -k
    tg.equal(k * 2 // 2, k)
    tg.equal(k + 1 - 1, k)
    k < k + 1
    tg.equal(k * k, 0)
    tg.where(k + 1 > k, k, 0)""",
    "i",
)
PRODUCTS = letters(
    """a @ b
    a @ a
    tg.swapaxes(a, -1, -2) @ b
    a @ tg.swapaxes(b, -1, -2)
    tg.outer(a, b)
    a[..., None] * b[..., None, :]
    tg.sum(a[..., None] * b, -2)
    tg.sum(a * b, -1)
    (a * 2) @ b
    (a * K.small) @ b
    a @ (b * K.large)
    a @ (-b)
    a[:, :1] @ b[:1]
    a[:, None] @ b[None]
    tg.trace(a)
    tg.diagonal(a @ b)
    tg.concatenate([a, b]) @ a
    tg.swapaxes(a @ b, -1, -2)
    (a @ b)[0]
    (a @ b)[:, 1:]
    tg.eye(3, dtype=a.dtype) @ a""",
    "fci",
)
SYSTEMS = letters(
    """square(a)
    linalg.solve(square(a), square(b), on_error="nan")
    linalg.solve(square(a), square(b), transposed=True, on_error="nan")
    linalg.inv(square(a), on_error="nan")
    linalg.inv(square(a), on_error="nan") @ square(b)
    square(a) @ linalg.inv(square(b), on_error="nan")
    turned(linalg.inv(square(a), on_error="nan")) @ square(b)
    linalg.solve(square(a), square(b))
    linalg.inv(square(a)) @ square(b)
    linalg.solve(square(a), square(b)[..., :1] * square(a)[..., :1, :], on_error="nan")
    linalg.solve(tg.tril(square(a)), square(b), on_error="nan")
    linalg.solve(tg.triu(square(a)), square(b), transposed=True, on_error="nan")
    linalg.solve(tg.tril(tg.triu(square(a))), square(b), on_error="nan")
    linalg.inv(tg.tril(square(a)), on_error="nan")
    linalg.inv(tg.tril(tg.triu(square(a))), on_error="nan")
    linalg.solve(three(a), square(b), on_error="nan")
    linalg.solve(three(a), square(b), transposed=True, on_error="nan")
    linalg.solve(tg.tril(three(a)), square(b), on_error="nan")
    linalg.inv(three(a), on_error="nan")
    linalg.solve_triangular(turned(square(a)), square(b), on_error="nan")
    linalg.solve_triangular(square(a), square(b), lower=True, on_error="nan")
    linalg.solve(definite(a), square(b))
    linalg.solve(definite(a), square(b), transposed=True, on_error="nan")
    linalg.inv(definite(a))
    linalg.inv(definite(a)) @ square(b)
    linalg.cholesky(definite(a))
    linalg.cholesky(square(a), on_error="nan")
    linalg.solve(reflected(a), turned(a))
    linalg.inv(reflected(a)) @ turned(a)
    linalg.solve(spiked(a, b), sides(b), on_error="nan")
    linalg.solve(spiked(a, b), sides(b), transposed=True, on_error="nan")
    linalg.inv(spiked(a, b), on_error="nan")
    linalg.kron(square(a)[..., :2, :2], square(b)[..., :2, :2])
    linalg.solve(linalg.kron(square(a)[:2, :2], square(b)[:2, :2]), sides(a), on_error="nan")
    linalg.kron(square(a)[:2, :2], square(b)[:2, :2]) @ sides(b)
    linalg.solve(linalg.block_diag(square(a)[:2, :2], square(b)[:2, :2]), sides(b), on_error="nan")
    turned(a)
    square(a) + turned(square(a))
    square(a) @ square(b)
    linalg.trace(square(a) @ square(b))"""
)
DETERMINANTS = letters(
    """linalg.det(square(a))
    tg.log(linalg.det(square(a)))
    tg.log(tg.absolute(linalg.det(square(a))))
    linalg.slogdet(square(a))[0]
    linalg.slogdet(square(a))[1]
    linalg.det(three(a))
    linalg.slogdet(three(a))[0]
    linalg.slogdet(three(a))[1]
    linalg.det(tg.tril(square(a)))
    linalg.slogdet(tg.triu(square(a)))[1]
    linalg.slogdet(tg.triu(square(a)))[0]
    linalg.det(definite(a))
    tg.log(linalg.det(definite(a)))
    linalg.slogdet(definite(a))[1]
    linalg.det(spiked(a, b))
    linalg.slogdet(spiked(a, b))[0]
    linalg.slogdet(spiked(a, b))[1]
    linalg.slogdet(linalg.kron(square(a)[:2, :2], square(b)[:2, :2]))[1]
    linalg.slogdet(linalg.block_diag(square(a)[:2, :2], square(b)[:2, :2]))[1]
    linalg.det(linalg.inv(square(a), on_error="nan"))"""
)
ONE_HOT = letters(
    """a[..., None] == tg.cast(tg.arange(3), a.dtype)
    tg.sum(tg.cast(a[..., None] == tg.cast(tg.arange(3), a.dtype), a.dtype), -1)
    tg.sum(a[..., None] == np.arange(3.0), axis=1)
    tg.sum(p[..., None] * a, -1)
    tg.sum(p, -1)
    tg.sum(tg.where(p, a, 0), -1)
    tg.any(a == b, -1)
    tg.max(tg.cast(p, a.dtype), -1)
    tg.sum(p[..., None] & (a == b), -2)
    tg.argmax(a, -1)
    tg.cast(tg.arange(3), a.dtype)""",
    "fiu",
)
ALONG = letters(
    """tg.cumsum(a, -1)
    tg.cumprod(a, -1)
    tg.cummax(a, -1)
    tg.softmax(a, -1)
    tg.log_softmax(a, -1)
    tg.logsumexp(a, -1, keepdims=True)
    tg.exp(a) / tg.sum(tg.exp(a), -1, keepdims=True)
    tg.exp(a - tg.max(a, -1, keepdims=True))
    tg.log(tg.sum(tg.exp(a), -1, keepdims=True))
    tg.sort(a, -1)
    tg.diff(tg.cumsum(a, -1))"""
)
SIGMOIDS = letters(
    """tg.exp(a)
    tg.exp(-a)
    tg.log(a)
    tg.log1p(a)
    tg.expm1(a)
    tg.sigmoid(a)
    tg.softplus(a)
    1 / (1 + tg.exp(-a))
    tg.exp(a) / (1 + tg.exp(a))
    tg.log(1 + tg.exp(a))
    tg.logaddexp(a, b)
    tg.tanh(a)
    tg.exp2(a)
    tg.log2(a)
    tg.exp(a) * tg.exp(b)
    tg.exp(a) / tg.exp(b)
    tg.log(a * b)
    tg.log(a / b)
    tg.log(a ** 2)
    tg.gate(a * tg.exp(b), 1 / tg.expm1(b))
    tg.exp(a)[None]
    tg.exp(a)[..., None]
    tg.sum(tg.exp(a), -1, keepdims=True)"""
)
CIRCLE = letters(
    """tg.sin(a)
    tg.cos(a)
    tg.tan(a)
    tg.arctan(a)
    tg.arcsin(a)
    tg.sinh(a)
    tg.cosh(a)
    tg.tanh(a)
    tg.arctanh(a)
    tg.sin(a) ** 2 + tg.cos(a) ** 2
    tg.arctan2(a, b)
    tg.arctan2(a, 1)
    tg.sin(a) / tg.cos(a)
    tg.hypot(a, b)
    tg.arcsinh(a)
    tg.sinc(a)""",
    "f",
)
SPECIAL = letters(
    """tg.erf(a)
    tg.erfc(a)
    1 - tg.erf(a)
    1 - tg.erfc(a)
    tg.erf(a) + 1
    tg.exp(a * a) * tg.erfc(a)
    tg.log(tg.erfc(a))
    tg.ndtr(a)
    1 - tg.ndtr(a)
    tg.log(tg.ndtr(a))
    tg.log_ndtr(a)
    tg.exp(tg.log_ndtr(a))
    tg.gammaln(a)
    tg.digamma(a)
    tg.log(tg.gamma(a))
    tg.log(tg.absolute(tg.gamma(a)))
    tg.log(tg.factorial(a))
    tg.log(0.5 * tg.erfc(-a / np.sqrt(2)))
    tg.log1p(-tg.erf(a))
    tg.log1p(-tg.ndtr(a))
    tg.exp(-a * a) / tg.erfc(a)
    tg.exp(a * a / 2) * tg.ndtr(a)
    tg.gate(a / tg.ndtr(b), tg.exp(b * b * -0.5))
    tg.ndtri(tg.exp(a))
    tg.xlogy(a, b)
    tg.exp(a)
    tg.log(a)
    -a
    a * b""",
    "f",
)
LOOPS = {"gammainc", "gammaincc"}  # of the special functions: the oracle does not know them, and each takes its time
ROUNDINGS = letters(
    """tg.floor(a)
    tg.ceil(a)
    tg.trunc(a)
    tg.rint(a)
    a // 1
    a % 1
    a // b
    a % b
    a % 2
    tg.floor(a / 2)
    tg.copysign(a, b)
    tg.sign(a)""",
    "f",
)
OF_COMPLEX = letters(
    """tg.conj(a)
    tg.exp(a)
    tg.absolute(a)
    tg.real(a)
    tg.imag(a)
    a * 1j
    a * tg.conj(a)
    tg.sqrt(a)
    tg.log(a)
    tg.square(a)
    a * tg.conj(b)
    tg.complex(tg.real(a), tg.imag(b))
    tg.absolute(a) ** 2
    tg.sign(a)
    tg.exp(a * 1j)
    tg.real(a * b)
    tg.imag(tg.conj(a))""",
    "c",
)


class Family(NamedTuple):
    """What the programs of a family are written with: its own letters, those beside them, dtypes, and its rules."""

    own: tuple
    beside: tuple
    dtypes: tuple
    rules: tuple = ()
    rank: tuple = (0, 1, 1, 2)
    constants: tuple = (0, 0, 1, 2)  # how many a program may have
    arrays: float = 0.3  # the share of them that are arrays


def rewrites(*modules):
    return tuple(one for module in modules for one in (*module.RULES, *getattr(module, "PASSES", ())))


MIXED = ("float64", "float32", "float16", "int8", "uint32", "int64")
MATRICES = ("float64", "float32", "complex128", "int64")
ARRAYS = ("float64", "float32", "int32", "uint8", "complex128")
ROWS = (1, 2)  # ranks of inputs


@functools.cache
def families():
    """The families by name."""
    r = catalog
    near = (*NEAR, *ENDS)
    numbers = rewrites(r.arithmetic)
    found = {
        "arithmetic": Family((*PAIRS, *NEAR), (*ENDS, *GATES), FLOATS, numbers),
        "constants": Family((*ENDS, *PAIRS), (*NEAR, *POWERS), FLOATS, numbers),
        "powers": Family((*POWERS, *PAIRS), near, FLOATS, numbers),
        "gates": Family((*GATES, *PAIRS), (*near, *SIGMOIDS), FLOATS, numbers),
        "integers": Family(WHOLE, (*BITS, *CASTS, *CHOICE, *REDUCTIONS), INTEGERS, rewrites(r.arithmetic, r.bitwise)),
        "bitwise": Family(BITS, WHOLE, INTEGERS, rewrites(r.bitwise)),
        "comparison": Family(
            (*LOGIC, *ORDER, *CHOICE), (*NEAR, *WHOLE, *CASTS), (*FLOATS, *INTEGERS), rewrites(r.comparison)
        ),
        "cast": Family(CASTS, (*NEAR, *WHOLE, *ORDER), (*FLOATS, *INTEGERS), rewrites(r.cast)),
        "complex": Family(
            (*OF_COMPLEX, *PAIRS), (*NEAR, *COMPLEX_REDUCTIONS, *MOVES), COMPLEX, rewrites(r.complex, r.arithmetic)
        ),
        "exponential": Family(SIGMOIDS, (*PAIRS, *near, *GATES), FLOATS, rewrites(r.exponential)),
        "rounding": Family(ROUNDINGS, (*PAIRS, *NEAR, *CASTS), FLOATS, rewrites(r.rounding)),
        "special": Family(
            SPECIAL, (*PAIRS, *NEAR), FLOATS, tuple(one for one in rewrites(r.special) if not functions_of(one) & LOOPS)
        ),
        "trigonometric": Family(CIRCLE, (*PAIRS, *NEAR), FLOATS, rewrites(r.trigonometric)),
        "contraction": Family(
            PRODUCTS, (*PAIRS, *MOVES, *REDUCTIONS), MATRICES, rewrites(r.contraction), (1, 2, 2)
        ),
        "linalg": Family(
            (*SYSTEMS, *DETERMINANTS), (*PAIRS, *NEAR, *MOVES[:4]), ("float64", "float64", "float32", "complex128"),
            rewrites(r.linalg), (2,), (0, 0, 1),
        ),
        "cumulative": Family(ALONG, (*PAIRS, *MOVES, *REDUCTIONS), FLOATS, rewrites(r.cumulative, r.sorting), ROWS),
        "softmax": Family((*ALONG, *SIGMOIDS), (*PAIRS, *NEAR, *REDUCTIONS), FLOATS, rewrites(r.softmax), ROWS),
        "indexing": Family((*UPDATES, *MOVES), (*PAIRS, *NEAR), ARRAYS, rewrites(r.indexing), (1, 1, 2)),
        "writes": Family(WRITES, (*PAIRS, *MOVES), ARRAYS, rewrites(r.indexing), ROWS, (0, 1)),
        "joining": Family(
            (*MOVES, *UPDATES), (*PAIRS, *REDUCTIONS, *PRODUCTS), ("float64", "int64"), rewrites(r.joining), ROWS
        ),
        "reduction": Family(
            (*REDUCTIONS, *ONE_HOT), (*PAIRS, *MOVES, *CHOICE, *ENDS), MIXED, rewrites(r.reduction), ROWS
        ),
        "moved": Family(MOVED, PAIRS, FLOATS[:4], (), (0, 1, 1)),
        "scales": Family(SCALES, (), FLOATS[:4], (), (1, 1, 2)),
        "slopes": Family(SLOPES, (), FLOATS[:4], (), ROWS, (1, 1, 2), 1.0),
        "movement": Family(
            (*REDUCTIONS, *MOVES), (*SIGMOIDS, *PAIRS, *NEAR), FLOATS[:4],
            rewrites(r.exponential, r.reduction, r.shape), ROWS,
        ),
        "shape": Family(
            (*MOVES, *SIZED), (*PAIRS, *NEAR, *REDUCTIONS), ("float64", "int32", "bool"),
            rewrites(r.shape, r.creation), ROWS,
        ),
        "lengths": Family(
            (*SIZED, *SCALARS), (*PAIRS, *PRODUCTS, *MOVES, *UPDATES), ("float64", "int64"), rewrites(r.shape), ROWS
        ),
    }  # fmt: skip
    return {name: one._replace(own=(*one.own, *derived(one))) for name, one in found.items()}


def derived(family):
    """The elementwise functions that a family's rules match, as letters, those that are there already excepted."""
    functions = set()
    for one in family.rules:
        functions |= functions_of(one)
    said = " ".join(a.text for a in (*family.own, *family.beside))
    names = sorted(f for f in functions if f"tg.{f}(" not in said and hasattr(getattr(tg, f, None), "arity"))
    return tuple(letter(f"tg.{n}({', '.join('abc'[: getattr(tg, n).arity])})", "fciub") for n in names)


@functools.cache
def functions_of(one):
    """The names of the elementwise functions on the left side of a rule or in its example."""
    found = {key.name for key in one.keys if isinstance(key, ElementwiseFunction)}
    if isinstance(one, Equation):
        stack = [term_of(one.match)[0]]
        while stack:
            term = stack.pop()
            if isinstance(term, PatternNode):
                found.add(term.fn.name)
                stack.extend(term.operands)
        return found
    try:
        function, count = builder(one)
        made = function(*(tg.tensor(f"x{k}", "float64", (4, 4)) for k in range(count)))
    except Exception:  # noqa: BLE001 (an example for other operands)
        return found
    outputs = list(made) if isinstance(made, tuple | list) else [made]
    return found | {a.op.fn.name for a, _ in sorted_applies(outputs) if hasattr(a.op, "fn") and a.op.fn is not None}


def builder(one):
    """The function that builds what a rewrite is for, and the number of its operands."""
    function = one.match if isinstance(one, Equation) else one.example
    code = getattr(function, "__code__", None)
    return function, code.co_argcount if code is not None else getattr(function, "arity", 1)


def pattern(one, number, family):
    """What a rewrite is for, as a letter: as it stands (number 0), or with so many of its places changed."""
    function, count = builder(one)
    names = tuple("abcdefghij"[:count])

    def build(K, *operands):
        made = function(*operands)
        if isinstance(made, tuple | list):
            made = made[0]
        return edited(made, number, family, K) if number else made

    kinds = "fciub"
    if isinstance(one, Equation):
        kinds = "".join(
            {
                "b" if d == "bool" else "u" if d[0] == "u" else "i" if is_integer(d) else "c" if is_complex(d) else "f"
                for d in one.dtypes
            }
        )
    return Letter(
        f"<{one.name}{f', edit {number}' if number else ''}>({', '.join(names)})",
        build,
        kinds,
        names,
        not isinstance(one, Equation),
    )
