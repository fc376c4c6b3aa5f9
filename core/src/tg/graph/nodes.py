"""`Variable`, `Constant` and `Apply`: the immutable nodes of an expression.

An apply does not keep its outputs alive: a variable refers to its apply, never the other way, so there are no cycles.
Users' nodes are never interned: identity, names and `wrt` stay theirs. Variables hash by identity, and `==` builds a
graph; inside tg no `in`, `.index` or `==` is used on containers of variables.
"""

from __future__ import annotations

import itertools
import operator
import weakref
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, final

import numpy as np

from tg.errors import InputError, ShapeError, message
from tg.graph import loc as locs
from tg.graph.operators import NAMESPACE, Operators
from tg.types.atoms import AxisLength, Derived, NamedLength, ScalarValue
from tg.types.lengths import Length, is_large, of_atom
from tg.types.magnitudes import is_exact
from tg.types.tensor_type import TensorType
from tg.types.text import written

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.op import Op


T = TypeVar("T")
_SERIALS: Final = itertools.count()


class Variable(Operators):
    """A symbolic array: an input, or result `index` of an apply.

    `type` has the dtype and the shape (an int, or None where the length is known at run time only); `shape` is a
    tuple of lengths, which behave as Python ints.
    """

    __slots__ = {
        "__weakref__": None,
        "_facts": None,
        "_size": None,
        "_symbolic": None,
        "apply": "The application of an op whose result this is; None for inputs and constants.",
        "assumed": "Facts that were assumed of a value of a function graph; unset where none were.",
        "index": "The place among the results of `apply`.",
        "lengths": "The lengths of the axes; None stands for one that is this variable's own.",
        "loc": "The line of the user's program that made the variable; None if it is not known.",
        "name": "The name in texts, messages and generated code; None for one that has none.",
        "place": "Of `x[index]` x and the index, for `x[index].set(value)`; None for other variables.",
        "serial": "The number of the variable: they are numbered as they are made.",
        "type": "The dtype and the static shape, with None for each length known at run time only.",
    }
    type: TensorType
    lengths: tuple[int | Length | None, ...]  # None: an atom of this variable's own
    _symbolic: TensorType | weakref.ref[TensorType] | None  # weak where an atom in it keeps the variable alive
    _size: int | Length | None  # of an integer scalar, once it has been read through the arithmetic that makes it
    apply: Apply | None
    index: int
    name: str | None
    loc: locs.Loc | None
    serial: int  # variables are numbered as they are made
    place: tuple[Variable, Any] | None  # of `x[index]`: x and the index, for `x[index].set(value)`
    assumed: frozenset[str]  # facts that were assumed of a value of a function graph; unset where none were
    _facts: frozenset[str] | None  # all that are known, once `facts_of` has been asked

    def __init__(self, type: TensorType, apply: Apply | None = None, index: int = 0, name: str | None = None) -> None:
        self.type = type.static
        self.lengths = type.shape if self.type is type else _all_kept(type.shape)
        self._symbolic = type if type.shape is self.lengths and None not in self.lengths else None
        self.apply = apply
        self.index = index
        self.name = name
        self.loc = apply.loc if apply is not None else locs.here()
        self.serial = next(_SERIALS)
        self.place = None
        self._facts = None
        self._size = None

    @property
    def dtype(self) -> str:
        """The name of the dtype."""
        return self.type.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.type.shape)

    @property
    def shape(self) -> tuple[int | Length, ...]:
        """The lengths of the axes: ints where known, `Length`s where not."""
        return self.symbolic_type.shape if None in self.lengths else self.lengths  # type: ignore[return-value]

    @property
    def symbolic_type(self) -> TensorType:
        """The type with symbolic lengths: what shape rules work on."""
        entry = self._symbolic
        if type(entry) is TensorType:
            return entry
        t = None if entry is None else entry()
        return t if t is not None else self._symbolic_type()

    def _symbolic_type(self) -> TensorType:
        lengths = self.lengths
        if all(type(n) is int for n in lengths):
            self._symbolic = self.type
            return self.type
        shape = [n if n is not None else of_atom(AxisLength(self, k - len(lengths))) for k, n in enumerate(lengths)]
        symbolic = TensorType(self.type.dtype, shape)
        self._symbolic = symbolic if None not in lengths else weakref.ref(symbolic)
        return symbolic

    def with_lengths(self, lengths: tuple[int | Length | None, ...]) -> Self:
        """This variable, new and not yet used, remembering these lengths in place of those of its type."""
        self.lengths = lengths
        self._symbolic = None
        return self

    @property
    def op(self) -> Op | None:
        """The op that makes this variable, None for inputs and constants."""
        return self.apply.op if self.apply is not None else None

    @property
    def inputs(self) -> tuple[Variable, ...]:
        """The operands of the op that makes this variable."""
        return self.apply.inputs if self.apply is not None else ()

    def __repr__(self) -> str:
        what = self.name or (f"{self.apply.op.name}(…)" if self.apply is not None else "input")
        return f"<{what} : {self.type}>"

    def _repr_html_(self) -> str:
        from tg.graph.shown import variable_html

        return variable_html(self)

    __hash__ = object.__hash__

    def __reduce__(self) -> tuple[object, ...]:
        from tg.graph.pickled import reduced

        return reduced(self)


