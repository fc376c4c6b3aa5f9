"""The options of derivatives, for type checkers: those of `grad` and of functions like it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg.graph.nodes import Variable
    from tg.types.choices import Direction, Disconnected


class Derived(TypedDict, total=False):
    """Of every derivative."""

    disconnected: Disconnected


class Held(Derived, total=False):
    """Of products with the Jacobian: what is held constant."""

    consider_constant: Sequence[Variable]


class Differentiated(Held, total=False):
    """Of `grad` and `value_and_grad`."""

    known_grads: Mapping[Variable, Any] | None


class Directed(Derived, total=False):
    """Of `jacobian`."""

    direction: Direction
