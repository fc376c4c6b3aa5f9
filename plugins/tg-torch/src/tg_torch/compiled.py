"""Programs compiled by `torch.compile`, once for each combination of the shapes of their inputs.

The function is traced with tensors that have shapes and no values, so that Python and NumPy run as they stand; what is
compiled is the list of operations that remains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from tg.backend import Claim, alone

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.backend import Unit
    from tg_torch import Options


def settings(options: Options) -> dict[str, Any]:
    """Arguments of torch.compile that say what the options of a backend do."""
    if options.compile_options:
        return {"options": dict(options.compile_options)}
    return {"mode": options.mode}


@final
class Compiled:
    """A function of tensors in C order, and of a tuple of constants in front of them if there are any."""

    def __init__(self, function: Callable[..., Sequence[torch.Tensor]], unit: Unit) -> None:
        self._function, self._settings = function, settings(unit.options)
        self._programs: dict[tuple[torch.Size, ...], Callable[..., Sequence[torch.Tensor]]] = {}
        self._claim = Claim(frozenset([("torch", id(self))]), delays_forks=True)

    def __call__(self, *arguments: Any) -> Sequence[torch.Tensor]:
        constants: tuple[torch.Tensor, ...] = ()
        if arguments and isinstance(arguments[0], tuple):
            constants, arguments = arguments[0], arguments[1:]
        key = tuple([x.shape for x in arguments])
        program = self._programs.get(key)
        if program is not None:
            return program(*constants, *arguments)
        for turn in alone():
            turn.take(self._claim)
            program = self._programs.get(key) or self._traced(constants, arguments)
            outputs = program(*constants, *arguments)  # the first call compiles
            self._programs[key] = program
        turn.leave()
        return outputs

    def _traced(
        self, constants: Sequence[torch.Tensor], arguments: Sequence[torch.Tensor]
    ) -> Callable[..., Sequence[torch.Tensor]]:
        """The program for arguments of these shapes."""
        count = len(constants)

        def flat(*arrays: torch.Tensor) -> list[torch.Tensor]:
            outputs = self._function(arrays[:count], *arrays[count:]) if count else self._function(*arrays)
            return separate(outputs, arrays)

        # a tensor that is given twice would be one input, and this the program of other tensors of these shapes as well
        examples = [torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device) for x in arguments]
        graph = make_fx(flat, tracing_mode="fake", _allow_non_fake_inputs=True)(*constants, *examples)
        compiled: Callable[..., Sequence[Any]] = torch.compile(graph, fullgraph=True, dynamic=False, **self._settings)
        return compiled


@final
class CompiledStep:
    """The function of an inner graph, of tensors in any order, and of a tuple of constants in front as above."""

    def __init__(self, function: Callable[..., Sequence[torch.Tensor]], unit: Unit) -> None:
        self._compiled = Compiled(function, unit)

    def __call__(self, *arguments: Any) -> Sequence[torch.Tensor]:
        return self._compiled(*[x if isinstance(x, tuple) else x.contiguous() for x in arguments])


def separate(outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The outputs, copied where one shares memory with an input or another output."""
    taken = {x.untyped_storage()._cdata for x in inputs}
    tensors = []
    for y in outputs:
        storage = y.untyped_storage()._cdata
        tensors.append(y.clone() if storage in taken else y)
        taken.add(storage)
    return tensors
