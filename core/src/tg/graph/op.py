"""`Op`: what an apply node does, as an immutable value whose fields are its identity.

Fields come from the annotations of the class, as in a frozen dataclass, but nothing is generated for each class.
Equality is type-exact: floats are compared by their bits, and True, 1 and 1.0 are three different values.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, dataclass_transform

import numpy as np

from tg.errors import InputError, NoRuleError, NotDifferentiable, TgError, message
from tg.graph.nodes import apply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tg.graph.checks import Check, Descriptor
    from tg.graph.frozen import FrozenGraph
    from tg.graph.nodes import Variable
    from tg.types.lengths import Length
    from tg.types.mesh import Mesh
    from tg.types.tensor_type import TensorType


def exact_key(value: object) -> object:
    """A hashable key under which only identical values are equal: by type, and floats by their bits."""
    kind = type(value)
    if kind is float:
        return (float, struct.pack("d", value))
    if kind is complex:
        return (complex, struct.pack("dd", value.real, value.imag))  # type: ignore[attr-defined]
    if kind is tuple:
        return (tuple, tuple(map(exact_key, value)))  # type: ignore[call-overload]
    if isinstance(value, np.generic):
        return (kind, value.tobytes())
    return (kind, value)


@dataclass_transform(frozen_default=True)
class OpMeta(type):
    """Turns the annotations of a class body into slots and fields."""

    fields: tuple[str, ...]
    defaults: dict[str, object]

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> OpMeta:
        annotations = {k: v for k, v in body.get("__annotations__", {}).items() if "ClassVar" not in str(v)}
        body["defaults"] = {k: v for b in bases for k, v in getattr(b, "defaults", {}).items()}
        body["defaults"].update({k: body.pop(k) for k in annotations if k in body})
        body["__slots__"] = (*annotations, *body.get("__slots__", ()))
        body["fields"] = tuple(k for b in bases for k in getattr(b, "fields", ())) + tuple(annotations)
        inherited = tuple(k for b in bases for k in getattr(b, "graph_fields", ()))
        body["graph_fields"] = inherited + tuple(k for k, v in annotations.items() if "FrozenGraph" in str(v))
        return super().__new__(mcs, name, bases, body)


class Frozen(metaclass=OpMeta):
    """A base for values whose fields are their identity."""

    __slots__ = ("_hash", "_key")
    _hash: ClassVar[int]
    _key: ClassVar[object]
    fields: ClassVar[tuple[str, ...]]
    graph_fields: ClassVar[tuple[str, ...]]  # those that hold inner graphs: a FrozenGraph, or a tuple of them
    defaults: ClassVar[dict[str, object]]

    def __init__(self, *args: object, **kwargs: object) -> None:
        cls, put = type(self), object.__setattr__
        values = args if not kwargs and len(args) == len(cls.fields) else cls._all_fields(args, kwargs)
        for name, value in zip(cls.fields, values, strict=True):
            put(self, name, value)
        key = (cls, tuple([exact_key(value) for value in values]))
        put(self, "_key", key)
        put(self, "_hash", hash(key))

    @classmethod
    def _all_fields(cls, args: tuple[object, ...], kwargs: dict[str, object]) -> tuple[object, ...]:
        if len(args) > len(cls.fields):
            raise InputError(message(f"{cls.__name__}: found {len(args)} fields, needed {len(cls.fields)}"))
        if args and kwargs and not kwargs.keys().isdisjoint(cls.fields[: len(args)]):
            twice = ", ".join(name for name in cls.fields[: len(args)] if name in kwargs)
            raise InputError(message(f"{cls.__name__}: found {twice} by place and by name, needed it once"))
        values = {**cls.defaults, **dict(zip(cls.fields, args, strict=False)), **kwargs}
        if values.keys() != set(cls.fields):
            names = ", ".join(map(str, values)) or "none"
            raise InputError(message(f"{cls.__name__}: found fields {names}, needed {', '.join(cls.fields)}"))
        return tuple([values[name] for name in cls.fields])

    def __setattr__(self, name: str, value: object) -> None:
        text = f"{type(self).__name__}.{name} cannot be set, ops are immutable"
        raise AttributeError(text)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        return self._hash == other._hash and bool(self._key == other._key)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in type(self).fields)})"

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), tuple(getattr(self, name) for name in type(self).fields))

    def __copy__(self) -> Frozen:
        return self

    def __deepcopy__(self, memo: object) -> Frozen:
        return self


class InnerInput(NamedTuple):
    """The role of an input of an inner graph: the operand at a position, or something of that operand's type."""

    operand: int
    is_same: bool = True
    """Whether it is the operand at every application; else it has other values, of the same dtype and shape."""
    is_slice: bool = False
    """Whether its shape is the operand's without the first axis."""


