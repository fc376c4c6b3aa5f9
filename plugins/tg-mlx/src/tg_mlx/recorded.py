"""Programs recorded by MLX, which then builds its graph for each call without Python: neither compiled nor fused."""

from __future__ import annotations

import functools
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import mlx.core as mx

from tg_mlx.streams import stream

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KEPT: Final = 64  # shapes of one program: beyond, the oldest are forgotten


@final
class Recorded:
    """A function of arrays that runs as it is for shapes it has not met, and from the second time on as recorded.

    What MLX cannot record runs as it is, and everything does where recordings do not run in every thread. The first
    argument of the function may be a tuple of arrays.
    """

    def __init__(self, function: Callable[..., tuple[Any, ...]], device: str) -> None:
        self._function, self._device = function, device
        self._programs: dict[tuple[Any, ...], Callable[..., Any] | None] = {}  # by shapes; None: met once

    def __call__(self, *arguments: Any) -> Sequence[Any]:
        """The outputs, not yet evaluated."""
        nested = bool(arguments) and type(arguments[0]) is tuple
        arrays = (*arguments[0], *arguments[1:]) if nested else arguments
        shapes = tuple([a.shape for a in arrays])
        program = self._programs.get(shapes)
        if program is not None:
            return program(*arrays)  # type: ignore[no-any-return]
        count = len(arguments[0]) if nested else None
        steps = self._function if count is None else lambda *flat: self._function(flat[:count], *flat[count:])
        if shapes in self._programs and runs_anywhere(self._device):
            program = _recorded(steps, arrays)
        self._remember(shapes, program)
        return (program or steps)(*arrays)

    def _remember(self, shapes: tuple[Any, ...], program: Callable[..., Any] | None) -> None:
        if shapes not in self._programs and len(self._programs) >= KEPT:
            self._programs.pop(next(iter(self._programs)))
        self._programs[shapes] = program


@functools.cache
def runs_anywhere(device: str) -> bool:
    """Whether what is recorded runs in threads other than the one that recorded it.

    MLX reads a recording back for the first stream of the process, whichever it was recorded on. That one is shared by
    all threads (`tg_mlx.streams`), unless somebody has used MLX before: then it belongs to a thread.
    """
    program = _recorded(mx.sin, [mx.ones(1)])
    fails: list[RuntimeError] = []

    def run() -> None:
        try:
            with mx.stream(stream(device)):
                mx.eval(program(mx.ones(1)))
        except RuntimeError as error:
            fails.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return not fails


def _recorded(steps: Callable[..., Any], arrays: Sequence[Any]) -> Callable[..., Any]:
    """MLX's record of a function for arrays of these shapes, or the function."""
    if not arrays:
        return steps
    try:
        with tempfile.TemporaryDirectory(prefix="tg-mlx-") as folder:
            path = str(Path(folder) / "program.mlxfn")
            mx.export_function(path, steps, *arrays)
            replay: Any = mx.import_function(path)
    except (OSError, RuntimeError, ValueError):  # an operation that MLX does not record, or no room for the file
        return steps
    return replay  # type: ignore[no-any-return]
