"""Loops and branches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tg
from tg_pytensor.registry import convert

if TYPE_CHECKING:
    from tg_pytensor.conversion import Conversion


@convert.register("IfElse", whole=True, needs=1)
def if_else(conversion: Conversion, node: Any) -> Any:
    """One of two branches: what only one of them needs is computed inside it."""
    condition, *branches = node.inputs
    count = node.op.n_outs

    def branch(wanted: Any) -> Any:
        inside = conversion.inside()
        return tuple(tg.as_variable(inside[v]) for v in wanted)

    flag = conversion[condition]
    taken = flag if flag.type.dtype == "bool" else flag != 0
    return tg.cond(taken, lambda: branch(branches[:count]), lambda: branch(branches[count:]))


@convert.register("Scan", whole=True)
def scan(conversion: Conversion, node: Any) -> Any:
    """A loop, whose outputs are buffers that begin with what the first steps read."""
    return Loop(conversion, node).results()


FEW = 8  # elements of a buffer that are carried one by one


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
        self.windows = [[x[k] for k in range(depth)] for x, depth in zip(self.recurrent, self.depths, strict=True)]
        self.kept = [x.shape[0] for x in self.recurrent] + [tg.empty((n,)).shape[0] for n in self.lengths]

    def results(self) -> list[Any]:
        """The outputs of the node."""
        if self._keeps_ends():
            return self._until()
        taken = [x[: self.steps] for x in self.sequences]
        end, traces = tg.scan(self._step, self._start(), taken, length=self.steps)
        if self.op.info.as_while:
            traces = [y[: end["step"]] for y in traces]
        whole = [tg.concatenate([tg.stack(w), y], 0) for w, y in zip(self.windows, traces, strict=False)]
        # a derivative may have fewer steps than its buffers: what they do not reach is 0
        filled = self.op.truncate_gradient != -1 and not self.op.info.as_while
        traced = [*whole, *traces[len(whole) :]]
        ends = [last(y, n, is_filled=filled) for y, n in zip(traced, self.kept, strict=True)]
        return [*end["rewritten"], *ends, *end["carried"]]

    def _start(self) -> dict[str, Any]:
        """State that is carried before the first step."""
        start = {
            "step": tg.as_variable(0), "rewritten": self.rewritten, "windows": self.windows, "carried": self.carried
        }  # fmt: skip
        return start | ({"goes_on": tg.as_variable(True)} if self.op.info.as_while else {})

    def _keeps_ends(self) -> bool:
        """Whether a loop with a condition has buffers of a few elements alone: it need not make all of its steps."""
        if not self.op.info.as_while or not all(isinstance(n, int) and n <= FEW for n in self.kept):
            return False
        whole = [int(self.steps.data) + d for d in self.depths] if isinstance(self.steps, tg.Constant) else None
        return not self.lengths and self.kept != whole

    def _until(self) -> list[Any]:
        """The outputs of a loop that stops where its condition says so, and carries the ends of its buffers."""
        pairs = list(zip(self.windows, self.kept, strict=True))
        ends = [[*[tg.zeros_like(w[0])] * (n - len(w)), *w] for w, n in pairs]

        def goes_on(carry: Any) -> Any:
            return tg.logical_and(carry["step"] < self.steps, carry["goes_on"])

        def step(carry: Any) -> Any:
            after, _ = self._advanced(carry, [x[carry["step"]] for x in self.sequences])
            return after

        end = tg.while_loop(goes_on, step, self._start() | {"windows": ends})
        counts = [end["step"] + depth for depth in self.depths]
        triples = zip(end["windows"], self.kept, counts, strict=True)
        buffers = [last(tg.stack(w), tg.minimum(n, count)) for w, n, count in triples]
        return [*end["rewritten"], *buffers, *end["carried"]]

    def _step(self, carry: Any, values: Any) -> Any:
        """One step, which does nothing once a condition has ended the loop."""
        after, traced = self._advanced(carry, values)
        if not self.op.info.as_while:
            return after, traced
        unchanged = carry, [tg.zeros_like(y) for y in traced]
        return tg.cond(carry["goes_on"], lambda: (after, traced), lambda: unchanged)

    def _advanced(self, carry: Any, values: Any) -> Any:
        """From what is carried and the sequences' slices to what is carried on and the outputs."""
        t, info = carry["step"], self.op.info
        arguments = list(values)
        firsts = [t - min(taps) for taps in info.mit_mot_in_slices]  # the first element is that of the lowest tap
        for x, first, taps in zip(carry["rewritten"], firsts, info.mit_mot_in_slices, strict=True):
            arguments += [x[first + tap] for tap in taps]
        for window, taps in zip(carry["windows"], self.taps, strict=True):
            arguments += [window[tap] for tap in taps]  # a tap is negative: so many places from the end
        arguments += [*carry["carried"], *self.fixed]
        results = self.conversion.of_graph(self.op.fgraph, arguments)
        rewritten = list(carry["rewritten"])
        for k, taps in enumerate(info.mit_mot_out_slices):
            for tap in taps:
                rewritten[k] = rewritten[k].at[firsts[k] + tap].set(results.pop(0))
        traced = results[: len(self.taps) + info.n_nit_sot]
        carried = results[len(traced) : len(traced) + info.n_untraced_sit_sot]
        windows = [[*window[1:], y] for window, y in zip(carry["windows"], traced, strict=False)]
        after = {"step": t + 1, "rewritten": rewritten, "windows": windows, "carried": carried}
        if info.as_while:
            after["goes_on"] = tg.logical_not(tg.cast(results[-1], "bool"))
        return after, traced


def last(whole: Any, length: Any, *, is_filled: bool = False) -> Any:
    """The last elements, as many as a buffer has; a loop that has ended before has fewer, or with `is_filled` zeros."""
    more = whole.shape[0] - length  # of lengths that are known to be the same an int
    if isinstance(more, int) and not more:
        return whole
    if is_filled:
        missing = tg.zeros((tg.maximum(-tg.as_variable(more), 0), *whole.shape[1:]), dtype=whole.type.dtype)
        whole = tg.concatenate([whole, missing], 0)
    return whole[tg.maximum(more, 0) :]
