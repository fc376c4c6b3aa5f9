"""`tg.export(f, path, "torch")`: a folder with a program of `torch.export`, or a library of it, and golden values.

The program takes the inputs, then the state, and gives the results, then the new state; weights are constants in it.
Lengths that are not known are dynamic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch
import torch._inductor
from torch import nn

from tg_torch.values import to_native

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tg.backend import Exported
    from tg_torch import ExportOptions

PROGRAM: Final = "program.pt2"
GOLDEN: Final = "golden.npz"


class _Module(nn.Module):  # type: ignore[misc]
    """A function with its weights, as `torch.export` takes it."""

    def __init__(self, function: Callable[..., Any], weights: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self._function, self._count = function, len(weights)
        for k, weight in enumerate(weights):
            self.register_buffer(f"weight{k}", weight)

    def forward(self, *arrays: torch.Tensor) -> Any:
        """The results."""
        return self._function(*arrays, *(getattr(self, f"weight{k}") for k in range(self._count)))


def write(program: Exported, path: Path, options: ExportOptions) -> None:
    """Write a function that PyTorch loads without tg, by `torch.export.load` or `torch._inductor.aoti_load_package`.

    Raises:
        InputError: a length or a check that values decide; a loop of a number of steps that is not known.
    """
    state = [s.array for s in program.state]
    f = program.function("torch")
    traced = f.traceable(on_error="nan" if options.on_error == "nan" else None)
    held = [to_native(a) for a in program.arrays[len(state) :]]
    args = tuple(to_native(a) for a in (*program.golden.inputs.values(), *state))
    dynamic = tuple(
        {
            axis: torch.export.Dim.DYNAMIC
            for axis, n in enumerate(v.type.shape)
            if n is None and (k, axis) not in program.ones
        }
        for k, v in enumerate(program.inputs)
    ) + ({},) * len(state)
    with torch.no_grad():
        written = torch.export.export(_Module(traced, held), args, dynamic_shapes=(dynamic,))
    path.mkdir()
    if options.package:
        torch._inductor.aoti_compile_and_package(written, package_path=str(path / PROGRAM))
    else:
        torch.export.save(written, path / PROGRAM)
    program.write_golden(path / GOLDEN)
