"""Hold the derivatives of elementwise records to mpmath: `python -m tests.derivatives.oracle`.

Prints the worst error of each record, in units in the last place of the derivative, of first and of second order; with
`--write` computes the values again that are kept in `values/`, a file of each record, and with names does it for these
alone. An error up to the smallest normal number of the dtype is none: gradual underflow is not promised.
"""

from __future__ import annotations

import argparse
import itertools
import signal
import sys
import zlib
from pathlib import Path
from typing import Any, Final

import numpy as np
from mpmath import mp, mpf

from tests.derivatives.truth import BITS, TRUTH, Truth, pairs

VALUES: Final = Path(__file__).parent / "values"
DTYPES: Final = ("float64", "float32")
MODES: Final = ("default", "strict", "off")
SLOW: Final = 5  # seconds that mpmath may take for one point, which is left out otherwise
FEW: Final = 50  # points of each record and dtype where there is no time for all


# --- points and values -----------------------------------------------------------------------------------------------


def points(name: str, truth: Truth, dtype: str) -> list[tuple[float, ...]]:
    """Points of a record's domain, no operand 0: anywhere, in the middle, at the ends, around the crowded places."""
    rng = np.random.default_rng(zlib.crc32(f"{name} {dtype}".encode()))
    kind, limits = np.dtype(dtype).type, np.finfo(dtype)
    chosen: dict[tuple[float, ...], None] = {}
    for attempt in range(60 * truth.count):
        point: list[float] = []
        for k, (low, high) in enumerate(truth.box):
            if point and rng.random() < 0.25:  # operands that nearly agree
                drawn = point[0] * (1 + rng.choice([-1, 1]) * 2.0 ** -rng.uniform(0, limits.nmant))
            else:
                drawn = _drawn(rng, low, high, truth.near[k % len(truth.near)], limits, attempt)
            if name == "polygamma" and k == 0:
                drawn = round(drawn)
            with np.errstate(over="ignore"):
                point.append(float(kind(drawn)))
        inside = all(low <= x <= high and np.isfinite(x) for x, (low, high) in zip(point, truth.box, strict=True))
        if inside and (all(point) or name == "polygamma") and truth.where(*map(mpf, point)):
            chosen[tuple(point)] = None
        if len(chosen) == truth.count:
            break
    return list(chosen)


def _drawn(rng: Any, low: float, high: float, near: tuple[float, ...], limits: Any, attempt: int) -> float:
    way, sign = attempt % 4, rng.choice([-1.0, 1.0])
    least, most = float(limits.smallest_subnormal), float(limits.max)
    if way == 0:  # any magnitude
        bottom, top = max(least, low), min(most, max(abs(low), abs(high)))
        return float(sign * np.exp2(rng.uniform(np.log2(bottom), np.log2(top))))
    if way == 1:
        return float(rng.uniform(max(low, -20), min(high, 20)))
    if way == 2:
        return float(rng.uniform(max(low, -most) / 2, min(high, most) / 2) * 2)
    place = float(rng.choice(near))
    return float(place + sign * (abs(place) or 1) * 2.0 ** -rng.uniform(0, 10 + limits.nmant))


class TooSlowError(Exception):
    """mpmath has not found a value in time."""


def _give_up(*_: Any) -> None:
    raise TooSlowError


def computed(name: str) -> dict[str, Any]:
    """Points and derivatives of a record, for each dtype: `x64` (arity, n), `d64` (partials, n) and so on."""
    truth, arrays = TRUTH[name], {}
    signal.signal(signal.SIGALRM, _give_up)
    for dtype in DTYPES:
        rows, wants = [], []
        for point in points(name, truth, dtype):
            signal.alarm(SLOW)
            try:
                with mp.workprec(BITS):
                    want = [float(v) for v in truth.partials(*map(mpf, point))]
            except (TooSlowError, ZeroDivisionError, ValueError, OverflowError, mp.NoConvergence):
                continue
            finally:
                signal.alarm(0)
            rows.append(point)
            wants.append(want)
        with np.errstate(over="ignore"):
            arrays[f"x{dtype[5:]}"] = np.array(rows, dtype).T
            arrays[f"d{dtype[5:]}"] = np.array(wants).T.astype(dtype)
    return arrays


