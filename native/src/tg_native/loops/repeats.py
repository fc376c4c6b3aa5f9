"""Loops that are written once: one whose text depends on nothing that differs takes the body of the one before.

A network is made of equal blocks, and its loops differ in arrays alone. Of ResNet-18's training step 382 are called and
105 are different; writing the others anew, to find their texts equal, was 40 % of the time of writing the unit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tg.types.atoms import key
from tg_native.kernels.index import Index
from tg_native.loops.kernel import NO_LENGTHS
from tg_native.plan.values import Array, Scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tg.types.lengths import Length
    from tg_native.loops.kernel import Kernel
    from tg_native.plan.values import Value


class Written(NamedTuple):
    """A loop that is written, and the texts of what it is about, in their order."""

    kernel: Kernel
    texts: tuple[str, ...]


Forms = dict[object, Written]
"""The loops of a unit by all that their bodies depend on."""


def keys(lengths: Iterable[int | Length | Index]) -> tuple[object, ...]:
    """Hashable content of lengths, the same for equal ones; those that are arguments may differ."""
    return tuple([None if isinstance(n, Index) else key(n) for n in lengths])


def form_of(values: Iterable[Value]) -> tuple[object, tuple[str, ...]]:
    """Form of some values, on which a body can depend, and their texts, which may differ: each text once."""
    texts: dict[str, int] = {}
    form = [_form(v, texts) for v in values]
    return tuple(form), tuple(texts)


def _form(value: Value, texts: dict[str, int]) -> object:
    if isinstance(value, Scalar):
        operand = value.operand
        return (value.dtype, operand, _number(value.text, texts) if operand is None else _place(value.text, texts))
    fill = None if value.fill is None else _number(value.fill, texts)
    place = _place(value.pointer, texts)
    return (value.dtype, place, not value.pointer, keys(value.shape), keys(value.strides), fill, value.counts)


def _place(text: str, texts: dict[str, int]) -> int:
    return texts.setdefault(text, len(texts))


def _number(text: str, texts: dict[str, int]) -> object:
    """Form of a number, which is an argument if it has a name, and else stands in the body as it is."""
    place = _place(text, texts)
    return place if _is_name(text) else (place, text)


def _is_name(text: str) -> bool:
    """Whether a text is the name of a value, and no number that stands in the body."""
    return text.isidentifier() or text.startswith("%")


def once(
    forms: Forms,
    kernel: Kernel,
    form: object,
    texts: tuple[str, ...],
    write: Callable[[], None],
    lengths: Mapping[object, int | Length] = NO_LENGTHS,
) -> None:
    """Write the body of a loop, or take the one that is written for this form.

    Args:
        form: all that the body depends on; the arguments so far are among this.
        texts: of arrays and scalars that may become arguments from here on. Where others do, such as memory of the
            loop's own, it is written for itself.
        lengths: those that may differ, by their roles.
    """
    if kernel.share is not None:  # with arguments of their own
        write()
        return
    before = forms.get(form)
    if before is not None:
        kernel.repeat(before.kernel, dict(zip(before.texts, texts, strict=True)), lengths)
        return
    count = len(kernel.wanted)
    write()
    if kernel.is_told and all(_is_among(one.what, texts) for one in kernel.wanted[count:]):
        forms[form] = Written(kernel, texts)


def _is_among(what: object, texts: tuple[str, ...]) -> bool:
    if isinstance(what, Array):
        return what.pointer in texts
    return not isinstance(what, Scalar) or what.text in texts
