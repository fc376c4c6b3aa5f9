import copy
import math
import struct

import numpy as np
import pytest

import tg
from tg.graph.checks import Descriptor
from tg.graph.frozen import FrozenCheck, FrozenGraph, Node
from tg.graph.function_graph import freeze
from tg.graph.nodes import Constant, Variable
from tg.graph.op import Op
from tg.graph.text.parser import parse
from tg.graph.text.printer import to_text, to_text_with_constants
from tg.ops.catalog import FAMILIES
from tg.types.tensor_type import TensorType


class Hold(Op):
    value: object
    flag: bool = False

    def infer(self, x):
        return (x,)

    def perform(self, x):
        return (x.copy(),)


class Hidden(Hold):
    opaque = True


OPS = {fn.name: fn for family in FAMILIES for fn in family.elementwise}
OPS |= {op.__name__: op for family in FAMILIES for op in family.ops}
OPS |= {"Hold": Hold, "Hidden": Hidden}

X = TensorType("float64", (None, 3))


def one_node(op):
    return FrozenGraph(1, [X, X], [], [Node(op, (0,), (1,))], [1])


def of_constant(array):
    array = np.asarray(array)
    return FrozenGraph(0, [TensorType(array.dtype, array.shape)], [Constant(array.copy())], [], [0])


def again(graph):
    text, constants = to_text_with_constants(graph)
    found = parse(text, OPS, constants)
    assert found == graph
    assert found.types == graph.types
    assert found.names == graph.names
    assert to_text(found) == text
    return found


def body(*lines):
    return "\n".join(("tg 1", "graph(%0 x: float64[?, 3]) {", *lines, "}"))


def refusal(text, ops=OPS, constants=None):
    with pytest.raises(tg.TextError) as caught:
        parse(text, ops, constants)
    return str(caught.value)


# --- what a text looks like -------------------------------------------------------------------------------------------


def test_a_program_is_printed_as_documented():
    x, y = tg.tensor("x", shape=(None, 3)), tg.scalar("y")
    z = tg.sum(tg.named(tg.exp(x) * 2.0, "scaled rate"), axis=-1) + y
    assert to_text(freeze([x, y], [z, y])) == (
        """tg 1
graph(%0 x: float64[?, 3], %1 y: float64[]) {
  %2 = const float64[] 2.0
  %3 = exp(%0) : float64[?, 3]
  %4 "scaled rate" = multiply(%3, %2) : float64[?, 3]
  %5 = Reduce{fn=add, axes=(-1,)}(%4) : float64[?]
  %6 = add(%5, %1) : float64[?]
  return %6, %1
}
"""
    )


def test_checks_and_inner_graphs_are_printed_as_documented():
    text = """tg 1
graph @g0(%0: float64[?]) {
  %1 = const int64[] 0
  %2 = Reduce{fn=maximum, axes=(-1,)}(%0) : float64[]
  %3 = AxisLength{axis=-1}(%0) : int64[]
  %4 = greater(%3, %1) : bool[]
  check %4 shows (%3) DomainError "maximum: found an array of no elements, needed at least one" hint "none"
  return %2
}
graph(%0 x: float64[?], %1: bool[], %2: int64[]) {
  %3 = exp(%0) : float64[?]
  %4, %5 = Call{graph=@g0}(%3) : float64[], int64[9]
  check %1 shows (%2, %2) TgError "" inner @g0
  return %4
}
"""
    assert to_text(parse(text, OPS)) == text


def test_a_call_with_checks_makes_the_round_trip():
    x = tg.vector("x")
    (y,) = tg.call(lambda v: (tg.max(v),), tg.exp(x))
    text = to_text(freeze([x], [y]))
    assert ' TgError "" inner @g0\n' in text
    again(freeze([x], [y]))


def test_provenance_is_a_comment_that_is_left_out_unless_asked_for():
    x = tg.vector("x")
    graph = freeze([x], [tg.exp(x)])
    assert "#" not in to_text(graph)
    text = to_text(graph, provenance=True)
    assert "  # test_text.py:" in text
    assert " in test_provenance_is_a_comment" in text
    assert parse(text, OPS) == graph


def test_a_field_equal_to_its_default_is_left_out():
    assert "Hold{value=1}(" in to_text(one_node(Hold(1)))
    assert "Hold{value=1, flag=True}(" in to_text(one_node(Hold(1, flag=True)))
    assert "Hold{value=1, flag=0}(" in to_text(one_node(Hold(1, 0)))


