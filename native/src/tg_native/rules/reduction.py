"""Reductions: elements are folded in lanes, along the axis that lies densest in memory, whether it goes or stays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from tg.graph.frozen import Node
from tg.ops import reduction as t
from tg.ops.elementwise.arithmetic import maximum
from tg_native.loops import extremes
from tg_native.loops.folds import Fold, is_interleaved, narrow, rounds, working_dtype
from tg_native.loops.joins import join_totals
from tg_native.loops.pointwise import in_float32
from tg_native.loops.repeats import form_of, keys, once
from tg_native.plan.values import Space, collapsed, is_one

if TYPE_CHECKING:
    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Index
    from tg_native.kernels.lanes import Elements
    from tg_native.kernels.routine import Block
    from tg_native.loops.kernel import Kernel
    from tg_native.plan.values import Array, Value

VECTORS: Final = 4  # that are folded side by side, for an addition takes as long as four can begin


def reduce(op: t.Reduce, site: Site) -> Value:
    """Lanes along the axis that lies densest: an axis that stays (columns), or one that goes (rows)."""
    (value,) = site.inputs
    if not op.axes:
        return value
    x = site.memory(value)
    y = site.allocate(0) if site.types[0].shape else site.temporary(x.dtype, ())
    axes = [k + x.ndim for k in op.axes]
    rest = [k for k in range(x.ndim) if k not in axes]
    strides = y.strides if y.shape else ()
    lead = collapsed([x.shape[k] for k in rest], [[x.strides[k] for k in rest], strides])
    axes.sort(key=lambda k: is_one(x.strides[k]) and not is_one(x.shape[k]))  # the densest innermost
    body = collapsed([x.shape[k] for k in axes], [[x.strides[k] for k in axes]])
    _Reduction(op.fn, site, x, y, lead, body).write()
    return y if y.shape else site.scalar(site.first(y))


class _Reduction:
    """The loops of one reduction: axes of `lead` stay, those of `body` go."""

    def __init__(self, fn: Any, site: Site, x: Array, y: Array, lead: Space, body: Space) -> None:
        self.fn, self.site, self.x, self.y = fn, site, x, y
        self.lead, self.lead_strides = lead.shape, lead.strides
        self.body, self.body_strides = body.shape or (1,), body.strides[0] or (0,)
        self.parts: Array | None = None  # what each part has found of a total, where threads share the loop

    def write(self) -> None:
        """Choose the form, write it and call it."""
        dense = bool(self.lead) and is_one(self.lead_strides[0][-1]) and is_one(self.lead_strides[1][-1])
        by_columns = dense and not is_one(self.body_strides[-1])
        vectors = VECTORS if by_columns or self._is_dense else 1
        interleaved = not by_columns and is_interleaved(self.fn, self.x.dtype, self.body_strides[-1])
        along = self.lead[-1] if by_columns else self.body[-1] * (2 if interleaved else 1)
        kernel = self.site.kernel([working_dtype(self.fn, self.x.dtype)], vectors, along)
        for n in (*self.lead, *self.body, *self.lead_strides[0], *self.lead_strides[1], *self.body_strides):
            kernel.length(n)
        working = working_dtype(self.fn, self.x.dtype)
        step = ([Node(self.fn.op, (0, 1), (2,))], [working] * 3)
        self.site.divide(kernel, (*self.lead, *self.body), [step], [self.x.dtype])
        self.kernel, terms = kernel, self._terms(kernel, along, by_columns)

        def write_body() -> None:
            rule = self.site.rule(self.fn.op)
            self.fold = Fold(kernel, self.fn, rule, self.x.dtype, terms, interleaved=interleaved)
            self.source, self.target = kernel.read(self.x), kernel.write(self.y)
            (self._by_columns if by_columns else self._by_rows)()

        kinds, texts = form_of(v.viewed((), ()) for v in (self.x, self.y))
        spaces = self.lead, *self.lead_strides, self.body, self.body_strides
        once(self.site.forms, kernel, ("reduce", self.fn.op, *map(keys, spaces), kinds), texts, write_body)
        kernel.streams = True
        self.site.run(kernel)
        if self.parts is not None and kernel.share is not None:
            join_totals(self.site, self.fn, self.x.dtype, self.parts, kernel.share.parts, self.y)

    def _terms(self, kernel: Kernel, along: int | Length, by_columns: bool) -> int | None:
        """Number of elements that are folded into one lane, if it is known."""
        if any(type(n) is not int for n in self.body):
            return None
        lengths = [n for n in self.body if type(n) is int]
        return math.prod(lengths) if by_columns else math.prod(lengths[:-1]) * -(-along // kernel.body.lanes)

    @property
    def _is_dense(self) -> bool:
        return is_one(self.body_strides[-1])

    def _by_rows(self) -> None:
        """Lanes along the inner of the axes that go."""
        kernel, fold = self.kernel, self.fold
        step = self.body_strides[-1]
        is_total = not self.lead
        with kernel.loops(self.lead, first=True) as indices:
            start = kernel.moved(self.source, indices, self.lead_strides[0])
            fold.begin()
            with kernel.loops(self.body[:-1], first=is_total) as outer:
                row = kernel.moved(start, outer, self.body_strides[:-1])
                row = kernel.body.parts_at(row) if fold.each > 1 else row

                def element(block: Block) -> list[Elements]:
                    return [kernel.load(row, step, block)]

                rounds(kernel, [fold], self.body[-1], element, twice=True, first=is_total and len(self.body) == 1)
            if is_total and kernel.share is not None:
                self.parts = self.site.temporary(fold.working, (kernel.share.most,))
                total, place = fold.whole(), kernel.write(self.parts).moved(kernel.share.part)
            else:
                total, place = fold.result(), kernel.moved(self.target, indices, self.lead_strides[1])
            with kernel.body.of(0):
                kernel.body.store(total, place)

    def _by_columns(self) -> None:
        """Lanes along the inner of the axes that stay."""
        kernel, fold = self.kernel, self.fold
        step = self.body_strides[-1]
        with kernel.loops(self.lead[:-1], first=True) as indices:
            start = kernel.moved(self.source, indices, self.lead_strides[0][:-1])
            target = kernel.moved(self.target, indices, self.lead_strides[1][:-1])

            def columns(block: Block) -> None:
                fold.begin()
                with kernel.loops(self.body[:-1]) as outer:
                    place = kernel.moved(start, outer, self.body_strides[:-1])

                    def row(at: Index) -> Elements:
                        return kernel.load(kernel.moved(place, [at], [step]), 1, block)

                    fold.over(kernel.length(self.body[-1]), row)
                kernel.store(narrow(fold.total(), self.x.dtype), target, 1, block)

            kernel.blocks(self.lead[-1], columns, twice=True, first=len(self.lead) == 1)


def arg_reduce(op: t.ArgReduce, site: Site) -> Value:
    """The first element that none is better than; the first NaN."""
    x = site.memory(site.inputs[0])
    rest = [k for k in range(x.ndim) if k - x.ndim != op.axis]
    y = site.allocate(0) if rest else site.temporary("int64", ())
    lead = collapsed([x.shape[k] for k in rest], [[x.strides[k] for k in rest], y.strides])
    axis = Space((x.shape[op.axis],), ((x.strides[op.axis],),))
    columns = extremes.are_columns(axis, lead)
    vectors = VECTORS if columns or is_one(axis.strides[0][0]) else 1
    kernel = site.kernel([x.dtype, "int64"], vectors, lead.shape[-1] if columns else axis.shape[0])
    search = extremes.by_columns if columns else extremes.by_rows
    extreme = extremes.Extreme(kernel.body, x.dtype, op.fn is maximum)
    search(kernel, extreme, axis, lead, kernel.read(x), kernel.write(y))
    site.run(kernel)
    return y if rest else site.scalar(site.first(y))


RULES: Final[dict[object, Rule]] = {t.Reduce: reduce, t.ArgReduce: in_float32(arg_reduce)}
