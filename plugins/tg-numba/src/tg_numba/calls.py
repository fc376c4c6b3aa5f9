"""How compiled Python calls what is written in LLVM's language: functions of single elements, and loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

from llvmlite import ir
from numba.core import types

from tg.types.dtypes import is_complex
from tg_numba.assembly import ITEMS
from tg_numba.front import word_type
from tg_numba.meanings import with_arguments
from tg_numba.scalars import NAME
from tg_numba.text import WORDS

if TYPE_CHECKING:
    from tg_numba.assembly import Module
    from tg_numba.scalars import Element, LoopCall

IR_TYPES: Final = {
    "float": ir.FloatType(),
    "double": ir.DoubleType(),
    **{f"i{n}": ir.IntType(n) for n in (1, 8, 16, 32, 64)},
    "{double, double}": ir.LiteralStructType([ir.DoubleType(), ir.DoubleType()]),
}
VALUES: Final[dict[str, Any]] = {
    "bool": types.boolean,
    "float16": types.uint16,
    "bfloat16": types.uint16,
    **{d: getattr(types, d) for d in ITEMS if d not in ("bool", "float16", "bfloat16")},
    "complex64": types.complex64,
    "complex128": types.complex128,
}
"""Numba's type of a single element in compiled Python."""


@final
class Given(ir.Function):  # type: ignore[misc]
    """A function whose text is given, in one of llvmlite's modules."""

    def __init__(self, module: Any, kind: Any, name: str, text: str) -> None:
        super().__init__(module, kind, name)
        self._text = text

    def __str__(self) -> str:
        return self._text


def element_type(element: Element) -> Any:
    """The type of a function of single elements."""
    definition, name = element.definition, element.symbol
    parts = [IR_TYPES[item] for item in definition.back]
    back = parts[0] if len(parts) == 1 else ir.LiteralStructType(parts)
    text = definition.text.replace(f"{NAME}(", f'@"{name}"(', 1)

    def typed(typing: Any, *arguments: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            kind = ir.FunctionType(back, [IR_TYPES[item] for item in definition.items])
            function = builder.module.globals.get(name)
            if function is None:
                function = _included(builder.module, definition.module, kind, name, text)
            flat: list[Any] = []
            for value, argument in zip(values, signature.args, strict=True):
                if isinstance(argument, types.Complex):
                    number = context.make_complex(builder, argument, value)
                    flat += [number.real, number.imag]
                else:
                    flat.append(value)
            value = builder.call(function, flat)
            if not is_complex(element.result):
                return value
            made = context.make_complex(builder, VALUES[element.result])
            made.real, made.imag = (builder.extract_value(value, k) for k in (0, 1))
            return made._getvalue()

        return VALUES[element.result](*(VALUES[d] for d in element.dtypes)), write

    typed.__name__ = element.__name__
    return word_type(element, with_arguments(typed, len(element.dtypes)))


def _included(target: Any, module: Module, kind: Any, name: str, text: str) -> Any:
    """The function in one of llvmlite's modules, with all that it calls."""
    for other, declared in module.declared.items():
        if other not in target.globals:
            arguments = [IR_TYPES[item] for item in declared.arguments]
            ir.Function(target, ir.FunctionType(IR_TYPES[declared.result], arguments), other)
    for other, definition in module.defined.items():
        if other not in target.globals:
            Given(target, ir.FunctionType(ir.VoidType(), []), other, definition)
    return Given(target, kind, name, text)


def loop_type(call: LoopCall) -> Any:
    """The type of what runs a loop."""
    by_word = {WORDS[d]: kind for d, kind in VALUES.items()} | {"n": types.int64}

    def typed(typing: Any, address: Any, *arguments: Any) -> Any:
        kinds = [given if w == "p" else by_word[w] for w, given in zip(call.words, arguments, strict=True)]

        def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            place, *given = values
            function = ir.FunctionType(ir.VoidType(), [value.type for value in given])
            builder.call(builder.inttoptr(place, function.as_pointer()), given)
            return context.get_dummy_value()

        return types.void(types.int64, *kinds), write

    typed.__name__ = "run_loop"
    return word_type(call, with_arguments(typed, 1 + len(call.words)))
