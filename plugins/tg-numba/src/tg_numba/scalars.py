"""Elementwise rules as functions of single elements that compiled Python calls: the same functions of lanes, of one."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any, Final, final

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from tg.types.dtypes import is_complex
from tg_numba.assembly import ITEMS, PARTS, Body, Module
from tg_numba.lanes import Lanes, Pair, parts
from tg_numba.native import with_arguments
from tg_numba.text import WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.op import Op
    from tg.plugin.records import Rule
    from tg_numba.lanes import Elements

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
_numbers: Final = itertools.count()


@final
class Written(ir.Function):  # type: ignore[misc]
    """A function whose text is given, in one of llvmlite's modules."""

    def __init__(self, module: Any, kind: Any, name: str, text: str) -> None:
        super().__init__(module, kind, name)
        self._text = text

    def __str__(self) -> str:
        return self._text


@functools.cache
def element_function(op: Op, rule: Rule, dtypes: tuple[str, ...], result: str) -> Any:
    """What compiled Python calls for an op on single elements of these dtypes.

    Raises:
        NoRuleError: the rule knows nothing for the dtypes.
    """
    module = Module()
    body = Body(module)
    given = [_parameter(body, dtype, k) for k, dtype in enumerate(dtypes)]
    found: Any = rule(op, given, result)
    name = f"tg.{op.name}.{next(_numbers)}"
    items = [ITEMS[part.dtype] for part in parts(given)]
    text, back = _definition(name, body, parts(given), parts([found]))

    def typed(typing: Any, *arguments: Any) -> Any:
        def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            kind = ir.FunctionType(back, [IR_TYPES[item] for item in items])
            function = builder.module.globals.get(name) or _included(builder.module, module, kind, name, text)
            flat: list[Any] = []
            for value, argument in zip(values, signature.args, strict=True):
                if isinstance(argument, types.Complex):
                    number = context.make_complex(builder, argument, value)
                    flat += [number.real, number.imag]
                else:
                    flat.append(value)
            value = builder.call(function, flat)
            if not is_complex(result):
                return value
            made = context.make_complex(builder, VALUES[result])
            made.real, made.imag = (builder.extract_value(value, k) for k in (0, 1))
            return made._getvalue()

        return VALUES[result](*(VALUES[d] for d in dtypes)), write

    typed.__name__ = op.name
    return intrinsic(with_arguments(typed, len(dtypes)))


def _parameter(body: Body, dtype: str, k: int) -> Elements:
    if is_complex(dtype):
        return Pair(Lanes(body, PARTS[dtype], f"%x{k}.real"), Lanes(body, PARTS[dtype], f"%x{k}.imag"))
    return Lanes(body, dtype, f"%x{k}")


def _definition(name: str, body: Body, given: Sequence[Lanes], found: Sequence[Lanes]) -> tuple[str, Any]:
    """The text of the function, and the type of what it returns."""
    kinds = [ITEMS[x.dtype] for x in found]
    if len(found) == 1:
        whole, last, back = kinds[0], found[0].text, IR_TYPES[kinds[0]]
    else:
        whole, back = f"{{{', '.join(kinds)}}}", ir.LiteralStructType([IR_TYPES[k] for k in kinds])
        last = "poison"
        for k, x in enumerate(found):
            last = body.made(f"insertvalue {whole} {last}, {kinds[k]} {x.text}, {k}")
    heads = ", ".join(f"{x.kind} {x.text}" for x in given)
    body.do(f"ret {whole} {last}")
    return f'define internal {whole} @"{name}"({heads}) alwaysinline nounwind {{\n{body.text()}\n}}', back


def _included(target: Any, module: Module, kind: Any, name: str, text: str) -> Any:
    """The function in one of llvmlite's modules, with all that it calls."""
    for other, declared in module.declared.items():
        if other not in target.globals:
            arguments = [IR_TYPES[item] for item in declared.arguments]
            ir.Function(target, ir.FunctionType(IR_TYPES[declared.result], arguments), other)
    for other, definition in module.defined.items():
        if other not in target.globals:
            Written(target, ir.FunctionType(ir.VoidType(), []), other, definition)
    return Written(target, kind, name, text)


@functools.cache
def loop_call(words: tuple[str, ...]) -> Any:
    """What compiled Python calls to run a loop: with its address, and arguments of these kinds.

    Args:
        words: of each argument "p" for a pointer, "n" for a length, else the word of a dtype.
    """
    by_word = {WORDS[d]: kind for d, kind in VALUES.items()} | {"n": types.int64}

    def typed(typing: Any, address: Any, *arguments: Any) -> Any:
        kinds = [given if w == "p" else by_word[w] for w, given in zip(words, arguments, strict=True)]

        def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            place, *given = values
            function = ir.FunctionType(ir.VoidType(), [value.type for value in given])
            builder.call(builder.inttoptr(place, function.as_pointer()), given)
            return context.get_dummy_value()

        return types.void(types.int64, *kinds), write

    typed.__name__ = "run_loop"
    return intrinsic(with_arguments(typed, 1 + len(words)))
