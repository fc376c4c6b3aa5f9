"""Patterns: terms over untyped variables, made by calling op functions on them, and the matchers compiled from them.

`log(1 + x)` with a pattern variable x is a `PatternNode`; the same functions that users call make it, because an op
function that meets a `Pattern` records the call in place of building a node.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.errors import RewriteError, message
from tg.graph.nodes import OTHER, Constant, literal_text
from tg.graph.operators import Operators

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tg.graph.nodes import Apply, Variable

    Test = Callable[[Variable, "Binding"], bool]
    Binding = list[Any]  # by the number of a pattern variable: the variable it stands for, or None


class Pattern(Operators):
    """A term of a pattern."""

    __slots__ = ()


@final
class PatternVariable(Pattern):
    """Matches any value; the same one wherever the variable recurs."""

    __slots__ = ("name", "number")

    def __init__(self, name: str, number: int) -> None:
        self.name, self.number = name, number

    def __repr__(self) -> str:
        return self.name


@final
class PatternNode(Pattern):
    """A call of an elementwise function on terms and literals."""

    __slots__ = ("fn", "operands")

    def __init__(self, fn: Any, operands: Sequence[Any]) -> None:
        self.fn, self.operands = fn, tuple(operands)

    def __repr__(self) -> str:
        return f"{self.fn}({', '.join(map(repr, self.operands))})"


def term_of(function: Callable[..., Any]) -> tuple[Any, int]:
    """The term that a function of pattern variables builds, and the number of its variables.

    Raises:
        RewriteError: it builds no call of an elementwise function.
    """
    arity = getattr(function, "arity", None)  # an elementwise function stands for the term that calls it
    names = [f"x{k}" for k in range(arity)] if arity else list(inspect.signature(function).parameters)
    term = function(*(PatternVariable(name, k) for k, name in enumerate(names)))
    if not isinstance(term, PatternNode):
        text = f"pattern: found {term!r}, needed a call of an elementwise function"
        raise RewriteError(message(text, ("variables", ", ".join(names))))
    return term, len(names)


@final
class Matcher:
    """Finds what the variables of a term stand for in an apply of the term's root function.

    Operands of commutative functions match in either order. `for_kinds` leaves out the orders that operands made by
    these functions, or constants with these literals, cannot match: what is left is tried at every such node.
    """

    __slots__ = ("_orders", "count")

    def __init__(self, term: PatternNode, count: int) -> None:
        self.count = count
        self._orders = [(operands, tuple(map(_test, operands))) for operands in _orders(term)]

    def for_kinds(self, kinds: Sequence[object]) -> tuple[tuple[Test, ...], ...]:
        """The tests of the operands, for each order that is possible."""
        return tuple(tests for operands, tests in self._orders if all(map(_may_match, operands, kinds)))

    def match(self, orders: tuple[tuple[Test, ...], ...], node: Apply) -> Binding | None:
        """The operand that each variable stands for by the first order that matches, None if none does."""
        inputs = node.inputs
        for tests in orders:
            binding: Binding = [None] * self.count
            for test, v in zip(tests, inputs):  # noqa: B905 (both have the arity; this is the innermost loop)
                if not test(v, binding):
                    break
            else:
                return binding
        return None


def kind_of(v: Variable) -> object:
    """Kind of a value by its origin: the key of its op, for a constant its literal, for an input None."""
    node = v.apply
    return node.key if node is not None else v.literal if type(v) is Constant else None


def is_made_by(v: Variable, fn: Any) -> bool:
    """Whether a value is the result of an elementwise function."""
    return v.apply is not None and v.apply.op is fn.op


def _may_match(term: Any, kind: object) -> bool:
    if isinstance(term, PatternVariable):
        return True
    if isinstance(term, PatternNode):
        return kind is term.fn
    return type(kind) is str and kind == literal_text(term)


def _orders(term: PatternNode) -> list[tuple[Any, ...]]:
    """The operands of a term in every order that its commutative functions allow, the same ones once."""
    choices = [list(_variants(operand)) for operand in term.operands]
    orders = list(itertools.product(*choices))
    if term.fn.commutative:
        orders += [(b, a) for a, b in orders if not _interchangeable(a, b)]
    return orders


def _variants(term: Any) -> Iterator[Any]:
    if not isinstance(term, PatternNode):
        yield term
        return
    for operands in _orders(term):
        yield PatternNode(term.fn, operands)


def _interchangeable(a: Any, b: Any) -> bool:
    """Whether two operands are the same variable, so that their order says nothing."""
    return a is b


def _test(term: Any) -> Test:
    if isinstance(term, PatternVariable):
        return functools.partial(_bind, term.number)
    if isinstance(term, PatternNode):
        return _node_test(term)
    return functools.partial(_equals, term, literal_text(term))


def _bind(number: int, v: Variable, binding: Binding) -> bool:
    current = binding[number]
    if current is None:
        binding[number] = v
        return True
    return current is v


def _equals(literal: complex, text: str, v: Variable, binding: Binding) -> bool:
    return type(v) is Constant and (v.literal == text if text is not OTHER else holds_value(v, literal))


def _node_test(term: PatternNode) -> Test:
    op, tests = term.fn.op, tuple(map(_test, term.operands))

    def test(v: Variable, binding: Binding) -> bool:
        node = v.apply
        if node is None or node.op is not op:
            return False
        return all(inner(u, binding) for inner, u in zip(tests, node.inputs, strict=True))

    return test


def holds_value(c: Constant, literal: complex) -> bool:
    """Whether every element of a constant is a number, as the constant's dtype holds it. -0.0 is 0; True is not 1."""
    data = c.data
    if data.size == 0 or (data.dtype.kind == "b") is not (type(literal) is bool):
        return False
    if type(literal) is float and data.dtype.kind not in "iu":
        with np.errstate(all="ignore"):
            literal = data.dtype.type(literal)
    if data.ndim == 0:
        return bool(data == literal)
    return bool(data.flat[0] == literal) and bool((data == literal).all())
