"""The arguments of a call: bound to inputs by position and by name, and converted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.errors import InputError, message, nearest
from tg.functions.arguments import label
from tg.functions.convert import to_array, to_spread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tg.functions.nesting import Nesting
    from tg.graph.nodes import Variable

CALL_HINT: Final = "inputs go by position, or by name where tg.scalar and the like gave them one"
_MISSING: Final = object()


@final
class Binding:
    """The inputs of a function, and what makes arrays for them of the arguments of a call."""

    def __init__(
        self, name: str, inputs: Sequence[Variable], defaults: Mapping[int, Any], nesting: Nesting | None = None
    ) -> None:
        self._name, self._inputs, self._defaults = name, inputs, defaults
        self._types = [v.type for v in inputs]
        places: Sequence[int | str] = range(len(inputs)) if nesting is None else nesting.places
        self.labels = [label(v, place) for v, place in zip(inputs, places, strict=True)]
        self._places = {v.name: k for k, v in enumerate(inputs) if v.name}

    def __call__(
        self, args: Sequence[Any], kwargs: dict[str, Any], is_spread: Callable[[object], bool] | None = None
    ) -> list[np.ndarray[Any, Any]]:
        """The arrays of a call, in order of the inputs.

        Args:
            is_spread: whether an argument, which is no array of NumPy, stays as it is where its type fits.
        Raises:
            InputError: an argument is missing, given twice or of no input.
            DtypeError, ShapeError: one does not fit its input.
        """
        count = len(self._types)
        if len(args) == count and not kwargs:
            values: Sequence[Any] = args
        else:
            values = self.bound(args, kwargs)
        if is_spread is None or all(type(v) is np.ndarray or not is_spread(v) for v in values):
            return [to_array(v, t, label) for v, t, label in zip(values, self._types, self.labels, strict=True)]
        return [
            to_array(v, t, label) if type(v) is np.ndarray or not is_spread(v) else to_spread(v, t, label)
            for v, t, label in zip(values, self._types, self.labels, strict=True)
        ]

    def bound(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """The arguments of a call in order of the inputs, defaults among them, as they were given.

        Raises:
            InputError: as for a call.
        """
        if len(args) > len(self._types):
            raise InputError(
                message(
                    f"{self._name}: found {len(args)} arguments, needed {len(self._types)}",
                    *self._known(),
                    hint=CALL_HINT,
                )
            )
        values: list[Any] = [*args, *([_MISSING] * (len(self._types) - len(args)))]
        for name, value in kwargs.items():
            place = self._places.get(name)
            if place is None:
                near = nearest(name, self._places)
                hint = f"{near[0]} exists" if near else CALL_HINT
                raise InputError(message(f"{self._name}: no input is named {name!r}", *self._known(), hint=hint))
            if values[place] is not _MISSING:
                raise InputError(message(f"{self._name}: {self.labels[place]} is given by position and by name"))
            if sum(v.name == name for v in self._inputs) > 1:
                raise InputError(message(f"{self._name}: several inputs are named {name!r}", *self._known()))
            values[place] = value
        for k, value in enumerate(values):
            if value is _MISSING:
                if k not in self._defaults:
                    raise InputError(
                        message(f"{self._name}: {self.labels[k]} is missing", *self._known(), hint=CALL_HINT)
                    )
                values[k] = self._defaults[k]
        return values

    def _known(self) -> tuple[tuple[str, str], ...]:
        return (("inputs", ", ".join(f"{v.name or '_'}: {v.type}" for v in self._inputs) or "none"),)
