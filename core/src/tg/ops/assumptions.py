"""Assumptions made beforehand: facts that are promised of values, and conditions that are required of calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

from tg.errors import AssertionFailed, DtypeError, InputError, error_name, message
from tg.graph.checks import STATUS_VALUES, Check, Descriptor
from tg.graph.facts import FACTS, fact_holds, facts_of, possible
from tg.graph.nodes import Constant, Variable
from tg.graph.op import Op
from tg.graph.operators import NAMESPACE
from tg.ops.family import Family
from tg.types.dtypes import is_integer
from tg.variables.conversion import as_variable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np

    from tg.types.tensor_type import TensorType
    from tg.variables.like import TensorLike

    Array = np.ndarray[Any, Any]

HINT: Final = "a promise is True or left out: tg.assume(x, positive=True)"


@final
class Assume(Op):
    """The operand, of which facts are promised; importing removes it and keeps them for the value.

    Shapes:
        x (...) -> y (...)
    """

    names: tuple[str, ...]  # of `tg.graph.facts`
    has_expansion = True

    @property
    def named_identity(self) -> str | None:
        """No name: only an identity."""
        return ""

    @property
    def assumed_facts(self) -> frozenset[str]:
        """The names."""
        return frozenset(self.names)

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """The operand's type, of which the facts must be possible."""
        possible(self.names, x.static)
        return (x,)

    def perform(self, x: Array) -> tuple[Array, ...]:
        """The operand, copied."""
        return (x.copy(),)

    def expansion(self, *inputs: Variable) -> Variable:
        """The operand."""
        return inputs[0]

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """The facts of the operand, and the promised ones."""
        return (facts_of(inputs[0]).union(self.names),)

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """The cotangent."""
        return tuple(cotangents)

    def pushforward(self, tools: Any, inputs: Any, outputs: Any, tangents: Any) -> Sequence[Variable | None]:
        """The tangent."""
        return tuple(tangents)


def assume(x: TensorLike, **facts: bool) -> Variable:
    """x, of which facts are promised: rewriting may use them wherever the value of x is used.

    A promise holds for the value, not for a place: what is promised of x in one branch of a choice is promised of it
    everywhere. It is not checked: where it is broken, results that depend on it are undefined.

    Args:
        facts: `positive=True`, `finite=True` and so on, by the names in `tg.graph.facts.FACTS`. Facts that order are
            silent about NaN, which `not_nan` and `finite` exclude.
    Dtypes:
        facts that order are not for complex numbers.
    Raises:
        InputError: there is no such fact, its value is not True, or two exclude one another.
        ShapeError: a fact of square matrices is promised of another shape.
        DtypeError: no value of the dtype has the fact.
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> f = tg.function([x], tg.absolute(tg.assume(x, nonnegative=True, no_negative_zero=True)))
        >>> len(f.graph.nodes)
        0
    """
    v = as_variable(x)
    for name, value in facts.items():
        if value is not True and name in FACTS:
            raise InputError(message(f"assume: {name}: found {value!r}, needed True", hint=HINT))
    return assume_facts(v, facts)


def assume_facts(v: Variable, names: Iterable[str]) -> Variable:
    """A variable of which facts are promised, by their names; itself where they are known.

    Raises:
        InputError, ShapeError, DtypeError: as `assume` says; a constant that does not have a fact.
    """
    wanted = possible(names, v.type)
    if isinstance(v, Constant):
        for name in sorted(wanted):
            if not fact_holds(name, v.data):
                raise InputError(message(f"assume: {name}: found a constant for which it does not hold"))
    if wanted <= facts_of(v):
        return v
    return Assume(tuple(sorted(wanted)))(v)  # type: ignore[no-any-return]


