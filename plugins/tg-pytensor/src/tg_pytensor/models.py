"""Models of PyMC: their densities, gradients and draws as functions of tg."""

from __future__ import annotations

import difflib
import functools
import math
import re
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from pytensor.graph.fg import FunctionGraph

import tg
from tg.backend import message
from tg_pytensor.conversion import from_pytensor
from tg_pytensor.updates import is_generator

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class ConvertedModel:
    """A model of PyMC as tg knows it: the density of its parameters, transformed as PyMC samples them.

    The variables of PyTensor that have values, such as those of `pm.Data`, are shared variables here, too, which keep
    values of their own: `refresh` takes what PyTensor's have now.
    """

    inputs: tuple[tg.Variable, ...]
    """The parameters, by the names and in the order of `model.value_vars`."""
    logp: tg.Variable
    """The logarithm of their density and that of what was observed, as `model.logp()` is."""
    shared: dict[str, tg.Shared]

    def __init__(self, model: Any) -> None:
        self._model = model
        converted = from_pytensor(model.value_vars, self._wanted([model.logp()]))
        self.inputs, (self.logp,), self._shared = converted
        self.shared = {v.name: s for v, s in self._shared.items() if v.name is not None}

    @functools.cached_property
    def deterministics(self) -> dict[str, tg.Variable]:
        """The values of `pm.Deterministic` variables, and of parameters before they were transformed."""
        model = self._model
        untransformed = [v for v in model.unobserved_value_vars if v not in model.value_vars]
        values = {**dict(zip(model.value_vars, self.inputs, strict=True)), **self._shared}
        outputs = from_pytensor((), self._wanted(untransformed), values).outputs
        return {v.name: value for v, value in zip(untransformed, outputs, strict=True)}

    def _wanted(self, graphs: list[Any]) -> list[Any]:
        return graphs if self._model.check_bounds else unchecked(graphs)

    @property
    def continuous(self) -> list[tg.Variable]:
        """The parameters with respect to which there is a gradient."""
        return [x for x in self.inputs if np.dtype(x.type.dtype).kind == "f"]

    def initial_point(self, random_seed: Any = None) -> dict[str, np.ndarray[Any, Any]]:
        """A point to begin with, as PyMC finds it."""
        return dict(self._model.initial_point(random_seed))

    def refresh(self) -> None:
        """Give the shared variables the values that those of PyTensor have now, as after `pm.set_data`."""
        for theirs, ours in self._shared.items():
            if not is_generator(theirs):
                ours.set_value(theirs.get_value(borrow=True))

    def logp_fn(self, backend: str | None = None) -> PointFunction:
        """The function of a point that gives the logarithm of its density."""
        return PointFunction(self.inputs, self.logp, backend)

    def value_and_grad(self, backend: str | None = None, *, flat: bool = False) -> Any:
        """The compiled function that gives the logarithm of the density, and its gradient.

        The gradient is one vector of the continuous parameters, in the order of PyMC's `DictToArrayBijection`.

        Args:
            backend: "c", "numba" or another that is installed.
            flat: the function takes the continuous parameters as one such vector, too, and after it those of integers;
                it is a `tg.Function`, and nothing stands between it and a sampler.
        Returns:
            A function of a point: of a mapping as `model.initial_point()` gives it, or of its parts by their names.
        Raises:
            ParameterValueError: by the function, where PyMC's does, too.
        Example:
            >>> f = tg_pytensor.from_pymc(model).value_and_grad("c")
            >>> value, slope = f(model.initial_point())
        """
        parts = self.continuous
        slopes = tg.grad(self.logp, parts)
        slope = tg.concatenate([tg.ravel(d) for d in slopes])
        if not flat:
            return PointFunction(self.inputs, (self.logp, slope), backend)
        vector = tg.tensor("parameters", parts[0].type.dtype, (self.size,))
        givens = dict(zip(parts, self._pieces(vector), strict=True))
        rest = [x for x in self.inputs if x not in givens]
        return tg.function(
            [vector, *rest], (self.logp, slope), givens=givens, backend=backend, on_unused_input="ignore"
        )

    def density(self, parameters: tg.Variable) -> tg.Variable:
        """The logarithm of the density of one vector, in a program of tg: of a sampler, or of many points by `tg.vmap`.

        Raises:
            InputError: there are parameters that are integers.
        """
        self.refuse_integers("density")
        values = dict(zip(self._model.value_vars, self._pieces(parameters), strict=True))
        return from_pytensor((), self._wanted([self._model.logp()]), {**values, **self._shared}).outputs[0]

    def refuse_integers(self, what: str) -> None:
        """Raise InputError where there are parameters that are integers."""
        names = {x.name for x in self.continuous}
        if rest := [str(x.name) for x in self.inputs if x.name not in names]:
            text = f"{what}: found parameters that are integers, {', '.join(rest)}, needed floats alone"
            raise tg.InputError(message(text))

    def unpacked(self, parameters: tg.Variable) -> dict[str, tg.Variable]:
        """The variables that a trace has, by their names there, of one vector of the continuous parameters."""
        model = self._model
        wanted = {v.name: v for v in model.unobserved_value_vars}
        values = dict(zip(model.value_vars, self._pieces(parameters), strict=True))
        named = [wanted[v.name] for v in model.unobserved_RVs]
        outputs = from_pytensor((), self._wanted(named), {**values, **self._shared}).outputs
        return {str(v.name): value for v, value in zip(named, outputs, strict=True)}

    @property
    def size(self) -> int:
        """Number of continuous parameters."""
        return sum(math.prod(self._lengths[x.name]) for x in self.continuous)

    def _pieces(self, vector: tg.Variable) -> list[tg.Variable]:
        """The continuous parameters, cut out of one vector."""
        pieces, start = [], 0
        for x in self.continuous:
            lengths = self._lengths[x.name]
            stop = start + math.prod(lengths)
            pieces.append(tg.reshape(vector[start:stop], lengths))
            start = stop
        return pieces

    @functools.cached_property
    def _lengths(self) -> dict[Any, tuple[int, ...]]:
        """The shapes of the parameters; PyMC compiles a function to find those that are not declared."""
        declared = {x.name: tuple(n for n in x.type.shape if isinstance(n, int)) for x in self.inputs}
        if all(len(declared[x.name]) == x.type.ndim for x in self.inputs):
            return declared
        return {name: np.shape(value) for name, value in self.initial_point(0).items()}

    def prior_predictive(self, backend: str | None = None, names: Iterable[str] | None = None) -> PointFunction:
        """A function without arguments: one draw of all random and deterministic variables, another at every call."""
        model = self._model
        return self._draws((), [*model.basic_RVs, *model.deterministics], backend, names)

    def posterior_predictive(self, backend: str | None = None, names: Iterable[str] | None = None) -> PointFunction:
        """A function of the parameters, as a trace holds them, that draws what was observed anew at every call."""
        model = self._model
        return self._draws(model.free_RVs, model.observed_RVs, backend, names)

    def _draws(
        self, inputs: Sequence[Any], wanted: Sequence[Any], backend: str | None, names: Iterable[str] | None
    ) -> PointFunction:
        """Variables of the model by their names, for given ones: of other draws the generators are left as they are."""
        chosen = [v for v in wanted if names is None or v.name in set(names)]
        shared = {theirs: ours for theirs, ours in self._shared.items() if not is_generator(theirs)}
        converted = from_pytensor(inputs, chosen, shared)
        outputs = dict(zip([v.name for v in chosen], converted.outputs, strict=True))
        return PointFunction(converted.inputs, outputs, backend)


