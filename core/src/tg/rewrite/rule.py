"""`Rule`: one local rewrite, an equation between terms or a function of one node; `Pass`: a rewrite of a whole graph.

A rule is a pure function of one node and what is below it. A pass sees the whole graph and knows who uses a value. The
replacements of both have the dtype and the rank of what they replace and an equal or more precise shape. A `Lowering`
is a backend's last step: from a frozen graph to another.
"""

from __future__ import annotations

import functools
import inspect
import sys
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Final, final

import numpy as np

from tg.errors import RewriteError, message
from tg.graph.nodes import Constant, Variable
from tg.graph.operators import NAMESPACE
from tg.rewrite.pattern import Matcher, term_of
from tg.rewrite.phases import BACKEND, CANONICALIZE, DIFFERENTIATE, KINDS, PHASES
from tg.types.dtypes import COMPLEX, DTYPES, FLOATS, INTEGERS, numpy_dtype
from tg.types.lengths import same
from tg.types.requirements import equal_here
from tg.types.substitution import atoms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.graph.nodes import Apply
    from tg.graph.view import View
    from tg.types.lengths import Length

    Outputs = tuple[Variable, ...]
    Attempt = Callable[[Apply, Outputs], Outputs | None]
    Found = Variable | tuple[Variable, ...] | complex | None

FLOATING: Final = frozenset(FLOATS)
INEXACT: Final = frozenset((*FLOATS, *COMPLEX))
INTEGER: Final = frozenset(INTEGERS)
NUMBERS: Final = INEXACT | INTEGER
ANY: Final = frozenset(DTYPES)
MOST: Final = 64  # nodes of a replacement that are looked at


@final
class Checked(tuple):  # type: ignore[type-arg]
    """The results that a rule gives where they can fail in another way than what they replace: with their ops' checks.

    What is replaced keeps its own checks, of what became of its results.
    """

    __slots__ = ()


class Rule(ABC):
    """A local rewrite: its name, its phase, its class, its reason, and the ops it is tried on."""

    __slots__ = ("kind", "name", "phase", "why")
    name: str
    phase: str
    kind: str
    why: str

    def __init__(self, name: str, phase: str, kind: str, why: str) -> None:
        _need(name, phase, kind, why)
        self.name, self.phase, self.kind, self.why = name, phase, kind, why

    @property
    @abstractmethod
    def keys(self) -> tuple[object, ...]:
        """The elementwise functions and op classes that a node must have for the rule to be tried."""

    @abstractmethod
    def for_kinds(self, kinds: Sequence[object]) -> Attempt | None:
        """Function that tries the rule on nodes whose operands are of these kinds (`tg.rewrite.pattern.kind_of`).

        Returns:
            A function of a node and its results: the replacement, or None where the rule does not apply. None in place
            of the function where it never applies. Of more than a few operands `kinds` has each kind once.
        """

    def __repr__(self) -> str:
        return f"<rule {self.name}: {self.phase}, {self.kind}>"


@final
class Equation(Rule):
    """A rule `match = replace` between terms over pattern variables."""

    __slots__ = ("_matcher", "dtypes", "match", "replace", "root", "when")

    def __init__(
        self,
        name: str,
        phase: str,
        kind: str,
        why: str,
        match: Callable[..., Any],
        replace: Callable[..., Any],
        dtypes: frozenset[str],
        when: Callable[..., bool] | None,
    ) -> None:
        super().__init__(name, phase, kind, why)
        self.match, self.replace, self.dtypes, self.when = match, replace, dtypes, when
        self.root: object = None
        self._matcher: Matcher | None = None

    @property
    def keys(self) -> tuple[object, ...]:
        """The function at the root of the term.

        Raises:
            RewriteError: the term holds what no pattern can, or the other side has other variables.
        """
        if self._matcher is None:
            try:
                term, count = term_of(self.match)
            except Exception as error:
                raise RewriteError(_no_pattern(self.name, error)) from error
            for side, function in (("replace", self.replace), ("when", self.when)):
                arity = _arity(function)
                if arity not in (None, count):
                    text = f"rule {self.name}: {side}: found {arity} variables, needed the {count} of match"
                    raise RewriteError(message(text))
            self.root, self._matcher = term.fn, Matcher(term, count)
        return (self.root,)

    def for_kinds(self, kinds: Sequence[object]) -> Attempt | None:
        """The right side for what the variables of the left side stand for."""
        assert self.keys
        assert self._matcher is not None
        orders = self._matcher.for_kinds(kinds)
        return functools.partial(self._apply, orders) if orders else None

    def _apply(self, orders: Any, node: Apply, outputs: Outputs) -> Outputs | None:
        captured = self._matcher.match(orders, node)  # type: ignore[union-attr]
        if captured is None or not self._fits(captured) or (self.when is not None and not self.when(*captured)):
            return None
        replacement = self.replace(*captured)
        new = fitted(self, outputs[0], replacement, node)
        if new is None and _broadcasts_all(replacement, captured, type(node.op)):
            new = fitted(self, outputs[0], replacement, node, trusted=True)
        return None if new is None else (new,)

    def _fits(self, captured: Sequence[Variable]) -> bool:
        dtype = captured[0].type.dtype
        return dtype in self.dtypes and all(v.type.dtype == dtype for v in captured)


