"""`Ensemble`: several models of one kind as one program, whose weights have one more axis."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tg.errors import InputError, message
from tg.gradient.vmap import vmap
from tg.nn.blocks import taken
from tg.nn.layers import sizes
from tg.nn.module import Initial, Module, leaves, rebuilt
from tg.ops.random.keys import split
from tg.ops.shape import stack
from tg.variables.conversion import as_variable
from tg.variables.structure import short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tg.graph.nodes import Variable


class Ensemble(Module):
    """Several models of one kind, each with weights of its own: one loss trains them, one call asks all.

    `ensemble[k]` is the k-th member, a model of the slices of all weights.

    Args:
        net: a module without values.
        number: of members.
        axis: (of a call) that of members in the inputs, or one for each input; None: all are given the same.
        training, key: (of a call) go to the members if they take them; the k-th has the k-th of `split(key, number)`.
    Shapes:
        inputs and results of `net`, with an axis of members in front of the results
    Raises:
        InputError: net is no module, or has values; number is no positive integer.
    Source:
        Lakshminarayanan et al. 2017, deep ensembles; torch.func.stack_module_state.
    Example:
        >>> import tg
        >>> net = tg.nn.Sequential(tg.nn.Dense(2, 8), tg.tanh, tg.nn.Dense(8, 1))
        >>> ensemble = tg.nn.randomized(tg.nn.Ensemble(net, 5), tg.random.key(0))
        >>> ensemble(tg.matrix("x", "float32")).type, ensemble[0](tg.matrix("x", "float32")).type
        (float32[5, ?, 1], float32[?, 1])
    """

    def __init__(self, net: Module, number: int) -> None:
        sizes("Ensemble", number=number)
        if not isinstance(net, Module):
            raise InputError(message(f"Ensemble: net: found {short(net)}, needed a module"))
        for path, leaf, _ in leaves(net):
            if not isinstance(leaf, Initial):
                hint = "tg.nn.randomized(tg.nn.Ensemble(net, number), key) draws the weights of all members"
                raise InputError(message(f"Ensemble: net: found a value of {path}, needed a model without", hint=hint))
        self.number = number
        self.members = rebuilt(net, lambda _, part: _of_all(part, number) if isinstance(part, Initial) else part)

    def __call__(
        self, *inputs: Any, axis: Any = None, training: bool | None = None, key: Any = None, **options: Any
    ) -> Any:
        weights = list({id(leaf): leaf for _, leaf, _ in leaves(self.members)}.values())
        keys = None if key is None else split(key, self.number)

        def of_one(own: list[Variable], own_key: Any, args: tuple[Any, ...]) -> Any:
            model = self._with(dict(zip(map(id, weights), own, strict=True)))
            return model(*args, **taken(model, training, own_key), **options)

        return vmap(of_one, (0, None if key is None else 0, axis))(weights, keys, inputs)

    def __getitem__(self, k: int) -> Any:
        if not isinstance(k, int) or not -self.number <= k < self.number:
            raise IndexError(message(f"Ensemble: member: found {short(k)}, needed one of {self.number}"))
        return self._with({id(leaf): as_variable(leaf)[k] for _, leaf, _ in leaves(self.members)})

    def __iter__(self) -> Iterator[Any]:
        return map(self.__getitem__, range(self.number))

    def __len__(self) -> int:
        return self.number

    def _with(self, weights: dict[int, Any]) -> Any:
        """The model with other weights in place of those of all members."""
        return rebuilt(self.members, lambda _, part: weights.get(id(part), part))


def _of_all(weight: Initial, number: int) -> Initial:
    """A weight of each member, along a new first axis."""
    initial = Initial((number, *weight.shape), functools.partial(_drawn, draw=weight.draw), weight.dtype)
    initial.where = weight.where
    return initial


def _drawn(key: Any, shape: tuple[int, ...], dtype: str, *, draw: Callable[..., Variable]) -> Variable:
    """Each member's draw, of a key of its own."""
    keys = split(key, shape[0])
    return stack([draw(keys[k], shape[1:], dtype) for k in range(shape[0])])