# --- fields -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        (True, "True"),
        (1, "1"),
        (-(1 << 70), "-0x400000000000000000"),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (0.1, "0.1"),
        (5e-324, "5e-324"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (math.nan, "nan"),
        (struct.unpack("<d", b"\1\0\0\0\0\0\xf8\xff")[0], "nan(0xfff8000000000001)"),
        (complex(-0.0, math.inf), "complex(-0.0, inf)"),
        ("float64", '"float64"'),
        ('"\\\n\r\t\u2028\ud800µ', '"\\"\\\\\\n\\r\\t\\u{2028}\\u{d800}µ"'),
        ((), "()"),
        ((1,), "(1,)"),
        ((1, (True, (None,)), "a"), '(1, (True, (None,)), "a")'),
        (OPS["add"], "add"),
        (OPS["exp"].op, "exp{}"),
        (OPS["MatMul"](), "MatMul{}"),
        (OPS["Reduce"](OPS["add"], (-1,)), "Reduce{fn=add, axes=(-1,)}"),
        ((OPS["exp"].op, Hold(OPS["exp"])), "(exp{}, Hold{value=exp})"),
    ],
)
def test_every_kind_of_field_is_printed_and_parsed_exactly(value, text):
    graph = one_node(Hold(value))
    assert f"Hold{{value={text}}}(%0)" in to_text(graph)
    again(graph)


def test_an_inner_graph_is_printed_once_and_before_its_use():
    inner = one_node(OPS["exp"].op)
    twin = one_node(OPS["exp"].op)
    outer = one_node(Hold((inner, Hold(twin))))
    graph = one_node(Hold((outer, inner)))
    text = to_text(graph)
    assert text.index("graph @g0(") < text.index("graph @g1(") < text.index("graph(")
    assert "Hold{value=(@g0, Hold{value=@g0})}" in text
    assert "Hold{value=(@g1, @g0)}" in text
    again(graph)


def test_graphs_nested_in_graphs_make_the_round_trip():
    graph = one_node(OPS["exp"].op)
    for _ in range(50):
        graph = one_node(Hold(graph))
    again(graph)


@pytest.mark.parametrize("value", [np.float64(1.0), object(), [1], {"a": 1}.keys, b"bytes", (1, (b"",))])
def test_an_op_that_holds_another_kind_of_value_is_printed_and_refused(value):
    op = Hold.__new__(Hold)
    object.__setattr__(op, "value", value)
    object.__setattr__(op, "flag", False)
    object.__setattr__(op, "_key", id(value))
    object.__setattr__(op, "_hash", id(value))
    text = to_text(one_node(op))
    assert "= opaque Hold{value=" in text
    assert "0x7" not in text
    assert "Hold holds what text cannot" in refusal(text)


def test_an_op_that_says_it_is_opaque_is_printed_and_refused():
    text = to_text(one_node(Hidden(1)))
    assert "= opaque Hidden{value=1}(%0)" in text
    assert "Hidden holds what text cannot" in refusal(text)
    assert "Hidden is opaque" in refusal(text.replace("opaque ", ""))


# --- constants --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.float64(2.0), "float64[] 2.0"),
        (np.array([[1, 2], [3, 4]], np.int8), "int8[2, 2] [[1, 2], [3, 4]]"),
        (np.array([True, False]), "bool[2] [True, False]"),
        (np.array([0.1, 3.4028235e38, 1e-45], np.float32), "float32[3] [0.1, 3.4028235e+38, 1e-45]"),
        (np.array([0.1, 65504, 6e-8], np.float16), "float16[3] [0.1, 65500.0, 6e-08]"),
        (np.array([2**64 - 1], np.uint64), "uint64[1] [18446744073709551615]"),
        (np.array([np.nan, -np.inf, -0.0]), "float64[3] [nan, -inf, -0.0]"),
        (np.array([0xFF800001, 0x7FC00000], np.uint32).view(np.float32), "float32[2] [nan(0xff800001), nan]"),
        (np.array([1 - 0.1j], np.complex64), "complex64[1] [complex(1.0, -0.1)]"),
        (np.zeros((3, 0, 2)), "float64[3, 0, 2] []"),
        (np.zeros((1, 1)), "float64[1, 1] [[0.0]]"),
    ],
)
def test_small_constants_are_written_out(array, text):
    graph = of_constant(array)
    assert f"%0 = const {text}\n" in to_text(graph)
    again(graph)


