"""Models of ONNX with random changes: each is read, or refused by tg.

    python -m tests.fuzz_onnx --count 30000 --seed 0

The models are those of ONNX's tests of nodes. A fifth of the changes is made in bytes; the others are of what a node
says, so that they come as far as its rule: attributes of other values, types and lengths, or gone; operands exchanged,
left out or too many; another op, other results, types, shapes, versions. Attributes and lengths may be as large as the
format allows, and nothing may take memory or time for that.
"""

from __future__ import annotations

import sys
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import onnx
from onnx import AttributeProto, ModelProto

import tg_onnx
from tests.fuzz_files import Format, changed_bytes, main
from tests.onnx_nodes.cases import collect, of_modules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from onnx import GraphProto, NodeProto

    from tests.onnx_nodes.cases import Case

LARGEST = 20_000  # bytes of a model that is changed
INTEGERS = (0, 1, -1, 2, 3, 7, -7, 1 << 31, 1 << 62, -(1 << 63))
FLOATS = (0.0, -1.0, 0.5, 1e30, float("inf"), float("nan"))
TEXTS = (b"", b"x", b"\xff\xfe", b"linear", b"constant", b"NOTSET", b"SAME_UPPER", b"VALID")
VERSIONS = (-5, 0, 1, 6, 7, 9, 11, 13, 17, 18, 21, 28, 99)
KINDS = 30  # numbers of element types, some that there are not


def write_models(cases: Callable[[], Iterable[Case]], folder: Path) -> list[Path]:
    """The models that are changed."""
    paths = []
    for case in cases():
        content = case.model.SerializeToString()
        if len(content) < LARGEST:
            paths.append(folder / f"{case.name}.onnx")
            paths[-1].write_bytes(content)
    return paths


def mutant(paths: list[Path], target: Path, seed: int) -> None:
    """Write the model of a seed."""
    rng = Random(seed)
    content = rng.choice(paths).read_bytes()
    if rng.random() < 0.2:
        target.write_bytes(changed_bytes(content, rng))
        return
    model = ModelProto.FromString(content)
    for _ in range(rng.randint(1, 2)):
        nodes = nodes_of(model.graph)
        if nodes:
            rng.choice(CHANGES)(rng, model, rng.choice(nodes))
    target.write_bytes(model.SerializeToString())


def nodes_of(graph: GraphProto) -> list[NodeProto]:
    """The nodes of a graph and of those inside it."""
    nodes = list(graph.node)
    for node in graph.node:
        for attribute in node.attribute:
            nodes += nodes_of(attribute.g)
    return nodes


def change_attribute(rng: Random, _: ModelProto, node: NodeProto) -> None:
    """Another value of the same type."""
    if not node.attribute:
        return
    a = rng.choice(list(node.attribute))
    match a.type:
        case AttributeProto.INT:
            a.i = rng.choice(INTEGERS)
        case AttributeProto.FLOAT:
            a.f = rng.choice(FLOATS)
        case AttributeProto.STRING:
            a.s = rng.choice(TEXTS)
        case AttributeProto.INTS:
            entries = changed_list(rng, list(a.ints))
            del a.ints[:]
            a.ints.extend(entries)
        case AttributeProto.FLOATS:
            del a.floats[:]
        case AttributeProto.TENSOR if a.t.dims:
            a.t.dims[0] = rng.choice(INTEGERS)
        case AttributeProto.TENSOR:
            a.t.data_type = rng.randrange(KINDS)
        case AttributeProto.GRAPH if a.g.output:
            del a.g.output[-1]


def changed_list(rng: Random, entries: list[int]) -> list[int]:
    """Integers with another entry, one more, one less, or all gone."""
    match rng.randrange(4):
        case 0:
            return []
        case 1 if entries:
            entries[rng.randrange(len(entries))] = rng.choice(INTEGERS)
        case 2:
            entries.append(1)
        case _:
            entries = entries[:-1]
    return entries


def drop_attribute(rng: Random, _: ModelProto, node: NodeProto) -> None:
    """One attribute less."""
    if node.attribute:
        node.attribute.pop(rng.randrange(len(node.attribute)))


