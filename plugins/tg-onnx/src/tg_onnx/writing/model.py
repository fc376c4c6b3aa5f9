"""Models: a graph with names for all that it takes and gives, its weights, and what is told about it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, final

from onnx import ModelProto, helper

import tg
from tg.backend import Length
from tg_onnx.writing.graphs import write_graph
from tg_onnx.writing.scope import Scope, Shared, Value, info, needed, reads, tensor

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import numpy as np
    from onnx import NodeProto

    from tg.backend import FrozenGraph

    Array = np.ndarray[Any, Any]


def model_of(
    graph: FrozenGraph,
    *,
    name: str,
    opset: int,
    inputs: Sequence[str],
    outputs: Sequence[str],
    arrays: Mapping[str, Array],
    defaults: Collection[str] = (),
    dims: Mapping[tuple[int, int], str],
    metadata: Mapping[str, str],
) -> ModelProto:
    """A model that computes a program.

    Args:
        inputs: the names of the program's inputs.
        arrays: the values of some of these, which are weights, and no inputs of the model unless in `defaults`.
        defaults: the inputs that callers may leave out: they have a value in `arrays`.
        dims: names of unknown lengths, by an input's place and an axis.
    Raises:
        NoRuleError: ONNX has no way to say an op.
    """
    shared = Shared(opset, write=write_graph)
    shared.names.update(inputs, outputs)
    scope = Scope(shared)
    operands = [Value(n, graph.types[k].dtype, graph.symbolic[k].shape) for k, n in enumerate(inputs)]
    results = write_graph(graph, scope, operands)
    nodes = _named(scope, results, outputs)
    used: set[str] = set().union(*map(reads, nodes))
    texts = Dims(graph, inputs, dims)
    initializers = [tensor(v) for v in shared.constants.values() if v.name in used]
    initializers += [tensor(replace(v, data=arrays[v.name])) for v in operands if v.name in arrays]
    passed = [v for v in operands if v.name not in arrays or v.name in defaults]
    proto = helper.make_graph(
        nodes,
        name,
        [info(v, v.name, texts.of(v.shape, v.name)) for v in passed],
        [info(v, n, texts.of(v.shape, n)) for v, n in zip(results, outputs, strict=True)],
        initializers,
    )
    imports = [helper.make_opsetid("", opset)]
    model = helper.make_model(proto, opset_imports=imports, ir_version=helper.find_min_ir_version_for(imports))
    model.producer_name, model.producer_version = "tg", tg.__version__
    helper.set_model_props(model, dict(metadata))
    return model


def _named(scope: Scope, results: Sequence[Value], outputs: Sequence[str]) -> list[NodeProto]:
    """The nodes that the results need, which have the names of the outputs."""
    own = {name for node in scope.nodes for name in node.output}
    names: dict[str, str] = {}
    for v, output in zip(results, outputs, strict=True):
        if v.name in own and v.name not in names:
            names[v.name] = output
        else:
            scope.nodes.append(helper.make_node("Identity", [v.name], [output], name=output))
    nodes = needed(scope.nodes, [names.get(v.name, v.name) for v in results] + [*outputs, *names])
    for node in nodes:
        _rename(node, names)
    return nodes


def _rename(node: NodeProto, names: Mapping[str, str]) -> None:
    """Put other names into a node and the graphs in it."""
    for field in (node.input, node.output):
        for k, name in enumerate(field):
            field[k] = names.get(name, name)
    for attribute in node.attribute:
        if attribute.HasField("g"):
            for inner in attribute.g.node:
                _rename(inner, names)


@final
class Dims:
    """The names of lengths: those that users gave, else of the first input that has them."""

    def __init__(self, graph: FrozenGraph, inputs: Sequence[str], dims: Mapping[tuple[int, int], str]) -> None:
        self._texts: dict[object, str] = {}
        places = [(k, a, n) for k, _ in enumerate(inputs) for a, n in enumerate(graph.symbolic[k].shape)]
        places.sort(key=lambda place: place[:2] not in dims)
        for k, axis, n in places:
            if isinstance(n, Length) and n.atom is not None:
                self._texts.setdefault(n.atom, dims.get((k, axis), f"{inputs[k]}_{axis}"))

    def of(self, shape: Sequence[Any], name: str) -> list[int | str]:
        """The lengths of an input or output: numbers, and texts for others."""
        return [n if isinstance(n, int) else self._text(n) or f"{name}_{axis}" for axis, n in enumerate(shape)]

    def _text(self, length: Length | None) -> str | None:
        """A polynomial of known lengths, None if it has others."""
        terms = []
        for monomial, factor in () if length is None else length.terms.items():
            factors = [self._texts.get(atom) for atom in monomial]
            if None in factors:
                return None
            words = [*([str(factor)] if factor != 1 or not factors else []), *(text for text in factors if text)]
            terms.append("*".join(words))
        return " + ".join(sorted(terms, reverse=True)).replace("+ -", "- ") or None