@final
class Required(Op):
    """The first operand, if the second, a bool scalar, holds; importing removes it and keeps the condition as a check.

    Operands after these are integer scalars that the text shows.

    Shapes:
        x (...), condition (), shown () -> y (...)
    Raises:
        the class that `error` names, as `tg.errors.error_name` does: the condition does not hold.
    """

    error: str
    text: str
    hint: str | None = None
    has_expansion = True

    @property
    def named_identity(self) -> str | None:
        """No name: only an identity."""
        return ""

    def infer(self, x: TensorType, condition: TensorType, *shown: TensorType) -> tuple[TensorType, ...]:
        """The operand's type."""
        return (x,)

    def perform(self, *arrays: Array) -> tuple[Array, ...]:
        """The operand, copied."""
        return (arrays[0].copy(),)

    def expansion(self, *inputs: Variable) -> Variable:
        """The operand."""
        return inputs[0]

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """The condition."""
        return (Check(inputs[1], tuple(inputs[2:]), Descriptor(self.error, self.text, self.hint)),)

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """The facts of the operand."""
        return (facts_of(inputs[0]),)

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """The cotangent."""
        return (cotangents[0], *(None for _ in inputs[1:]))

    def pushforward(self, tools: Any, inputs: Any, outputs: Any, tangents: Any) -> Sequence[Variable | None]:
        """The tangent."""
        return (tangents[0],)

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Any]:
        """The condition holds for every element of the batch; shown is the first for which it does not."""
        condition, shown = tools.of_all(size, inputs[1:], batched[1:])
        value = self(inputs[0], condition, *shown)
        return (value if batched[0] else tools.unbatched(value),)


def required(x: Variable, condition: Variable, shown: Sequence[Variable], failure: Descriptor) -> Variable:
    """x, of which a condition is required: one that is known is decided now, any other is a check.

    Args:
        shown: the integer scalars that the text of the failure shows as {0}, {1} and so on.
    Raises:
        the class that the failure names.
    """
    if isinstance(condition, Constant):
        if not condition.data.all():
            raise failure.build([int(v.data) if isinstance(v, Constant) else 0 for v in shown])
        return x
    return Required(failure.error, failure.text, failure.hint)(x, condition, *shown)  # type: ignore[no-any-return]


def assert_(
    x: TensorLike,
    condition: TensorLike,
    text: str = "a condition does not hold",
    *shown: Any,
    error: type[Exception] = AssertionFailed,
) -> Variable:
    """x, of which it is made sure, on every backend and before results are returned, that a condition holds.

    Inside of a branch of `tg.cond` that is not taken, and in a loop without steps, nothing is asked.

    Args:
        condition: a bool array, of which all elements must be true.
        text: of the error; `{0}` to `{3}` stand for what is shown.
        shown: integer scalars.
        error: the class of exceptions to raise, which takes the text.
    Raises:
        error: the condition does not hold: of constants now, else when the program runs.
        DtypeError: the condition is not of dtype bool, or what is shown not integer.
        InputError: more than four values are shown; `error` is no class of exceptions.
    Example:
        >>> import tg
        >>> n = tg.scalar("n", dtype="int64")
        >>> f = tg.function([n], tg.assert_(n, n > 0, "found {0} draws, needed at least one", n))
        >>> int(f(3))
        3
    """
    test = as_variable(condition)
    if test.type.dtype != "bool":
        raise DtypeError(message(f"assert_: condition: found {test.type}, needed bool"))
    values = [as_variable(v) for v in shown]
    if len(values) > STATUS_VALUES:
        raise InputError(message(f"assert_: found {len(values)} values to show, needed at most {STATUS_VALUES}"))
    for v in values:
        if v.type.ndim or not is_integer(v.type.dtype):
            raise DtypeError(message(f"assert_: shown: found {v.type}, needed an integer scalar"))
    if test.type.ndim:
        test = NAMESPACE.all(test)
    if not (isinstance(error, type) and issubclass(error, Exception)):
        raise InputError(message(f"assert_: error: found {error!r}, needed a class of exceptions"))
    return required(as_variable(x), test, values, Descriptor(error_name(error), text))


FAMILY = Family("assumptions", ops=(Assume, Required), functions=(assume, assert_))
