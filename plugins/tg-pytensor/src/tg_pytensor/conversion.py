"""From PyTensor's graphs to tg's: a walk from what is wanted to what it is made of."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant, Variable
from pytensor.scalar.basic import ScalarType

import tg
from tg.backend import is_complex, message
from tg_pytensor.places import located, place_of
from tg_pytensor.registry import convert
from tg_pytensor.updates import default_updates

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tg_pytensor.registry import Rule


class Converted(NamedTuple):
    """A graph of tg made of one of PyTensor."""

    inputs: tuple[tg.Variable, ...]
    outputs: tuple[tg.Variable, ...]
    shared: dict[Variable, tg.Shared]
    """tg's shared variables, by PyTensor's: they begin with the values that those have now."""


class Conversion:
    """The variables of tg that stand for some of PyTensor's, and how more of these are converted."""

    def __init__(self, values: Mapping[Variable, Any], outer: Conversion | None = None) -> None:
        self._known = dict(values)
        self._outer = outer
        self.shared: dict[Variable, tg.Shared] = {} if outer is None else outer.shared

    def __contains__(self, v: Variable) -> bool:
        return v in self._known or (self._outer is not None and v in self._outer)

    def __getitem__(self, v: Variable) -> Any:
        """Value that stands for a variable: converted now, with all that it is made of, unless it was before."""
        if v in self._known or v not in self:
            return self._known[v] if v in self._known else self._walk(v)
        assert self._outer is not None
        return self._outer[v]

    def inside(self) -> Conversion:
        """A conversion that knows what this one does, and keeps to itself what it adds: of a branch."""
        return self._another({}, self)

    def beside(self, variables: Sequence[Variable], operands: Sequence[Any]) -> Conversion:
        """A conversion of another graph, of which operands stand for some variables."""
        inner = self._another(dict(zip(variables, operands, strict=True)))
        inner.shared = self.shared
        return inner

    def of_graph(self, graph: Any, operands: Sequence[Any]) -> list[Any]:
        """The outputs of an op's inner graph for some operands."""
        inner = self.beside(graph.inputs, operands)
        return [inner[v] for v in graph.outputs]

    def of_node(self, rule: Rule, node: Any, operands: Sequence[Any]) -> Any:
        """Results of a rule for a node, whose inputs stand for some operands."""
        if rule.whole:
            return rule.write(self.beside(node.inputs, operands), node)
        return rule.write(node.op, node, *operands)

    def _another(self, values: Mapping[Variable, Any], outer: Conversion | None = None) -> Conversion:
        return Conversion(values, outer)

    def _walk(self, wanted: Variable) -> Any:
        waiting = [wanted]
        while waiting:
            v = waiting[-1]
            if v in self:
                waiting.pop()
            elif v.owner is None:
                self._known[v] = self._root(v)
            else:
                rule = self._rule(v.owner)
                needed = v.owner.inputs[: rule.needs]
                missing = [u for u in needed if u not in self]
                if missing:
                    waiting.extend(reversed(missing))
                else:
                    self._known.update(zip(v.owner.outputs, self._results(v.owner, rule), strict=True))
        return self._known[wanted]

    def _rule(self, node: Any) -> Rule:
        with located(node):
            return rule_of(node)

    def _results(self, node: Any, rule: Rule) -> list[Any]:
        with located(node):
            arguments = (self, node) if rule.whole else (node.op, node, *(self[v] for v in node.inputs))
            value = rule.write(*arguments)
            results = list(value) if isinstance(value, list | tuple) else [value]
            if len(results) != len(node.outputs):
                text = f"the rule of {node.op} gave {len(results)} results, needed {len(node.outputs)}"
                raise tg.InputError(message(text))
            return [as_declared(r, v.type) for r, v in zip(results, node.outputs, strict=True)]

    def _root(self, v: Variable) -> Any:
        if isinstance(v, Constant):
            return constant(v)
        if isinstance(v, SharedVariable):
            return self.shared.setdefault(v, shared(v))
        raise tg.InputError(message(f"found the variable {v}, which is none of the inputs, needed all that are used"))