@final
class NodeRule(Rule):
    """A rule given as a function of a node and its results, or of an op and its operands."""

    __slots__ = ("_keys", "below", "example", "function", "is_of_operands")

    def __init__(
        self,
        name: str,
        phase: str,
        kind: str,
        why: str,
        keys: tuple[object, ...],
        function: Callable[..., Found],
        example: Callable[..., Variable | list[Variable]] | None,
        below: tuple[object, ...],
        *,
        is_of_operands: bool = False,
    ) -> None:
        super().__init__(name, phase, kind, why)
        self._keys, self.function, self.example, self.below = keys, function, example, below
        self.is_of_operands = is_of_operands

    @property
    def keys(self) -> tuple[object, ...]:
        """The ops that the function is for."""
        return self._keys

    def for_kinds(self, kinds: Sequence[object]) -> Attempt | None:
        """Attempt of the function, wherever an operand is made by an op that the rule wants below it."""
        return self._apply if not self.below or any(map(self._is_below, kinds)) else None

    def _is_below(self, kind: object) -> bool:
        if type(kind) is str:
            return any(one is Constant for one in self.below)
        return kind is not None and any(kind is one or is_function_of(kind, one) for one in self.below)

    def _apply(self, node: Apply, outputs: Outputs) -> Outputs | None:
        """The replacement; a number becomes a constant of the result's dtype and shape."""
        result = self.function(node.op, *node.inputs) if self.is_of_operands else self.function(node, outputs)
        if result is None:
            return None
        if isinstance(result, tuple):
            if len(result) != len(outputs):
                text = f"rewrite: {self.name} replaced {len(outputs)} values by {len(result)}"
                raise RewriteError(message(text, ("node", node.op.name)))
            return result
        replacement = fitted(self, outputs[0], result, node, trusted=True)
        return None if replacement is None else (replacement,)


@final
class Pass:
    """A rewrite of a whole graph, linear in its size, run once after the sweep of its phase."""

    __slots__ = ("example", "keys", "kind", "name", "phase", "run", "why")

    def __init__(
        self,
        name: str,
        *,
        phase: str,
        kind: str,
        why: str,
        run: Callable[[View], Mapping[int, Variable]],
        example: Callable[..., Variable | list[Variable]] | None = None,
        keys: tuple[object, ...] = (),
    ) -> None:
        """A pass.

        Args:
            keys: if given, the elementwise functions and op classes without any of which the pass has nothing to do.
            run: gives replacements by the `id` of the variables to replace: expressions over variables of the graph.
                The rules of the phase visit what is new.
            example: an expression, or several, of floating matrices of one shape in which the pass applies: what tests
                run it on.
        """
        _need(name, phase, kind, why)
        self.name, self.phase, self.kind, self.why, self.run, self.example = name, phase, kind, why, run, example
        self.keys = keys

    def __repr__(self) -> str:
        return f"<pass {self.name}: {self.phase}, {self.kind}>"


@final
class Lowering:
    """A backend's last step over a whole program and its inner graphs: from one frozen graph to another.

    Args:
        run: may put the checks of a graph in another order.
        inner: for inner graphs, whose checks stay in their order, as those are known outside by their numbers.
    """

    __slots__ = ("inner", "kind", "name", "run", "why")
    phase: ClassVar[str] = BACKEND

    def __init__(
        self,
        name: str,
        *,
        kind: str,
        why: str,
        run: Callable[[FrozenGraph], FrozenGraph],
        inner: Callable[[FrozenGraph], FrozenGraph] | None = None,
    ) -> None:
        _need(name, BACKEND, kind, why)
        self.name, self.kind, self.why, self.run, self.inner = name, kind, why, run, inner or run

    def __repr__(self) -> str:
        return f"<lowering {self.name}: {self.kind}>"