class Op(Frozen):
    """The operation of an apply node: its type rule, its NumPy reference, its derivative, its expansion, its checks.

    A subclass annotates its fields and defines `infer` and `perform`; everything else is optional. Operands listed by
    `size_operands` are sizes: `infer` gets their values (`int | Length`) in place of a type.
    """

    has_expansion: ClassVar[bool] = False
    opaque: ClassVar[bool] = False  # a field of another kind than text can hold: printed, neither parsed nor cached
    pointwise: ClassVar[bool] = False  # applies to each element alone, over operands that broadcast
    by_matrix: ClassVar[bool] = False  # of each matrix by itself: the axes before the last two are of batches
    repeats: ClassVar[bool] = False  # repeats operands along axes of length 1
    gathers: ClassVar[bool] = False  # gives elements of its first operand at places that others say
    scatters: ClassVar[bool] = False  # puts elements of its second operand into its first
    has_effect: ClassVar[bool] = False  # does something besides its result: never computed when compiling
    only_derives: ClassVar[bool] = False  # says something of the derivative alone: importing a program removes it
    of_training: ClassVar[str] = ""  # what it is, in words, of an op that a program for inference never has
    only_types: ClassVar[bool] = False  # says something to re-typing: importing a program puts its expansion there
    calls_python: ClassVar[bool] = False  # calls a Python function of NumPy arrays, which no compiled program can

    @property
    def name(self) -> str:
        """The name in texts and messages."""
        return type(self).__name__

    @property
    def spelled(self) -> str:
        """The user's spelling of it, as errors call it that they can do something about."""
        return self.name

    @property
    def named_identity(self) -> str | None:
        """For an identity that importing removes: the name it gives its operand, "" for none. None for other ops."""
        return None

    def on_mesh(self, mesh: Mesh) -> Op | None:
        """For an identity that importing removes: the op that stands in a program for several devices instead.

        None for other ops.
        """
        return None

    @property
    def named_length(self) -> str | None:
        """For an op without operands that stands for a named length: the name. None for other ops."""
        return None

    @property
    def assumed_facts(self) -> frozenset[str]:
        """For an identity that importing removes: the names of `tg.graph.facts` that its operand has from then on."""
        return frozenset()

    @property
    def stands_for(self) -> FrozenGraph | None:
        """For an op that importing replaces by a graph on its operands: the graph. None for other ops."""
        return None

    @property
    def is_removed(self) -> bool:
        """Whether importing a program puts the expansion in its place."""
        return self.only_derives or self.only_types

    @property
    def inner_descriptors(self) -> tuple[Descriptor, ...]:
        """The checks of an inner graph whose status is this op's last result."""
        return ()

    @property
    def told_steps(self) -> tuple[int, ...] | None:
        """For a loop: which of the user's steps step t is that a message names; None for other ops.

        (stride, start) stands for start + stride · t, () for none. With a stride that is not 1 an inner loop has those
        between.
        """
        return None

    @property
    def element_programs(self) -> tuple[FrozenGraph, ...]:
        """For a loop nest that a lowering has made: the programs on single elements that it runs, in order."""
        return ()

    @property
    def element_steps(self) -> tuple[str, ...]:
        """For such a loop nest: the names of all that it does to elements, for people."""
        return ()

    @property
    def expands(self) -> bool:
        """Whether this op can be written with other ops: `expansion`."""
        return type(self).has_expansion

    @property
    def commutes(self) -> bool:
        """Whether two operands may change places: the results are the same bit for bit."""
        return False

    @property
    def may_fail(self) -> bool:
        """Whether the op may have checks, its own or of an inner graph."""
        return type(self).checks is not Op.checks or bool(type(self).graph_fields)

    @property
    def rule_key(self) -> object:
        """The key by which rule tables and rewrite indexes file this op: its class, or the elementwise function."""
        return type(self)

    def size_operands(self, count: int) -> range:
        """The positions, among `count` operands, of those that are sizes (shapes, bounds, counts)."""
        return range(0)

    def factors(self, count: int) -> Sequence[int]:
        """The positions, among `count` operands, of those whose elements are multiplied, the products being summed.

        The results are linear in each of two; of more they need not be. () for an op that is no contraction.
        """
        return ()

    def infer(self, *inputs: Any) -> tuple[TensorType, ...]:
        """The types of the results; an operand that is a size arrives as its value, `int | Length`.

        Raises:
            ShapeError: shapes that do not fit.
            DtypeError: a dtype the op does not have.
        """
        raise NotImplementedError

    def perform(self, *arrays: Any) -> tuple[np.ndarray[Any, Any], ...]:
        """The results for NumPy arrays, in new arrays: the reference that every backend must agree with."""
        if type(self).has_expansion:
            from tg.graph.interpret import interpret_expansion

            return interpret_expansion(self, arrays)
        text = f"{self.name} has neither perform nor an expansion"
        raise NoRuleError(message(text))

    def expansion(self, *inputs: Variable) -> Variable | tuple[Variable, ...]:
        """The same results written with other ops; only where `expands`."""
        raise NotImplementedError

    def length_value(
        self, inputs: Sequence[Variable], value_of: Callable[[Variable], int | Length]
    ) -> int | Length | None:
        """The result as a length, for ops whose int64 scalar is one (lengths and arithmetic on them)."""
        return None

    def specialize(self, types: Sequence[TensorType]) -> Op:
        """This op for operands of these types: an op with inner graphs re-infers them."""
        return self

    def retyped(self, dtypes: Mapping[str, str]) -> Op:
        """This op in a program that is re-typed: the dtypes in its fields replaced, those that the mapping has."""
        return self

    def inner_graphs(self) -> tuple[FrozenGraph, ...]:
        """The graphs in this op's fields, in the order of the fields."""
        graphs: list[FrozenGraph] = []
        for name in type(self).graph_fields:
            value = getattr(self, name)
            graphs.extend(value if isinstance(value, tuple) else () if value is None else (value,))
        return tuple(graphs)

    def with_inner_graphs(self, graphs: Sequence[FrozenGraph]) -> Op:
        """The same op with other inner graphs, given as `inner_graphs` gives them."""
        rest = iter(graphs)
        fields = {name: getattr(self, name) for name in type(self).fields}
        for name in type(self).graph_fields:
            value = fields[name]
            if value is not None:
                fields[name] = tuple(next(rest) for _ in value) if isinstance(value, tuple) else next(rest)
        return type(self)(**fields)

    def inner_inputs(self, count: int) -> tuple[tuple[InnerInput, ...], ...]:
        """For each inner graph what its inputs are, of `count` operands: all of them unless the op says otherwise."""
        return (tuple(map(InnerInput, range(count))),) * len(self.inner_graphs())

    def applications(self, *arrays: Any) -> Iterator[tuple[FrozenGraph, Sequence[Any]]]:
        """The inner graphs, each with the arrays it is applied to, as often and in the order that `perform` does."""
        yield from ()

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """The conditions without which this op fails, as boolean scalars built with other ops.

        What can only be known once the results are there, such as the `info` of a factorisation, is asked of them.
        """
        return ()

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """The facts of each result, by names of `tg.graph.facts`, whatever the values that `facts_of` allows.

        It must be true of the computed values, with their rounding, underflow and wrap-around.
        """
        return ()

    def pullback(
        self,
        tools: Any,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        cotangents: Sequence[Variable | None],
    ) -> Sequence[Variable | None]:
        """The cotangents of the inputs; None where an input does not take part.

        Raises:
            NotDifferentiable: the op has no derivative.
        """
        if type(self).has_expansion:
            return tools.pullback_of_expansion(self, inputs, cotangents)  # type: ignore[no-any-return]
        raise NotDifferentiable(message(f"{self.name}: has no derivative"))

    def pushforward(
        self,
        tools: Any,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        tangents: Sequence[Variable | None],
    ) -> Sequence[Variable | None]:
        """The tangents of the results for those of the inputs, some of which are None: no value flows.

        Unless an op says otherwise it follows from the expansion or from the pullback.

        Raises:
            NotDifferentiable: the op has no derivative.
        """
        return tools.pushforward_default(self, inputs, outputs, tangents)  # type: ignore[no-any-return]

    def batch(
        self, tools: Any, size: int | Length, inputs: Sequence[Variable], batched: Sequence[bool]
    ) -> Sequence[Any]:
        """The results for inputs of which some, but no sizes, carry one more leading axis of length `size`.

        All results carry it, but those that `tools.unbatched` says are the same for all elements.
        """
        return tools.batch_default(self, size, inputs, batched)  # type: ignore[no-any-return]

    def __call__(self, *inputs: Variable) -> Any:
        """Apply this op to variables: a variable, or a tuple of them where the op has several results."""
        try:
            outputs = apply(self, inputs)
        except TgError as error:
            error.trim()
            raise
        return outputs[0] if len(outputs) == 1 else outputs
