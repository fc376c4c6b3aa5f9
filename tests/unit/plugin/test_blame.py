"""An author's mistakes, as a user meets them: each is an error that names the rule, its plugin, the op and the line."""

import numpy as np
import pytest

import tg
from tg.errors import DebugError, PluginError, RewriteError, ShapeError
from tg.graph.function_graph import FunctionGraph
from tg.graph.op import Op
from tg.ops.elementwise.arithmetic import add
from tg.ops.reduction import Reduce
from tg.plugin import Rewrites
from tg.rewrite.driver import rewrite
from tg.rewrite.rule import Lowering, Pass, node_rule, rule

GIVEN = {"phase": "canonicalize", "kind": "exact", "why": "a test"}
WAYS = {"eager": None, "traced": lambda function, options: function}


class LibraryError(Exception):
    """An error that a library's users may catch."""


def raising(error):
    def rule(*arrays):
        raise error

    return rule


def called(outputs, *inputs, **options):
    arrays = [np.array([1.0, 2.0, 3.0]) + k for k in range(len(inputs))]
    return tg.function(list(inputs), outputs, backend="mine", **options)(*arrays)


def told(error):
    return "\n".join([str(error.value), *getattr(error.value, "__notes__", ())])


WRONG_RULES = [
    (
        {add: lambda x: x},
        PluginError,
        ("add: its rule for backend 'mine' raised TypeError: ", "called as   rule(float"),
    ),
    ({Reduce: lambda x: x}, PluginError, ("Reduce: its rule", "raised TypeError", "called as   rule(op, float64[?])")),
    ({tg.sin: raising(ValueError("no"))}, PluginError, ("sin: its rule for backend 'mine' raised ValueError: no",)),
    ({tg.sin: raising(LibraryError("no"))}, LibraryError, ("no", "in sin: its rule for backend 'mine'")),
    ({tg.sin: raising(MemoryError("no"))}, MemoryError, ("no", "in sin: its rule for backend 'mine'")),
    ({tg.sin: raising(ShapeError("wrong shape"))}, ShapeError, ("wrong shape", "in sin: its rule")),
    ({tg.sin: lambda x: None}, PluginError, ("sin: its rule for backend 'mine' gave None, needed float64[?]",)),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("rules", "kind", "texts"), WRONG_RULES, ids=[t[2][0][:40] for t in WRONG_RULES])
def test_a_rule_that_raises_is_named_with_plugin_op_and_line(install, way, rules, kind, texts):
    install(rules, jit=WAYS[way])
    x = tg.vector("x")
    y = tg.sum(tg.sin(x) + x)
    with pytest.raises(kind) as caught:
        called(y, x)
    for text in (*texts, "created at  test_blame.py", "y = tg.sum(tg.sin(x) + x)", "tg-mine 1.0, entry point mine = "):
        assert text in told(caught)
    if kind is PluginError and "None" not in texts[0]:
        assert caught.value.__cause__ is not None
    if kind is ShapeError:
        assert str(caught.value) == "wrong shape"


WRONG_OUTPUTS = [
    (lambda x: np.sin(x).astype(np.float32), "float32[3]"),
    (lambda x: np.sin(x)[:, None], "float64[3, 1]"),
    (lambda x: None, "None"),
    (lambda x: (np.sin(x),), "a tuple of 1"),
]


