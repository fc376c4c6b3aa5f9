"""`Exported`: a function as its exporter sees it, with names for all that it takes and gives."""

from __future__ import annotations

import functools
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, final

import numpy as np

from tg import plugin
from tg.functions import make
from tg.functions.backends import BackendChoice, backend
from tg.functions.compile import Setting, imported, link, prepared, requested
from tg.functions.names import distinct, names_of_inputs, names_of_outputs, names_of_shared
from tg.functions.retyped import stand_in
from tg.functions.shared import in_dtypes, snapshots
from tg.graph.nodes import Constant, Variable
from tg.graph.traversal import substitute
from tg.rewrite.driver import rewrite

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tg.exports.golden import Golden
    from tg.functions.compile import Program
    from tg.functions.compiled import Function
    from tg.functions.request import Request as FunctionRequest
    from tg.graph.frozen import FrozenGraph
    from tg.graph.op import Op
    from tg.link.linker import Request
    from tg.types.tensor_type import TensorType

    Array = np.ndarray[Any, Any]

Place = Literal["inputs", "constants"]


class State(NamedTuple):
    """A shared variable that a function updates: the value now, and the expression of the new one."""

    name: str
    variable: Variable
    array: Array
    new: Variable


class Weight(NamedTuple):
    """A shared variable that a function does not update, and its value now."""

    variable: Variable
    array: Array


class Lowered(NamedTuple):
    """The arguments of a linker's `compile` for an exported function, and the graph whose checks a status counts."""

    graph: FrozenGraph
    request: Request
    checked: FrozenGraph


