"""What a program means: its values over numbers without rounding or range, computed by Python and mpmath alone.

Of tg it takes the nodes and the movement of elements (`perform` of what only moves them); every number that is computed
is computed by `tests.enumerate.numbers`. An op that it does not know gives UNKNOWN, and is counted.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter

import mpmath as mp
import numpy as np
from mpmath import mpc, mpf
from mpmath.libmp import NoConvergence

from tests.enumerate import factors
from tests.enumerate.numbers import (
    BOOLEAN,
    COMPLEX,
    DIGITS,
    FLOATING,
    INTEGER,
    OF_PAIRS,
    UNKNOWN,
    Swallowed,
    choose,
    exact,
    is_infinite,
    is_nan,
    is_zero,
    settled,
    shifted_left,
    shifted_right,
    wrapped,
)  # fmt: skip
from tg.graph.function_graph import freeze
from tg.graph.nodes import Constant
from tg.types.dtypes import is_complex, is_integer

MISSING: Counter[str] = Counter()  # ops that were met and are not known
MOVES = frozenset({
    "Reshape", "BroadcastTo", "Transpose", "ExpandDims", "Squeeze", "Concatenate", "SpecifyShape", "Named", "Assume",
    "Slice", "Gather", "StopGradient", "GradScale", "GradClip",
})  # fmt: skip
LENGTHS = frozenset({"AxisLength", "Arange", "WrapIndex", "Nonzero", "DimLength"})


def array(values, shape):
    """An array of Python objects."""
    found = np.empty(len(values), object)
    found[:] = values
    return found.reshape(shape)


def known(x, dtype):
    """A NumPy array as numbers."""
    x = np.asarray(x)
    if dtype == "bool":
        values = [bool(v) for v in x.ravel().tolist()]
    elif is_integer(dtype):
        values = [int(v) for v in x.ravel().tolist()]
    elif is_complex(dtype):
        values = [mpc(v) if np.isfinite(v) else UNKNOWN for v in x.ravel().tolist()]
    else:
        values = [exact(v) for v in x.astype(np.float64).ravel().tolist()]
    return array(values, x.shape)


def kind(dtype):
    return "b" if dtype == "bool" else "i" if is_integer(dtype) else "c" if is_complex(dtype) else "f"


@functools.cache
def scalar(name, dtype, result):
    """The function of numbers that an elementwise function is for operands of a dtype; None where it is not known."""
    k = kind(dtype)
    if name in ("equal", "not_equal") or (name in OF_PAIRS and k != "c"):
        return OF_PAIRS[name]
    if name == "left_shift":
        width = int(dtype.lstrip("uint"))
        return lambda x, n: wrapped(shifted_left(x, n, width), dtype)
    if name == "right_shift":
        width = int(dtype.lstrip("uint"))
        return lambda x, n: shifted_right(x, n, width)
    fn = {"b": BOOLEAN, "i": INTEGER, "c": COMPLEX, "f": FLOATING}[k].get(name)
    if fn is None or k != "i" or result == "bool":
        return fn
    return lambda *operands: wrapped(fn(*operands), result)


def guarded(fn):
    """A function that is unknown of what is unknown, and where mpmath gives up."""

    def apply(*operands):
        for x in operands:
            if x is UNKNOWN:
                return UNKNOWN
        try:
            return fn(*operands)
        except (OverflowError, ValueError, ZeroDivisionError, NoConvergence, MemoryError):
            return UNKNOWN

    return apply


@functools.cache
def guarded_scalar(name, dtype, result):
    fn = scalar(name, dtype, result)
    return None if fn is None else guarded(fn)


def elementwise(name, operands, dtypes, result):
    fn = choose if name == "where" else guarded_scalar(name, dtypes[0], result)
    if fn is None:
        MISSING[f"{name} of {dtypes[0]}"] += 1
        fn = lambda *_: UNKNOWN  # noqa: E731
    shape = np.broadcast_shapes(*(x.shape for x in operands))
    flat = [np.broadcast_to(x, shape).ravel().tolist() if x.shape != shape else x.ravel().tolist() for x in operands]
    return array([fn(*v) for v in zip(*flat, strict=True)], shape)


def cast(x, source, target):
    """One number in another dtype; between floating dtypes nothing is rounded."""
    if x is UNKNOWN:
        return x
    if target == "bool":
        return not is_zero(x) and x != 0
    if kind(source) == "c" and kind(target) != "c":
        x = settled(x.real)
        source = "float64"
    if is_integer(target):
        if kind(source) != "f":
            return wrapped(int(x), target)
        info = np.iinfo(target)
        if is_nan(x):
            return 0
        whole = (info.max if x > 0 else info.min) if is_infinite(x) else int(x)
        return max(min(whole, info.max), info.min)
    if kind(target) == "c":
        return UNKNOWN if is_nan(x) or is_infinite(x) else mpc(x)
    return x if kind(source) == "f" else mpf(int(x)) if x else 0.0


def combined(name, dtype):
    """The function that a reduction folds with, and what it starts from."""
    fn = guarded_scalar(name, dtype, dtype)
    start = {"add": 0, "logical_or": 0, "multiply": 1, "logical_and": 1}.get(name)
    if start is not None:
        k = kind(dtype)
        start = (
            bool(start) if k == "b" else start if k == "i" else mpc(start) if k == "c" else mpf(start) if start else 0.0
        )
    return fn, start


def reduced(name, axes, x, dtype):
    axes = tuple(k % x.ndim for k in axes)
    if not axes:
        return x
    fn, start = combined(name, dtype)
    lead = [k for k in range(x.ndim) if k not in axes]
    shape = tuple(x.shape[k] for k in lead)
    count = int(np.prod([x.shape[k] for k in axes]))
    rows = np.transpose(x, (*lead, *axes)).reshape((int(np.prod(shape, dtype=int)), count)).tolist()
    if start is None and not count:
        limit = {"f": float("-inf" if name == "maximum" else "inf"), "b": name == "minimum"}.get(kind(dtype))
        if limit is None:
            info = np.iinfo(dtype)
            limit = info.min if name == "maximum" else info.max
        return array([limit] * len(rows), shape)
    fold = lambda row: functools.reduce(fn, row if start is None else [start, *row])  # noqa: E731
    return array([fold(row) for row in rows], shape)


def summed(op, x, *sizes, dtype):
    """The sum over the axes along which the shape of an op would be repeated."""
    given = iter(sizes)
    shape = tuple(int(next(given)) if n is None else n for n in op.shape)
    lead = x.ndim - len(shape)
    axes = (*range(lead), *(k + lead for k, n in enumerate(shape) if n == 1 and x.shape[k + lead] != 1))
    return reduced("add", axes, x, dtype).reshape(shape)


def accumulated(op, x, dtype):
    fn, _ = combined(op.fn.name, dtype)
    moved = np.moveaxis(x, op.axis, -1)
    rows = moved.reshape(-1, moved.shape[-1]).tolist() if moved.size else []
    found = array([v for row in rows for v in itertools.accumulate(row, fn)], moved.shape)
    return np.moveaxis(found, -1, op.axis)


def product(x, y, dtype):
    """The product of matrices, stacked."""
    add_, multiply_ = guarded_scalar("add", dtype, dtype), guarded_scalar("multiply", dtype, dtype)
    rows = x if x.ndim > 1 else x[None]
    columns = y if y.ndim > 1 else y[:, None]
    shape = np.broadcast_shapes(rows.shape[:-2], columns.shape[:-2])
    rows = np.broadcast_to(rows, (*shape, *rows.shape[-2:]))
    columns = np.broadcast_to(columns, (*shape, *columns.shape[-2:]))
    start = combined("add", dtype)[1]
    found = np.empty((*shape, rows.shape[-2], columns.shape[-1]), object)
    for place in np.ndindex(found.shape):
        *batch, i, j = place
        total = start
        for a, b in zip(rows[(*batch, i)], columns[(*batch, slice(None), j)], strict=True):
            total = add_(total, multiply_(a, b))
        found[place] = total
    found = found if x.ndim > 1 else found[..., 0, :]
    return found if y.ndim > 1 else found[..., 0]


def position_of(op, x):
    """The first place of the extremum along an axis, or of the first NaN."""
    moved = np.moveaxis(x, op.axis, -1)
    found = np.empty(moved.shape[:-1], object)
    for place in np.ndindex(found.shape):
        row = moved[place].tolist()
        if any(v is UNKNOWN for v in row):
            found[place] = UNKNOWN
            continue
        nans = [k for k, v in enumerate(row) if is_nan(v)]
        best = max(row) if op.fn.name == "maximum" and not nans else min(row) if not nans else None
        found[place] = nans[0] if nans else next(k for k, v in enumerate(row) if v == best)
    return found


def order(op, x):
    """The places of the elements in their order along an axis, those of equal ones in theirs, NaN last."""
    moved = np.moveaxis(x, op.axis, -1)
    found = np.empty(moved.shape, object)
    for place in np.ndindex(moved.shape[:-1]):
        row = moved[place].tolist()
        unknown = any(v is UNKNOWN for v in row)
        key = lambda k, row=row: (is_nan(row[k]), 0 if is_nan(row[k]) else row[k])  # noqa: E731
        found[place] = array([UNKNOWN] * len(row) if unknown else sorted(range(len(row)), key=key), (len(row),))
    return np.moveaxis(found, -1, op.axis)


def places(x):
    """An array of integers or truth values for NumPy; None where one is unknown."""
    return None if any(v is UNKNOWN for v in x.ravel()) else x


def performed(op, operands, dtypes, results):
    """The results of an op for arrays of numbers: `dtypes` of the operands, `results` those of the results."""
    name = type(op).__name__
    if name == "Elementwise":
        return (elementwise(op.fn.name, operands, dtypes, results[0]),)
    if name == "Cast":
        fn = lambda x: cast(x, dtypes[0], op.dtype)  # noqa: E731
        return (array([fn(v) for v in operands[0].ravel().tolist()], operands[0].shape),)
    if name == "Reduce":
        return (reduced(op.fn.name, op.axes, operands[0], dtypes[0]),)
    if name == "SumTo":
        return None if any(places(x) is None for x in operands[1:]) else (summed(op, *operands, dtype=dtypes[0]),)
    if name == "Accumulate":
        return (accumulated(op, operands[0], dtypes[0]),)
    if name == "MatMul":
        return (product(*operands, dtypes[0]),)
    if name == "ArgReduce":
        return (position_of(op, operands[0]),)
    if name == "Call":
        return called(op, operands)
    count = 1 if name in MOVES else 2
    if name == "Concatenate":
        count = len(operands)
    if name in MOVES or name in ("SliceUpdate", "Scatter"):
        if any(places(x) is None for x in operands[count:]):
            return None
        integers = [np.array(x.tolist(), np.int64).reshape(x.shape) for x in operands[count:]]
        if name in MOVES:
            return tuple(op.perform(*operands[:count], *integers))
        return (updated(op, name, operands[:2], integers, dtypes[0]),)
    if name == "ArgSort":
        return (order(op, operands[0]),)
    if name == "SolveTriangular":
        return (factors.triangular(op, *operands, dtypes[0]),)
    if name == "LU":
        return factors.factorized(operands[0], dtypes[0])
    if name == "Cholesky":
        return factors.cholesky(operands[0], dtypes[0])
    if name in LENGTHS:
        return lengths(op, name, operands, dtypes, results)
    if type(op).has_expansion:
        return expanded(op, operands, dtypes, results)
    MISSING[name] += 1
    return None


def updated(op, name, pair, integers, dtype):
    x, v = pair
    fn = None if op.fn is None else guarded_scalar(op.fn.name, dtype, dtype)
    y = x.copy()
    if name == "SliceUpdate":
        from tg.ops.indexing import known_shape, window

        first = known_shape(op.starts, integers)
        place = (..., *window(x.shape, first, v.shape[v.ndim - len(op.steps) :], op.steps))
        old = y[place]
        if fn is not None:
            new = array(
                [
                    fn(a, b)
                    for a, b in zip(old.ravel().tolist(), np.broadcast_to(v, old.shape).ravel().tolist(), strict=True)
                ],
                old.shape,
            )
        y[place] = v if fn is None else new
        return y
    moved = np.moveaxis(y, op.axes, range(len(op.axes)))
    if v.size == 0 or y.size == 0:
        return y
    shape = (*integers[0].shape, *moved.shape[len(op.axes) :])
    values = np.broadcast_to(v, shape)
    for place in np.ndindex(integers[0].shape):
        at = tuple(int(i[place]) for i in integers)
        for rest in np.ndindex(moved.shape[len(op.axes) :]):
            moved[(*at, *rest)] = (
                values[(*place, *rest)] if fn is None else fn(moved[(*at, *rest)], values[(*place, *rest)])
            )
    return y


def lengths(op, name, operands, dtypes, results):
    if name == "AxisLength":
        return (array([operands[0].shape[op.axis]], ()),)
    if any(places(x) is None for x in operands):
        return None
    given = [np.array(x.tolist(), d).reshape(x.shape) for x, d in zip(operands, dtypes, strict=True)]
    return tuple(known(y, t) for y, t in zip(op.perform(*given), results, strict=True))


def called(op, operands):
    frozen = op.graph
    outputs = evaluated(frozen, operands)
    return (*outputs, known(np.zeros(8, np.int64), "int64")) if frozen.checks else tuple(outputs)


def expanded(op, operands, dtypes, results):
    from tg.graph.nodes import Variable
    from tg.types.tensor_type import TensorType

    inputs = tuple(Variable(TensorType(d, x.shape)) for d, x in zip(dtypes, operands, strict=True))
    outputs = op.expansion(*inputs)
    frozen = freeze(inputs, outputs if isinstance(outputs, tuple) else (outputs,))
    return tuple(evaluated(frozen, operands))


def evaluated(frozen, operands):
    """The outputs of a frozen graph for arrays of numbers."""
    values = [*operands, *(known(c.data, c.type.dtype) for c in frozen.constants)]
    values.extend([None] * (len(frozen.types) - len(values)))
    for node in frozen.nodes:
        given = [values[k] for k in node.inputs]
        dtypes = tuple(frozen.types[k].dtype for k in node.inputs)
        results = tuple(frozen.types[k].dtype for k in node.outputs)
        found = performed(node.op, given, dtypes, results)
        if found is None:
            raise NotKnown(node.op.name)
        for k, v in zip(node.outputs, found, strict=False):
            values[k] = v
    return [values[k] for k in frozen.outputs]


class NotKnown(Exception):  # noqa: N818
    """A value of which nothing can be said as a whole: not even its shape."""


class Truth:
    """What variables are, without rounding, for given values of the inputs below them."""

    def __init__(self, inputs, arrays, digits=DIGITS, *, folds=True):
        self.digits, self.folds = digits, folds
        self._leaves = {id(v): known(a, v.type.dtype) for v, a in zip(inputs, arrays, strict=True)}
        self._made = {}
        self._fixed = {}  # by the id of an apply: NumPy's values of what is made of constants alone
        self._swallowing = set()  # the ids of applies, and of what is made of them (`numbers.Swallowed`)
        self._kept = list(inputs)

    def of(self, v):
        """The value of a variable.

        Raises:
            NotKnown: an op on the way is not known.
        """
        with mp.workdps(self.digits):
            self._compute(v)
            return self._value(v)

    def swallows(self, v):
        """Whether a number was lost beside another on the way to a value."""
        self.of(v)
        return id(v.apply) in self._swallowing

    def _has(self, v):
        return isinstance(v, Constant) or id(v) in self._leaves or id(v.apply) in self._made

    def _value(self, v):
        if isinstance(v, Constant):
            found = self._leaves.get(id(v))
            if found is None:
                self._kept.append(v)
                found = self._leaves[id(v)] = known(v.data, v.type.dtype)
            return found
        found = self._leaves.get(id(v))
        return self._made[id(v.apply)][v.index] if found is None else found

    def _is_fixed(self, v):
        return isinstance(v, Constant) or id(v.apply) in self._fixed

    def _fixed_value(self, v):
        return v.data if isinstance(v, Constant) else self._fixed[id(v.apply)][v.index]

    def _compute(self, root):
        stack = [root]
        while stack:
            v = stack[-1]
            if self._has(v):
                stack.pop()
                continue
            node = v.apply
            missing = [u for u in node.inputs if not self._has(u)]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            self._kept.append(node)
            before = Swallowed.count
            self._made[id(node)] = self._perform(node)
            if Swallowed.count > before or any(id(u.apply) in self._swallowing for u in node.inputs if u.apply):
                self._swallowing.add(id(node))

    def _perform(self, node):
        results = tuple(t.dtype for t in node.types)
        if self.folds and all(map(self._is_fixed, node.inputs)):  # constants are rounded wherever they are computed
            with np.errstate(all="ignore"):
                found = node.op.perform(*map(self._fixed_value, node.inputs))
            self._fixed[id(node)] = found
            return tuple(known(y, t) for y, t in zip(found, results, strict=True))
        dtypes = tuple(u.type.dtype for u in node.inputs)
        try:
            found = performed(node.op, [self._value(u) for u in node.inputs], dtypes, results)
        except NotKnown:
            raise
        except Exception as error:
            MISSING[f"{node.op.name}: {type(error).__name__}"] += 1
            raise NotKnown(node.op.name) from error
        if found is None:
            raise NotKnown(node.op.name)
        return found
