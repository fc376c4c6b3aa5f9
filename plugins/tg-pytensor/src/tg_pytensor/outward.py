"""Programs of tg as ops of PyTensor: for a PyMC model that is to use one, with its derivative."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType, disconnected_type
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op

import tg
from tg.backend import message
from tg_pytensor.conversion import placeholder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytensor.graph.basic import Variable

REAL = ("float16", "float32", "float64")


class Program(Op):
    """A program of tg, compiled when it is first called.

    Two ops are the same if they are of the same variables of tg.

    Args:
        inputs: variables of tg.
        outputs: what is computed of them.
        backend: as `tg.function` takes it.
    """

    __props__ = ("inputs", "outputs", "backend")

    def __init__(self, inputs: Sequence[tg.Variable], outputs: Sequence[tg.Variable], backend: str = "auto") -> None:
        self.inputs, self.outputs, self.backend = tuple(inputs), tuple(outputs), backend

    def __getstate__(self) -> dict[str, Any]:
        """All but what is compiled."""
        return {name: value for name, value in vars(self).items() if name != "function"}

    @functools.cached_property
    def function(self) -> tg.Function:
        """The program, compiled."""
        return tg.function(self.inputs, list(self.outputs), backend=self.backend, on_unused_input="ignore")

    def make_node(self, *arguments: Any) -> Apply:
        """A node, for operands of the program's dtypes and ranks.

        Raises:
            InputError: another number of operands.
            DtypeError: an operand of another dtype.
            ShapeError: an operand of another rank.
        """
        operands = [pt.as_tensor_variable(v) for v in arguments]
        if len(operands) != len(self.inputs):
            raise tg.InputError(message(f"{self}: found {len(operands)} operands, needed {len(self.inputs)}"))
        for k, (v, x) in enumerate(zip(operands, self.inputs, strict=True)):
            if v.type.dtype != x.type.dtype:
                raise tg.DtypeError(message(f"{self}: operand {k}: found {v.type.dtype}, needed {x.type.dtype}"))
            if v.type.ndim != x.type.ndim:
                raise tg.ShapeError(message(f"{self}: operand {k}: found {v.type}, needed {x.type}"))
        return Apply(self, operands, [pt.TensorType(y.type.dtype, y.type.shape)() for y in self.outputs])

    def perform(self, node: Apply, operands: Sequence[Any], cells: Sequence[list[Any]]) -> None:
        """Call the function."""
        for cell, y in zip(cells, self.function(*operands), strict=True):
            cell[0] = y

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Of which inputs each output has a derivative."""
        sources = [self._connected(y) for y in self.outputs]
        return [[k in own for own in sources] for k in range(len(self.inputs))]

    def _connected(self, y: tg.Variable) -> set[int]:
        if y.type.dtype not in REAL:
            return set()
        waiting, visited = [y], set()
        while waiting:
            v = waiting.pop()
            if id(v) not in visited:
                visited.add(id(v))
                waiting.extend(v.inputs)
        return {k for k, x in enumerate(self.inputs) if id(x) in visited and x.type.dtype in REAL}

    def L_op(  # noqa: N802
        self, inputs: Sequence[Variable], results: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> list[Any]:
        """The product of cotangents with the Jacobian: another program of tg."""
        told = [k for k, dy in enumerate(cotangents) if not isinstance(dy.type, DisconnectedType)]
        wanted = sorted(set().union(*(self._connected(self.outputs[k]) for k in told)))
        places = [tg.tensor(None, self.outputs[k].type.dtype, self.outputs[k].type.shape) for k in told]
        ys, xs = [self.outputs[k] for k in told], [self.inputs[k] for k in wanted]
        products = tg.vjp(
            ys, xs, [tg.specify_shape(d, y.shape) for d, y in zip(places, ys, strict=True)], disconnected="zero"
        )
        back: Any = Program([*self.inputs, *places], products, self.backend)
        casts = [pt.cast(cotangents[k], self.outputs[k].type.dtype) for k in told]
        gradients = dict(zip(wanted, back(*inputs, *casts, return_list=True), strict=True))
        return [gradients[k] if k in gradients else disconnected_type() for k in range(len(self.inputs))]

    def __str__(self) -> str:
        return f"tg[{', '.join(str(y.type) for y in self.outputs)}]"


def to_pytensor(
    function: Callable[..., Any] | Sequence[tg.Variable] | tg.Variable,
    outputs: Any = None,
    *,
    backend: str = "auto",
) -> Callable[..., Any]:
    """A program of tg as a function of PyTensor's variables, which PyTensor differentiates as it does its own ops.

    Args:
        function: a function of variables of tg, traced for the types of each call; or the inputs of a program.
        outputs: what is computed of the inputs, where these are given.
        backend: as `tg.function` takes it.
    Returns:
        A function that gives a variable of PyTensor, or a list of them if the program has several outputs.
    Raises:
        BackendUnavailable: the backend is not known, not installed or broken.
    Example:
        >>> logp = tg_pytensor.to_pytensor(lambda mu, y: -0.5 * tg.sum((y - mu) ** 2))
        >>> with pm.Model():
        ...     mu = pm.Normal("mu")
        ...     pm.Potential("y", logp(mu, data))
    """
    tg.backend(backend)
    if callable(function) and not isinstance(function, tg.Variable):
        return functools.partial(_traced, function, backend)
    inputs = [function] if isinstance(function, tg.Variable) else list(function)
    several = not isinstance(outputs, tg.Variable)
    program: Any = Program(inputs, list(outputs) if several else [outputs], backend)
    return functools.partial(program, return_list=several)


def _traced(function: Callable[..., Any], backend: str, *arguments: Any) -> Any:
    operands = [pt.as_tensor_variable(v) for v in arguments]
    inputs = [placeholder(v) for v in operands]
    result = function(*inputs)
    several = isinstance(result, list | tuple)
    program = Program(inputs, [tg.as_variable(y) for y in (result if several else [result])], backend)
    return program(*operands, return_list=several)
