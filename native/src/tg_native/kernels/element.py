"""Elementwise rules: functions of lanes, chosen by the kind of dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

from tg.errors import NoRuleError, PluginError, message
from tg_native.kernels.dtypes import WORDS, is_half, kind_of
from tg_native.kernels.half import narrowed, widened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.op import Op
    from tg_native.kernels.lanes import Elements

    Function = Callable[..., Any]

ABSENT: Final = "backend {!r} has no rule for {} of {}"


@final
class Elementwise:
    """A rule by the kind of the last operand's dtype, each a function of the operands in lanes.

    `integer` serves signed and unsigned ones, the first argument all that have none. Halves go through float32 and
    `floating`; `half` is for what can be done with them as they are stored. A function whose steps wait for each other
    says how many vectors should go `abreast`. One that is shorter where no operand is above 0 has that as a rule of its
    own, `of_nonpositive`; `of_shifted` may besides give infinity for any that is above 0.
    """

    __slots__ = ("abreast", "choices", "of_nonpositive", "of_shifted")
    __name__ = "Elementwise"  # in messages about rules

    def __init__(
        self,
        every: Function | None = None,
        *,
        boolean: Function | None = None,
        integer: Function | None = None,
        signed: Function | None = None,
        unsigned: Function | None = None,
        floating: Function | None = None,
        half: Function | None = None,
        complex: Function | None = None,
        abreast: int = 1,
        of_nonpositive: Elementwise | None = None,
        of_shifted: Elementwise | None = None,
    ) -> None:
        self.of_nonpositive = of_nonpositive
        self.of_shifted = of_shifted
        self.abreast = abreast
        self.choices = {
            "boolean": boolean or every,
            "signed": signed or integer or every,
            "unsigned": unsigned or integer or every,
            "floating": floating or every,
            "half": half,
            "complex": complex or every,
        }

    def __call__(self, op: Op, operands: Sequence[Elements], result: str) -> Elements:
        """The result, of dtype `result`.

        Raises:
            NoRuleError: there is no function for the dtype.
            PluginError: the function gave elements of another dtype.
        """
        dtype = operands[-1].dtype
        kind = kind_of(dtype) if dtype in WORDS else ""
        if is_half(dtype) and self.choices["half"] is None:
            kind = "floating"
            operands = tuple(widened(x) if is_half(x.dtype) else x for x in operands)  # type: ignore[arg-type]
        kernel = self.choices.get(kind)
        if kernel is None:
            raise NoRuleError(message(ABSENT.format(operands[-1].body.backend, op.name, dtype)))
        value: Elements = kernel(*operands)
        if value.dtype != result and is_half(result):
            return narrowed(value, result)  # type: ignore[arg-type]
        is_one_bool = value.dtype == "bool" and not operands[0].body.lanes  # 0 or 1: reductions by logic keep integers
        if value.dtype != result and not is_one_bool:
            raise PluginError(message(f"{op.name}: its kernel gave {value.dtype} for {dtype}, needed {result}"))
        return value
