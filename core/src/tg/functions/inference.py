"""Functions for inference: shared variables that nothing updates become snapshots, which programs compute with before.

Numbers that may decide lengths or places become constants of the program. All others are fixed inputs
(`tg.link.ahead`): no text, no name on disk and no rule depends on their values, so that one program serves the weights
of every epoch.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from tg.errors import InputError, message
from tg.functions.shared import Shared, snapshots
from tg.graph.nodes import Constant, Variable
from tg.graph.traversal import sorted_applies, substitute
from tg.types.dtypes import is_inexact
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tg.functions.request import Request
    from tg.graph.frozen import FrozenGraph
    from tg.graph.loc import Loc
    from tg.graph.op import Op

LARGEST: Final = 4096  # bytes of integers that may decide lengths or places


def for_inference(request: Request) -> Request:
    """The same request with the values that the shared variables which it does not update have now.

    Raises:
        InputError: it has what is of training alone.
    """
    refuse_training(request.results)
    targets = {id(t) for t in request.targets}
    read = [s for s in request.live if id(s) not in targets]
    values: dict[int, Variable] = {}
    for s, value in zip(read, snapshots(read), strict=True):
        kind = TensorType(s.type.dtype, value.shape)
        if not value.shape or (not is_inexact(kind.dtype) and value.nbytes <= LARGEST):
            values[id(s)] = Constant(value.numpy, s.name)
        else:
            values[id(s)] = Shared(kind, value, s.name, is_fixed=True)
    sources = [values.get(id(s), s) for s in request.sources]
    return dataclasses.replace(
        request,
        sources=tuple(s for s in sources if isinstance(s, Shared)),
        results=tuple(substitute(request.results, values)),
    )


def refuse_training(results: Sequence[Variable]) -> None:
    """Raise for what is of training alone: statistics of the batch, and masks of dropout.

    Raises:
        InputError: there is some; its line is named.
    """
    for node, _ in sorted_applies(results):
        for op, loc in _within(node.op, node.loc):
            if op.of_training:
                lines = (("created at", f"{loc}:  {loc.source}"),) if loc is not None else ()
                text = f"inference: found {op.of_training}, needed a graph built with training=False"
                raise InputError(message(text, *lines))


def _within(op: Op, loc: Loc | None) -> Iterator[tuple[Op, Loc | None]]:
    """An op, and those of the graphs inside it, each with the user's line."""
    yield op, loc
    graphs: list[FrozenGraph] = [*op.inner_graphs()]
    for graph in graphs:  # which grows
        for k, node in enumerate(graph.nodes):
            origin = graph.origins.get(k)
            yield node.op, (origin.locs[0] if origin is not None and origin.locs else loc)
            graphs += node.op.inner_graphs()
