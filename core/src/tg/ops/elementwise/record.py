"""`ElementwiseFunction`: the record of a function of single elements, and `Elementwise`, the op that lifts it.

A record is one assignment: name, NumPy reference, rule of dtypes, sentence, partial derivatives. Each derivative is a
function of the operands and the result; core builds the pullback from it. `unary`, `binary`, `ternary` and `quaternary`
make records. A derivative that is a bool says where it is 1; elsewhere it is 0 by selection.

Of a function that is not analytic `d_conj` has the partial derivatives with respect to the conjugates of its operands:
df = d * dx + d_conj * conj(dx). A function with real results needs none, for there it is the conjugate of d.

`facts` says what is known of the result by what is known of the operands (`tg.ops.elementwise.facts`).

Where a function is another one for some dtypes, as the floor of an integer is the integer, `shortcut` gives that
for the operands, and None for all others; the record has no loops for those dtypes, and a backend never sees them.

`expansion` writes a function with others, as `lambda x: x / (1 + abs(x))`: a backend without a rule computes that. Its
derivative is taken of it too where there is no `d`. Like the op's, it is given operands of the loop's dtypes.

`only_derives` says that the function differs from its expansion in its derivative alone: importing a program expands
it.

`slope_accuracy` is the error of the derivatives, of first and of second order, in units in the last place: a number, or
a function of the operands' values that is infinite where nothing is promised; 16 unless it is stated, with the reason.
`python -m tests.derivatives.oracle` holds them to it. Where it is stated, the unit next to a zero of a derivative is
that of its terms: of |f'| + |x f''| for f', and of |f''| + |f' / x| for f''.

`cost` says how long the function takes, in additions of float64: what `benchmarks/costs.py` measured on the C backend,
for 10,000 elements in the second cache and in vectors of 32 bytes (AMD EPYC, AVX2; an addition took 0.30 ns; the least
of three runs, with other load on the machine). Backends decide by it what pays.

`commutative` says whether two operands may change places: "exact" if the results are the same bit for bit,
"signed_zero" if zeros may have the other sign.
"""

from __future__ import annotations

import functools
import importlib
import math
import operator
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, final

import numpy as np

from tg.errors import DtypeError, InputError, RangeError, TgError, message
from tg.graph import loc as locs
from tg.graph.facts import MATRIX, facts_of
from tg.graph.nodes import Apply, Variable, describe_operands
from tg.graph.op import Op
from tg.ops.elementwise.dtype_loops import from_ufunc
from tg.ops.elementwise.operands import OperandAnnotations, Signature, no_keyword
from tg.rewrite.pattern import Pattern, PatternNode
from tg.types.dtypes import dtype_name, numpy_dtype
from tg.types.requirements import broadcast
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable, is_weak, note_promotions, weak_kind, weak_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tg.graph.checks import Check
    from tg.ops.elementwise.dtype_loops import Kind, Loop
    from tg.types.lengths import Length

    Partial = Callable[..., "Variable | AtKink | int | float"]


class AtKink(NamedTuple):
    """A partial derivative that is a convention where a condition holds.

    A cotangent has its product with it there, and so has the slope of the cotangent, unless it is a convention too:
    f(|x|) has the second derivative f''(0) at 0, where the square of the slope 0 of |x| is 0.
    """

    at: Variable
    slope: Variable
    again: bool = False  # whether it is the slope of a product with such a derivative


LONG: Final = 5.0
"""The cost of a function that states none: that of an exponential, a sine, a logarithm."""


class _Documentation:
    """The text that `help` shows: of the class its own text, of a function the sentence of its record."""

    def __init__(self, text: str | None) -> None:
        self.text = text

    def __get__(self, fn: ElementwiseFunction | None, owner: type) -> str | None:
        return self.text if fn is None else fn.doc


