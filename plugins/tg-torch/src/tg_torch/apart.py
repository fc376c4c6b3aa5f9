"""Rules of networks' ops on DTensors: each process computes with its own samples, channels or heads.

PyTorch has no layout for what these functions give. The axes that may be split have a letter: operands and results that
share one are split along it together, and where a result has no axis of the letter each process has a term of a sum.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard

from tg.backend import attention, convolution, normalization, pooling
from tg_torch.paired import ConvolutionGradients

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.backend import Rule

Letters = tuple[list[str], list[str]]
"""For each operand and each result the letters of its first axes: "." stands for one that is not split."""
LEAD: Final = "abcdefgh"  # of leading axes, as many as there are


def _of_convolution(op: Any, *operands: Any) -> Letters:
    """Samples, groups and channels, which images and kernel have three of."""
    return ["ngc", "goc", *("" for _ in operands[2:])], ["ngo"]


def _of_gradients(op: Any, *operands: Any) -> Letters:
    """The same letters for dy, images and kernel."""
    return ["ngo", "ngc", "goc"], ["ngc", "goc"]


def _of_pooling(op: Any, x: Any, *rest: Any) -> Letters:
    """All axes in front of those of windows."""
    lead = LEAD[: x.ndim - len(op.window)]
    return [lead, *("" for _ in rest)], [lead, lead]


def _of_attention(op: Any, *operands: Any) -> Letters:
    """The leading axes but for heads in groups. An operand with one element for all of an axis is not split there."""
    count = operands[0].ndim - 2 - op.is_grouped
    lengths = [max(x.shape[k] for x in operands) for k in range(count)]
    of_each = [
        "".join(LEAD[k] if x.shape[k] == lengths[k] else "." for k in range(min(count, x.ndim))) for x in operands
    ]
    return of_each, [LEAD[:count]] * (3 if isinstance(op, attention.AttentionGradient) else 2)


def in_own_parts(rule: Rule, on_whole: Rule, letters: Callable[..., Letters]) -> Rule:
    """The rule on what each process has, where operands are split along axes that have letters; else on all of them."""

    @functools.wraps(rule)
    def run(op: Any, *operands: Any, **context: Any) -> Any:
        devices = next((x.device_mesh for x in operands if isinstance(x, DTensor)), None)
        if devices is None or not all(isinstance(x, DTensor | int) for x in operands):
            return on_whole(op, *operands, **context)
        of_operands, of_results = letters(op, *operands)
        chosen = _chosen(operands, of_operands, devices)
        if not any(chosen):
            return on_whole(op, *operands, **context)
        own = [
            x.redistribute(placements=_placements(chosen, axes, Replicate())).to_local()
            if isinstance(x, DTensor)
            else x
            for x, axes in zip(operands, of_operands, strict=True)
        ]
        results: Any = rule(op, *own, **context)
        if results is NotImplemented:
            return on_whole(op, *operands, **context)
        several = (results,) if isinstance(results, torch.Tensor) else results
        spread = tuple(
            _added_up(DTensor.from_local(y, devices, _placements(chosen, axes, Partial()), run_check=False))
            for y, axes in zip(several, of_results, strict=True)
        )
        return spread[0] if isinstance(results, torch.Tensor) else spread

    return run


def _added_up(y: DTensor) -> DTensor:
    """The result with terms added up: else each of its readers would do so again."""
    return y.redistribute(placements=[Replicate() if p.is_partial() else p for p in y.placements])


def _chosen(operands: Sequence[Any], letters: Sequence[str], devices: Any) -> list[str]:
    """The letter that each axis of the mesh splits, empty where none: of the first operand that it splits so."""
    chosen: list[str] = []
    for k in range(devices.ndim):
        present = ((x, axes, x.placements[k]) for x, axes in zip(operands, letters, strict=True) if axes)
        split = [axes[p.dim] for x, axes, p in present if isinstance(p, Shard) and p.dim < len(axes)]
        letter = next((one for one in split if one != "."), "")
        count = devices.size(k)
        for before, other in enumerate(chosen):
            count *= devices.size(before) if other == letter else 1
        lengths = [
            x.shape[axes.index(letter)] for x, axes in zip(operands, letters, strict=True) if letter and letter in axes
        ]
        chosen.append(letter if all(n and n % count == 0 for n in lengths) else "")
    return chosen


def _placements(chosen: Sequence[str], axes: str, otherwise: Any) -> list[Any]:
    """The layout of an array whose first axes have these letters; whole where the mesh splits nothing."""
    return [
        Replicate() if not letter else Shard(axes.index(letter)) if letter in axes else otherwise for letter in chosen
    ]


class _Parts:
    """The images of a norm as each process has them, and exchanges with the others.

    Args:
        x: the images, of which the channels lie along `axis`.
    """

    def __init__(self, x: DTensor, axis: int) -> None:
        channels = axis % x.ndim
        letters = "".join("." if k == channels else LEAD[k] for k in range(x.ndim))
        self.devices = x.device_mesh
        chosen = _chosen([x], [letters], self.devices)
        self.placements = _placements(chosen, letters, Replicate())
        self.over = [k for k in range(x.ndim) if k != channels]
        self.count = x.numel() // max(x.shape[channels], 1)  # elements of a channel, in all processes
        self._shape = [-1 if k == channels else 1 for k in range(x.ndim)]
        self._rows = [Shard(0) if letter else Replicate() for letter in chosen]

    def own(self, x: DTensor) -> torch.Tensor:
        """The part of images that this process has."""
        return x.redistribute(placements=self.placements).to_local()

    def beside(self, v: torch.Tensor) -> torch.Tensor:
        """A number of each channel beside images."""
        return v.reshape(self._shape)

    def of_all(self, *sums: torch.Tensor) -> torch.Tensor:
        """Numbers of each channel (part, sum, channel), brought together from all processes at once."""
        own = torch.stack(sums)[None]
        return DTensor.from_local(own, self.devices, self._rows, run_check=False).full_tensor()

    def spread(self, y: torch.Tensor) -> DTensor:
        """Images of which this process has a part."""
        return DTensor.from_local(y, self.devices, self.placements, run_check=False)

    def everywhere(self, v: torch.Tensor) -> DTensor:
        """Numbers of each channel that all processes have."""
        return DTensor.from_local(v, self.devices, [Replicate()] * self.devices.ndim, run_check=False)


def batch_norm(op: Any, x: DTensor, weight: DTensor, bias: DTensor) -> tuple[torch.Tensor, ...]:
    """By the means and the variances of the parts, which are as large as one another."""
    parts = _Parts(x, op.axis)
    images, beside = parts.own(x), parts.beside
    var, mean = torch.var_mean(images, parts.over, correction=0)
    middle, spread = parts.of_all(mean, var).unbind(1)
    mean = middle.mean(0)
    var = (spread + torch.square(middle - mean)).mean(0)
    y = (images - beside(mean)) / beside(torch.sqrt(var + op.eps)) * beside(weight.full_tensor())
    return parts.spread(y + beside(bias.full_tensor())), parts.everywhere(mean), parts.everywhere(var)


def batch_norm_gradient(
    op: Any, x: DTensor, weight: DTensor, mean: DTensor, var: DTensor, dy: DTensor
) -> tuple[torch.Tensor, ...]:
    """By the formulas of the op."""
    parts = _Parts(x, op.axis)
    images, cotangents, beside = parts.own(x), parts.own(dy), parts.beside
    root = torch.sqrt(var.full_tensor() + op.eps)
    z = (images - beside(mean.full_tensor())) / beside(root)
    terms = parts.of_all(cotangents.sum(parts.over), (cotangents * z).sum(parts.over))
    of_bias, of_weight = terms.sum(0)
    slopes = cotangents - beside(of_bias / parts.count) - z * beside(of_weight / parts.count)
    dx = slopes * beside(weight.full_tensor() / root)
    return parts.spread(dx), parts.everywhere(of_weight), parts.everywhere(of_bias)


AXES: Final[dict[object, Callable[..., Letters]]] = {
    attention.Attention: _of_attention,
    attention.AttentionGradient: _of_attention,
    ConvolutionGradients: _of_gradients,
    convolution.Convolution: _of_convolution,
    pooling.MaxPool: _of_pooling,
}
FORMULAS: Final[dict[object, Rule]] = {
    normalization.BatchNorm: batch_norm,
    normalization.BatchNormGradient: batch_norm_gradient,
}
