"""Mathematics on lanes: written out, by vector functions, else by libm lane by lane.

The vector functions are libmvec's, where glibc has it: at most 4 ulp, infinities, NaN and signed zeros as in libm.
Others are called through one function of the module that takes the lanes apart.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

import llvmlite.binding as llvm

from tg_numba.assembly import Body, Module
from tg_numba.lanes import Lanes, Pair
from tg_numba.mathematics import is_written, written
from tg_numba.pieces import in_vectors
from tg_numba.processor import features, has_libmvec, vector_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PURE: Final = "nounwind willreturn memory(none)"
COMPLEX: Final = "{double, double}"


@functools.cache
def variants(name: str, dtype: str, arity: int) -> dict[int, str]:
    """The vector functions for a function of libm, by the number of their lanes."""
    if not has_libmvec():
        return {}
    letters = {"b": 16, "d": 32 if "avx2" in features() else 0, "e": 64 if vector_bytes() == 64 else 0}
    size, suffix = (4, "f") if dtype == "float32" else (8, "")
    found = {n // size: f"_ZGV{letter}N{n // size}{'v' * arity}_{name}{suffix}" for letter, n in letters.items() if n}
    return {lanes: symbol for lanes, symbol in found.items() if llvm.address_of_symbol(symbol)}


def libm(name: str, *operands: Lanes) -> Lanes:
    """A function of libm, of one float dtype."""
    x = operands[0]
    body, dtype = x.body, x.dtype
    if is_written(name, dtype):
        return written(name, *operands)
    if not body.lanes:
        symbol = name + ("f" if dtype == "float32" else "")
        return Lanes(body, dtype, body.called(symbol, x.kind, [v.operand for v in operands], PURE))
    known = variants(name, dtype, len(operands))
    if not known:
        return lane_by_lane(name + ("f" if dtype == "float32" else ""), operands)
    fitting = [n for n in known if n <= body.lanes]
    width = max(fitting) if fitting else min(known)
    return in_vectors(functools.partial(_called, known[width]), width, *operands)


def _called(symbol: str, *operands: Lanes) -> Lanes:
    """A vector function of as many lanes as the body has."""
    x = operands[0]
    return Lanes(x.body, x.dtype, x.body.called(symbol, x.kind, [v.operand for v in operands], PURE))


def lane_by_lane(symbol: str, operands: Sequence[Lanes]) -> Lanes:
    """A function of single elements, which has no effects, for each lane; its result is of the operands' dtype."""
    x = operands[0]
    body, item = x.body, Body(Module()).kind(x.dtype)
    if not body.lanes:
        return _called(symbol, *operands)
    if not symbol.startswith("tg."):
        body.module.declare(symbol, item, [item] * len(operands), PURE)
    name = f"tg.lanes.{body.lanes}.{symbol}"
    body.module.define(name, _taken_apart(name, symbol, body.lanes, item, len(operands)))
    return Lanes(body, x.dtype, body.called(name, x.kind, [v.operand for v in operands]))


def _taken_apart(name: str, symbol: str, lanes: int, item: str, arity: int) -> str:
    kind = f"<{lanes} x {item}>"
    letters = "xyz"[:arity]
    lines = [f"define internal {kind} @{name}({', '.join(f'{kind} %{x}' for x in letters)}) noinline nounwind {{"]
    last = "poison"
    for k in range(lanes):
        lines += [f"  %{x}{k} = extractelement {kind} %{x}, i64 {k}" for x in letters]
        lines.append(f"  %f{k} = call {item} @{symbol}({', '.join(f'{item} %{x}{k}' for x in letters)})")
        lines.append(f"  %r{k} = insertelement {kind} {last}, {item} %f{k}, i64 {k}")
        last = f"%r{k}"
    return "\n".join((*lines, f"  ret {kind} {last}", "}"))


# --- complex numbers -------------------------------------------------------------------------------------------------


def complex_libm(name: str, *operands: Pair) -> Pair:
    """A function of libm for complex numbers, in double precision."""
    x = operands[0]
    body, dtype = x.body, x.dtype
    given = [part.operand for v in operands for part in v.to("complex128")]
    if body.lanes:
        symbol = f"tg.lanes.{body.lanes}.{name}"
        body.module.declare(name, COMPLEX, ["double"] * len(given), PURE)
        body.module.define(symbol, _complex_apart(symbol, name, body.lanes, len(given)))
        kind = body.type("double")
        whole = f"{{{kind}, {kind}}}"
    else:
        symbol, whole = name, COMPLEX
    found = body.called(symbol, whole, given, PURE)
    halves = [Lanes(body, "float64", body.find(f"extractvalue {whole} {found}, {k}")) for k in (0, 1)]
    return Pair(*halves).to(dtype)


def _complex_apart(name: str, symbol: str, lanes: int, count: int) -> str:
    kind = f"<{lanes} x double>"
    whole = f"{{{kind}, {kind}}}"
    lines = [
        f"define internal {whole} @{name}({', '.join(f'{kind} %p{k}' for k in range(count))}) noinline nounwind {{"
    ]
    real = imag = "poison"
    for k in range(lanes):
        lines += [f"  %e{k}.{p} = extractelement {kind} %p{p}, i64 {k}" for p in range(count)]
        lines.append(f"  %f{k} = call {COMPLEX} @{symbol}({', '.join(f'double %e{k}.{p}' for p in range(count))})")
        for letter, last in (("a", real), ("b", imag)):
            lines.append(f"  %{letter}{k} = extractvalue {COMPLEX} %f{k}, {'ab'.index(letter)}")
            lines.append(f"  %{letter}{k}.all = insertelement {kind} {last}, double %{letter}{k}, i64 {k}")
        real, imag = f"%a{k}.all", f"%b{k}.all"
    lines.append(f"  %first = insertvalue {whole} poison, {kind} {real}, 0")
    lines.append(f"  %both = insertvalue {whole} %first, {kind} {imag}, 1")
    return "\n".join((*lines, f"  ret {whole} %both", "}"))


# --- as rules take them ----------------------------------------------------------------------------------------------


def libm_named(name: str) -> Callable[..., Lanes]:
    """A function of libm."""
    return functools.partial(libm, name)


def complex_named(name: str) -> Callable[..., Pair]:
    """A function of libm for complex numbers."""
    return functools.partial(complex_libm, name)


exp, log, log1p, sin, cos = (libm_named(name) for name in ("exp", "log", "log1p", "sin", "cos"))
