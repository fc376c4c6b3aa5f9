"""Programs: the expression of a case for one dtype and static shape, its inputs in each call, and what must come."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

import tg
from tg import callers
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.ops.elementwise.record import ElementwiseFunction
from tg.plugin.case import differentiable
from tg.types.dtypes import is_complex, is_float, is_inexact
from tg_conformance import compare, difference, draw

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.graph.nodes import Variable
    from tg_conformance.case import Item

Array = np.ndarray[Any, Any]

for programs in (__name__, "tg_conformance.cases."):  # are a user's, also once the plugin beside them has been loaded
    callers.disclaim(programs)

GRADIENT_SIZES: Final = (
    {"n": 3, "m": 4, "k": 2, "b": 2, "l": 6, "p": 2, "i": 3, "j": 2, "h": 2},
    {"n": 2, "m": 5, "k": 3, "b": 3, "l": 5, "p": 3, "i": 2, "j": 2, "h": 3},
)
GRADIENT_ACCURACY: Final = 32.0  # a derivative is made of several roundings, of terms that may cancel
COMPLEX_ACCURACY: Final = 4.0


class Call(NamedTuple):
    """The inputs of one call, in their buffers, and the same values as plain arrays."""

    guarded: list[draw.Guarded]
    plain: list[Array]

    @property
    def arrays(self) -> list[Array]:
        """The arguments of the function's call."""
        return [g.array for g in self.guarded]