def test_bfloat16_constants_are_written_with_the_digits_that_tell_them_apart():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    graph = of_constant(np.array([0.1, -0.0, np.inf, 3.3895e38, np.nan], ml_dtypes.bfloat16))
    assert "const bfloat16[5] [0.1, -0.0, inf, 3.39e+38, nan]" in to_text(graph)
    again(graph)


def test_large_constants_stand_beside_the_text():
    big = np.arange(65.0)
    text, constants = to_text_with_constants(of_constant(big))
    assert len(constants) == 1
    assert f'const float64[65] data "{next(iter(constants))}"' in text
    again(of_constant(big))
    again(of_constant(np.arange(100).astype(tg.TensorType("bfloat16").numpy_dtype)))
    assert "data" not in to_text(of_constant(np.arange(64)))


def test_equal_large_constants_share_a_digest_and_others_do_not():
    arrays = [np.zeros(100), np.zeros(100), -np.zeros(100), np.zeros((10, 10)), np.zeros(100, np.int64)]
    graph = FrozenGraph(0, [TensorType(a.dtype, a.shape) for a in arrays], [Constant(a) for a in arrays], [], range(5))
    assert len(to_text_with_constants(graph)[1]) == 4
    again(graph)


def test_a_large_constant_that_is_missing_or_another_is_refused():
    text, constants = to_text_with_constants(of_constant(np.arange(65.0)))
    assert "is not among the 0 given beside the text" in refusal(text)
    assert "needed float64[65]" in refusal(text, constants=dict.fromkeys(constants, np.arange(66.0)))
    assert "needed float64[65]" in refusal(text, constants=dict.fromkeys(constants, np.zeros(65)))


def test_parsing_never_takes_over_an_array_that_can_be_written():
    text, constants = to_text_with_constants(of_constant(np.arange(65.0)))
    given = {key: a.copy() for key, a in constants.items()}
    graph = parse(text, OPS, given)
    next(iter(given.values()))[:] = 7
    assert graph.constants[0].data[1] == 1.0


def test_a_strided_constant_is_written_by_its_elements():
    again(of_constant(np.arange(24).reshape(4, 6)[::2, ::-1].T))
    again(of_constant(np.arange(400, dtype=np.complex128).reshape(20, 20)[::2, ::-1].T))


# --- names, checks ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x", "µ_1", "two words", "", "a\nb", "check", "return", "None", "1", '"', "nan"])
def test_values_keep_their_names(name):
    graph = FrozenGraph(1, [X, X], [], [Node(OPS["exp"].op, (0,), (1,))], [1], (), {0: name, 1: name})
    again(graph)


def test_a_constant_and_every_result_may_have_a_name():
    x = tg.vector("x")
    graph = freeze([x], tg.call(lambda v: (tg.exp(v), v + 1.5), x))
    named = FrozenGraph(
        graph.arity, graph.types, graph.constants, graph.nodes, graph.outputs, graph.checks,
        {k: f"v{k}" for k in range(len(graph.types))},
    )  # fmt: skip
    again(named)


def test_checks_keep_every_part():
    shown = TensorType("int64")
    inner = (Descriptor("BoundsError", "a {0}", "h"), Descriptor("TgError", "", None, (Descriptor("ShapeError", "b"),)))
    checks = [
        FrozenCheck(1, (), Descriptor("ShapeError", 'quote " {0}', "")),
        FrozenCheck(1, (0, 0), Descriptor("TgError", "", None, inner)),
    ]
    again(FrozenGraph(2, [shown, TensorType("bool")], [], [], [0], checks))


def test_the_checks_of_an_inner_graph_that_lost_some_are_written_out():
    x = tg.vector("x")
    graph = freeze([x], [tg.call(tg.max, x)])
    (check,) = graph.checks
    other = Descriptor("TgError", "", None, (*check.descriptor.inner, Descriptor("DomainError", "more")))
    changed = FrozenGraph(
        graph.arity, graph.types, graph.constants, graph.nodes, graph.outputs, [check._replace(descriptor=other)]
    )
    assert "inner (DomainError" in to_text(changed)
    again(changed)


def test_a_graph_without_inputs_or_nodes_or_outputs_is_a_program():
    again(FrozenGraph(0, [], [], [], []))
    again(FrozenGraph(1, [X], [], [], [0, 0]))


# --- texts written by hand --------------------------------------------------------------------------------------------


