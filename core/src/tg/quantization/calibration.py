"""Calls of a float function on calibration data: the ranges of the factors of its products, and errors of results."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tg.errors import InputError, message
from tg.functions.make import function
from tg.ops.elementwise.arithmetic import multiply, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.reduction import reduce_sum, total_max, total_min

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tg.functions.backends import BackendChoice
    from tg.functions.request import Request
    from tg.graph.nodes import Variable
    from tg.quantization.change import Change
    from tg.quantization.sites import Site


def calls_of(request: Request, data: Iterable[Any] | None) -> list[list[Any]] | None:
    """The arrays of each call, in order of the inputs; None without data.

    Raises:
        InputError: there are none; as for a call.
        DtypeError, ShapeError: as for a call.
    """
    if data is None:
        return None
    calls = []
    for arguments in data:
        args, kwargs = ((), arguments) if isinstance(arguments, dict) else (arguments, {})
        args = args if isinstance(args, tuple) else (args,)
        calls.append(request.taken(args, dict(kwargs))[0])
    if not calls:
        raise InputError(message("quantized: calibrate: found no calls, needed at least one"))
    return calls


def ranges_of(
    request: Request, choice: BackendChoice, places: Sequence[Site], calls: Sequence[list[Any]]
) -> list[tuple[float, float]]:
    """The least and the largest value of the data of each site, 0 among them."""
    data = [site.data for site in places]
    limits = [(math.inf, -math.inf)] * len(places)
    outputs = [(total_min(v), total_max(v)) for v in data if v is not None]
    for results in _run(request, choice, outputs, calls):
        values = iter(results)
        for k, v in enumerate(data):
            if v is not None:
                low, high = next(values)
                limits[k] = min(limits[k][0], float(low), 0.0), max(limits[k][1], float(high), 0.0)
    for site, (low, high) in zip(places, limits, strict=True):
        if site.data is not None and not math.isfinite(high - low):
            text = f"quantized: calibrate: {site.name}: found values from {low} to {high}, needed finite ones"
            raise InputError(message(text))
    return limits


def output_errors(
    request: Request, choice: BackendChoice, changes: Sequence[Change], calls: Sequence[list[Any]]
) -> list[float]:
    """For each change the norm of what it changes over that of the result, over all calls."""
    outputs = []
    for change in changes:
        node = change.site.node
        before = node.op(*node.inputs)
        after = change.result(node.inputs)
        outputs.append((_squares(subtract(after, before)), _squares(before)))
    totals = [[0.0, 0.0] for _ in changes]
    for results in _run(request, choice, outputs, calls):
        for total, pair in zip(totals, results, strict=True):
            total[0] += float(pair[0])
            total[1] += float(pair[1])
    return [math.sqrt(error / size) if size else 0.0 for error, size in totals]


def _squares(v: Variable) -> Variable:
    """The sum of squares, in float64 where a backend has it."""
    wide = cast_variable(v, "float32")
    return reduce_sum(multiply(wide, wide), tuple(range(-v.type.ndim, 0)))


def _run(request: Request, choice: BackendChoice, outputs: Any, calls: Sequence[list[Any]]) -> Iterator[Any]:
    """The outputs for each call."""
    run = function(list(request.inputs), outputs, backend=choice, on_unused_input="ignore", name="calibration")
    for arrays in calls:
        yield run(*arrays)
