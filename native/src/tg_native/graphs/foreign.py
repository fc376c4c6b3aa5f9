"""Rules that are functions of authors, in a language of their own: for single elements, and for ops on whole arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg.errors import PluginError, message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.op import Op
    from tg_native.graphs.site import Site
    from tg_native.plan.values import Array, Value


class Foreign:
    """A rule: a function of an author's; `title` is what messages call it."""

    def __init__(self, name: str, title: str, shown: str) -> None:
        """Name it; `shown` is what it is in messages about rules."""
        self.name, self.title, self.__name__ = name, title, shown

    def mistake(self, fact: str, hint: str | None = None) -> PluginError:
        """Error for something that its author has to change."""
        return PluginError(message(f"{self.title}: {fact}", hint=hint))

    def other_result(self, op: Op, result: object, needed: str) -> PluginError:
        """Error where its result is not that of an op."""
        return self.mistake(f"found a result {result}, needed the {needed} of {op.name}")


def in_memory(site: Site, call: Callable[[Sequence[Array]], None]) -> list[Value]:
    """The results of a function that is given memory for each, also for those without axes."""
    places = [site.allocate(k) if t.ndim else site.temporary(t.dtype, ()) for k, t in enumerate(site.types)]
    call(places)
    return [y if y.ndim else site.scalar(site.first(y), k) for k, y in enumerate(places)]
