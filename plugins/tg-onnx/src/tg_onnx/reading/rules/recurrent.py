"""Recurrent layers: RNN, GRU and LSTM, in one or both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import tg

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg import Variable
    from tg_onnx.reading.node import Node
    from tg_onnx.reading.table import Rules

    Function = Callable[[Any], Any]


def _function(name: str, alpha: float | None, beta: float | None) -> Function:
    """The function that an attribute names, with its numbers."""
    a = {"LeakyRelu": 0.01, "ThresholdedRelu": 1.0, "HardSigmoid": 0.2, "Elu": 1.0, "Affine": 1.0}
    a.update({"ScaledTanh": 1.0})
    first = a.get(name, 1.0) if alpha is None else alpha
    second = {"HardSigmoid": 0.5, "ScaledTanh": 1.0}.get(name, 0.0) if beta is None else beta
    functions: dict[str, Function] = {
        "Sigmoid": tg.sigmoid,
        "Tanh": tg.tanh,
        "Relu": tg.relu,
        "Affine": lambda x: first * x + second,
        "LeakyRelu": lambda x: tg.where(x < 0, first * x, x),
        "ThresholdedRelu": lambda x: tg.where(x > first, x, 0),
        "ScaledTanh": lambda x: first * tg.tanh(second * x),
        "HardSigmoid": lambda x: tg.clip(first * x + second, 0, 1),
        "Elu": lambda x: tg.where(x < 0, first * tg.expm1(tg.minimum(x, 0)), x),
        "Softsign": tg.nn.softsign,
        "Softplus": tg.softplus,
    }
    return functions[name]


class Layer:
    """A recurrent node but for its directions: operands, functions and how steps are taken."""

    __slots__ = ("batch_first", "clip", "directions", "functions", "node", "width", "x")

    def __init__(self, node: Node, defaults: Sequence[str]) -> None:
        self.node = node
        way = node.attr("direction", "forward")
        self.directions = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}[way]
        self.batch_first = bool(node.attr("layout", 0))
        self.x = tg.swapaxes(node[0], 0, 1) if self.batch_first else node[0]
        self.width = node.attr("hidden_size") or node[2].shape[-1]
        names = node.attr("activations") or [*defaults] * len(self.directions)
        alphas, betas = node.attr("activation_alpha") or [], node.attr("activation_beta") or []
        numbers: Any = lambda values, k: values[k] if k < len(values) else None  # noqa: E731
        self.functions = [_function(n, numbers(alphas, k), numbers(betas, k)) for k, n in enumerate(names)]
        clip = node.attr("clip")
        self.clip: Function = (lambda v: v) if not clip else (lambda v: tg.clip(v, -clip, clip))

    def of(self, k: int, direction: int) -> Variable | None:
        """Operand k for a direction."""
        return self.node[k][direction] if self.node.has(k) else None

    def state(self, k: int, direction: int) -> Any:
        """The first state that operand k gives, zeros unless it is there."""
        if not self.node.has(k):
            return tg.zeros((self.x.shape[1], self.width), self.x.dtype)
        return self.node[k][:, direction] if self.batch_first else self.node[k][direction]

    def gates(self, direction: int) -> tuple[Variable, Variable, Variable | None]:
        """Inputs times weights for all steps at once, with the first biases; the other weights and biases."""
        w, r, both = self.node[1][direction], self.node[2][direction], self.of(3, direction)
        inputs = tg.matmul(self.x, tg.transpose(w))
        if both is None:
            return inputs, tg.transpose(r), None
        half = both.shape[0] // 2
        return inputs + both[:half], tg.transpose(r), both[half:]

    def run(self, step: Any, start: tuple[Variable, ...], inputs: Variable, *, back: bool) -> Any:
        """Take steps in one direction; what lies behind the end of a sequence changes nothing and gives zeros."""
        lengths = self.node.get(4)
        if lengths is None:
            return tg.scan(lambda carry, v: _both(step(carry, v)), start, inputs, reverse=back)
        steps = tg.arange(inputs.shape[0])
        lengths = tg.cast(lengths, "int64")

        def masked(carry: Any, parts: Any) -> Any:
            v, number = parts
            inside = tg.expand_dims(number < lengths, 1)
            new = step(carry, v)
            kept_state = tuple(tg.where(inside, a, b) for a, b in zip(new, carry, strict=True))
            return kept_state, tg.where(inside, new[0], 0)

        return tg.scan(masked, start, (inputs, steps), reverse=back)

    def results(self, outcomes: list[Any]) -> list[Variable]:
        """All states, and the last ones, of all directions."""
        axis = 2 if self.batch_first else 1
        rows = [tg.swapaxes(ys, 0, 1) if self.batch_first else ys for _, ys in outcomes]
        lasts = [
            tg.stack([last[k] for last, _ in outcomes], 1 if self.batch_first else 0)
            for k in range(len(outcomes[0][0]))
        ]
        return [tg.stack(rows, axis), *lasts]


def _both(new: tuple[Variable, ...]) -> tuple[tuple[Variable, ...], Variable]:
    return new, new[0]


def _rnn(node: Node) -> list[Variable]:
    """h' = f(x w' + h r' + biases)."""
    layer, outcomes = Layer(node, ["Tanh"]), []
    for k, back in enumerate(layer.directions):
        inputs, r, bias = layer.gates(k)
        function = layer.functions[k]

        def step(carry: Any, v: Any, r: Any = r, bias: Any = bias, function: Any = function) -> Any:
            total = v + tg.matmul(carry[0], r)
            return (function(layer.clip(total if bias is None else total + bias)),)

        outcomes.append(layer.run(step, (layer.state(5, k),), inputs, back=back))
    return layer.results(outcomes)