def rule(
    name: str,
    *,
    match: Callable[..., Any],
    replace: Callable[..., Any],
    phase: str,
    kind: str,
    why: str,
    dtypes: frozenset[str] = FLOATING,
    when: Callable[..., bool] | None = None,
) -> Rule:
    """An equation: `match` and `replace` are functions of the same pattern variables.

    Args:
        match: builds the term to find; numbers in it match constants by value, in any dtype.
        replace: builds the replacement; numbers in it take the dtype of what they meet.
        dtypes: those of the captured operands, which all have one.
        when: a further condition on the captured variables.
    """
    return Equation(name, phase, kind, why, match, replace, dtypes, when)


def equations(
    phase: str,
    kind: str,
    rows: Iterable[tuple[str, Callable[..., Any], Callable[..., Any], str]],
    *,
    dtypes: frozenset[str] = FLOATING,
    when: Callable[..., bool] | None = None,
) -> tuple[Rule, ...]:
    """Equations of one phase and class, as a table: a row is the name, `match`, `replace` and `why` of a `rule`."""
    about: dict[str, Any] = {"phase": phase, "kind": kind, "dtypes": dtypes, "when": when}
    return tuple(rule(name, match=match, replace=replace, why=why, **about) for name, match, replace, why in rows)


def cases(
    name: str,
    *,
    match: Callable[..., Any],
    replace: Callable[..., Any],
    phase: str,
    kind: Mapping[frozenset[str] | Callable[..., bool], str],
    why: str,
) -> tuple[Rule, ...]:
    """One equation, of another class for integers, and for floats of which a fact is known.

    Args:
        name: of the rule of floats; that of integers is `integer_NAME`, that of a fact `NAME_of_known`.
        kind: the class by dtypes, or by a condition on the captured floats; the first that fits is tried first.
    """
    about: dict[str, Any] = {"match": match, "replace": replace, "phase": phase, "why": why}
    return tuple(
        rule(f"{name}_of_known", kind=one, when=of, **about)
        if not isinstance(of, frozenset)
        else rule(name if of != INTEGER else f"integer_{name}", kind=one, dtypes=of, **about)
        for of, one in kind.items()
    )


def node_rule(
    name: str,
    *,
    keys: tuple[object, ...],
    apply: Callable[..., Found],
    phase: str,
    kind: str,
    why: str,
    example: Callable[..., Variable | list[Variable]] | None = None,
    below: tuple[object, ...] = (),
) -> Rule:
    """A rule given as a function: `apply(node, outputs)` is the replacement, or None where the rule does not apply.

    Args:
        keys: elementwise functions and op classes; an op class also stands for all its instances' functions.
        below: if given, elementwise functions, op classes or `Constant`, one of which makes an operand wherever the
            rule applies: it is not tried elsewhere.
        apply: returns a variable, a tuple of them for an op of several results, or a number.
        example: an expression, or several, of floating matrices of one shape in which the rule applies: what tests
            run it on.
    """
    return NodeRule(name, phase, kind, why, keys, apply, example, below)


def rule_of(
    *keys: object,
    kind: str,
    phase: str = CANONICALIZE,
    below: tuple[object, ...] = (),
    example: Callable[..., Variable | list[Variable]] | None = None,
) -> Callable[[Callable[..., Found]], Rule]:
    """Make a rule of the function `f(op, *operands)` below: `node_rule` as a decorator.

    The rule has the function's name without the underscore in front, and as its reason the last paragraph of the
    function's docstring.
    """

    def declared(function: Callable[..., Found]) -> Rule:
        name, why = _declared(function)
        return NodeRule(name, phase, kind, why, keys, function, example, below, is_of_operands=True)

    return declared


def rule_of_node(
    *keys: object,
    kind: str,
    phase: str = CANONICALIZE,
    below: tuple[object, ...] = (),
    example: Callable[..., Variable | list[Variable]] | None = None,
) -> Callable[[Callable[..., Found]], Rule]:
    """Make a rule of the function `f(node, outputs)` below; its name and reason are those of `rule_of`."""

    def declared(function: Callable[..., Found]) -> Rule:
        name, why = _declared(function)
        return NodeRule(name, phase, kind, why, keys, function, example, below)

    return declared


