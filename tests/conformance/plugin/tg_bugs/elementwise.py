"""Bugs of functions of single elements: integers, signs, NaN, digits, conversions."""

import os
import time

import numpy as np

import tg
from tg.ops.elementwise.cast import Cast
from tg_bugs.record import Bug


def truncated_quotient(x, y):
    return np.trunc(np.divide(x, np.where(y == 0, 1, y)) * (y != 0)).astype(x.dtype)


def remainder_of_c(x, y):
    return np.fmod(x, np.where(y == 0, 1, y)) * (y != 0)


def quotient_by_zero(x, y):
    return np.where(y == 0, np.full_like(x, -1), tg.floor_divide.reference(x, y)) if x.dtype.kind == "i" else x // y


def remainder_by_zero(x, y):
    return np.where(y == 0, x, np.remainder(x, np.where(y == 0, 1, y))) if x.dtype.kind in "iu" else np.remainder(x, y)


def least_integer_lost(x, y):
    found = tg.floor_divide.reference(x, y)
    if x.dtype.kind != "i":
        return found
    return np.where((x == np.iinfo(x.dtype).min) & (y == -1), 0, found).astype(x.dtype)


def quotient_by_floor(x, y):
    return np.floor(x / y) if x.dtype.kind == "f" else tg.floor_divide.reference(x, y)


def power_by_floats(x, y):
    if x.dtype.kind not in "iu":
        return tg.power.reference(x, y)
    found = np.clip(np.power(x.astype(float), y.astype(float)), -(2.0**62), 2.0**62)
    return np.nan_to_num(found).astype(np.int64).astype(x.dtype)


def sign_without_nan(x):
    return np.nan_to_num(np.sign(x), nan=0.0) if x.dtype.kind == "f" else np.sign(x)


def half_away_from_zero(x):
    return np.trunc(x + np.copysign(np.asarray(0.5, x.dtype), x)) if x.dtype.kind == "f" else np.rint(x)


def selected_by_products(c, x, y):
    if np.result_type(x, y).kind != "f":
        return np.where(c, x, y)
    return (c * x + np.logical_not(c) * y).astype(x.dtype)


def unstable_logaddexp(x, y):
    top = np.maximum(x, y)
    return (top + np.log(np.exp(x - top) + np.exp(y - top))).astype(x.dtype)


def flushed(x, y):
    found = np.multiply(x, y)
    if found.dtype not in ("float32", "float64"):
        return found
    return np.where(np.abs(found) < np.finfo(found.dtype).tiny, np.copysign(np.zeros_like(found), found), found)


def exponential_in_single(x):
    return np.exp(x.astype("float32")).astype("float64") if x.dtype == "float64" else tg.exp.reference(x)


def compared_as_floats(x, y):
    return np.less(x.astype("float64"), y.astype("float64")) if x.dtype.kind in "iu" else np.less(x, y)


def wrapped_cast(op, x):
    if x.dtype.kind == "f" and np.dtype(op.dtype).kind in "iu":
        return np.nan_to_num(np.clip(x, -1e18, 1e18)).astype("int64").astype(op.dtype)
    return op.perform(x)[0]


def bool_of_low_byte(op, x):
    if op.dtype == "bool" and x.dtype.kind in "iu":
        return x.astype("uint8").astype(bool)
    return op.perform(x)[0]


def bool_of_real_part(op, x):
    return x.real.astype(bool) if op.dtype == "bool" and x.dtype.kind == "c" else op.perform(x)[0]


def rounded_cast(op, x):
    if x.dtype.kind == "f" and np.dtype(op.dtype).kind in "iu":
        return op.perform(np.rint(x))[0]
    return op.perform(x)[0]


def double_by_single(op, x):
    return op.perform(x.astype("float32") if x.dtype == "int64" and op.dtype == "float64" else x)[0]


def abort(x):
    if x.ndim == 4 and x.dtype == "float16":
        os.abort()
    return np.exp2(x)


def hang(x):
    if x.ndim == 4 and x.dtype == "float16":
        time.sleep(1000)
    return np.log2(x)


def arithmetic(name):
    return rf"^elementwise/arithmetic:{name}"


BUGS = (
    Bug("truncated-quotient", "T4", arithmetic("floor_divide"), {tg.floor_divide: truncated_quotient}),
    Bug("remainder-of-c", "T4", arithmetic("remainder"), {tg.remainder: remainder_of_c}),
    Bug("quotient-by-zero", "T2", arithmetic("floor_divide"), {tg.floor_divide: quotient_by_zero}),
    Bug("remainder-by-zero", "T2", arithmetic("remainder"), {tg.remainder: remainder_by_zero}),
    Bug("least-integer-lost", "T1", arithmetic("floor_divide"), {tg.floor_divide: least_integer_lost}),
    Bug("quotient-of-infinity", "T4", arithmetic("(floor_divide|divmod)"), {tg.floor_divide: quotient_by_floor}),
    Bug("power-by-floats", "T8", arithmetic("power "), {tg.power: power_by_floats}),
    Bug("sign-without-nan", "T27", arithmetic("sign"), {tg.sign: sign_without_nan}),
    Bug(
        "sign-of-zero", "T27", arithmetic("multiply hostile"), {tg.multiply: lambda x, y: x * y + np.zeros((), x.dtype)}
    ),
    Bug("maximum-without-nan", "T23", arithmetic("maximum hostile"), {tg.maximum: np.fmax}),
    Bug("half-away-from-zero", "T27", "^elementwise/rounding:(rint|round)", {tg.rint: half_away_from_zero}),
    Bug("selected-by-products", "T3", "^elementwise/comparison:where hostile", {tg.where: selected_by_products}),
    Bug("log1p-of-log", "T29", "^elementwise/exponential:log1p", {tg.log1p: lambda x: np.log(1 + x)}),
    Bug("expm1-of-exp", "T29", "^elementwise/exponential:expm1", {tg.expm1: lambda x: np.exp(x) - x.dtype.type(1)}),
    Bug("unstable-logaddexp", "T28", "^elementwise/exponential:logaddexp", {tg.logaddexp: unstable_logaddexp}),
    Bug("flushed-subnormals", "T29", arithmetic("subnormals"), {tg.multiply: flushed}),
    Bug("exp-in-single", "T14", r"^elementwise/exponential:exp\[", {tg.exp: exponential_in_single}),
    Bug("integers-compared-as-floats", "T17", "^elementwise/comparison:less hostile", {tg.less: compared_as_floats}),
    Bug("cast-wraps", "T12", "^elementwise/cast:to (u?int8|int64)", {Cast: wrapped_cast}),
    Bug("cast-rounds", "T12", "^elementwise/cast:to int32", {Cast: rounded_cast}),
    Bug("bool-of-low-byte", "T11", "^elementwise/cast:to bool", {Cast: bool_of_low_byte}),
    Bug("bool-of-real-part", "T11", "^elementwise/cast:to bool", {Cast: bool_of_real_part}),
    Bug("double-by-single", "T17", "^elementwise/cast:(to float64|integers with)", {Cast: double_by_single}),
    Bug("crash", "T1", "^elementwise/exponential:exp2 hostile", {tg.exp2: abort}, in_worker=True),
    Bug("hang", "T2", "^elementwise/exponential:log2 hostile", {tg.log2: hang}, in_worker=True),
)
