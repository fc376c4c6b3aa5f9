"""Recurrent layers: `RNN`, `GRU`, `LSTM`, with PyTorch's names of weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from tg.nn.layers import sizes, within
from tg.nn.module import Module, parameter
from tg.ops.nn import recurrent

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.types.choices import Nonlinearity

WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


class _Recurrent(Module):
    """The base of the three layers: their weights, one of each for every layer and direction."""

    _gates: ClassVar[int] = 1

    def __init__(
        self,
        inner: int,
        width: int,
        layers: int = 1,
        *,
        bias: bool = True,
        bidirectional: bool = False,
        axis: int = 0,
    ) -> None:
        sizes(type(self).__name__, inner=inner, width=width, layers=layers)
        draw, gates = within(width), self._gates * width
        for layer in range(layers):
            size = inner if layer == 0 else width * (2 if bidirectional else 1)
            for direction in ("", "_reverse") if bidirectional else ("",):
                shapes = ((gates, size), (gates, width), (gates,), (gates,))
                for name, shape in list(zip(WEIGHTS, shapes, strict=True))[: 4 if bias else 2]:
                    setattr(self, f"{name}_l{layer}{direction}", parameter(shape, draw))
        self._options: dict[str, Any] = {"axis": axis, "bidirectional": bidirectional}

    def _weights(self) -> dict[str, Any]:
        """The lists that the functions of `tg.nn` take."""
        by_kind = {kind: [w for name, w in self.parts.items() if name.startswith(f"{kind}_l")] for kind in WEIGHTS}
        return {kind: weights or None for kind, weights in by_kind.items()}


class RNN(_Recurrent):
    """h' = tanh(x w_ih' + b_ih + h w_hh' + b_hh), step by step.

    Args:
        inner, width: how many numbers a step of x and the state have.
        layers: each is given the states of the one before.
        bidirectional, axis: as `tg.nn.rnn` has them.
        nonlinearity: "tanh" or "relu".
        lengths: (of a call) how many steps of each padded sequence count, as `tg.nn.rnn` has it.
    Returns:
        (of a call) the last layer's states of all steps, and the last state of every layer and direction.
    Shapes:
        x (t, n, inner), state (layers, n, width), lengths (n) -> (t, n, width), (layers, n, width);
        twice with `bidirectional`
    Raises:
        InputError: a size is no positive integer.
    Source:
        torch.nn.RNN, whose names of weights and first values it has.
    Example:
        >>> import tg
        >>> layer = tg.nn.randomized(tg.nn.RNN(3, 5), tg.random.key(0))
        >>> states, last = layer(tg.tensor("x", "float32", (None, None, 3)))
        >>> states.type, last.type
        (float32[?, ?, 5], float32[1, ?, 5])
    """

    def __init__(
        self, inner: int, width: int, layers: int = 1, *, nonlinearity: Nonlinearity = "tanh", **options: Any
    ) -> None:
        super().__init__(inner, width, layers, **options)
        self.nonlinearity = nonlinearity

    def __call__(self, x: Any, state: Any = None, *, lengths: Any = None) -> tuple[Variable, Variable]:
        own = self._weights() | self._options | {"nonlinearity": self.nonlinearity}
        return recurrent.rnn(x, state=state, lengths=lengths, **own)


class GRU(_Recurrent):
    """Gated recurrent units, as `tg.nn.gru` computes them.

    Args, shapes, errors:
        as `RNN`; weights have three gates.
    Source:
        torch.nn.GRU, whose names of weights and first values it has.
    Example:
        >>> import tg
        >>> layer = tg.nn.randomized(tg.nn.GRU(3, 5, bidirectional=True), tg.random.key(0))
        >>> states, last = layer(tg.tensor("x", "float32", (None, None, 3)))
        >>> states.type, last.type
        (float32[?, ?, 10], float32[2, ?, 5])
    """

    _gates = 3

    if TYPE_CHECKING:  # checkers make one of the fields else, as of a dataclass

        def __init__(
            self,
            inner: int,
            width: int,
            layers: int = 1,
            *,
            bias: bool = True,
            bidirectional: bool = False,
            axis: int = 0,
        ) -> None: ...

    def __call__(self, x: Any, state: Any = None, *, lengths: Any = None) -> tuple[Variable, Variable]:
        return recurrent.gru(x, state=state, lengths=lengths, **self._weights(), **self._options)


class LSTM(_Recurrent):
    """Long short-term memory, as `tg.nn.lstm` computes it.

    Args, shapes, errors:
        as `RNN`; weights have four gates, and states are pairs of h and c.
    Source:
        torch.nn.LSTM, whose names of weights and first values it has.
    Example:
        >>> import tg
        >>> layer = tg.nn.randomized(tg.nn.LSTM(3, 5, 2), tg.random.key(0))
        >>> states, (h, c) = layer(tg.tensor("x", "float32", (None, None, 3)))
        >>> states.type, h.type
        (float32[?, ?, 5], float32[2, ?, 5])
    """

    _gates = 4

    if TYPE_CHECKING:  # checkers make one of the fields else, as of a dataclass

        def __init__(
            self,
            inner: int,
            width: int,
            layers: int = 1,
            *,
            bias: bool = True,
            bidirectional: bool = False,
            axis: int = 0,
        ) -> None: ...

    def __call__(self, x: Any, state: Any = None, *, lengths: Any = None) -> tuple[Variable, tuple[Variable, Variable]]:
        return recurrent.lstm(x, state=state, lengths=lengths, **self._weights(), **self._options)