@final
@dataclass(frozen=True, eq=False)
class Exported:
    """A function that is written for programs without tg: what a writer of `tg_exports` is given.

    Graphs take the inputs, then the state, then the weights, and give the outputs, then the new state. The names of all
    are unique: those of the user, and of parts of structures their places ("params.w").
    """

    name: str  # an identifier
    inputs: Sequence[Variable]  # of a call; lengths that are None are unknown, and `lengths` has those with names
    input_names: Sequence[str]
    outputs: Sequence[Variable]
    output_names: Sequence[str]
    weights: Mapping[str, Weight]  # of what is not updated; constants of the expression are constants of graphs
    state: Sequence[State]
    golden: Golden
    _: KW_ONLY
    _request: FunctionRequest

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The inputs of graphs: those of calls, of the state, of the weights."""
        return (*self.inputs, *(s.variable for s in self.state), *(w.variable for w in self.weights.values()))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the inputs of graphs."""
        return (*self.input_names, *(s.name for s in self.state), *self.weights)

    @property
    def results(self) -> tuple[Variable, ...]:
        """The outputs of graphs: those of calls, and the new state."""
        return (*self.outputs, *(s.new for s in self.state))

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The values of the state and of the weights now, as graphs take them behind the inputs."""
        return (*(s.array for s in self.state), *(w.array for w in self.weights.values()))

    @property
    def ones(self) -> tuple[tuple[int, int], ...]:
        """The axes of unknown length that have the length 1 in golden values: graphs are for these lengths.

        All other unknown lengths of the variables are not 1, unless the expression broadcasts along none of them.
        """
        shapes = [a.shape for a in (*self.golden.inputs.values(), *self.arrays)]
        pairs = enumerate(zip(self.variables, shapes, strict=True))
        return tuple((k, a) for k, (v, s) in pairs for a, n in enumerate(v.type.shape) if n is None and s[a] == 1)

    def graph(
        self,
        supported: Callable[[Op, tuple[TensorType, ...]], bool] | None = None,
        *,
        weights: Place = "inputs",
        sized: bool = False,
        mode: str | None = None,
    ) -> FrozenGraph:
        """The program: value-numbered, its checks explicit, rewritten by the general rules.

        Args:
            supported: whether a format has an op for operands of these types; all others are expanded, where they can
                be. None: all are kept.
            weights: whether the weights are inputs behind the state, or constants of the graph.
            sized: whether weights, and state that keeps its lengths, have those of their values now.
            mode: of rewriting, as for `tg.function`, whose is taken unless given; "off" leaves the expression as it is
                but for expansions.
        """
        setting = self._setting(self._request.options.choice)
        variables, results = self._over(weights)
        if sized:
            variables, results = self._sized(variables, results)
        ones = [(k, axis) for k, axis in self.ones if k < len(variables) and variables[k].type.shape[axis] is None]
        graph = imported(variables, results, ones, setting)
        rewrites = plugin.registry().rewrites(None)
        every: Callable[[Op, tuple[TensorType, ...]], bool] = lambda op, types: True  # noqa: E731
        return rewrite(
            graph, [rewrites], supported=supported or every, mode=mode or setting.rewrite_mode, exclude=setting.exclude
        )

    def lowered(self, name: str, *, weights: Place = "inputs", reuse: bool = False, **options: Any) -> Lowered:
        """The program as the linker of a backend is given it: rewritten for the backend, nothing compiled.

        Args:
            reuse: whether the new state may take the memory of the old one.
            options: the backend's own; the general ones are those of the function.
        Raises:
            NoRuleError: the backend lacks an op or a dtype.
        """
        setting, variables, results = self._for(name, weights, options, reuse=reuse)
        return Lowered(*requested(prepared(variables, results, self.ones, setting), setting))

    def compiled(self, name: str, *, weights: Place = "inputs", reuse: bool = False, **options: Any) -> Program:
        """The program, compiled by a backend: the rewritten graph, the executable, and the checks of its status.

        Args:
            reuse: whether the new state may take the memory of the old one.
            options: the backend's own; the general ones are those of the function.
        Raises:
            NoRuleError: the backend lacks an op or a dtype.
        """
        setting, variables, results = self._for(name, weights, options, reuse=reuse)
        again = functools.partial(prepared, variables, results, self.ones, setting)
        return link(again(), setting, again)

    def function(self, backend: str) -> Function:
        """A function of the inputs, the state and the weights, which gives the outputs and the new state.

        The state and the weights have the lengths that they have now.

        Raises:
            NoRuleError: the backend lacks an op or a dtype.
        """
        first = len(self.inputs)
        rest = zip(self.variables[first:], self.arrays, self.names[first:], strict=True)
        sized = {v: Variable(v.type.with_shape(array.shape), name=name) for v, array, name in rest}
        variables = [*self.inputs, *sized.values()]
        return make.function(
            variables, list(self.results), givens=sized, backend=backend, on_unused_input="ignore", name=self.name
        )

    def write_golden(self, path: Path) -> None:
        """Write the golden values as a `.npz`: arrays input.NAME, state.NAME, output.NAME, new.NAME, in this order."""
        groups = {
            "input": self.golden.inputs,
            "state": {s.name: s.array for s in self.state},
            "output": self.golden.outputs,
            "new": self.golden.state,
        }
        arrays = {f"{kind}.{name}": array for kind, group in groups.items() for name, array in group.items()}
        np.savez(path, **arrays)  # type: ignore[arg-type]

    def _for(
        self, name: str, weights: Place, options: Mapping[str, Any], *, reuse: bool
    ) -> tuple[Setting, Sequence[Variable], Sequence[Variable]]:
        choice = backend(name, **options)
        choice = BackendChoice(choice.name, choice.options, self._request.options.choice.general)
        return self._setting(choice, reuse=reuse), *self._over(weights)

    def _setting(self, choice: BackendChoice, *, reuse: bool = False) -> Setting:
        options, count, first = self._request.options, len(self.outputs), len(self.inputs)
        updates = tuple((count + k, first + k) for k in range(len(self.state)))
        return Setting(choice, options.mode, options.exclude, self.name, updates if reuse else (), updates)

    def _over(self, weights: Place) -> tuple[Sequence[Variable], Sequence[Variable]]:
        """The variables of a graph, and its results over them."""
        if weights == "inputs":
            return self.variables, self.results
        values: dict[int, Variable] = {id(w.variable): Constant(w.array, name) for name, w in self.weights.items()}
        return self.variables[: len(self.inputs) + len(self.state)], substitute(self.results, values)

    def _sized(
        self, variables: Sequence[Variable], results: Sequence[Variable]
    ) -> tuple[Sequence[Variable], Sequence[Variable]]:
        """The same over variables for state and weights whose lengths are known."""
        keeps = [self.golden.state[s.name].shape == s.array.shape for s in self.state]
        count, sized = len(self.inputs), list(variables)
        for k, (v, array) in enumerate(zip(variables[count:], self.arrays, strict=False), count):
            if k - count >= len(keeps) or keeps[k - count]:
                sized[k] = Variable(v.type.static.with_shape(array.shape), name=v.name)
        return sized, substitute(results, {id(v): new for v, new in zip(variables, sized, strict=True)})


def exported(f: Function, name: str, values: Golden) -> Exported:
    """A function as an exporter sees it, shared variables with the values that they have now."""
    request = f.request
    count, dtypes = len(request.inputs), request.options.choice.dtypes
    held = [*request.sources, *(t for t in request.targets if all(t is not s for s in request.sources))]
    over = [*request.variables[count:], *(stand_in(t, dtypes) for t in held[len(request.sources) :])]
    arrays = [in_dtypes(value.numpy, dtypes) for value in snapshots(held)]
    places = {id(s): k for k, s in enumerate(held)}
    input_names = names_of_inputs(request)
    state_names = names_of_shared(request.targets, input_names)
    new = request.results[request.count :]
    state = [
        State(name, over[places[id(t)]], arrays[places[id(t)]], value)
        for name, t, value in zip(state_names, request.targets, new, strict=True)
    ]
    updated = {id(t) for t in request.targets}
    rest = [k for k, s in enumerate(held) if id(s) not in updated]
    weight_names = names_of_shared([held[k] for k in rest], [*input_names, *state_names])
    return Exported(
        name,
        request.inputs,
        input_names,
        list(request.results[: request.count]),
        distinct(names_of_outputs(request), ()),
        {name: Weight(over[k], arrays[k]) for name, k in zip(weight_names, rest, strict=True)},
        state,
        values,
        _request=request,
    )