def _all_kept(shape: tuple[int | Length | None, ...]) -> tuple[int | Length | None, ...]:
    lengths = tuple(map(_kept, shape))
    return shape if all(map(operator.is_, lengths, shape)) else lengths


def _kept(length: int | Length | None) -> int | Length | None:
    """The length as a variable remembers it: what broadcasts, or is large, becomes an atom of the variable's own."""
    if type(length) is not Length:
        return length
    atom = length.atom
    if type(atom) is Derived and atom.kind == "broadcast":
        return None
    return None if is_large(length) else length


@final
class Constant(Variable):
    """A variable whose value is known; `data` is read-only and owned by the constant."""

    __slots__ = ("_key", "_literal", "_told", "data")
    data: np.ndarray[Any, Any]

    def __init__(self, data: np.ndarray[Any, Any], name: str | None = None) -> None:
        """Take over `data`, which must not be written afterwards."""
        if type(data) is not np.ndarray:
            data = np.array(data)  # NumPy's arithmetic on 0-d arrays gives scalars
        if data.dtype == np.bool_ and data.size and data.view(np.uint8).max() > 1:
            data = np.asarray(data != 0)  # programs take the byte of a bool to be 0 or 1
        data.flags.writeable = False
        self.data = data
        self._key: tuple[str, tuple[int, ...], bytes] | None = None
        self._literal: str | None = None
        self._told: dict[str, Any] | None = None
        super().__init__(TensorType(data.dtype, data.shape), None, 0, name)

    @property
    def key(self) -> tuple[str, tuple[int, ...], bytes]:
        """The key that equal constants share: dtype, shape and bytes."""
        if self._key is None:
            self._key = (self.type.dtype, self.data.shape, self.data.tobytes())
        return self._key

    def told(self, name: str, look: Callable[[str, Constant], T]) -> T:
        """The fact about the value under a name, looked at once."""
        if self._told is None:
            self._told = {}
        fact: T | None = self._told.get(name)
        if fact is None:
            fact = self._told[name] = look(name, self)
        return fact

    @property
    def literal(self) -> str:
        """The number that every element equals, if patterns name it often, as text; else `OTHER`."""
        text = self._literal
        if text is None:
            text = self._literal = _literal(self.data)
        return text

    def __repr__(self) -> str:
        return f"<{self.name or self.data} : {self.type}>"


LITERALS: Final = frozenset(map(float, (0, 1, -1, 2, -2, 3, 4, 0.5, -0.5)))
OTHER: Final = "constant"  # the literal of a constant that has none


