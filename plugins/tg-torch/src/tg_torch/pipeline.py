"""Pipelines of stages on the processes of a group, by PyTorch's own schedules: each process runs the stage of its rank.

All processes call with the same arguments and are given the same loss and gradients, which are sent to all at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import torch
from torch import distributed, nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

from tg import OptionError
from tg.backend import message
from tg_torch.spread import find_mesh
from tg_torch.values import to_native

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from tg.backend import Stages

    Array = np.ndarray[Any, Any]

SCHEDULES: Final = {"gpipe": ScheduleGPipe, "1f1b": Schedule1F1B}


def pipeline(stages: Stages, device: torch.device) -> Callable[[Sequence[Array]], tuple[Any, Sequence[Any]]]:
    """The function of a pipeline.

    Raises:
        OptionError: there is no group of processes, or one of another size; the mesh has another axis.
    """
    other = next((name for name in stages.mesh.names if name != stages.axis and stages.mesh.parts(name) > 1), None)
    if other is not None:
        text = f"backend 'torch': pipeline: found {stages.mesh}, needed {stages.axis!r} to be the only axis"
        raise OptionError(message(text, hint="backend='jax' splits arrays within a stage"))
    find_mesh(stages.mesh, device.type)
    rank = distributed.get_rank()
    if stages.microbatches < stages.count and stages.schedule == "1f1b":
        text = f"backend 'torch': pipeline: found {stages.microbatches} microbatches for {stages.count} stages"
        raise OptionError(message(f"{text}, needed as many at least: PyTorch's 1F1B does", hint='schedule="gpipe"'))
    return _Process(stages, rank, device)


@final
class _Stage(nn.Module):  # type: ignore[misc]
    """A stage as PyTorch runs it: what it receives goes by position, its rows of the batch by name."""

    def __init__(self, stages: Stages, rank: int) -> None:
        super().__init__()
        self._own, self._batch = stages.own[rank], stages.batch
        self._function = stages.forward(rank, None)
        self._is_last = rank == stages.count - 1
        self.weights: dict[int, torch.Tensor] = {}

    def forward(self, *received: torch.Tensor, **rows: torch.Tensor) -> Any:
        """The values to hand on, or the loss, with an axis by which PyTorch joins those of all parts."""
        own = [rows[_label(k)] if k in self._batch else self.weights[k] for k in self._own]
        results = self._function(*received, *own)
        return results[0].reshape(1) if self._is_last else tuple(results)


def _label(place: int) -> str:
    return f"input{place}"


def _given(output: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    """The loss, which the last stage computes itself."""
    return output.sum()


@final
class _Process:
    """A pipeline as one of its processes takes part in it."""

    def __init__(self, stages: Stages, rank: int, device: torch.device) -> None:
        self._stages, self._rank, self._device = stages, rank, device
        self._module = _Stage(stages, rank)
        self._schedules: dict[tuple[Any, ...], Any] = {}  # by shapes: what is sent has been laid out for them

    def __call__(self, arrays: Sequence[Array]) -> tuple[Any, Sequence[Any]]:
        """The loss and the gradients, which all processes have at the end."""
        stages, rank, module = self._stages, self._rank, self._module
        tensors = [to_native(a).to(self._device) for a in arrays]
        module.weights = {k: tensors[k] for k in stages.own[rank] if k not in stages.batch}
        for k in stages.wrt[rank]:
            tensors[k] = tensors[k].requires_grad_()
            module.weights[k] = tensors[k]
        rows = {_label(k): tensors[k] for k in stages.own[rank] if k in stages.batch}
        losses: list[torch.Tensor] = []
        is_last = rank == stages.count - 1
        target = torch.zeros(stages.microbatches, device=self._device) if is_last else None
        with torch.enable_grad():
            self._schedule(arrays).step(target=target, losses=losses if is_last else None, **rows)
        loss = torch.stack(losses).mean() if is_last else torch.zeros((), dtype=torch.float64, device=self._device)
        return self._shared(loss, tensors)

    def _schedule(self, arrays: Sequence[Array]) -> Any:
        key = tuple(a.shape for a in arrays)
        if key not in self._schedules:
            stages = self._stages
            stage = PipelineStage(self._module, self._rank, stages.count, self._device)
            kind = SCHEDULES[stages.schedule]
            self._schedules[key] = kind(stage, stages.microbatches, loss_fn=_given, scale_grads=False)
        return self._schedules[key]

    def _shared(self, loss: torch.Tensor, tensors: Sequence[torch.Tensor]) -> tuple[Any, list[Any]]:
        """The loss of the last process, and the sums of all gradients."""
        stages = self._stages
        total = loss.detach().to(torch.float64)
        distributed.all_reduce(total)
        gradients = []
        for k in sorted({place for places in stages.wrt for place in places}):
            slope = tensors[k].grad
            slope = torch.zeros_like(tensors[k]) if slope is None else slope
            slope = slope.detach().contiguous() / stages.microbatches
            distributed.all_reduce(slope)
            gradients.append(slope.cpu().numpy())
        return total.cpu().numpy(), gradients