def rule_of(node: Any) -> Rule:
    """The rule of a node's op.

    Raises:
        NoRuleError: there is none.
    """
    rule = convert.rule(node.op)
    if rule is None:
        name = type(node.op).__name__
        hint = f"@tg_pytensor.convert.register({name}) makes a function of (op, node, *operands) its rule"
        raise tg.NoRuleError(message(f"tg_pytensor has no rule for {name}", hint=hint, at=place_of(node) or None))
    return rule


def as_declared(result: Any, declared: Any) -> Any:
    """A result in the dtype, and with the lengths, that PyTensor says it has; what is no array as it is."""
    if not hasattr(declared, "dtype") or result is None or isinstance(result, list):
        return result
    result = as_dtype(tg.as_variable(result), declared.dtype)
    if isinstance(declared, ScalarType):
        return result  # an array stands for what a scalar op says of each of its elements
    lengths = getattr(declared, "shape", ())
    if result.type.ndim != len(lengths):
        raise tg.ShapeError(message(f"the rule gave {result.type}, needed what PyTensor says: {declared}"))
    return with_lengths(result, lengths)


def as_dtype(x: tg.Variable, dtype: str) -> tg.Variable:
    """x in a dtype that PyTensor declares. Complex numbers stay complex.

    PyTensor declares the eigenvectors of a complex matrix real, computes them complex, and so has wrong dtypes for all
    that is made of them: no part of a number is lost to those.
    """
    if is_complex(x.type.dtype) and not is_complex(dtype):
        dtype = "complex64" if dtype in ("float16", "float32") else "complex128"
    return tg.cast(x, dtype)


def with_lengths(x: tg.Variable, lengths: Iterable[int | None]) -> tg.Variable:
    """x, with the lengths that PyTensor knows and tg does not."""
    shape = [n if own is None else None for own, n in zip(x.type.shape, lengths, strict=True)]
    return tg.specify_shape(x, shape) if any(n is not None for n in shape) else x


def constant(v: Constant) -> Any:
    """The value of a constant: an array as one of tg's, anything else (None, a slice, text) as it is."""
    if hasattr(v.type, "dtype") and isinstance(v.data, np.ndarray | np.generic | int | float | complex):
        return tg.constant(np.asarray(v.data, dtype=v.type.dtype), name=v.name)
    return v.data


def shared(v: SharedVariable) -> tg.Shared:
    """A shared variable that begins with the value of PyTensor's; of a generator, a key drawn from a copy of it."""
    value = v.get_value(borrow=True)
    if isinstance(value, np.random.Generator):
        return tg.shared(tg.random.key(int(copy.deepcopy(value).integers(2**63))).eval(), v.name)
    return tg.shared(value, v.name, dtype=v.type.dtype, shape=v.type.shape)


def placeholder(v: Variable) -> tg.Variable:
    """The input that stands for a variable: a key for a generator of random numbers."""
    if not hasattr(v.type, "dtype"):
        return tg.tensor(v.name, "uint32", (2,))
    return tg.tensor(v.name, v.type.dtype, getattr(v.type, "shape", ()))


def from_pytensor(
    inputs: Sequence[Variable] | Variable,
    outputs: Sequence[Variable] | Variable,
    known: Mapping[Variable, Any] | None = None,
) -> Converted:
    """The graph of tg that computes what one of PyTensor does.

    It is read as the user wrote it, before PyTensor rewrites it. Derivatives are not: `tg.grad` of the result makes
    them anew. Random variables draw from keys: what they draw has the same distributions, not the same numbers.

    Args:
        inputs: variables of PyTensor.
        outputs: what is computed of them.
        known: variables of tg for others of PyTensor, instead of inputs of their own.
    Raises:
        NoRuleError: an op has no rule.
        InputError: an output depends on a variable that is none of the inputs.
    Example:
        >>> x = pt.vector("x")
        >>> (x_,), (y_,), _ = tg_pytensor.from_pytensor([x], [pt.exp(x).sum()])
        >>> tg.function([x_], tg.grad(y_, x_), backend="c")([0.0, 1.0])
    """
    inputs, outputs = ([v] if isinstance(v, Variable) else list(v) for v in (inputs, outputs))
    given = {**{v: placeholder(v) for v in inputs}, **(known or {})}
    conversion = Conversion(given)
    found = tuple(conversion[v] for v in outputs)
    default_updates(conversion, outputs)
    return Converted(tuple(given[v] for v in inputs), found, conversion.shared)
