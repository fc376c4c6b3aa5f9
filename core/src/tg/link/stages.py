"""`Stages`: what a backend needs to run the stages of a pipeline, and the order in which each does its steps."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Literal, final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tg.types.mesh import Mesh

Action = tuple[Literal["forward", "backward"], int]
"""A step of a stage, and the part of the batch that it is of."""


@final
@dataclasses.dataclass(frozen=True)
class Stages:
    """The stages of a program, for a backend that runs them: see `Linker.pipeline`.

    `forward(k, mesh)` is a function of the library's arrays: what stage k receives, then its own inputs, to what it
    hands on; of the last stage to the loss. `backward(k, mesh)` takes the cotangents of that besides and gives those of
    what it has received, then those of the inputs in `wrt[k]`; of the last stage it takes none and gives the loss in
    front. `own[k]` are the places of the inputs that a stage reads.
    """

    name: str
    own: tuple[tuple[int, ...], ...]
    wrt: tuple[tuple[int, ...], ...]
    received: tuple[int, ...]  # how many values each stage receives
    batch: frozenset[int]  # the inputs of which each part of the batch has its own rows
    microbatches: int
    schedule: str
    axis: str
    mesh: Mesh
    options: Any
    forward: Callable[[int, Mesh | None], Callable[..., Any]]
    backward: Callable[[int, Mesh | None], Callable[..., Any]]

    @property
    def count(self) -> int:
        """The number of stages."""
        return len(self.own)

    def actions(self, stage: int) -> Iterator[Action]:
        """The steps of a stage in their order, by the schedule.

        GPipe takes all parts forward, then all back. 1F1B goes back as soon as it can: stage k of n has at most n - k
        parts under way, whose values are kept.
        """
        ahead = self.microbatches if self.schedule == "gpipe" else min(self.microbatches, self.count - stage)
        yield from (("forward", m) for m in range(ahead))
        for m in range(self.microbatches):
            yield "backward", m
            if m + ahead < self.microbatches:
                yield "forward", m + ahead
