"""Backends that are copies of loopback with one bug each: bugs that other systems had, which the suite must catch."""

import os
import sys
import time

import numpy as np

import tg
from tg.link.funcify import FuncifyExecutable, FuncifyLinker
from tg.ops.cumulative import Accumulate
from tg.ops.indexing import Scatter, WrapIndex
from tg.ops.reduction import ArgReduce, Reduce
from tg.ops.shape import Transpose
from tg.plugin import Backend, Gap, Rules, hookimpl
from tg_conformance import loopback


class LeakyExecutable(FuncifyExecutable):
    def to_numpy(self, output):
        return output


class LeakyLinker(FuncifyLinker):
    def compile(self, graph, request):
        made = super().compile(graph, request)
        made.__class__ = LeakyExecutable
        return made


LEAKY = LeakyLinker(to_native=np.array, to_numpy=np.asarray)
ORDINARY = "tg_conformance.loopback:LINKER"


def clamped_too_far(op, i, n):
    return np.minimum(op.perform(i, n)[0], np.maximum(n - 2, 0))


def maximum_without_nan(op, x):
    if op.fn is tg.maximum and x.dtype.kind == "f" and not op.total:
        return np.asarray(np.fmax.reduce(x, axis=op.axes)).astype(x.dtype)
    return op.perform(x)[0]


def last_tie(op, x):
    if op.fn is tg.maximum and x.shape[op.axis]:
        return x.shape[op.axis] - 1 - np.argmax(np.flip(x, op.axis), op.axis)
    return op.perform(x)[0]


def widened_sum(op, x):
    found = op.perform(x)[0]
    return found.astype("float64") if found.dtype == "float32" else found


def scatter_that_forgets(op, x, v, *indices):
    if op.fn is None or not v.size:
        return op.perform(x, v, *indices)[0]
    y = x.copy()
    moved = np.moveaxis(y, op.axes, range(len(op.axes)))
    moved[indices] = moved[indices] + v
    return y


def written_input(x):
    if x.flags.writeable:
        np.negative(x, out=x)
        return x.copy()
    return np.negative(x)


def in_memory_order(x, y):
    if x.shape != y.shape or x.ndim != 2:
        return np.add(x, y)
    return np.add(x.ravel("K"), y.ravel("K")).reshape(x.shape)


def first_result(x, kept={}):  # noqa: B006 (that is the bug)
    return kept.setdefault((x.shape, x.dtype), np.square(x)).copy()


def abort(x):
    if x.ndim == 1 and x.dtype == "float16":
        os.abort()
    return np.exp2(x)


def hang(x):
    if x.ndim == 1 and x.dtype == "float16":
        time.sleep(1000)
    return np.log2(x)


def short_sum(op, x):
    return (
        np.cumsum(x.astype("int8"), op.axis, dtype="int8").astype(x.dtype) if x.dtype == "int64" else op.perform(x)[0]
    )


def always(x, y):
    return np.less(x, y) | (np.ndim(x) == 0)


BUGS = {
    "clamp": lambda: {WrapIndex: clamped_too_far},
    "remainder": lambda: {tg.remainder: lambda x, y: np.fmod(x, np.where(y == 0, 1, y)) * (y != 0)},
    "division": lambda: {tg.floor_divide: lambda x, y: np.trunc(x / y).astype(x.dtype)},
    "nan": lambda: {Reduce: maximum_without_nan},
    "tie": lambda: {ArgReduce: last_tie},
    "dtype": lambda: {Reduce: widened_sum},
    "scatter": lambda: {Scatter: scatter_that_forgets},
    "alias": lambda: {Transpose: lambda op, x: np.transpose(x, op.order(x.ndim))},
    "write": lambda: {tg.negative: written_input},
    "layout": lambda: {tg.add: in_memory_order},
    "stale": lambda: {tg.square: first_result},
    "zero": lambda: {tg.multiply: lambda x, y: np.multiply(x, y) + np.zeros((), x.dtype)},
    "accumulator": lambda: {Accumulate: short_sum},
    "unchecked": lambda: {tg.less: always},
    "partial": dict,
    "crash": lambda: {tg.exp2: abort},
    "hang": lambda: {tg.log2: hang},
    "missing": dict,
    "gaps": dict,
}
GAPS = (
    Gap(tg.sin, frozenset({"float32"}), None, "upstream", tg.NoRuleError, "has none"),
    Gap(tg.cos, frozenset({"float32"}), None, "todo", ValueError, "raises something else"),
    Gap(tg.exp, frozenset({"float64"}), lambda op, types: len(types) > 5, "todo", tg.NoRuleError, "matches nothing"),
    Gap("subnormals", None, None, "never", None, "are exact here, so this is wrong"),
)


if "bug-partial" in sys.argv:  # in the record, which all backends share: only an independent oracle can tell
    tg.tanh.d = (lambda x, y: 1 - y,)


@hookimpl
def tg_backends():
    return tuple(
        Backend(
            f"bug-{name}",
            distribution="tg-bugs",
            rules=loopback.PROTOCOL,
            linker="tg_bugs:LEAKY" if name == "alias" else ORDINARY,
            dtypes=loopback.tg_backends()[0].dtypes,
            priority=-1,
            gaps="tg_bugs:GAPS" if name == "gaps" else None,
        )
        for name in BUGS
    )


@hookimpl
def tg_rules(backend):
    if not backend.startswith("bug-"):
        return None
    table = {**loopback.table(), **BUGS[backend.removeprefix("bug-")]()}
    if backend == "bug-missing":
        del table[tg.tanh]
    return Rules(loopback.PROTOCOL, table)
