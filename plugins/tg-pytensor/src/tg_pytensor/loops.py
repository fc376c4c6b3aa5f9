"""Loops, branches and ops with graphs inside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tg
from tg_pytensor.registry import convert

if TYPE_CHECKING:
    from tg_pytensor.conversion import Conversion


@convert.register("OpFromGraph", whole=True)
def inlined(conversion: Conversion, node: Any) -> Any:
    """The op's graph, written out."""
    return conversion.of_graph(node.op.fgraph, [conversion[v] for v in node.inputs])


@convert.register("IfElse", whole=True, needs=1)
def if_else(conversion: Conversion, node: Any) -> Any:
    """One of two branches: what only one of them needs is computed inside it."""
    condition, *branches = node.inputs
    count = node.op.n_outs

    def branch(wanted: Any) -> Any:
        inside = conversion.inside()
        return tuple(tg.as_variable(inside[v]) for v in wanted)

    asked = conversion[condition]
    taken = asked if asked.type.dtype == "bool" else asked != 0
    return tg.cond(taken, lambda: branch(branches[:count]), lambda: branch(branches[count:]))


@convert.register("Scan", whole=True)
def scan(conversion: Conversion, node: Any) -> Any:
    """A loop, whose outputs are buffers that begin with what the first steps read."""
    return Loop(conversion, node).results()


class Loop:
    """A node of `Scan`: its inputs by kind, and how a step is made of them.

    The outputs that a step reads again, at taps, are buffers: their first elements are there before the first step.
    What the rewritten graph uses the end of alone has shorter ones, of which the last elements are left.
    """

    def __init__(self, conversion: Conversion, node: Any) -> None:
        op = node.op
        self.conversion, self.op = conversion, op
        inputs = [conversion[v] for v in node.inputs]
        self.steps = inputs[0]
        self.sequences = op.outer_seqs(inputs)
        self.rewritten = op.outer_mitmot(inputs)
        self.recurrent = [*op.outer_mitsot(inputs), *op.outer_sitsot(inputs)]
        self.carried = op.outer_untraced_sit_sot(inputs)
        self.lengths = op.outer_nitsot(inputs)
        self.fixed = op.outer_non_seqs(inputs)
        self.taps = [*op.info.mit_sot_in_slices, *op.info.sit_sot_in_slices]
        self.depths = [-min(taps) for taps in self.taps]

    def results(self) -> list[Any]:
        """The outputs of the node."""
        windows = [[x[k] for k in range(depth)] for x, depth in zip(self.recurrent, self.depths, strict=True)]
        start = {"step": tg.as_variable(0), "rewritten": self.rewritten, "windows": windows, "carried": self.carried}
        if self.op.info.as_while:
            start |= {"goes_on": tg.as_variable(True)}
        taken = [x[: self.steps] for x in self.sequences]
        end, traces = tg.scan(self._step, start, taken, length=self.steps)
        if self.op.info.as_while:
            traces = [y[: end["step"]] for y in traces]
        count = len(self.recurrent)
        buffers = [self._buffer(*each) for each in zip(self.recurrent, windows, traces[:count], strict=True)]
        free = [self._end(y, tg.empty((n,)).shape[0]) for y, n in zip(traces[count:], self.lengths, strict=True)]
        return [*end["rewritten"], *buffers, *free, *end["carried"]]

    def _buffer(self, x: Any, window: list[Any], trace: Any) -> Any:
        """What an output's buffer holds at the end."""
        return self._end(tg.concatenate([tg.stack(window), trace], 0), x.shape[0])

    def _end(self, whole: Any, length: Any) -> Any:
        """The last elements, as many as a buffer has; a loop that has ended before has fewer."""
        if self.op.info.as_while:
            return whole
        more = whole.shape[0] - length  # of lengths that are known to be the same an int
        if isinstance(more, int) and not more:
            return whole
        more = tg.as_variable(more)
        if self.op.truncate_gradient != -1:  # a derivative may have fewer steps: what they do not reach is 0
            missing = tg.zeros((tg.maximum(-more, 0), *whole.shape[1:]), dtype=whole.type.dtype)
            whole, more = tg.concatenate([whole, missing], 0), tg.maximum(more, 0)
        return whole[more:]

    def _step(self, carry: Any, values: Any) -> Any:
        """One step: from what is carried and the sequences' slices to what is carried on and the outputs."""
        t, info = carry["step"], self.op.info
        arguments = list(values)
        firsts = [t - min(taps) for taps in info.mit_mot_in_slices]  # the first element is that of the lowest tap
        for x, first, taps in zip(carry["rewritten"], firsts, info.mit_mot_in_slices, strict=True):
            arguments += [x[first + tap] for tap in taps]
        for window, taps, depth in zip(carry["windows"], self.taps, self.depths, strict=True):
            arguments += [window[depth + tap] for tap in taps]
        arguments += [*carry["carried"], *self.fixed]
        found = self.conversion.of_graph(self.op.fgraph, arguments)
        rewritten = list(carry["rewritten"])
        for k, taps in enumerate(info.mit_mot_out_slices):
            for tap in taps:
                rewritten[k] = rewritten[k].at[firsts[k] + tap].set(found.pop(0))
        traced = found[: len(self.taps) + info.n_nit_sot]
        carried = found[len(traced) : len(traced) + info.n_untraced_sit_sot]
        windows = [[*window[1:], y] for window, y in zip(carry["windows"], traced, strict=False)]
        after = {"step": t + 1, "rewritten": rewritten, "windows": windows, "carried": carried}
        if not info.as_while:
            return after, traced
        after["goes_on"] = tg.logical_not(tg.cast(found[-1], "bool"))
        unchanged = carry, [tg.zeros_like(y) for y in traced]
        return tg.cond(carry["goes_on"], lambda: (after, traced), lambda: unchanged)