@pytest.mark.parametrize("output", ["numpy", "native"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("rule", "found"), WRONG_OUTPUTS, ids=[f for _, f in WRONG_OUTPUTS])
def test_an_output_of_another_type_is_an_error_that_names_the_op_and_the_plugin(install, way, rule, found, output):
    install({tg.sin: rule}, jit=WAYS[way])
    x = tg.vector("x")
    with pytest.raises(PluginError) as caught:
        called(tg.sin(x), x, output=output)
    assert f"found {found}, needed float64[?]" in told(caught) or f"gave {found}, needed float64[?]" in told(caught)
    for text in ("created at  test_blame.py", "plugin      tg-mine 1.0, entry point mine = "):
        assert text in told(caught)


class Later:
    """A rule that is right in its first calls and wrong then."""

    def __init__(self, wrong):
        self.wrong, self.count = wrong, 0

    def __call__(self, x):
        self.count += 1
        return np.sin(x) if self.count <= 2 else self.wrong(x)


@pytest.mark.parametrize("output", ["numpy", "native"])
@pytest.mark.parametrize(("rule", "found"), WRONG_OUTPUTS, ids=[f for _, f in WRONG_OUTPUTS])
def test_outputs_are_looked_at_in_every_call(install, rule, found, output):
    install({tg.sin: Later(rule)})
    x = tg.vector("x")
    f = tg.function([x], tg.sin(x), backend="mine", output=output)
    given = np.ones(3)
    for _ in range(2):
        np.testing.assert_array_equal(f(given), np.sin(given))
    with pytest.raises(PluginError) as caught:
        f(given)
    for text in (f"found {found}, needed float64[?]", "created at  test_blame.py", "plugin      tg-mine 1.0, entry "):
        assert text in told(caught)


def test_an_output_of_a_wrong_known_length_is_an_error(install):
    install({tg.sin: lambda x: np.sin(x)[:, :1]})
    x = tg.matrix("x", shape=(2, 3))
    with pytest.raises(PluginError, match=r"gave float64\[2, 1\], needed float64\[2, 3\]"):
        tg.function([x], tg.sin(x), backend="mine")(np.ones((2, 3)))


def test_an_update_of_another_dtype_is_an_error_and_stores_nothing(install):
    install({tg.sin: lambda x: np.sin(x).astype(np.float32)})
    s = tg.shared(np.ones(3), name="s")
    f = tg.function([], [], updates={s: tg.sin(s)}, backend="mine")
    with pytest.raises(PluginError, match=r"gave float32\[3\], needed float64\[\?\]"):
        f()
    assert s.get_value().tolist() == [1.0, 1.0, 1.0]


def test_an_op_whose_own_reference_gives_another_dtype_is_named():
    class Halved(Op):
        def infer(self, x):
            return (x,)

        def perform(self, x):
            return ((x / 2).astype(np.float32),)

    x = tg.vector("x")
    f = tg.function([x], Halved()(x), backend="perform")
    with pytest.raises(PluginError, match=r"output 0 of backend 'perform': found float32\[3\], needed") as caught:
        f(np.ones(3))
    assert "Halved.perform, " in told(caught)
    assert "created at" in told(caught)


# --- what debug mode sees besides


BUFFER = np.zeros(3)


def into_its_operand(x):
    x += 1.0
    return np.sin(x)


def into_one_buffer(x):
    return np.sin(x, out=BUFFER)


DISTURBING = [
    (into_its_operand, "sin: its rule for backend 'mine' wrote into operand 0"),
    (lambda x: x, "sin: its rule for backend 'mine' gave the memory of operand 0"),
    (lambda x: x[:], "sin: its rule for backend 'mine' gave the memory of operand 0"),
    (lambda x: into_one_buffer(x)[:], "sin: its rule for backend 'mine' gave memory that was written again before"),
    (into_one_buffer, "sin: its rule for backend 'mine' gave the same memory twice"),
]


@pytest.mark.parametrize(("rule", "fact"), DISTURBING, ids=[str(k) for k in range(len(DISTURBING))])
def test_debug_mode_names_the_rule_that_disturbs_others(install, rule, fact):
    install({tg.sin: rule})
    x, y = tg.vector("x"), tg.vector("y")
    z = tg.sin(x) * tg.sin(y)
    with pytest.raises(DebugError) as caught:
        called(z + x, x, y, mode="debug")
    assert str(caught.value).startswith(fact)
    for text in ("z = tg.sin(x) * tg.sin(y)", "test_blame.py", "tg-mine 1.0, entry point mine = "):
        assert text in str(caught.value)


def test_debug_mode_names_the_rule_whose_lengths_are_wrong(install):
    install({tg.sin: lambda x: np.sin(x)[:1]})
    x = tg.vector("x")
    with pytest.raises(PluginError, match=r"sin: its rule for backend 'mine' gave float64\[1\], needed float64\[3\]"):
        called(tg.sin(x), x, mode="debug")


def test_a_rule_may_overwrite_what_dies_and_give_a_declared_view(install):
    def sine(x, dying=frozenset()):
        return np.sin(x, out=x if 0 in dying else None)

    install({tg.sin: sine, tg.cos: lambda x: x}, views=frozenset({tg.cos}))
    x = tg.vector("x")
    found = called([tg.sin(tg.sin(x) + x), tg.sin(x)], x, mode="debug")
    np.testing.assert_array_equal(found[1], np.sin([1.0, 2.0, 3.0]))


# --- rewrites


def nothing_of(view):
    return 1 // 0


def foreign(node, outputs):
    return tg.vector("q")


def of_another_dtype(node, outputs):
    return tg.cast(node.inputs[0], "float32")


BAD = "rewrite bad raised "
WRONG_REWRITES = [
    (node_rule("bad", keys=(tg.sin,), apply=lambda n, o: 1 // 0, **GIVEN), PluginError, "rewrite bad raised ZeroDivi"),
    (
        node_rule("bad", keys=(tg.sin,), apply=lambda n, o: "text", **GIVEN),
        PluginError,
        "rewrite bad raised ValueError",
    ),
    (
        node_rule("bad", keys=(tg.sin,), apply=lambda n, o: (o[0], o[0]), **GIVEN),
        RewriteError,
        "replaced 1 values by 2",
    ),
    (node_rule("bad", keys=(tg.sin,), apply=foreign, **GIVEN), RewriteError, "is not a value of this graph"),
    (node_rule("bad", keys=(tg.sin,), apply=of_another_dtype, **GIVEN), RewriteError, "by float32"),
    (rule("bad", match=tg.sin, replace=lambda x: x.nothing, **GIVEN), PluginError, "rewrite bad raised AttributeError"),
    (
        rule("bad", match=tg.sin, replace=tg.cos, when=lambda x: 1 // 0, **GIVEN),
        PluginError,
        "rewrite bad raised ZeroDivisionError",
    ),
    (Pass("bad", run=nothing_of, **GIVEN), PluginError, "pass bad raised ZeroDivisionError"),
    (
        Lowering("bad", kind="exact", why="a test", run=nothing_of),
        PluginError,
        "lowering bad raised ZeroDivisionError",
    ),
]


@pytest.mark.parametrize(("wrong", "kind", "text"), WRONG_REWRITES, ids=[str(k) for k in range(len(WRONG_REWRITES))])
def test_a_rewrite_that_raises_is_named_with_its_plugin_and_how_to_leave_it_out(install, wrong, kind, text):
    is_rule = not isinstance(wrong, Pass | Lowering)
    given = Rewrites((wrong,)) if is_rule else Rewrites((), (wrong,))
    install({}, extension={"tg_rewrites": lambda backend: None if backend else given})
    x = tg.vector("x")
    with pytest.raises(kind) as caught:
        called(tg.sin(x) + x, x)
    hint = 'hint: exclude="bad" leaves it out, TG_PLUGINS_OFF=tg-ext the plugin'
    line = ["test_blame.py", "called(tg.sin(x) + x, x)"] if is_rule else []
    for one in (text, "tg-ext 1.0, entry point ext = ", hint, *line):
        assert one in told(caught)
    given = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(called(tg.sin(x) + x, x, exclude="bad"), np.sin(given) + given)


@pytest.mark.parametrize(("error", "note"), [(ShapeError("no"), False), (KeyError("no"), True)])
def test_a_rewrite_of_cores_own_raises_what_it_raises(error, note):
    wrong = node_rule("bad", keys=(tg.sin,), apply=raising(error), **GIVEN)
    x = tg.vector("x")
    graph = FunctionGraph.of([x], [tg.sin(x)])
    with pytest.raises(type(error)) as caught:
        rewrite(graph, [Rewrites((wrong,))], supported=lambda op, types: True)
    assert caught.value is error
    assert ("in rewrite bad" in told(caught)) is note


# --- linkers


def test_a_linker_that_raises_is_named(install):
    install({}, special=lambda rule, site: 1 // 0)
    x = tg.vector("x")
    with pytest.raises(PluginError, match="linker of backend 'mine' raised ZeroDivisionError") as caught:
        called(tg.sin(x), x)
    assert "tg-mine 1.0, entry point mine" in told(caught)


def test_a_linker_that_makes_something_else_is_named(install):
    world = install({})
    world.module("fake_linker", LINKER=type("Mine", (), {"compile": lambda self, graph, request: None})())
    tg.plugin.reset()
    x = tg.vector("x")
    with pytest.raises(PluginError, match="linker of backend 'mine': compile: found NoneType, needed an Executable"):
        called(tg.sin(x), x)
