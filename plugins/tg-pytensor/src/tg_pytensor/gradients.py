"""Ops that change derivatives alone, and graphs that have one of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from pytensor.gradient import DisconnectedType, disconnected_type

import tg
from tg.backend import Op, message
from tg_pytensor.registry import convert, is_own

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_pytensor.conversion import Conversion


@final
class Undefined(Op):
    """The operand, which has no derivative; importing a graph removes it.

    Shapes:
        x (...) -> y (...)
    """

    only_derives = True
    named_identity = ""  # none: only an identity

    def infer(self, x: Any) -> tuple[Any, ...]:
        """The operand's type."""
        return (x,)

    def perform(self, *arrays: Any) -> tuple[Any, ...]:
        """A copy."""
        return (arrays[0].copy(),)

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Any:
        """None that anybody knows of."""
        raise tg.NotDifferentiable(message("undefined_grad: found a derivative asked for, needed none"))


def without_slope(x: Any) -> Any:
    """x, whose derivative is 0 whatever comes back, NaN too."""
    return tg.where(tg.constant(False), x, tg.stop_gradient(x))


convert.add({
    "DisconnectedGrad": lambda op, node, x: tg.stop_gradient(x),
    "ZeroGrad": lambda op, node, x: without_slope(x),
    "UndefinedGrad": lambda op, node, x: Undefined()(x),
    "GradClip": lambda op, node, x: tg.grad_clip(x, op.clip_lower_bound, op.clip_upper_bound),
    "GradScale": lambda op, node, x: tg.grad_scale(x, op.multiplier),
})  # fmt: skip


@convert.register("OpFromGraph", "ScalarInnerGraphOp", whole=True)
def inlined(conversion: Conversion, node: Any) -> Any:
    """The op's graph, written out; with the derivative that was given with it, if one was."""
    op, operands = node.op, [conversion[v] for v in node.inputs]
    own = is_own(type(op)) and type(op).__name__ != "OpFromGraph"  # of these tg knows the derivative of the graph
    overrides = (
        None if own else getattr(op, name, None) for name in ("lop_overrides", "grad_overrides", "pullback_overrides")
    )
    if all(one is None for one in overrides):
        return conversion.of_graph(op.fgraph, operands)

    @tg.custom_vjp
    def apply(*xs: Any) -> Any:
        return tuple(conversion.of_graph(op.fgraph, xs))

    def forward(*xs: Any) -> Any:
        ys = apply(*xs)
        return ys, (xs, ys)

    apply.defvjp(forward, lambda residuals, dys: pulled_back(conversion, node, residuals[0], residuals[1], dys))
    return apply(*operands)


def pulled_back(conversion: Conversion, node: Any, xs: Sequence[Any], ys: Sequence[Any], dys: Sequence[Any]) -> Any:
    """The cotangents of a node's inputs, as its op makes them of stand-ins for inputs, outputs and cotangents."""
    inputs, outputs = ([v.type() for v in each] for each in (node.inputs, node.outputs))
    slopes = [disconnected_type() if dy is None else v.type() for v, dy in zip(outputs, dys, strict=True)]
    pullback = node.op.pullback if hasattr(node.op, "pullback") else node.op.L_op  # until 2.38
    inner = conversion.beside([*inputs, *outputs, *slopes], [*xs, *ys, *dys])
    gradients = pullback(inputs, outputs, slopes)
    return tuple(None if isinstance(d.type, DisconnectedType) else inner[d] for d in gradients)
