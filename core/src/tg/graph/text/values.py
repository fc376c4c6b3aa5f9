"""Reading what ops and constants are made of: fields, types, elements."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from tg.errors import InputError, nearest
from tg.graph.facts import FACTS
from tg.graph.op import Op
from tg.graph.text import literals
from tg.graph.text.printer import is_elementwise
from tg.types.dtypes import BOOL, DTYPES, is_complex, is_inexact
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from tg.graph.frozen import FrozenGraph
    from tg.graph.text.tokens import Tokens

MOST_NESTED: Final = 100  # tuples and ops within one another
MOST_DEEP: Final = 64  # graphs in graphs
MOST_INSIDE: Final = 1 << 16  # nodes of the graphs that one holds, each as often as it stands there
WORDS: Final = {"None": None, "True": True, "False": False, "inf": math.inf}


class Values:
    """Reads fields, types and constants from tokens, with the ops, inner graphs and large constants that are known."""

    def __init__(
        self, tokens: Tokens, ops: Mapping[str, object], constants: Mapping[str, np.ndarray[Any, Any]]
    ) -> None:
        self.tokens, self.ops, self.constants = tokens, ops, constants
        self.graphs: dict[str, FrozenGraph] = {}
        self._sizes: dict[str, tuple[int, int]] = {}  # how deep graphs are nested in one, and nodes with theirs
        self._deep, self._inside = 0, 0  # the same of what is read
        self._depth = 0

    def op(self) -> Op:
        """An op, with its fields if it has any."""
        at, name = self.tokens.at, self.tokens.take("name", "an op")
        return self._op(at, name)

    def _op(self, at: int, name: str) -> Op:
        if name == "opaque":
            fact = f"{self.tokens.text} holds what text cannot, needed an op whose fields can be written"
            raise self.tokens.refusal(at, fact, "save the Python program that makes it")
        target = self._named(at, name)
        fields = self._fields() if self.tokens.accept("{") else {}
        if is_elementwise(target) and not fields:
            return target.op  # type: ignore[attr-defined, no-any-return]
        if not isinstance(target, type):
            raise self.tokens.refusal(
                at, f"{name} is an elementwise function, which has no fields: found {', '.join(fields)}"
            )
        try:
            op: Op = target(**fields)
        except (InputError, TypeError, ValueError) as error:
            raise self.tokens.refusal(at, str(error).partition("\n")[0]) from error
        if op.opaque:
            raise self.tokens.refusal(at, f"{name} is opaque, needed an op that text can hold")
        return op

    def _named(self, at: int, name: str) -> object:
        target = self.ops.get(name)
        if is_elementwise(target) or (isinstance(target, type) and issubclass(target, Op)):
            return target
        close = nearest(name, self.ops)
        raise self.tokens.refusal(
            at, f"found {name}, needed an op that is known", f"{close[0]} is close" if close else None
        )

    def _fields(self) -> dict[str, object]:
        tokens, fields = self.tokens, dict[str, object]()
        while not tokens.accept("}"):
            at, name = tokens.at, tokens.take("name", "a field or '}'")
            if name in fields:
                raise tokens.refusal(at, f"found the field {name} twice, needed it once")
            tokens.expect("=")
            fields[name] = self.field()
            if tokens.text != "}":
                tokens.expect(",")
        return fields

    def field(self) -> object:
        """The value of a field."""
        tokens, at = self.tokens, self.tokens.at
        if tokens.kind == "name":
            return self._word(at, tokens.advance())
        if tokens.kind == "number":
            return self._number()
        if tokens.kind == "string":
            return self.string()
        if tokens.kind == "graph":
            return self.graph()
        if tokens.accept("("):
            return self._tuple(at)
        raise tokens.failure("the value of a field")

    def _word(self, at: int, word: str) -> object:
        if word in WORDS:
            return WORDS[word]
        if word == "nan":
            return self._nan(at)
        if word == "complex" and self.tokens.text == "(":
            return self._complex()
        if self.tokens.text == "{" or word == "opaque":
            return self._nested(at, lambda: self._op(at, word))
        target = self._named(at, word)
        if isinstance(target, type):
            raise self.tokens.refusal(
                at, f"found {word}, needed an elementwise function", f"the op is written {word}{{}}"
            )
        return target

    def _nested(self, at: int, read: Any) -> Any:
        if self._depth >= MOST_NESTED:
            raise self.tokens.refusal(at, f"found fields nested more than {MOST_NESTED} deep, needed fewer")
        self._depth += 1
        value = read()
        self._depth -= 1
        return value

    def _tuple(self, at: int) -> tuple[object, ...]:
        items: list[object] = []
        while not self.tokens.accept(")"):
            items.append(self._nested(at, self.field))
            if len(items) == 1 or self.tokens.text != ")":
                self.tokens.expect(",")
        return tuple(items)

    def _number(self) -> int | float:
        at = self.tokens.at
        try:
            return literals.number_of(self.tokens.advance())
        except ValueError as error:
            raise self.tokens.refusal(at, str(error).partition("\n")[0]) from error

    def _nan(self, at: int) -> float:
        bits = self.nan_bits()
        try:
            return math.nan if bits is None else literals.nan_of(bits)
        except ValueError as error:
            raise self.tokens.refusal(at, str(error).partition("\n")[0]) from error

    def nan_bits(self) -> int | None:
        """The bits in parentheses after `nan`, if there are any."""
        if not self.tokens.accept("("):
            return None
        bits = self.integer("the bits of a NaN")
        self.tokens.expect(")")
        return bits

    def _complex(self) -> complex:
        self.tokens.expect("(")
        real = self.field()
        self.tokens.expect(",")
        imaginary = self.field()
        if not (isinstance(real, int | float) and isinstance(imaginary, int | float)):
            raise self.tokens.failure("two numbers before it")
        self.tokens.expect(")")
        return complex(real, imaginary)

    def integer(self, needed: str) -> int:
        """An int that is not negative."""
        at, text = self.tokens.at, self.tokens.text
        number = self._number() if self.tokens.kind == "number" else None
        if type(number) is not int or number < 0:
            raise self.tokens.refusal(at, f"found '{text}', needed {needed}")
        return number

    def string(self) -> str:
        """A string."""
        at, token = self.tokens.at, self.tokens.take("string", "a string")
        try:
            return literals.unquoted(token)
        except ValueError as error:
            raise self.tokens.refusal(at, str(error).partition("\n")[0]) from error

    def begin(self) -> None:
        """A graph begins: what it holds is counted anew."""
        self._deep, self._inside = 0, 0

    def end(self, label: str, graph: FrozenGraph) -> None:
        """A graph that others may hold has been read."""
        self.graphs[label] = graph
        self._sizes[label] = (self._deep + 1, self._inside + len(graph.nodes))

    def graph(self) -> FrozenGraph:
        """An inner graph that is defined above.

        Types of what holds it may be inferred by going through it, each time: graphs in graphs are limited, so that a
        short text is not work without end.
        """
        label, at = self.tokens.text, self.tokens.at
        if self.tokens.kind != "graph" or label not in self.graphs:
            raise self.tokens.failure("a graph that is defined above")
        deep, size = self._sizes[label]
        self._deep, self._inside = max(self._deep, deep), self._inside + size
        if self._deep > MOST_DEEP or self._inside > MOST_INSIDE:
            fact = f"found graphs {self._deep} deep with {self._inside} nodes, needed {MOST_DEEP} and {MOST_INSIDE}"
            raise self.tokens.refusal(at, f"{fact} at most")
        self.tokens.advance()
        return self.graphs[label]

    def type(self) -> TensorType:
        """A dtype and a shape."""
        tokens = self.tokens
        if tokens.text not in DTYPES:
            raise tokens.failure("a dtype", hint=f"dtypes: {', '.join(DTYPES)}")
        dtype, shape = tokens.advance(), list[int | None]()
        tokens.expect("[")
        while not tokens.accept("]"):
            shape.append(None if tokens.accept("?") else self.integer("a length, '?' or ']'"))
            if tokens.text != "]":
                tokens.expect(",")
        return TensorType(dtype, shape)

    def facts(self) -> frozenset[str]:
        """The names of facts in braces."""
        tokens, names = self.tokens, set[str]()
        tokens.expect("{")
        while not tokens.accept("}"):
            at, name = tokens.at, tokens.take("name", "a fact or '}'")
            if name not in FACTS:
                close = nearest(name, FACTS)
                hint = f"{close[0]} is close" if close else None
                raise tokens.refusal(at, f"found {name}, needed a fact that is known", hint)
            names.add(name)
            if tokens.text != "}":
                tokens.expect(",")
        return frozenset(names)

    def array(self, t: TensorType) -> np.ndarray[Any, Any]:
        """The value of a constant of a type: its elements, or the digest of an array that was given beside the text."""
        at, shape = self.tokens.at, tuple(n for n in t.shape if isinstance(n, int))
        if len(shape) != len(t.shape):
            raise self.tokens.refusal(at, f"found a constant of type {t}, needed known lengths")
        if self.tokens.accept("data"):
            return self._beside(t)
        reader = Elements(self, t.dtype)
        reader.nested(shape if math.prod(shape) else (0,))
        try:
            return literals.array_of(t.dtype, shape, reader.found, reader.nans)
        except ValueError as error:
            raise self.tokens.refusal(at, str(error).partition("\n")[0]) from error

    def _beside(self, t: TensorType) -> np.ndarray[Any, Any]:
        at, key = self.tokens.at, self.string()
        array = self.constants.get(key)
        if array is None:
            hint = "to_text_with_constants gives the constants that parse needs"
            raise self.tokens.refusal(
                at, f"constant {key} is not among the {len(self.constants)} given beside the text", hint
            )
        actual = TensorType(array.dtype, array.shape)
        if actual != t or literals.digest(array) != key:
            raise self.tokens.refusal(
                at, f"constant {key}: found {actual} of digest {literals.digest(array)}, needed {t}"
            )
        return array.copy() if array.flags.writeable else array


class Elements:
    """Reads the elements of a constant: in C order (complex ones as two), and the bits of unusual NaNs by position."""

    def __init__(self, values: Values, dtype: str) -> None:
        self.values, self.tokens = values, values.tokens
        self.found: list[Any] = []
        self.nans: dict[int, int] = {}
        self._dtype = dtype
        self._at = self.tokens.at
        self._one = self._complex if is_complex(dtype) else self._float if is_inexact(dtype) else self._exact

    def nested(self, shape: tuple[int, ...]) -> None:
        """Elements in brackets, one pair for each axis."""
        if not shape:
            self._one()
            return
        self.tokens.expect("[")
        for k in range(shape[0]):
            if k:
                self.tokens.expect(",")
            self.nested(shape[1:])
        self.tokens.expect("]")

    def _exact(self) -> None:
        value = self._read()
        if type(value) is not (bool if self._dtype == BOOL else int):
            raise self.tokens.refusal(self._at, f"found {value}, needed an element of {self._dtype}")
        self.found.append(value)

    def _float(self) -> None:
        if self.tokens.text == "nan":
            self.tokens.advance()
            bits = self.values.nan_bits()
            if bits is not None:
                self.nans[len(self.found)] = bits
            self.found.append(math.nan)
            return
        value = self._read()
        if type(value) not in (int, float):
            raise self.tokens.refusal(self._at, f"found {value}, needed an element of {self._dtype}")
        self.found.append(value)

    def _complex(self) -> None:
        self.tokens.expect("complex")
        self.tokens.expect("(")
        self._float()
        self.tokens.expect(",")
        self._float()
        self.tokens.expect(")")

    def _read(self) -> object:
        self._at = self.tokens.at
        if self.tokens.kind not in ("name", "number"):
            raise self.tokens.failure(f"an element of {self._dtype}")
        return self.values.field()