@final
class ElementwiseFunction:
    """A function of single elements, as data.

    Calling it with variables, arrays and Python scalars promotes, casts, aligns ranks and applies it.
    """

    __doc__ = _Documentation(__doc__)
    __signature__ = Signature()

    __slots__ = (
        "accuracy",
        "arity",
        "checks",
        "commutative",
        "cost",
        "d",
        "d_conj",
        "doc",
        "domain",
        "expansion",
        "facts",
        "loops",
        "name",
        "numpy",
        "only_derives",
        "op",
        "reference",
        "shortcut",
        "slope_accuracy",
        "_known_facts",
        "_loop_cache",
        "_result_cache",
    )

    def __init__(
        self,
        name: str,
        arity: int,
        reference: Callable[..., Any],
        loops: Callable[[tuple[Kind, ...]], Loop],
        doc: str,
        *,
        d: Sequence[Partial | None] | None = None,
        d_conj: Sequence[Partial | None] | None = None,
        domain: tuple[float, float] | None = None,
        accuracy: float = 4.0,
        cost: float = LONG,
        commutative: Literal["exact", "signed_zero"] | None = None,
        checks: Callable[..., tuple[Check, ...]] | None = None,
        facts: Callable[..., Iterable[str]] | None = None,
        numpy: np.ufunc | None = None,
        shortcut: Callable[..., Variable | None] | None = None,
        expansion: Callable[..., Variable] | None = None,
        only_derives: bool = False,
        slope_accuracy: float | Callable[..., Any] | None = None,
    ) -> None:
        self.name = name
        self.arity = arity
        self.reference = reference
        self.loops = loops
        self.d = d
        self.d_conj = d_conj
        self.domain = domain
        self.accuracy = accuracy
        self.cost = cost
        self.commutative = commutative
        self.checks = checks
        self.facts = facts
        self.numpy = numpy
        self.shortcut = shortcut
        self.expansion = expansion
        self.only_derives = only_derives
        self.slope_accuracy = slope_accuracy
        self._known_facts: dict[tuple[str, bool, tuple[frozenset[str], ...]], frozenset[str]] = {}
        self._loop_cache: dict[tuple[Kind, ...], Loop] = {}
        self._result_cache: dict[tuple[np.dtype[Any], ...], np.dtype[Any]] = {}
        self.doc = doc
        self.op = Elementwise(self)

    @property
    def __name__(self) -> str:
        return self.name

    def loop(self, kinds: tuple[Kind, ...]) -> Loop:
        """The dtypes of the loop for operands of these kinds.

        Raises:
            DtypeError: there is none.
        """
        entry = self._loop_cache.get(kinds)
        if entry is None:
            try:
                entry = self.loops(kinds)
            except DtypeError as error:
                raise DtypeError(f"{self.name}: {error}") from error.__cause__
            self._loop_cache[kinds] = entry
        return entry

    def result_of(self, dtypes: tuple[np.dtype[Any], ...]) -> np.dtype[Any]:
        """NumPy's dtype of the result for operands of these, found once: the reference asks it in every step."""
        entry = self._result_cache.get(dtypes)
        if entry is None:
            entry = numpy_dtype(self.loop(tuple([dtype_name(dtype) for dtype in dtypes]))[1])
            self._result_cache[dtypes] = entry
        return entry

    def __call__(self, *operands: Any, **keywords: Any) -> Variable:
        if keywords:
            raise no_keyword(self, keywords)
        if len(operands) != self.arity:
            raise InputError(message(f"{self.name}: found {len(operands)} operands, needed {self.arity}"))
        own = tuple([v.type.dtype if isinstance(v, Variable) else None for v in operands])
        loop = self._loop_cache.get(own)  # type: ignore[arg-type]
        if loop is not None and loop[0] == own:
            value = None if self.shortcut is None else self.shortcut(*operands)
            return self.op.result(operands, loop[1]) if value is None else value
        for v in operands:
            if isinstance(v, Pattern):
                return PatternNode(self, operands)  # type: ignore[return-value]
        values = [v if isinstance(v, Variable) or is_weak(v) else as_variable(v) for v in operands]
        if self.shortcut is not None and (value := self.shortcut(*map(as_variable, values))) is not None:
            return value
        kinds = tuple(v.type.dtype if isinstance(v, Variable) else weak_kind(v) or int for v in values)
        try:
            dtypes, result = self.loop(kinds)
        except DtypeError as error:
            describe_operands(error, [v for v in values if isinstance(v, Variable)])
            raise
        note_promotions(self.name, values, dtypes)
        cast = _cast()
        try:
            ready = [
                (v if v.type.dtype == t else cast(v, t)) if isinstance(v, Variable) else weak_variable(v, t)
                for v, t in zip(values, dtypes, strict=True)
            ]
        except RangeError:
            if result != "bool":
                raise
            return self(*map(_beyond, values))
        return self.op.result(ready, result)

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, ...]:
        return (_named, (self.name,))

    def __lt__(self, other: ElementwiseFunction) -> bool:
        return self.name < other.name


ElementwiseFunction.__annotations__ = OperandAnnotations()


def _named(name: str) -> Any:
    value = own_function(name)
    if value is None:
        raise InputError(message(f"pickle: found the function {name!r}, needed one of tg's own"))
    return value


