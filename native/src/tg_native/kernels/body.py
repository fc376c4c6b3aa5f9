"""The inside of a function in the making: what a kernel writes to, and what a printer of a language provides.

A kernel is a Python function of `Lanes`; each operator asks the body of its operands for one of the `OPERATIONS`. A
printer is a subclass of `Body` that writes them in its language, C or LLVM's; a third one, in the tests, writes Python
over NumPy. So there is one source of every formula, and all three give the same bits; the functions of libm and of a
vector library alone are the platform's.
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, final

from tg_native.kernels.dtypes import is_signed, is_wide_float, item_size, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg_native.kernels.lanes import Lanes

INTEGERS: Final = frozenset(("signed", "unsigned"))
FLOATS: Final = frozenset(("floating",))
NUMBERS: Final = INTEGERS | FLOATS
BITS: Final = INTEGERS | {"boolean"}
ANY: Final = NUMBERS | {"boolean", "half"}


class Machine(NamedTuple):
    """Features of the processor, as far as kernels are written otherwise for it.

    Args:
        vector_bytes: the width of its vectors.
        fused: x y + z is one instruction, rounded once; else a product and a sum are written.
    """

    vector_bytes: int
    fused: bool


class Operation(NamedTuple):
    """Operands and result of an operation.

    Args:
        arity: the number of operands.
        kinds: what the operands may be, all of one dtype; None if it has a rule of its own.
        result: the dtype of the result; "" if it is that of the operands, None if it is given.
    """

    arity: int
    kinds: frozenset[str] | None
    result: str | None = ""


OPERATIONS: Final[dict[str, Operation]] = {
    **dict.fromkeys(("add", "subtract", "multiply"), Operation(2, NUMBERS)),
    "divide": Operation(2, FLOATS),
    # towards 0, of a divisor that is neither 0 nor, with the least number, -1
    **dict.fromkeys(("quotient", "remainder"), Operation(2, INTEGERS)),
    "negative": Operation(1, NUMBERS),
    **dict.fromkeys(("and", "or", "xor"), Operation(2, BITS)),
    "not": Operation(1, BITS),
    # by less than the width; to the right, the sign of a signed number stays
    **dict.fromkeys(("left", "right"), Operation(2, INTEGERS)),
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), Operation(2, NUMBERS | {"boolean"}, "bool")),
    "select": Operation(3, None),  # of each lane, by a bool, the second operand or the third
    "convert": Operation(1, NUMBERS | {"boolean"}, None),  # integers wrap; no floats to integers
    "truncate": Operation(1, FLOATS, None),  # to signed integers, which all of them are known to fit
    "saturate": Operation(1, FLOATS, None),  # to integers; NaN becomes 0
    "view": Operation(1, NUMBERS | {"half"}, None),  # the same bits in a dtype of the same size
    "fma": Operation(3, FLOATS),
    "copysign": Operation(2, FLOATS),
    **dict.fromkeys(("fabs", "sqrt", "floor", "ceil", "trunc", "rint"), Operation(1, FLOATS)),
    # the forms that a printer may have of its own, see `Body.has_form`
    **dict.fromkeys(("larger", "smaller", "at_least", "at_most"), Operation(2, NUMBERS)),
    "scaled": Operation(2, FLOATS),
    "paired": Operation(3, frozenset(("signed",))),  # of 32 bits
    "lookup": Operation(1, None, None),
    "widened": Operation(1, frozenset(("half",)), "float32"),
    "narrowed": Operation(1, FLOATS, None),
}
"""The language: names and types. `tg_native.kernels.lanes` and `functions` say what each means."""


@final
class Resized:
    """A context in which a body computes with another number of lanes: entered for every index, so no generator."""

    __slots__ = ("_before", "_body", "_lanes")

    def __init__(self, body: Body, lanes: int) -> None:
        self._body, self._lanes = body, lanes

    def __enter__(self) -> None:
        self._before = self._body.resize(self._lanes)

    def __exit__(self, *raised: object) -> None:
        self._body.resume(self._before)


class Body(abc.ABC):
    """The inside of a function that computes `lanes` elements at a time; 0 stands for single ones.

    What has been computed once in a block is not computed again there or in the blocks inside.
    """

    backend: ClassVar[str]
    """The name of the backend whose programs are written."""
    single_by_kernels: ClassVar[bool] = False
    """Whether single elements too are computed by kernels, where lanes are."""
    exact: bool = False
    """Whether libm's own results are wanted, whatever they cost."""
    machine: Machine
    lanes: int

    def computed(self, word: str, operands: Sequence[Lanes], dtype: str = "", attribute: Any = None) -> Lanes:
        """The value of one of the `OPERATIONS`.

        Args:
            dtype: of the result, where the operation does not say it.
            attribute: what else it needs: the table of "lookup".
        """
        arity, kinds, result = OPERATIONS[word]
        first = operands[0].dtype
        assert len(operands) == arity, f"{word} takes {arity} operands, not {len(operands)}"
        if kinds is not None:
            assert kind_of(first) in kinds, f"{word} of {first}"
            assert all(x.dtype == first for x in operands), f"{word} of {[x.dtype for x in operands]}"
        elif word == "select":
            assert first == "bool", f"a choice by {first}"
            first = operands[1].dtype
            assert first == operands[2].dtype, f"a choice between {first} and {operands[2].dtype}"
        if word == "view":
            assert item_size(first) == item_size(dtype), f"the bits of {first} as {dtype}"
        elif word in ("truncate", "saturate"):
            assert is_signed(dtype) or word == "saturate", f"{word} to {dtype}"
        elif word == "convert":
            assert not is_wide_float(first) or is_wide_float(dtype), f"conversion of {first} to {dtype}"
        return self.write(word, operands, dtype if result is None else result or first, attribute)

    @abc.abstractmethod
    def number(self, value: Any, dtype: str) -> Lanes:
        """A number of a real dtype in all lanes."""

    @abc.abstractmethod
    def write(self, word: str, operands: Sequence[Lanes], dtype: str, attribute: Any) -> Lanes:
        """Write one of the `OPERATIONS`, whose types have been checked; the value."""

    @abc.abstractmethod
    def kind(self, dtype: str) -> str:
        """The type of the elements of a dtype in a register, in the printer's language."""

    def has_form(self, word: str, dtype: str) -> bool:
        """Whether the printer has a form of its own for one of the last of the `OPERATIONS`.

        The result has the same bits as that of the definition in `functions` or `half`; those of NaN aside.

        Args:
            dtype: of the result; of "widened", of the operand.
        """
        return False

    # --- lanes and blocks ----------------------------------------------------------------------------------------

    def of(self, lanes: int) -> Resized:
        """Computations with another number of lanes."""
        return Resized(self, lanes)

    def resize(self, lanes: int) -> Any:
        """Compute with another number of lanes; gives what `resume` takes to go on as before."""
        before, self.lanes = self.lanes, lanes
        return before

    def resume(self, before: Any) -> None:
        """Go on as before `resize`."""
        self.lanes = before

    @abc.abstractmethod
    def splat(self, value: Lanes) -> Lanes:
        """A single element in all lanes."""

    @abc.abstractmethod
    def lane(self, value: Lanes, lane: int) -> Lanes:
        """One lane, as a single element: for what is computed without lanes."""

    @abc.abstractmethod
    def in_vectors(self, function: Callable[..., Lanes], width: int, *operands: Lanes) -> Lanes:
        """A function of vectors of `width` lanes for as many lanes as the body has, all of one dtype.

        Where there are fewer, lanes are repeated.
        """

    def in_full_vectors(self, write: Callable[..., Sequence[Lanes]], *operands: Lanes) -> Sequence[Lanes]:
        """Write for lanes of one dtype, which is narrower than others beside it, in vectors full of it.

        A printer that has vectors of one number of lanes puts the lanes of some that go abreast into one.
        """
        return write(*operands)

    @abc.abstractmethod
    def anywhere(self, condition: Lanes) -> Any:
        """Whether a condition holds in some lane: what `replaced` branches on."""

    @abc.abstractmethod
    def replaced(self, condition: Any, value: Lanes, write: Callable[[], Lanes]) -> Lanes:
        """A value, or, where a branch is taken, the one that `write` computes only there."""

    # --- functions -----------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def looks_up(self, dtype: str) -> bool:
        """Whether one instruction finds numbers of a dtype in a table of 16."""

    @abc.abstractmethod
    def shared(
        self,
        name: str,
        write: Callable[..., Lanes],
        operands: Sequence[Lanes],
        *,
        inline: bool,
        together: bool = False,
    ) -> Lanes:
        """The value of a function of lanes, of the first one's dtype: in place, or by a call of one written once.

        Args:
            together: whether vectors that go abreast gain by one call for all: they are handed over in memory.
        """

    @abc.abstractmethod
    def uses(self, name: str, dtype: str) -> int:
        """Number of vectors of a function that the unit has used, those of this use too."""

    @abc.abstractmethod
    def vector_library(self, name: str, operands: Sequence[Lanes]) -> Lanes | None:
        """The value of a function of libm by the platform's vector library, None if that has none."""

    @abc.abstractmethod
    def one_by_one(self, name: str, operands: Sequence[Lanes]) -> Lanes:
        """The value of a function of libm, lane by lane."""

    @abc.abstractmethod
    def redone(self, name: str, condition: Lanes, value: Lanes, operands: Sequence[Lanes]) -> Lanes:
        """A value whose lanes that a condition holds in are computed by libm, each by itself."""

    @abc.abstractmethod
    def one_complex(self, name: str, operands: Sequence[Lanes]) -> tuple[Lanes, Lanes]:
        """The parts of a complex function of libm, lane by lane, of parts in float64."""

    @abc.abstractmethod
    def power(self, base: Lanes, exponent: Lanes) -> Lanes:
        """Integers of 64 bits to powers that are not negative, by squaring, lane by lane; they wrap."""
