import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import tg
from tg.functions.show import known_ops, parse
from tg.graph.checks import Descriptor
from tg.graph.frozen import FrozenCheck, FrozenGraph, Node
from tg.graph.function_graph import FunctionGraph, freeze
from tg.graph.nodes import Constant
from tg.graph.op import Op
from tg.graph.text.parser import parse as parse_with
from tg.graph.text.printer import to_text, to_text_with_constants
from tg.types.dtypes import DTYPES, numpy_dtype
from tg.types.tensor_type import TensorType


class Keep(Op):
    value: object

    def infer(self, *inputs):
        return inputs


OPS = {**known_ops(), "Keep": Keep}

any_float = st.integers(0, 2**64 - 1).map(lambda bits: struct.unpack("<d", struct.pack("<Q", bits))[0])
floats = st.one_of(any_float, st.floats())
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(10**6000), 10**6000),
    floats,
    st.builds(complex, floats, floats),
    st.text(st.characters()),
    st.sampled_from(sorted(DTYPES)),
    st.sampled_from([tg.add, tg.exp, tg.exp.op, OPS["MatMul"](), OPS["ArgSort"](-1)]),
)


def held(value):
    x = TensorType("float32", (None,))
    return FrozenGraph(1, [x, x], [], [Node(Keep(value), (0,), (1,))], [1, 0])


fields = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=4).map(tuple), inner.map(Keep), inner.map(held)),
    max_leaves=12,
)
names = st.dictionaries(st.integers(0, 1), st.text(st.characters()))


def again(graph):
    text, constants = to_text_with_constants(graph)
    found = parse_with(text, OPS, constants)
    assert found == graph
    assert (found.types, found.names) == (graph.types, graph.names)
    assert to_text_with_constants(found)[0] == text
    assert to_text(graph, provenance=True).split("\n", 1)[0] == "tg 1"
    assert parse_with(to_text(graph, provenance=True), OPS, constants) == graph


@given(fields, names)
def test_any_field_and_any_name_make_the_round_trip(value, given_names):
    graph = held(value)
    again(FrozenGraph(graph.arity, graph.types, [], graph.nodes, graph.outputs, (), given_names))


@st.composite
def arrays(draw):
    dtype = numpy_dtype(draw(st.sampled_from(DTYPES)))
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=4)))
    count = int(np.prod(shape))
    if dtype.kind == "b":
        return np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)), bool).reshape(shape)
    size = count * dtype.itemsize
    raw = draw(st.binary(min_size=size, max_size=size))
    return np.frombuffer(bytearray(raw), dtype).reshape(shape)


@given(st.lists(arrays(), max_size=3))
def test_constants_of_any_bits_make_the_round_trip(found):
    constants = [Constant(a) for a in found]
    again(FrozenGraph(0, [c.type for c in constants], constants, [], range(len(constants))))


text_of = st.text(st.characters(), max_size=20)
descriptors = st.recursive(
    st.builds(
        Descriptor,
        st.sampled_from(["ShapeError", "BoundsError", "TgError"]),
        text_of,
        st.none() | text_of,
        stated=st.booleans(),
    ),
    lambda inner: st.builds(
        Descriptor, st.just("TgError"), st.just(""), st.none(), st.lists(inner, min_size=1, max_size=3).map(tuple)
    ),
    max_leaves=5,
)


shown = st.lists(st.just(1), max_size=4).map(tuple)


@given(st.lists(st.builds(FrozenCheck, st.just(0), shown, descriptors), max_size=4))
def test_any_checks_make_the_round_trip(checks):
    again(FrozenGraph(2, [TensorType("bool"), TensorType("int64")], [], [], [], checks))


STEPS = [
    lambda a, b, k: tg.exp(a),
    lambda a, b, k: a + b,
    lambda a, b, k: a * (0.1 * k),
    lambda a, b, k: a - tg.sum(b, axis=-1, keepdims=True),
    lambda a, b, k: tg.maximum(a, b[:, k % 3 : k % 3 + 1]),
    lambda a, b, k: tg.where(a > b, a, b),
    lambda a, b, k: tg.named(tg.cumsum(a, axis=k % 2), f"step {k}"),
    lambda a, b, k: a + tg.constant(np.arange(3.0)),
    lambda a, b, k: a + tg.constant(np.full((99, 1), k))[0],
    lambda a, b, k: tg.call(lambda u, v: u @ v.T @ u, a, b),
    lambda a, b, k: tg.call(lambda u, v: (u[v.shape[0] - 1 : , :], u + v), a, b)[1],
    lambda a, b, k: tg.cast(tg.cast(a, "int32"), "float64"),
    lambda a, b, k: a + tg.max(b, axis=0) + b[k % 3],
    lambda a, b, k: tg.reshape(a, (a.shape[1], a.shape[0])).T,
    lambda a, b, k: a + tg.arange(b.shape[1]) * a.shape[0],
]  # fmt: skip


@st.composite
def programs(draw):
    rows = draw(st.sampled_from([None, 4]))
    inputs = [tg.tensor("x", shape=(rows, 3)), tg.tensor("y", shape=(rows, 3))]
    values = list(inputs)
    for k in range(draw(st.integers(0, 12))):
        step = draw(st.sampled_from(STEPS))
        values.append(step(draw(st.sampled_from(values)), draw(st.sampled_from(values)), k))
    outputs = draw(st.lists(st.sampled_from(values), max_size=3))
    return freeze(inputs, outputs)


@given(programs())
def test_any_program_makes_the_round_trip(graph):
    again(graph)


@given(programs())
def test_a_program_thawed_and_frozen_again_is_the_same_text(graph):
    text = to_text(graph)
    assert to_text(FunctionGraph.thaw(graph).freeze()) == text
    constants = to_text_with_constants(graph)[1]
    assert to_text(FunctionGraph.thaw(parse(text, constants)).freeze()) == text