def own_function(name: str) -> ElementwiseFunction | None:
    """The elementwise function that core has under a name; its family is imported, and no other."""
    from tg.ops.homes import HOMES

    if name in HOMES:
        home, attribute = HOMES[name]
        value = getattr(importlib.import_module(home), attribute)
        if isinstance(value, ElementwiseFunction):
            return value if value.name == name else None
    from tg.ops.catalog import ELEMENTWISE  # `clip` is a function of users too

    fn: ElementwiseFunction | None = ELEMENTWISE.get(name)
    return fn


def in_loop(name: str, ufunc: np.ufunc, *operands: Any) -> list[Variable]:
    """The operands in the dtypes of the loop that a NumPy ufunc has for them: how functions built of others promote.

    Raises:
        DtypeError: there is none.
    """
    values = [v if isinstance(v, Variable) or is_weak(v) else as_variable(v) for v in operands]
    kinds = tuple(v.type.dtype if isinstance(v, Variable) else weak_kind(v) or int for v in values)
    try:
        dtypes, _ = from_ufunc(ufunc)(kinds)
    except DtypeError as error:
        refusal = DtypeError(f"{name}: {error}")
        describe_operands(refusal, [v for v in values if isinstance(v, Variable)])
        raise refusal from error.__cause__
    note_promotions(name, values, dtypes)
    return [
        _cast()(v, t) if isinstance(v, Variable) else weak_variable(v, t) for v, t in zip(values, dtypes, strict=True)
    ]


@functools.cache
def _cast() -> Callable[[Variable, str], Variable]:
    from tg.ops.elementwise.cast import cast_variable

    return cast_variable


def _beyond(value: Any) -> Any:
    """For a comparison with an integer that the dtype cannot hold: the infinity that compares as it does."""
    return value if type(value) is not int else math.inf if value > 0 else -math.inf


def align_ranks(operands: Sequence[Variable]) -> list[Variable]:
    """The operands with leading axes of length 1 added, so that those that are not 0-d have one rank."""
    rank, are_equal = 0, True
    for v in operands:
        own = len(v.type.shape)
        if own and own != rank:
            rank, are_equal = max(rank, own), not rank
    if are_equal:
        return list(operands)
    return [
        v if len(v.type.shape) in (0, rank) else _expand()(v, tuple(range(-rank, -len(v.type.shape)))) for v in operands
    ]


@functools.cache
def _expand() -> Callable[[Variable, tuple[int, ...]], Variable]:
    from tg.ops.shape import expand_dims_at

    return expand_dims_at


