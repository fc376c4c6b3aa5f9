"""C functions given as text: rules for functions of single elements, and for ops on whole arrays."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg_c.libm import ARITIES, COMPLEX_ARITIES
from tg_c.prelude import Element
from tg_native.graphs.foreign import Foreign, in_memory
from tg_native.kernels.dtypes import WORDS, is_half
from tg_native.plan.values import Scalar, count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg import PluginError
    from tg.backend import Op
    from tg_c.prelude import Prelude
    from tg_c.site import Site
    from tg_native.plan.values import Array, Value

ANY: Final = -1  # as a rank: of every rank, and the number of elements is passed in place of lengths
PARAMETER: Final = re.compile(r"(\w+)(?:\[(\?(?:, ?\?)*|\.\.\.)\])?")
NEEDED: Final = "a dtype, or one with axes: 'float64', 'float64[?]', 'float64[?, ?]', 'float64[...]'"


class Parameter(NamedTuple):
    """An operand or a result: a number by value, or elements behind a pointer with the lengths of their axes."""

    dtype: str
    rank: int

    def takes(self, dtype: str, rank: int) -> bool:
        """Whether it is one for a value."""
        return dtype == self.dtype and self.rank in (rank, ANY)

    def types(self, const: str) -> str:
        """Its types in C."""
        lengths = 1 if self.rank == ANY else self.rank
        return ", ".join((f"{const}{WORDS[self.dtype]} *", *["i64"] * lengths))


@final
class CFunction(Foreign):
    """A rule: a C function. `a | b` is the one of two that has the dtypes of the operands.

    The unit declares it, as `static`, before the text, which defines it and may define and include more. Halves are
    passed as float32 to functions of single elements. What has other dtypes or ranks than the function is declined.

    Args:
        name: of the function.
        text: C; `f64`, `i64` and the like are the types of elements there.
        operands: for each the dtype of a number, which is passed by value; or "float64[?]", a pointer to elements in C
            order, and the length of each axis behind it; or "float64[...]" for every rank, and the number of elements.
        result: the dtype of a number, which is returned; else one of the others, or a tuple of these: pointers and
            lengths behind those of the operands, and nothing is returned.
    """

    def __init__(self, name: str, text: str, operands: Sequence[str], result: str | tuple[str, ...]) -> None:
        super().__init__(name, f"C function {name!r}", f"CFunction({name!r})")
        if not re.fullmatch(r"[A-Za-z]\w*", name) or name.startswith("tg_") or name in (*ARITIES, *COMPLEX_ARITIES):
            raise self.mistake("found this name, needed one of C that units do not have")
        if not re.search(rf"\b{name}\s*\(", text):
            raise self.mistake("found a text that does not define it, needed one that does")
        if isinstance(operands, str):
            raise self.mistake(f"operands: found {operands!r}, needed a tuple of texts")
        self.text, self.others = text, tuple[CFunction, ...]()
        self.operands = [self._parsed(f"operand {k}", one) for k, one in enumerate(operands)]
        self.returns = isinstance(result, str) and "[" not in result
        results = (result,) if isinstance(result, str) else result
        self.results = [self._parsed(f"result {k}", one) for k, one in enumerate(results)]

    def __or__(self, other: CFunction) -> CFunction:
        """One rule of both."""
        both = CFunction.__new__(CFunction)
        vars(both).update(vars(self), others=(*self.others, other))
        return both

    def __call__(self, op: Op, context: Element | Site) -> Any:
        """The expression for one element, or the values of the results."""
        inputs: Sequence[Any] = context.dtypes if isinstance(context, Element) else context.inputs
        if len(inputs) != len(self.operands):
            raise self.mistake(f"found {len(self.operands)} operands, needed the {len(inputs)} of {op.name}")
        for one in (self, *self.others):
            result = one._of_element(op, context) if isinstance(context, Element) else one._of_arrays(op, context)
            if result is not NotImplemented:
                return result
        return NotImplemented

    # --- single elements ---------------------------------------------------------------------------------------------

    def _of_element(self, op: Op, element: Element) -> Any:
        wide = element if any(is_half(p.dtype) for p in self.operands) else element.widened()
        if not all(p.takes(dtype, 0) for p, dtype in zip(self.operands, wide.dtypes, strict=True)):
            return NotImplemented
        if not self.returns or self.results[0].dtype != wide.result:
            raise self._other_result(op, [f"{wide.result}[]"])
        call = f"{self._symbol(element.prelude)}({', '.join(wide.operands)})"
        return call if wide is element else element.narrowed(call)

    # --- whole arrays ------------------------------------------------------------------------------------------------

    def _of_arrays(self, op: Op, site: Site) -> Any:
        if not all(p.takes(v.dtype, _rank(v)) for p, v in zip(self.operands, site.inputs, strict=True)):
            return NotImplemented
        if len(self.results) != len(site.types) or not all(
            p.takes(t.dtype, t.ndim) and (t.ndim == 0 or not self.returns)
            for p, t in zip(self.results, site.types, strict=True)
        ):
            raise self._other_result(op, [t.static for t in site.types])
        name = self._symbol(site.prelude)
        arguments = [a for p, v in zip(self.operands, site.inputs, strict=True) for a in _arguments(p, v, site)]
        if self.returns:
            return [site.scalar(f"{name}({', '.join(arguments)})")]

        def call(places: Sequence[Array]) -> None:
            outputs = (a for p, y in zip(self.results, places, strict=True) for a in _passed(p, y, site))
            site.line(f"{name}({', '.join((*arguments, *outputs))});")

        return in_memory(site, call)

    # --- the function ------------------------------------------------------------------------------------------------

    @property
    def head(self) -> str:
        """The declaration of the function."""
        kinds = [WORDS[p.dtype] if p.rank == 0 else p.types("const ") for p in self.operands]
        if self.returns:
            return f"{WORDS[self.results[0].dtype]} {self.name}({', '.join(kinds) or 'void'})"
        return f"void {self.name}({', '.join((*kinds, *(p.types('') for p in self.results)))})"

    def _symbol(self, prelude: Prelude) -> str:
        """The name by which the unit calls the function, at places where the author's may mean something else."""
        called, whole = f"tg_own_{self.name}", f"static {self.head};\n{self.text.strip()}"
        if prelude.templates.setdefault(called, whole) != whole:
            raise self.mistake("found two texts, needed one for a name")
        pointer = self.head.replace(f" {self.name}(", f" (*const {called})(", 1)
        prelude.is_one = True
        prelude.need(called, f"{whole}\nstatic {pointer} = {self.name};")
        return called

    def _other_result(self, op: Op, wanted: Sequence[object]) -> PluginError:
        shown = {ANY: "[...]", 0: "[]"}
        types = ", ".join(f"{p.dtype}{shown.get(p.rank) or [*'?' * p.rank]}".replace("'", "") for p in self.results)
        return self.other_result(op, types, ", ".join(map(str, wanted)))

    def _parsed(self, place: str, text: object) -> Parameter:
        match = PARAMETER.fullmatch(text) if isinstance(text, str) else None
        if match is None or match[1] not in WORDS:
            raise self.mistake(f"{place}: found {text!r}, needed {NEEDED}")
        axes = match[2]
        return Parameter(match[1], 0 if axes is None else ANY if axes == "..." else axes.count("?"))


def _rank(value: Value) -> int:
    return 0 if isinstance(value, Scalar) else value.ndim


def _arguments(parameter: Parameter, value: Value, site: Site) -> list[str]:
    if parameter.rank == 0:
        return [value.text if isinstance(value, Scalar) else site.first(site.memory(value))]
    return _passed(parameter, site.contiguous(value), site)


def _passed(parameter: Parameter, array: Any, site: Site) -> list[str]:
    lengths = [count(array.shape)] if parameter.rank == ANY else array.shape
    return [array.pointer, *map(site.length, lengths)]