def literal_text(value: Any) -> str:
    """The `Constant.literal` of constants that equal a number. -0.0 is 0; True is not 1."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, complex | np.complexfloating):
        return literal_text(value.real) if value.imag == 0 else OTHER
    number = float(value)
    return str(number + 0.0) if number in LITERALS else OTHER


def _literal(data: np.ndarray[Any, Any]) -> str:
    if data.size == 0:
        return OTHER
    text = literal_text(data.flat[0])
    return text if data.size == 1 or text is OTHER or bool((data == data.flat[0]).all()) else OTHER


@final
class Apply:
    """One application of an op to variables; `key` is what rules for the op are filed under."""

    __slots__ = ("inputs", "key", "loc", "op", "types")
    op: Op
    key: object
    inputs: tuple[Variable, ...]
    types: tuple[TensorType, ...]
    loc: locs.Loc | None

    def __init__(
        self, op: Op, inputs: tuple[Variable, ...], types: tuple[TensorType, ...], loc: locs.Loc | None
    ) -> None:
        self.op, self.inputs, self.types, self.loc = op, inputs, types, loc
        self.key = op.rule_key

    def __repr__(self) -> str:
        return f"<apply {self.op} of {len(self.inputs)} inputs>"


def apply(op: Op, inputs: Sequence[Variable]) -> tuple[Variable, ...]:
    """Apply an op to variables.

    Raises:
        InputError: an operand is not a variable.
        ShapeError, DtypeError: as the op's `infer` says, with the operands listed.
    """
    inputs = tuple(inputs)
    for value in inputs:
        if not isinstance(value, Variable):
            raise InputError(message(f"{op.name}: found {value!r}, needed a variable", hint="tg.constant makes one"))
    try:
        types = op.infer(*operand_types(op, inputs))
    except (TypeError, ValueError) as error:
        describe_operands(error, inputs)
        raise
    node = Apply(op, inputs, types, locs.here())
    return tuple([Variable(t, node, k) for k, t in enumerate(types)])


def describe_operands(error: Exception, inputs: Sequence[Variable]) -> None:
    """Add to an error of a type rule the operands, each with its type and the line that made it."""
    if any(note.startswith("  operand") for note in getattr(error, "__notes__", ())):
        return
    for k, v in enumerate(inputs):
        created = f"   created at {v.loc}" if v.loc is not None else ""
        error.add_note(f"  operand {k}  {_written(v, DEPTH)}  {v.type}{created}")


def _written(v: Variable, depth: int) -> str:
    """A variable by its name, or by the op and the operands that it comes from."""
    if v.name is not None or v.apply is None:
        return v.name or (str(v.data) if isinstance(v, Constant) and v.data.size == 1 else "constant")
    operands = ", ".join(_written(u, depth - 1) for u in v.apply.inputs) if depth else "…"
    return f"{v.apply.op.name}({operands})"


def operand_types(op: Op, inputs: Sequence[Variable]) -> list[TensorType | int | Length]:
    """The arguments of `op.infer`: symbolic types, and the values of operands that are sizes."""
    types: list[TensorType | int | Length] = [v.symbolic_type for v in inputs]
    for k in op.size_operands(len(inputs)):
        types[k] = size_value(inputs[k])
    return types


def size_value(variable: Variable) -> int | Length:
    """The value of an integer scalar as a length: known, a polynomial of other lengths, or an atom.

    Raises:
        ShapeError: the variable is not a 0-d integer.
    """
    if variable.type.shape != () or not variable.type.dtype.lstrip("u").startswith("int"):
        text = f"size: found {variable.type}, needed an integer scalar"
        raise ShapeError(message(text, ("value", repr(variable))))
    return _size_value(variable, 0)


DEPTH: Final = 2  # how deep an operand without a name is written out
LENGTH_FUNCTIONS: Final = {"//": "floor_divide", "%": "remainder", "min": "minimum", "max": "maximum"}
MAX_DEPTH: Final = 32  # how far a size is read through arithmetic; deeper ones become atoms


def _size_value(v: Variable, depth: int) -> int | Length:
    if isinstance(v, Constant):
        return int(v.data)
    if v.apply is None or v.type.dtype != "int64":
        return of_atom(ScalarValue(v))
    if v._size is not None:
        return v._size
    if depth < MAX_DEPTH:
        length = v.apply.op.length_value(v.apply.inputs, lambda operand: _size_value(operand, depth + 1))
        if length is not None:
            v._size = of_atom(ScalarValue(v)) if is_large(length) else length
            return v._size
    return of_atom(ScalarValue(v))


def as_size_variable(length: int | Length | Variable) -> Variable:
    """The int64 scalar variable of a length: for places where an array is needed."""
    return length if isinstance(length, Variable) else _as_variable(length, {})


def _as_variable(length: int | Length, memo: dict[Any, Variable]) -> Variable:
    """The variable of a length; what stands in it several times is one variable."""
    if type(length) is not Length:
        number = operator.index(length)
        if not -(2**63) <= number < 2**63:
            raise ShapeError(message(f"length: found {number}, needed one of at most 2**62"))
        return Constant(np.array(number, np.int64))
    total: Variable | None = None
    terms = written(length) if is_exact(length) else length.terms  # inside of a max something else could wrap
    for monomial, factor in terms.items():
        term: Variable | None = None
        for atom in monomial:
            value = memo.get(atom)
            if value is None:
                value = memo[atom] = _atom_variable(atom, memo)
            term = value if term is None else NAMESPACE.multiply(term, value)
        if term is None:
            term = _as_variable(factor, memo)
        elif factor != 1:
            term = NAMESPACE.multiply(term, _as_variable(factor, memo))
        total = term if total is None else NAMESPACE.add(total, term)
    return total if total is not None else _as_variable(0, memo)


def _atom_variable(atom: Any, memo: dict[Any, Variable]) -> Variable:
    if type(atom) is AxisLength:
        return NAMESPACE.axis_length(atom.owner, atom.axis)  # type: ignore[no-any-return]
    if type(atom) is NamedLength:
        return NAMESPACE.dim_length(atom.name)  # type: ignore[no-any-return]
    if type(atom) is ScalarValue:
        return NAMESPACE.cast(atom.owner, "int64")  # type: ignore[no-any-return]
    if type(atom) is Derived:
        lhs, rhs = _as_variable(atom.lhs, memo), _as_variable(atom.rhs, memo)
        if atom.kind == "broadcast":  # the one that is not 1; 1 only if both are
            return NAMESPACE.where(NAMESPACE.equal(lhs, 1), rhs, lhs)  # type: ignore[no-any-return]
        return getattr(NAMESPACE, LENGTH_FUNCTIONS[atom.kind])(lhs, rhs)  # type: ignore[no-any-return]
    text = f"length {atom}: only an input has it, and none is at hand"
    raise ShapeError(message(text, hint="x.shape[k] of the input that was given this length"))
