"""Interface of a C library: a field for each array that it takes, gives, holds or updates, and for each free length."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg import InputError
from tg.backend import Length, message
from tg_c.program import KEYWORDS
from tg_native.plan.shapes import follows_from_inputs, number_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.backend import Exported, FrozenGraph, TensorType, Variable

ELEMENTS: Final = {
    "bool": "uint8_t",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
    "float32": "float",
    "float64": "double",
    "complex64": "float",
    "complex128": "double",
}
"""The C type of an element of each dtype: of halves their bits, of complex numbers one of their two parts."""
NOTES: Final = {
    "bool": "0 or 1",
    "float16": "the bits",
    "bfloat16": "the bits",
    "complex64": "real and imaginary parts in turn",
    "complex128": "real and imaginary parts in turn",
}
FORMS: Final = {
    "//": "{p}_floor({}, {})",
    "%": "({} - {p}_floor({}, {}) * {})",
    "min": "({} < {} ? {} : {})",
    "max": "({} > {} ? {} : {})",
    "broadcast": "({} == 1 ? {} : {})",
    "*": "{} * {}",
}
RESERVED: Final = frozenset(
    f"""{KEYWORDS} and as bool catch class const_cast crate delete dyn explicit export false fn friend impl in let loop
    match mod move mut mutable namespace new not operator or private protected pub public ref self super template this
    throw trait true try type typename use using virtual where xor""".split()
)
"""Words that C, C++ or Rust keep to themselves."""


class Field(NamedTuple):
    """An array in a struct: the name that the user gave it, its word in C, its type, its lengths as text of C."""

    name: str
    word: str
    dtype: str
    shape: tuple[str, ...]

    @property
    def element(self) -> str:
        """The C type of an element."""
        return ELEMENTS[self.dtype]

    @property
    def parts(self) -> int:
        """Number of C's elements that one is."""
        return 2 if self.dtype.startswith("complex") else 1

    @property
    def is_value(self) -> bool:
        """Whether it is one number."""
        return not self.shape and self.parts == 1

    @property
    def length(self) -> str:
        """Number of C's elements, as text."""
        factors = [n for n in self.shape if n != "1"]
        numbers = math.prod(int(n) for n in factors if n.isdigit()) * self.parts
        others = [n if n.isidentifier() or n.startswith("(") else f"({n})" for n in factors if not n.isdigit()]
        return " * ".join([*([str(numbers)] if numbers != 1 or not others else []), *others])

    @property
    def is_free(self) -> bool:
        """Whether the lengths of a call decide how many there are."""
        return not self.length.isdigit()

    @property
    def described(self) -> str:
        """Type, lengths and layout, for a comment."""
        name = "" if self.name == self.word else f"{self.name}: "
        note = f", {NOTES[self.dtype]}" if self.dtype in NOTES else ""
        axes = f"{self.dtype}[{', '.join(self.shape)}]"
        return f"{name}{axes}{', in C order' if len(self.shape) > 1 else ''}{note}"


@final
class Interface:
    """The fields of the structs of a library, and what its graph takes and gives, in its order."""

    def __init__(self, program: Exported, graph: FrozenGraph) -> None:
        self.program, self.graph, self.name = program, graph, program.name
        self.lengths: list[str] = []  # the words of the free ones
        self._by_name: dict[str, str] = {}  # of lengths that have names
        count, self.dims = len(program.inputs), list[list[str]]()  # of each input of the graph, its lengths
        types = graph.input_types
        for k, (v, t) in enumerate(zip(program.variables, types, strict=True)):
            if k < count:
                self.dims.append(self._dims(program.input_names[k], v, t))
            else:
                self.dims.append([str(n) for n in program.arrays[k - count].shape])
        self.inputs = self._fields(program.input_names, types, self.dims)
        first = count + len(program.state)
        self.state = self._fields([s.name for s in program.state], types[count:], self.dims[count:])
        self.weights = self._fields([*program.weights], types[first:], self.dims[first:])
        self.outputs = self._fields(program.output_names, graph.output_types, [*self._results()])

    @property
    def is_free(self) -> bool:
        """Whether there are lengths that a call says."""
        return bool(self.lengths)

    def _dims(self, name: str, variable: Variable, t: TensorType) -> list[str]:
        texts = []
        for axis, n in enumerate(t.shape):
            own = variable.lengths[axis] if axis < len(variable.lengths) else None
            if type(n) is int:
                texts.append(str(n))
            elif type(own) is Length:
                texts.append(self._polynomial(own, self._named))
            else:
                texts.append(self._length(f"{name}_{axis}", f"{name}_{axis}"))
        return texts

    def _named(self, atom: Any) -> str:
        name: str = atom.name
        return self._length(name, name)

    def _length(self, key: str, name: str) -> str:
        """The word of a free length."""
        word = self._by_name.get(key)
        if word is None:
            word = self._by_name[key] = distinct([*self.lengths, name])[-1]
            self.lengths.append(word)
        return word

    def _results(self) -> Iterable[list[str]]:
        graph = self.graph

        def own(atom: Any) -> str:
            number = number_of(atom)
            text: str = self.dims[number][atom.axis + graph.types[number].ndim]
            return text

        for name, number in zip(self.program.output_names, graph.outputs, strict=False):
            if not follows_from_inputs(graph, number):
                text = f"export: {name}: values decide its length, needed one that lengths of inputs decide"
                raise InputError(message(text, hint="operations that take size= give results of one length"))
            yield [self._polynomial(n, own) for n in graph.symbolic[number].shape]

    def _polynomial(self, length: Any, own: Any) -> str:
        if type(length) is not Length:
            return str(length)
        text = ""
        for monomial, factor in length.terms.items():
            factors = [self._factor(atom, own) for atom in monomial]
            size = abs(factor)
            term = " * ".join([*([str(size)] if size != 1 or not factors else []), *factors])
            sign = (" - " if factor < 0 else " + ") if text else ("-" if factor < 0 else "")
            text += sign + term
        return text or "0"

    def _factor(self, atom: Any, own: Any) -> str:
        kind = getattr(atom, "kind", None)
        if kind is None:
            text: str = own(atom)
            return text if text.isidentifier() or text.isdigit() else f"({text})"
        a, b = (self._polynomial(side, own) for side in (atom.lhs, atom.rhs))
        a, b = (t if t.isidentifier() or t.isdigit() else f"({t})" for t in (a, b))
        order = {"%": (a, a, b, b), "min": (a, b, a, b), "max": (a, b, a, b), "broadcast": (a, b, a)}.get(kind, (a, b))
        return FORMS[kind].format(*order, p=self.name)

    @staticmethod
    def _fields(names: Sequence[str], types: Sequence[TensorType], dims: Sequence[Sequence[str]]) -> list[Field]:
        rows = zip(names, distinct(names), types, dims, strict=False)
        return [Field(name, word, t.dtype, tuple(shape)) for name, word, t, shape in rows]


def distinct(names: Sequence[str]) -> list[str]:
    """Words of C for names, no two alike."""
    words: list[str] = []
    for name in names:
        word = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
        word = f"_{word}" if word[0].isdigit() else word
        word = f"{word}_" if word in RESERVED else word
        own, count = word, 1
        while own in words:
            own, count = f"{word}_{count}", count + 1
        words.append(own)
    return words