class PointFunction:
    """A compiled function of the values of named variables: of a mapping, or of keywords."""

    def __init__(self, inputs: Sequence[tg.Variable], outputs: Any, backend: str | None) -> None:
        self.names = [str(x.name) for x in inputs]
        self.function = tg.function(list(inputs), outputs, backend=backend, on_unused_input="ignore")

    def __call__(self, point: Mapping[str, Any] | None = None, **values: Any) -> Any:
        """The outputs for a point. What a mapping has beside the variables is not looked at: a trace has more.

        Raises:
            InputError: a value is missing, or a keyword is the name of no variable.
        """
        merged = {**(point or {}), **values}
        missing = [name for name in self.names if name not in merged]
        if missing or not values.keys() <= set(self.names):
            raise misnamed(self.names, missing, list(merged if missing else values))
        return self.function(*[merged[name] for name in self.names])


def misnamed(names: Sequence[str], missing: Sequence[str], offered: Sequence[str]) -> tg.InputError:
    """The error of a point that lacks values, or has such that are unknown, with the names that may be meant."""
    unknown = [name for name in offered if name not in names]
    facts = [f"a value of {', '.join(unknown)}, which is unknown"] * bool(unknown)
    facts += [f"no value of {', '.join(missing)}"] * bool(missing)
    hints = []
    for name in unknown:
        transformed = [other for other in names if re.fullmatch(rf"{re.escape(name)}_[a-z0-9]+__", other)]
        near = difflib.get_close_matches(name, names, 1)
        if transformed:
            hints.append(f"{transformed[0]} is {name} as PyMC transforms it")
        elif near:
            hints.append(f"{near[0]} exists")
    text = f"point: found {', and '.join(facts)}, needed one of each of {', '.join(names) or 'nothing'}"
    return tg.InputError(message(text, hint="; ".join(hints) or None))


def unchecked(outputs: Sequence[Any]) -> list[Any]:
    """Graphs without PyMC's checks of parameters, as a model made with `check_bounds=False` wants them."""
    graph = FunctionGraph(outputs=list(outputs), clone=True, copy_inputs=False)
    for node in graph.toposort():
        if type(node.op).__name__ == "CheckParameterValue":
            graph.replace(node.outputs[0], node.inputs[0], import_missing=True)
    return list(graph.outputs)


def from_pymc(model: Any = None) -> ConvertedModel:
    """A model of PyMC for tg: its density, which tg differentiates and compiles, and its draws.

    Args:
        model: in a `with` block of a model that one by default.
    Raises:
        InputError: no model is given, and there is none around.
        NoRuleError: an op of the model's density has no rule.
    Example:
        >>> f = tg_pytensor.from_pymc(model).value_and_grad("c", flat=True)
    """
    return ConvertedModel(model_around() if model is None else model)


def model_around() -> Any:
    """The model whose `with` block this is.

    Raises:
        InputError: there is none.
    """
    pymc = sys.modules.get("pymc")
    model = None if pymc is None else pymc.Model.get_context(error_if_none=False)
    if model is None:
        hint = "from_pymc(model), or from_pymc() inside of `with model:`"
        raise tg.InputError(message("from_pymc: found no model, needed one", hint=hint))
    return model