def pass_of(
    *keys: object,
    kind: str,
    phase: str = CANONICALIZE,
    example: Callable[..., Variable | list[Variable]] | None = None,
) -> Callable[[Callable[[View], Mapping[int, Variable]]], Pass]:
    """Make a pass of the function `f(view)` below; its name and reason are those of `rule_of`."""

    def declared(function: Callable[[View], Mapping[int, Variable]]) -> Pass:
        name, why = _declared(function)
        return Pass(name, phase=phase, kind=kind, why=why, run=function, example=example, keys=keys)

    return declared


def _declared(function: Callable[..., Any]) -> tuple[str, str]:
    """The name of a rule and its reason; where Python keeps no docstrings the reason is the name."""
    name = function.__name__.removeprefix("_")
    if function.__doc__ is None and sys.flags.optimize > 1:
        return name, name
    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    return name, paragraphs[-1].replace("\n", " ")


def _no_pattern(name: str, error: Exception) -> str:
    """Why the left side of a rule is no pattern."""
    reason = str(error).partition("\n")[0]
    told = reason if isinstance(error, RewriteError) else f"pattern: {type(error).__name__}: {reason}"
    hint = "a pattern is of elementwise functions, variables and numbers; node_rule(keys=…) is for other ops"
    return message(f"rule {name}: {told}", hint=hint)


def _arity(function: Callable[..., Any] | None) -> int | None:
    """Number of arguments that a side of an equation takes; None where that cannot be known, or varies."""
    if function is None:
        return None
    arity = getattr(function, "arity", None)
    if arity is not None:
        return int(arity)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    plain = all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty for p in parameters)
    return len(parameters) if plain else None


def is_function_of(kind: object, cls: object) -> bool:
    """Whether a kind is an elementwise function and `cls` the class of the ops that lift them."""
    return isinstance(cls, type) and type(getattr(kind, "op", None)) is cls


def _need(name: str, phase: str, kind: str, why: str) -> None:
    for field, value, choices in (("phase", phase, (DIFFERENTIATE, *PHASES)), ("kind", kind, KINDS)):
        if value not in choices:
            raise RewriteError(message(f"rule {name}: {field}: found {value!r}, needed one of {', '.join(choices)}"))
    if not why:
        raise RewriteError(message(f"rule {name}: why: found no text, needed a reason"))


def fitted(rule: Rule, old: Variable, new: object, node: Apply, *, trusted: bool = False) -> Variable | None:
    """The replacement with the shape of what it replaces; None where it cannot be given that shape.

    Args:
        trusted: a replacement whose lengths cannot be proved equal is taken to have equal ones.
    Raises:
        RewriteError: the dtypes differ.
    """
    value = new if isinstance(new, Variable) else _literal(new, old.type.dtype)
    if value.type.dtype != old.type.dtype:
        text = f"rewrite: {rule.name} replaced {old.type} by {value.type}"
        raise RewriteError(message(text, ("node", node.op.name)))
    wanted, lengths = old.shape, value.shape
    if len(wanted) == len(lengths) and all(map(equal_here, wanted, lengths)):
        return value
    if len(lengths) > len(wanted):
        return None
    unequal = [(m, n) for m, n in zip(reversed(wanted), reversed(lengths), strict=False) if not equal_here(m, n)]
    repeats = len(lengths) < len(wanted) or any(same(n, 1) for _, n in unequal)
    if not all(same(n, 1) for _, n in unequal):
        return value if trusted and not repeats and value.type.refines(old.type) else None
    if any(_own(n, node) for n in wanted):
        return None
    return NAMESPACE.broadcast_to(value, wanted)  # type: ignore[no-any-return]


def _broadcasts_all(new: object, captured: Sequence[Variable], elementwise: type) -> bool:
    """Whether a replacement is computed element by element of all that a term was matched with.

    Then its shape is theirs, broadcast, as that of the term is, by whatever names lengths are known.
    """
    wanted = {id(v) for v in captured if v.type.shape}
    stack, count = [new], 0
    while stack and wanted and count < MOST:
        v = stack.pop()
        count += 1
        if id(v) in wanted:
            wanted.remove(id(v))
        elif isinstance(v, Variable) and v.apply is not None and type(v.apply.op) is elementwise:
            stack.extend(v.apply.inputs)
    return not wanted


def _literal(value: Any, dtype: str) -> Constant:
    return Constant(np.array(value).astype(numpy_dtype(dtype)))


def _own(length: int | Length, node: Apply) -> bool:
    """Whether a length is known only by the value that is being replaced."""
    return any(getattr(getattr(a, "owner", None), "apply", None) is node for a in atoms(length))