def _gru(node: Node) -> list[Variable]:
    """h' = (1 - z) n + z h, with gates z, r and n in this order."""
    layer, outcomes, n = Layer(node, ["Sigmoid", "Tanh"]), [], None
    n = layer.width
    late = bool(node.attr("linear_before_reset", 0))
    for k, back in enumerate(layer.directions):
        inputs, r, bias = layer.gates(k)
        f, g = layer.functions[2 * k : 2 * k + 2]
        extra = tg.zeros((3 * n,), inputs.dtype) if bias is None else bias

        def step(carry: Any, v: Any, r: Any = r, b: Any = extra, f: Any = f, g: Any = g) -> Any:
            (h,) = carry
            clip = layer.clip
            gates = f(clip(v[:, : 2 * n] + tg.matmul(h, r[:, : 2 * n]) + b[: 2 * n]))
            z, reset = gates[:, :n], gates[:, n:]
            inner = (
                reset * (tg.matmul(h, r[:, 2 * n :]) + b[2 * n :])
                if late
                else (tg.matmul(reset * h, r[:, 2 * n :]) + b[2 * n :])
            )
            return ((1 - z) * g(clip(v[:, 2 * n :] + inner)) + z * h,)

        outcomes.append(layer.run(step, (layer.state(5, k),), inputs, back=back))
    return layer.results(outcomes)


def _lstm(node: Node) -> list[Variable]:
    """c' = f c + i g and h' = o tanh(c'), with gates i, o, f and g in this order, and peepholes from c."""
    layer, outcomes = Layer(node, ["Sigmoid", "Tanh", "Tanh"]), []
    n, joined = layer.width, bool(node.attr("input_forget", 0))
    for k, back in enumerate(layer.directions):
        inputs, r, bias = layer.gates(k)
        inputs = inputs if bias is None else inputs + bias
        peep = layer.of(7, k)
        functions = layer.functions[3 * k : 3 * k + 3]

        def step(carry: Any, v: Any, r: Any = r, p: Any = peep, functions: Any = functions) -> Any:
            h, c = carry
            f, g, last = functions
            total = v + tg.matmul(h, r)
            i, o, forget, cell = (total[:, j * n : (j + 1) * n] for j in range(4))
            if p is not None:
                i, forget = i + p[:n] * c, forget + p[2 * n :] * c
            i = f(layer.clip(i))
            forget = 1 - i if joined else f(layer.clip(forget))
            c = forget * c + i * g(layer.clip(cell))
            o = f(layer.clip(o if p is None else o + p[n : 2 * n] * c))
            return o * last(c), c

        outcomes.append(layer.run(step, (layer.state(5, k), layer.state(6, k)), inputs, back=back))
    return layer.results(outcomes)


RULES: Final[Rules] = {"GRU": _gru, "LSTM": _lstm, "RNN": _rnn}