@final
class Program:
    """The expression that some items of one case share."""

    def __init__(self, item: Item) -> None:
        self.case, self.kind, self.dtype, self.static = item.case, item.kind, item.dtype, item.static
        self.shape_class = item.shape_class
        first = [drawn(item, k, 0) for k in range(len(self.case.inputs))]
        self.inputs = [self._variable(k, x.shape) for k, x in enumerate(first)]
        built = self.case.subject(*self.inputs)
        self.results: list[Variable] = list(built) if isinstance(built, tuple | list) else [built]
        self.weights: list[Variable] = []
        self.wrt: list[int] = []
        self.outputs = self._gradients() if self.kind == "grad" else self.results
        self.slack = 0.0  # of a gap: how far results may differ, in units of the last place
        self._frozen: dict[tuple[tuple[int, int], ...], FrozenGraph] = {}

    def _variable(self, k: int, shape: tuple[int, ...]) -> Variable:
        spec = self.case.inputs[k]
        static_axes = [spec.static and isinstance(n, int) for n in spec.shape] if len(spec.shape) == len(shape) else []
        shown = (
            shape if self.static else tuple(n if fixed else None for n, fixed in zip(shape, static_axes, strict=True))
        )
        variable: Variable = tg.tensor(f"x{k}", spec.dtype or self.dtype, shown)
        return variable

    def _gradients(self) -> list[Variable]:
        """The gradient of the weighted sum of the floating results, weights being inputs too."""
        floating = [y for y in self.results if is_float(y.type.dtype)]
        self.weights = [tg.tensor(f"w{k}", y.type.dtype, y.type.shape) for k, y in enumerate(floating)]
        dtype = max((y.type.dtype for y in floating), key=lambda name: np.dtype(name).itemsize)
        terms = [tg.cast(tg.sum(w * y), dtype) for w, y in zip(self.weights, floating, strict=True)]
        cost = functools.reduce(lambda a, b: a + b, terms)
        pairs = zip(self.inputs, self.case.inputs, strict=True)
        self.wrt = [k for k, (v, i) in enumerate(pairs) if differentiable(i, v.type.dtype)]
        return list(tg.grad(cost, [self.inputs[k] for k in self.wrt], disconnected="zero"))

    @property
    def arguments(self) -> list[Variable]:
        """The inputs of the compiled function."""
        return [*self.inputs, *self.weights]

    def call(self, item: Item, number: int) -> Call:
        """The inputs of a call for an item: the first (0), the second (1), or of a thread."""
        other = "C" if item.layout not in ("C", "empty", "one", "scalar") else "strided"
        layout = item.layout if number == 0 else other
        guarded = []
        for k, spec in enumerate(self.case.inputs):
            guarded.append(draw.Guarded(drawn(item, k, number), spec.layout or layout))
        plain = [np.ascontiguousarray(g.array).reshape(g.array.shape) for g in guarded]
        if self.weights:
            rng = draw.generator("weights", item.id, number)
            results = interpret(self._reference(plain, self.inputs, self.results), plain)
            floating = [y for y, v in zip(results, self.results, strict=True) if is_float(v.type.dtype)]
            weights = [rng.uniform(0.5, 2, y.shape).astype(y.dtype) for y in floating]
            guarded += [draw.Guarded(w, "C") for w in weights]
            plain += weights
        return Call(guarded, plain)

    def _reference(
        self, plain: Sequence[Array], inputs: Sequence[Variable], outputs: Sequence[Variable]
    ) -> FrozenGraph:
        """The expression unrewritten, for the lengths of inputs that are 1."""
        ones = tuple(
            (k, axis)
            for k, (v, x) in enumerate(zip(inputs, plain, strict=False))
            for axis, n in enumerate(v.type.shape)
            if n is None and x.shape[axis] == 1
        )
        key = (*ones, (-len(outputs), -len(inputs)))
        if key not in self._frozen:
            self._frozen[key] = FunctionGraph.of(inputs, outputs, ones).freeze()
        return self._frozen[key]

    def reference(self, call: Call) -> tuple[Any, ...]:
        """The reference's results, node by node, nothing rewritten."""
        return interpret(self._reference(call.plain, self.arguments, self.outputs), call.plain)

    def wrong(self, call: Call, got: Sequence[Any], want: Sequence[Any]) -> str | None:
        """The fault of the results of a call, against the reference and against the oracle."""
        kind = "the gradient" if self.kind == "grad" else "the result"
        oracle = self._oracle(call)
        for k, (y, w, v) in enumerate(zip(got, want, self.outputs, strict=True)):
            which = kind if len(got) == 1 else f"{kind} {k}"
            fault = self._check(y, w, v, call, k)
            if fault:
                return f"{which} differs from the reference: {fault}"
            fault = self._declared(y, v)
            if fault:
                return f"{which}: {fault}"
            fault = self._check(y, oracle[k], v, call, k, exact=True) if oracle is not None else None
            if fault:
                return f"{which} differs from the oracle: {fault}"
        for k, g in enumerate(call.guarded):
            if not g.is_untouched:
                return f"input {k} or the memory around it was written"
        return None

    def _declared(self, y: Array, v: Variable) -> str | None:
        """Whether a result has the lengths that its static type says."""
        pairs = zip(y.shape, v.type.shape, strict=True)
        return None if all(n is None or n == m for m, n in pairs) else f"found shape {y.shape}, declared {v.type}"

    def _oracle(self, call: Call) -> list[Any] | None:
        oracle = self.case.oracle
        if oracle is None:
            return None
        if self.kind == "grad":
            count = len(self.inputs)
            return difference.gradient(
                oracle, call.plain[:count], call.plain[count:], self.wrt, analytic=self.case.analytic
            )
        with np.errstate(all="ignore"):
            results = oracle(*map(compare.widen, call.plain))
        if results is None:
            return None
        return list(results) if isinstance(results, tuple | list) else [results]

    def _check(self, y: Any, w: Any, v: Variable, call: Call, k: int, *, exact: bool = False) -> str | None:
        dtype = v.type.dtype
        accuracy = max(self.accuracy, self.slack)
        if math.isinf(accuracy):
            return compare.form(y, w.value if self.kind == "grad" and exact else w, dtype)
        if self.kind == "grad":
            value, error = (w.value, w.error) if exact else (w, 0.0)
            size = np.maximum(np.abs(compare.widen(value)), _typical(value)) + error / compare.epsilon(dtype)
            many = max((x.size for x in call.plain), default=1) ** 0.5
            tolerance = max(GRADIENT_ACCURACY, self.slack) * many
            return compare.differs(y, value, dtype=dtype, accuracy=tolerance, scale=size)
        scale = self._condition(call, k, dtype)
        tolerance = 0 if accuracy == 0 else accuracy + 1 if exact else 2 * accuracy + 1
        return compare.differs(
            y,
            w,
            dtype=dtype,
            accuracy=tolerance,
            scale=scale,
            signed_zero=self.case.signed_zero and not exact,
            gradual="subnormals" in self.case.needs,
        )

    def error(self, call: Call, got: Sequence[Any], want: Sequence[Any]) -> float:
        """The largest error of the results of a call, in units of the last place, beside the reference."""
        worst = 0.0
        for k, (y, w, v) in enumerate(zip(got, want, self.outputs, strict=True)):
            scale = _typical(w) if self.kind == "grad" else self._condition(call, k, v.type.dtype)
            worst = max(worst, compare.ulps(y, w, v.type.dtype, scale))
        return worst

    def _condition(self, call: Call, k: int, dtype: str) -> Any:
        """The size of the terms to which the rounding of a result is relative; None where that is the result's."""
        if self.case.condition is None or not is_inexact(dtype):
            return None
        with np.errstate(all="ignore"):
            sizes = self.case.condition(*map(compare.widen, call.plain))
        return sizes[k] if isinstance(sizes, tuple) else sizes

    def apart(self, call: Call, got: Sequence[Any], want: Sequence[Any]) -> str | None:
        """The difference between the results of a call and those of the same call at another time."""
        for k, (y, w, v) in enumerate(zip(got, want, self.outputs, strict=True)):
            fault = self._check(y, w, v, call, k)
            if fault:
                return f"result {k} differs from that of the same call alone: {fault}"
        return None

    @property
    def accuracy(self) -> float:
        """The stated accuracy: an elementwise function's own, else the case's."""
        subject = self.case.subject
        stated = subject.accuracy if isinstance(subject, ElementwiseFunction) else self.case.accuracy
        # what a record states is for real numbers: a complex result is made of several roundings
        return max(stated, COMPLEX_ACCURACY) if any(is_complex(v.type.dtype) for v in self.inputs) else stated


def drawn(item: Item, k: int, number: int) -> Array:
    """The values of an input in a call: both calls have the lengths of a static shape, otherwise each its own."""
    spec = item.case.inputs[k]
    sizes = (GRADIENT_SIZES if item.kind == "grad" else draw.SIZES)[0 if item.static else number % 2]
    if item.layout == "one":
        sizes = dict.fromkeys(sizes, 1)
    elif item.layout == "empty":
        sizes = {**sizes, "n": 0, draw.RANK_2[0]: 0}
    shape = () if item.layout == "scalar" else draw.lengths(spec.shape, sizes)
    rng = draw.generator(item.id.partition("[")[0], item.dtypes, item.static, k, number)
    return draw.values(spec, spec.dtype or item.dtype or "", shape, rng)


def _typical(value: Any) -> Any:
    """The largest finite magnitude of an array, 0 if there is none."""
    sizes = np.abs(compare.widen(np.asarray(value)))
    sizes = sizes[np.isfinite(sizes)]
    return sizes.max() if sizes.size else 0.0