@final
class Elementwise(Op):
    """An elementwise function lifted to arrays.

    Shapes:
        operands of one rank, or 0-d; lengths broadcast.
    Dtypes:
        exactly those of one loop of the function.
    """

    fn: ElementwiseFunction
    pointwise = True
    repeats = True

    @property
    def name(self) -> str:
        """The function's name."""
        return self.fn.name

    def __reduce__(self) -> tuple[object, ...]:
        """The function's own op: rules ask for it by identity."""
        return (operator.attrgetter("op"), (self.fn,))

    @property
    def rule_key(self) -> object:
        """The elementwise function."""
        return self.fn

    @property
    def only_derives(self) -> bool:  # type: ignore[override]
        """Whether the record differs from its expansion in its derivative alone."""
        return self.fn.only_derives

    @property
    def expands(self) -> bool:
        """Whether the record has an expansion."""
        return self.fn.expansion is not None

    @property
    def commutes(self) -> bool:
        """Whether the record says so, without exception for zeros."""
        return self.fn.commutative == "exact"

    @property
    def may_fail(self) -> bool:
        """Whether the record has checks."""
        return self.fn.checks is not None

    def infer(self, *inputs: TensorType) -> tuple[TensorType, ...]:
        """The broadcast shape and the loop's result dtype."""
        dtypes = tuple([t.dtype for t in inputs])
        loop, result = self.fn.loop(dtypes)
        if loop != dtypes:
            text = f"{self.name}: found dtypes {', '.join(dtypes)}, needed those of a loop, {', '.join(loop)}"
            raise DtypeError(message(text))
        return (self._type(inputs, result),)

    def _type(self, inputs: Sequence[TensorType], dtype: str) -> TensorType:
        shape = broadcast_shapes(self.fn.name, inputs)
        for t in inputs:
            if t.shape is shape and t.dtype == dtype:
                return t
        return TensorType(dtype, shape)

    def result(self, operands: Sequence[Variable], dtype: str) -> Variable:
        """The result of operands that have the dtypes of a loop, whatever their ranks, and of which it has this dtype.

        Raises:
            ShapeError: lengths do not broadcast.
        """
        inputs = tuple(align_ranks(operands))
        try:
            kind = self._type([v.symbolic_type for v in inputs], dtype)
        except (TypeError, ValueError) as error:
            describe_operands(error, inputs)
            if isinstance(error, TgError):
                error.trim()
            raise
        return Variable(kind, Apply(self, inputs, (kind,), locs.here()))

    def perform(self, *arrays: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], ...]:
        """The NumPy reference, in the loop's dtype."""
        target = self.fn.result_of(tuple([a.dtype for a in arrays]))
        y = np.asarray(self.fn.reference(*arrays))
        return (y if y.dtype == target else y.astype(target),)

    def expansion(self, *inputs: Variable) -> Variable:
        """The record's expansion, in the dtype of the loop."""
        assert self.fn.expansion is not None
        return _cast()(self.fn.expansion(*inputs), self.fn.loop(tuple([v.type.dtype for v in inputs]))[1])

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """The record's checks."""
        return tuple(self.fn.checks(*inputs)) if self.fn.checks is not None else ()

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """The record's facts; what is symmetric stays so."""
        operand_facts = tuple([facts_of(v) for v in inputs])
        key = (inputs[0].type.dtype, inputs[0] is inputs[-1], operand_facts)
        cache = self.fn._known_facts
        names = cache.get(key)
        if names is None:
            names = frozenset(self.fn.facts(*inputs) if self.fn.facts is not None else ())
            if all(map(_is_symmetric, inputs)) and any(v.type.ndim >= 2 for v in inputs):
                return (names | {"symmetric"},)
            if len(operand_facts) < 3 and key[0] != "int64" and all(map(MATRIX.isdisjoint, operand_facts)):
                cache[key] = names  # nothing but facts of elements decides: numbers of rows and columns are int64
        return (names,)

    def length_value(
        self, inputs: Sequence[Variable], value_of: Callable[[Variable], int | Length]
    ) -> int | Length | None:
        """Integer arithmetic on lengths is a length."""
        rule = LENGTH_RULES.get(self.fn.name)
        return rule(*map(value_of, inputs)) if rule is not None else None

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """`times(dy, d)` for each partial derivative d, summed over the axes along which the operand was repeated."""
        if self.fn.d is None and self.expands:
            return tools.pullback_of_expansion(self, inputs, cotangents)  # type: ignore[no-any-return]
        return tools.pullback_of_elementwise(self.fn, inputs, outputs[0], cotangents[0])  # type: ignore[no-any-return]

    def pushforward(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The sum of `times(t, d)` over the operands."""
        if self.fn.d is None and self.expands:
            return tools.pushforward_of_expansion(self, inputs, tangents)  # type: ignore[no-any-return]
        return (tools.pushforward_of_elementwise(self.fn, inputs, outputs[0], tangents),)


def _is_symmetric(v: Variable) -> bool:
    """Whether the last two axes of an operand may change places: it is symmetric, or one element for both."""
    return v.type.shape[-2:] in ((), (1, 1)) or "symmetric" in facts_of(v)


def _length_rules() -> dict[str, Callable[..., Any]]:
    from tg.types import lengths as n

    return {
        "add": n.add,
        "subtract": n.subtract,
        "multiply": n.multiply,
        "floor_divide": n.floor_divide,
        "remainder": n.remainder,
        "minimum": n.minimum,
        "maximum": n.maximum,
        "negative": lambda a: n.multiply(-1, a),
    }


LENGTH_RULES: Final = _length_rules()


def broadcast_shapes(name: str, inputs: Sequence[TensorType]) -> tuple[int | Length, ...]:
    """The shape that operands of one rank (or 0-d) broadcast to."""
    shape: tuple[Any, ...] = ()
    for t in inputs:
        if not t.shape or t.shape is shape:
            continue
        if not shape:
            shape = t.shape
            continue
        if len(shape) != len(t.shape):
            text = f"{name}: found ranks {len(shape)} and {len(t.shape)}, needed equal ones"
            raise InputError(message(text))
        pairs: Any = zip(shape, t.shape, range(-len(shape), 0), strict=True)
        shape = tuple(a if a is b else broadcast(a, b, functools.partial(_axis, name, k)) for a, b, k in pairs)
    return shape


def _axis(name: str, axis: int) -> str:
    return f"{name}: axis {axis}"


def _record(arity: int, name: str, reference: Any, loops: Any, doc: str, **facts: Any) -> ElementwiseFunction:
    numpy = reference if isinstance(reference, np.ufunc) else None
    rule = from_ufunc(loops) if isinstance(loops, np.ufunc) else loops
    return ElementwiseFunction(name, arity, reference, rule, doc, numpy=facts.pop("numpy", numpy), **facts)


unary = functools.partial(_record, 1)
binary = functools.partial(_record, 2)
ternary = functools.partial(_record, 3)
quaternary = functools.partial(_record, 4)