def change_type(rng: Random, _: ModelProto, node: NodeProto) -> None:
    """An attribute of another type."""
    if node.attribute:
        rng.choice(list(node.attribute)).type = rng.randrange(14)  # type: ignore[assignment]


def names_of(model: ModelProto) -> list[str]:
    """The names that an operand may have, that of none among them."""
    graph = model.graph
    return ["", *(v.name for v in (*graph.input, *graph.initializer)), *(n for node in graph.node for n in node.output)]


def change_operand(rng: Random, model: ModelProto, node: NodeProto) -> None:
    """Another operand."""
    if node.input:
        node.input[rng.randrange(len(node.input))] = rng.choice(names_of(model))


def add_operand(rng: Random, model: ModelProto, node: NodeProto) -> None:
    """One operand more."""
    node.input.append(rng.choice(names_of(model)))


def drop_operand(_: Random, __: ModelProto, node: NodeProto) -> None:
    """One operand less."""
    if node.input:
        node.input.pop()


def change_op(rng: Random, _: ModelProto, node: NodeProto) -> None:
    """Another op of ONNX."""
    node.op_type = rng.choice(OPS)


def change_results(rng: Random, _: ModelProto, node: NodeProto) -> None:
    """One result more or less."""
    if node.output and rng.random() < 0.5:
        node.output.append("another")
    elif node.output:
        node.output.pop()


def change_input(rng: Random, model: ModelProto, _: NodeProto) -> None:
    """An input of another type."""
    if not model.graph.input:
        return
    tensor: Any = rng.choice(list(model.graph.input)).type.tensor_type
    match rng.randrange(5):
        case 0:
            tensor.elem_type = rng.randrange(KINDS)
        case 1 if tensor.shape.dim:
            rng.choice(list(tensor.shape.dim)).dim_value = rng.choice(INTEGERS)
        case 2 if tensor.shape.dim:
            tensor.shape.dim.pop()
        case 3 if tensor.shape.dim:
            rng.choice(list(tensor.shape.dim)).dim_param = "n"
        case _:
            tensor.shape.dim.add().dim_value = rng.choice((1, 2, 3))


def change_initializer(rng: Random, model: ModelProto, _: NodeProto) -> None:
    """An input of integers that is a constant, with one that is large or below 0."""
    inputs = [v for v in model.graph.input if v.type.tensor_type.elem_type == onnx.TensorProto.INT64]
    if inputs:
        value = rng.choice(inputs)
        dims = [d.dim_value for d in value.type.tensor_type.shape.dim]
        count = 1
        for n in dims:
            count *= n
        if 0 <= count <= 64:
            entries = [rng.choice((1, 2, 3, *INTEGERS)) for _ in range(count)]
            model.graph.initializer.append(onnx.helper.make_tensor(value.name, onnx.TensorProto.INT64, dims, entries))
            model.graph.input.remove(value)


def change_version(rng: Random, model: ModelProto, _: NodeProto) -> None:
    """Another version of an operator set."""
    if model.opset_import:
        model.opset_import[0].version = rng.choice(VERSIONS)


OPS = sorted({schema.name for schema in onnx.defs.get_all_schemas()})
CHANGES: tuple[Callable[[Random, ModelProto, NodeProto], None], ...] = (
    change_attribute, change_attribute, change_attribute, drop_attribute, change_type, change_operand, add_operand,
    drop_operand, change_op, change_results, change_input, change_initializer, change_version,
)  # fmt: skip
SAMPLE = (
    "attention", "averagepool", "gathernd", "gru", "if_", "loop", "lrn", "pad", "rangeop", "resize", "slice", "split",
)  # fmt: skip
MODELS = Format(partial(write_models, collect), mutant, tg_onnx.load)
SOME_MODELS = Format(partial(write_models, partial(of_modules, *SAMPLE)), mutant, tg_onnx.load)


if __name__ == "__main__":
    sys.exit(main(MODELS, __doc__))