def test_labels_and_the_place_of_constants_are_free():
    free = parse(
        body(
            "%a = exp(%0) : float64[?, 3] # a comment",
            "%two = const float64[] 2",
            "%b = add(%a, %two) : float64[?, 3]",
            "return %b, %a,",
        ),
        OPS,
    )
    assert to_text(free) == (
        body("  %1 = const float64[] 2.0", "  %2 = exp(%0) : float64[?, 3]", "  %3 = add(%2, %1) : float64[?, 3]",
             "  return %3, %2") + "\n"
    )  # fmt: skip


def test_white_space_and_comments_mean_nothing():
    spread = "tg # version\n1 graph (\n%0 x\n:float64[ ?,3 ],){%1=exp\n(%0)\n:float64[?,3]return %1}# end"
    assert parse(spread, OPS) == one_node(OPS["exp"].op)


def test_a_declared_type_may_be_more_or_less_precise_than_the_inferred_one():
    parse(body("%1 = exp(%0) : float64[2, 3]", "return %1"), OPS)
    parse(body("%1 = exp(%0) : float64[?, ?]", "return %1"), OPS)


@pytest.mark.parametrize(
    ("text", "place", "fact"),
    [
        ("", (1, 1), "found the end of the text, needed 'tg 1'"),
        ("tg 2\n", (1, 4), "found version 2, needed 1"),
        ("tg 1\ngraph @a() {return}", (2, 20), "found the end of the text, needed 'graph'"),
        ("tg 1\ngraph @a() {return} graph @a", (2, 27), "found a second graph @a, needed another name"),
        ("tg 1\ngraph() {return} graph", (2, 18), "found 'graph', needed the end of the text"),
        ("tg 1\ngraph(%0: float65[]) {return}", (2, 11), "found 'float65', needed a dtype"),
        ("tg 1\ngraph(%0: float64[-1]) {return}", (2, 19), "found '-1', needed a length, '?' or ']'"),
        ("tg 1\ngraph(%0: float64[], %0: float64[]) {return}", (2, 22), "found a second definition of %0"),
        (body("return %1"), (3, 8), "found '%1', needed a value that is defined above"),
        (body("%1 = exp(%0)"), (4, 1), "found '}', needed ':'"),
        (body("%1 = expp(%0) : float64[?, 3]"), (3, 6), "found expp, needed an op that is known"),
        (body("%1 = exp(%0) : float32[?, 3]"), (3, 6), "exp: found the type float32[?, 3], needed float64[?, 3]"),
        (body("%1 = exp(%0) : float64[?, 4]"), (3, 6), "exp: found the type float64[?, 4], needed float64[?, 3]"),
        (body("%1 = exp(%0) : float64[?]"), (3, 6), "exp: found the type float64[?], needed float64[?, 3]"),
        (body("%1, %2 = exp(%0) : float64[?, 3]"), (3, 1), "exp: found 2 values, needed 1"),
        (body("%1 = exp(%0) : float64[?, 3], float64[]"), (3, 6), "found the type float64[?, 3], float64[]"),
        (body("%1 = Reduce{fn=add, axes=(-3,)}(%0) : float64[?]"), (3, 6), "axis -3 is out of range"),
        (body("%1 = MatMul(%0) : float64[?, 3]"), (3, 6), "missing 1 required positional argument"),
        (body("%1 = Reduce{fn=add}(%0) : float64[?]"), (3, 6), "needed fn, axes, total"),
        (body("%1 = Reduce{fn=add, fn=add}(%0) : float64[?]"), (3, 21), "found the field fn twice, needed it once"),
        (body("%1 = Reduce{fn=MatMul, axes=()}(%0)"), (3, 16), "found MatMul, needed an elementwise function"),
        (body("%1 = exp{a=1}(%0)"), (3, 6), "exp is an elementwise function, which has no fields: found a"),
        (body("%1 = Hold{value=@g}(%0)"), (3, 17), "found '@g', needed a graph that is defined above"),
        (body("%1 = Hold{value=(1)}(%0)"), (3, 19), "found ')', needed ','"),
        (body("%1 = Hold{value=}(%0)"), (3, 17), "found '}', needed the value of a field"),
        (body("%1 = Hold{value=nan(1)}(%0)"), (3, 17), "found 0x1, needed the bits of a NaN"),
        (body('%1 = Hold{value="\\q"}(%0)'), (3, 17), "found the escape \\q"),
        (body('%1 = Hold{value="a}(%0)'), (3, 17), "found a string without its end, needed a token"),
        (body("%1 = Hold{value='a'}(%0)"), (3, 17), 'found "\'", needed a token'),
        (body("%1 = Hold{value=" + "(" * 500 + "}(%0)"), (3, 117), "nested more than 100 deep"),
        (body("%1 = const float64[?] [1.0]"), (3, 23), "needed known lengths"),
        (body("%1 = const float64[2] [1.0]"), (3, 27), "found ']', needed ','"),
        (body("%1 = const float64[1] [1.0, 2.0]"), (3, 27), "found ',', needed ']'"),
        (body("%1 = const float64[] True"), (3, 22), "found True, needed an element of float64"),
        (body("%1 = const float32[] 1e39"), (3, 22), "found 1e+39, needed a value of float32"),
        (body("%1 = const int8[] 1.0"), (3, 19), "found 1.0, needed an element of int8"),
        (body("%1 = const int8[] 128"), (3, 19), "found 128, needed a value of int8"),
        (body("%1 = const bool[] 1"), (3, 19), "found 1, needed an element of bool"),
        (body("%1, %2 = const int8[] 1"), (3, 5), "found 2 values, needed one for a constant"),
        (body("%1 = const float16[] nan(0x17e00)"), (3, 22), "needed the bits of a NaN of float16"),
        (body('check %0 ShapeError "a"'), (3, 7), "found a condition of type float64[?, 3], needed bool[]"),
        (body("exp(%0)"), (3, 1), "found 'exp', needed a value, 'check' or 'return'"),
    ],
)
def test_an_error_names_the_place_and_what_was_found_and_needed(text, place, fact):
    said = refusal(text)
    assert said.startswith("text: line {}, column {}: ".format(*place))
    assert fact in said