def kept(name: str, dtype: str, count: int | None = None) -> tuple[Any, Any]:
    """Points and derivatives of a record from its file, all or so many of them."""
    with np.load(VALUES / f"{name}.npz") as arrays:
        x, want = arrays[f"x{dtype[5:]}"], arrays[f"d{dtype[5:]}"]
    step = max(1, x.shape[1] // count) if count else 1
    return x[:, ::step], want[:, ::step]


# --- what tg computes ------------------------------------------------------------------------------------------------


def derivatives(name: str, dtype: str, mode: str, backend: str) -> Any:
    """A function of the operands: the first derivatives and the second ones, by reverse mode twice; None for none."""
    import tg
    from tg.ops.catalog import ELEMENTWISE

    fn = ELEMENTWISE[name]
    operands = [tg.vector(f"x{k}", dtype=dtype) for k in range(fn.arity)]
    with tg.config(mode=mode):
        first = [_grad(fn(*operands), x) for x in operands]
        mixed = [None if first[i] is None else _grad(first[i], operands[j]) for i, j in pairs(fn.arity)]
        turned = [
            None if first[j] is None or i == j else _grad(first[j], operands[i]) for i, j in pairs(fn.arity)
        ]  # the other order
    all_of_them = [*first, *mixed, *turned]
    present = [k for k, v in enumerate(all_of_them) if v is not None]
    function = tg.function(operands, [all_of_them[k] for k in present], mode=mode, backend=backend)

    def evaluate(*arrays: Any) -> list[Any]:
        results: list[Any] = [None] * len(all_of_them)
        for k, value in zip(present, function(*arrays), strict=True):
            results[k] = np.broadcast_to(value, arrays[0].shape)
        return results

    return evaluate


def _grad(y: Any, x: Any) -> Any:
    import tg

    try:
        return tg.grad(tg.sum(y), x, disconnected="zero")
    except tg.NotDifferentiable:
        return None


def ulps(got: Any, want: Any, unit: Any) -> Any:
    """The error of numbers in units in the last place of what is right; infinite where one is finite, the other not."""
    limits = np.finfo(want.dtype)
    with np.errstate(all="ignore"):
        distance = np.abs(got - want)
        found = np.maximum(0, distance - limits.tiny) / np.spacing(unit)
        found = np.where(
            np.isinf(want), np.where(got == want, 0, np.where(abs(got) > limits.max / 2, 1, np.inf)), found
        )
    return np.where(np.isnan(want), 0, np.where(np.isnan(found), np.inf, found))


SCALED: Final = 16.0  # the units that a record is held to which states none


def _scales(x: Any, want: Any) -> Any:
    """How large the terms of the derivatives are, first and second ones, as `slope_accuracy` counts them."""
    arity = len(x)
    first, second = np.abs(want[:arity]).astype(float), np.abs(want[arity:]).astype(float)
    scales = np.concatenate([first, second])
    with np.errstate(all="ignore"):
        for place, (i, j) in enumerate(pairs(arity)):
            for k, other in {(i, j), (j, i)}:
                scales[k] += np.nan_to_num(np.abs(x[other] * second[place]), nan=0)
            terms = np.maximum(first[i] / np.abs(x[j]), first[j] / np.abs(x[i]))
            scales[arity + place] += np.nan_to_num(terms, nan=0)
    return scales


def bound(name: str, x: Any) -> Any:
    """The error that a record states for points, and whether it states one."""
    from tg.ops.catalog import ELEMENTWISE

    stated = ELEMENTWISE[name].slope_accuracy
    if stated is None:
        return np.full(x.shape[1], SCALED), False
    with np.errstate(all="ignore"):
        return np.broadcast_to(stated(*x) if callable(stated) else stated, x.shape[1:]), True


def errors(name: str, dtype: str, mode: str, backend: str, count: int | None = None) -> tuple[Any, Any, Any]:
    """The points of a record, and the errors there: those of first order, and those of second, in rows."""
    x, want = kept(name, dtype, count)
    results = derivatives(name, dtype, mode, backend)(*x)
    arity, number = len(x), len(pairs(len(x)))
    units = np.abs(want)
    if bound(name, x)[1]:
        units = np.maximum(units, np.minimum(_scales(x, want), np.finfo(dtype).max).astype(dtype))
    found = [
        np.zeros(x.shape[1]) if got is None else ulps(got, w, unit)
        for got, w, unit in zip(results, [*want, *want[arity:]], [*units, *units[arity:]], strict=True)
    ]
    held = np.isfinite(bound(name, x)[0])
    return x, np.where(held, found[:arity], 0), np.where(held, np.array(found[arity:]).reshape(2, number, -1).max(0), 0)


# --- the command -----------------------------------------------------------------------------------------------------


def worst(errors_of: Any) -> str:
    """The largest of some errors, in a table."""
    most = float(errors_of.max(initial=0))
    return "inf" if np.isinf(most) else f"{most:.3g}"


def main(arguments: list[str]) -> int:
    """Write values, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="records; all by default")
    parser.add_argument("--write", action="store_true", help="compute the values and keep them")
    parser.add_argument("--mode", nargs="*", default=MODES)
    parser.add_argument("--backend", default="perform")
    parser.add_argument("--show", action="store_true", help="the point of each worst error")
    options = parser.parse_args(arguments)
    for name in options.names or TRUTH:
        if options.write:
            VALUES.mkdir(exist_ok=True)
            arrays = computed(name)
            np.savez_compressed(VALUES / f"{name}.npz", **arrays)
            print(name, *(a.shape for a in arrays.values()), flush=True)
            continue
        for dtype, mode in itertools.product(DTYPES, options.mode):
            x, first, second = errors(name, dtype, mode, options.backend)
            held = max(float(np.max(np.vstack([first, second]).max(0) / bound(name, x)[0])), 0)
            row = f"{name:16} {dtype:8} {mode:8} {worst(first):>9} {worst(second):>9}"
            print(row, f"{held:9.2g} of the bound", flush=True)
            if options.show:
                for order, table in (("first", first), ("second", second)):
                    row, place = np.unravel_index(table.argmax(), table.shape)
                    print(f"    {order}: partial {row} at {tuple(map(float, x[:, place]))}: {table[row, place]:.4g}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