def test_an_error_shows_the_line_with_a_caret_under_the_place():
    said = refusal(body("    %1 = exp(%9) : float64[?, 3]")).splitlines()
    assert said[1:] == ["  3  %1 = exp(%9) : float64[?, 3]", "              ^"]


def test_an_error_in_a_very_long_line_shows_the_part_around_the_place():
    said = refusal(body(f"%1 = const float64[1000] [{', '.join(['1.0'] * 999)}]"))
    assert max(map(len, said.splitlines())) < 140
    assert said.splitlines()[1].strip().endswith("1.0]")


def test_an_unknown_op_is_answered_with_a_close_name():
    assert "hint: exp is close" in refusal(body("%1 = expp(%0) : float64[?, 3]"))


def test_a_check_names_an_error_class_of_tg():
    text = 'tg 1 graph(%0: bool[]) { check %0 Valueerror "a" return %0 }'
    assert "found Valueerror, needed an error class of tg" in refusal(text)


@pytest.mark.parametrize("cut", range(0, 700, 7))
def test_a_text_that_ends_early_is_a_text_error(cut):
    x = tg.matrix("x")
    text = to_text(freeze([x], [tg.call(lambda v: tg.max(v, axis=0) + v[3], x)]))
    assert len(text) > 700
    refusal(text[:cut])


# --- size -------------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_program_of_20_000_nodes_is_printed_and_parsed():
    x = y = tg.vector("x")
    for k in range(10_000):
        y = tg.sin(y) + 0.5 * k
    again(freeze([x], [y]))


def test_frozen_graphs_copy_as_themselves_or_equal():
    graph = one_node(Hold(one_node(OPS["exp"].op)))
    assert copy.deepcopy(graph.nodes[0].op) is graph.nodes[0].op


def test_every_op_of_core_is_in_a_family_so_that_texts_may_name_it():
    def below(cls):
        return {cls, *(c for child in cls.__subclasses__() for c in below(child))}

    layouts = {"OfChannels", "OfLayout"}
    abstract = {
        "Op",
        "Windowed",
        "_Transform",
        "_Scaled",
        "_OfSymmetric",
        "Sized",
        "Elementwise",
        "Attending",
        "OfGradient",
        "OwnDerivative",
        "Shares",
        *layouts,
    }
    missing = {c.__name__ for c in below(Op) if c.__module__.startswith("tg.ops.") and OPS.get(c.__name__) is not c}
    opaque = {c.__name__ for c in below(Op) if c.opaque}  # which texts do not hold
    assert missing - abstract - opaque == set()


def test_a_variable_is_not_mistaken_for_an_elementwise_function():
    assert isinstance(tg.vector("x"), Variable)
    assert "opaque" in to_text(one_node(Hold((tg.vector("x"),))))
