"""`backend="auto"`: a program goes to the first backend in line that can run it, and no other is asked or imported."""

import pickle
import sys
from dataclasses import dataclass

import numpy as np
import pytest

import tg
from tg.errors import NonFiniteError, NoRuleError, OptionError, PluginError
from tg.graph.op import Op
from tg.link.funcify import FuncifyLinker
from tg.link.linker import Linker
from tg.ops.catalog import FAMILIES
from tg.ops.elementwise.arithmetic import add, multiply
from tg.plugin import Gap, RuleProtocol, Rules

X = tg.vector("x")
THREE = {tg.sin: np.sin, add: np.add, multiply: np.multiply}
MORE = {**THREE, tg.cos: np.cos, tg.exp: np.exp}


class Counting(Linker):
    """A linker for arrays of a class of its own, which counts the programs that it was asked for."""

    def __init__(self, name, jit=None):
        class Own(np.ndarray):
            pass

        Own.__name__ = name

        def own(array):
            assert type(array) in (np.ndarray, Own), f"{name} was given an array of {type(array).__name__}"
            return np.array(array).view(Own)

        self.own, self.asked = Own, 0
        functions = {"to_native": own, "to_numpy": np.asarray, "argument": own}
        self._linker = FuncifyLinker(**functions, jit=jit, scope=lambda options: np.errstate(all="ignore"))

    def compile(self, graph, request):
        self.asked += 1
        return self._linker.compile(graph, request)


@pytest.fixture
def install(world, monkeypatch):
    """Install a backend with a table of rules for the process; its linker."""

    def made(name, table, *, priority, jit=None, rules=None, **fields):
        linker = Counting(name, jit)
        world.module(f"fake_linker_{name}", LINKER=linker)
        fields = {"priority": priority, "linker": f"fake_linker_{name}:LINKER", "raises": True, **fields}
        hook = rules or world.rules_of(table, name)
        world.add_backend(name, fields=fields, tg_rules=hook)
        tg.plugin.reset()
        return linker

    monkeypatch.setattr(sys.modules["tg.plugin.registry"], "_from_environment", world.registry)
    tg.plugin.reset()
    yield made
    monkeypatch.undo()
    tg.plugin.reset()


def on_auto(outputs, *inputs, **options):
    return tg.function(list(inputs) or [X], outputs, backend="auto", **options)


def given(size=3):
    return np.arange(1.0, size + 1)


def test_a_backend_with_three_rules_runs_programs_of_these_and_breaks_no_other(install):
    three, more = install("three", THREE, priority=100), install("more", MORE, priority=10)
    for outputs, backend in ((tg.sin(X) + X, "three"), (tg.cos(X) + X, "more"), (tg.tan(X) + X, "perform")):
        f = on_auto(outputs)
        assert f.backend == backend
        np.testing.assert_array_equal(f(given()), tg.function([X], outputs, backend="perform")(given()))
    assert (three.asked, more.asked) == (3, 2)


def test_each_in_line_is_asked_once_and_nothing_is_imported_of_those_behind(install, world):
    three, more = install("three", THREE, priority=100), install("more", MORE, priority=20)
    fields = {"priority": 10, "linker": "no_such_linker:LINKER"}
    world.add_backend("absent", fields=fields, tg_rules=lambda backend: 1 // 0 if backend == "absent" else None)
    assert (on_auto(tg.sin(X)).backend, three.asked, more.asked) == ("three", 1, 0)
    assert (on_auto(tg.cos(X)).backend, three.asked, more.asked) == ("more", 2, 1)
    assert tg.plugin.registry().problems() == ()


def test_what_was_passed_over_is_told_with_the_reason(install):
    install("three", THREE, priority=100)
    install("more", MORE, priority=10)
    f = on_auto(tg.tan(X))
    assert f.explain().passed_over == (("three", "has no rule for tan"), ("more", "has no rule for tan"))
    lines = str(f.explain()).splitlines()
    assert [line for line in lines if "passed over" in line] == [
        '  "auto" passed over three: has no rule for tan',
        '  "auto" passed over more: has no rule for tan',
    ]
    notes = [row.note for row in f.compile_report().rows if row.name == "specialization"]
    assert any("three passed over; more passed over" in note for note in notes)
    assert on_auto(tg.sin(X)).explain().passed_over == ()


def test_a_backend_that_was_named_stays_strict(install):
    install("three", THREE, priority=100)
    with pytest.raises(NoRuleError, match="backend 'three' has no rule for cos"):
        tg.function([X], tg.cos(X), backend="three")
    with pytest.raises(NoRuleError, match="backend 'three' has no rule for cos"):
        on_auto(tg.cos(X)).copy(backend="three")


@pytest.mark.parametrize("lacking", ["dtype", "gap"])
def test_dtypes_and_gaps_are_asked_of_a_backend(install, world, lacking):
    gap = Gap(tg.sin, frozenset({"float32"}), None, "todo", NoRuleError, "the library has no float32")
    world.module("fake_gaps", GAPS=(gap,))
    says = {"dtype": {"dtypes": frozenset({"float64"})}, "gap": {"gaps": "fake_gaps:GAPS"}}[lacking]
    install("three", THREE, priority=100, **says)
    z = tg.vector("z", dtype="float32")
    f = on_auto(tg.sin(z), z)
    assert (f.backend, on_auto(tg.sin(X)).backend) == ("perform", "three")
    assert f.explain().passed_over[0][0] == "three"


def test_a_dtype_to_compile_in_is_one_that_the_backend_has(install):
    install("mine", MORE, priority=900, dtypes=frozenset({"float32", "float64"}))
    assert tg.function([X], tg.sin(X), backend=tg.backend("auto", dtype="float32")).backend == "mine"
    assert tg.backend("auto", dtype="float16").name != "mine"
    with pytest.raises(OptionError, match="option dtype: found 'float16', which it does not have") as error:
        tg.backend("mine", dtype="float16")
    assert "dtypes  float32, float64" in str(error.value)


def test_a_backend_of_negative_priority_is_in_no_line(install):
    install("three", THREE, priority=100)
    more = install("more", MORE, priority=-1)
    assert (on_auto(tg.cos(X)).backend, more.asked) == ("perform", 0)


def test_a_backend_whose_tables_are_wrong_is_passed_over_and_told(install):
    install("three", {"exp": np.exp}, priority=100)
    install("more", MORE, priority=10)
    assert on_auto(tg.cos(X)).backend == "more"
    name, why = tg.plugin.registry().default_backend()
    assert (name, why.partition("; ")[0]) == ("more", "priority 10, the highest available")
    assert "three passed over: tg-three 1.0: tg_rules: key exp: found str 'exp'" in why
    with pytest.raises(PluginError, match="key exp"):
        tg.function([X], tg.sin(X), backend="three")


def test_a_python_function_goes_to_the_reference_and_nothing_is_imported_for_it(install, world):
    def traced(function, options):
        return function

    install("three", THREE, priority=100, jit=traced)
    world.add_backend("absent", fields={"priority": 10, "linker": "no_such_linker:LINKER"})
    f = on_auto(tg.sin(tg.wrap(lambda x: x + 1, outputs=X)(X)))
    assert (f.backend, f(given()).tolist()) == ("perform", np.sin(given() + 1).tolist())
    assert [name for name, _ in f.explain().passed_over] == ["three"]
    assert tg.plugin.registry().problems() == ()


def test_an_op_that_nobody_runs_is_the_error_of_the_first_choice(install):
    class Nowhere(Op):
        def infer(self, x):
            return (x,)

    install("three", THREE, priority=100)
    install("taught", {Nowhere: lambda op, x: x}, priority=-1)
    with pytest.raises(NoRuleError, match="backend 'three' has no rule for Nowhere") as caught:
        on_auto(Nowhere()(X))
    assert "\n  backends with a rule: taught\n" in str(caught.value)


# --- options


@dataclass(frozen=True)
class Level:
    level: int = 1


def test_options_given_with_auto_are_those_of_the_first_in_line_that_has_them(install):
    install("three", THREE, priority=100)
    install("more", MORE, priority=10, options=Level)
    choice = tg.backend("auto", level=2)
    assert (choice.name, choice.options, tg.backend("auto").name) == ("more", Level(2), "three")
    f = tg.function([X], tg.tan(X), backend=tg.backend("auto"))
    assert f.backend == "perform"
    with pytest.raises(NoRuleError, match="backend 'more' has no rule for tan"):  # nobody behind it has that option
        tg.function([X], tg.tan(X), backend=choice)


def test_an_option_that_nobody_has_is_an_error_and_imports_nothing(install, world):
    world.add_backend("absent", fields={"priority": 10, "linker": "no_such_linker:LINKER"})
    with pytest.raises(OptionError, match="backend 'absent': unknown option 'levle'"):
        tg.backend("auto", levle=2)
    assert tg.plugin.registry().problems() == ()


# --- functions that were made


def test_a_copy_goes_on_from_where_its_original_is(install):
    three = install("three", THREE, priority=100)
    install("more", MORE, priority=10)
    f = on_auto(tg.cos(X))
    asked = three.asked
    g = f.copy()
    assert (g.backend, three.asked, g.explain().passed_over) == ("more", asked, f.explain().passed_over)


def test_a_pickled_function_is_chosen_for_anew_where_it_is_restored(install, world):
    world.add("tg-ops", tg_ops=lambda: FAMILIES)
    install("three", THREE, priority=100)
    text = pickle.dumps(on_auto(tg.sin(X)))
    named = pickle.dumps(tg.function([X], tg.sin(X), backend="three"))
    world.entries.pop()
    install("more", MORE, priority=10)
    f = pickle.loads(text)
    assert (f.backend, f(given()).tolist()) == ("more", np.sin(given()).tolist())
    with pytest.raises(tg.BackendUnavailable):
        pickle.loads(named)


def when_of_length_1(op, types):
    return types[0].shape == (1,)


@pytest.fixture
def declining(install, world):
    """Install `three`, which does not run a sine of one element, and `more`, which does."""
    gap = Gap(tg.sin, None, when_of_length_1, "todo", NoRuleError, "not of one element")
    world.module("fake_gaps", GAPS=(gap,))
    return (
        install("three", THREE, priority=100, gaps="fake_gaps:GAPS"),
        install("more", MORE, priority=10),
    )


@pytest.mark.parametrize("options", [{}, {"mode": "debug"}, {"nan_guard": True}, {"compile": "background"}], ids=str)
@pytest.mark.usefixtures("declining")
def test_a_pattern_of_lengths_that_is_compiled_later_goes_on_by_itself(options):
    f = on_auto(tg.sin(X) + X, **options)
    for size in (3, 1, 4, 1):
        np.testing.assert_array_equal(f(given(size)), np.sin(given(size)) + given(size))
    f.wait()
    np.testing.assert_array_equal(f(given(1)), np.sin(given(1)) + given(1))
    assert f.backend == "three"
    assert {program.backend for program in f.programs.by_pattern.values()} == {"three", "more"}


def test_results_of_a_function_are_arrays_of_its_backend_whoever_has_computed_them(declining):
    three, _ = declining
    f = on_auto(tg.sin(X), output="native")
    assert [type(f(given(size))) for size in (3, 1)] == [three.own, three.own]


@pytest.mark.usefixtures("declining")
def test_shared_variables_go_from_backend_to_backend():
    total = tg.shared(np.zeros(3), name="total")
    f = tg.function([X], total + X, updates={total: total + tg.sin(X) * X}, backend="auto")
    wanted = np.zeros(3)
    for size in (3, 1, 1, 3):
        value = given(size)
        np.testing.assert_array_equal(f(value), wanted + value)
        wanted = wanted + np.sin(value) * value
        np.testing.assert_array_equal(total.get_value(), wanted)
    assert {program.backend for program in f.programs.by_pattern.values()} == {"three", "more"}


def test_one_pattern_too_many_is_the_references_whatever_the_first_choice_lacks(declining):
    with tg.config(specializations=1):
        f = on_auto(tg.sin(X))
    with pytest.warns(RuntimeWarning, match="the reference runs all others"):
        assert f(given(1)).tolist() == np.sin(given(1)).tolist()


def test_a_nan_is_found_by_others_where_the_first_choice_lacks_what_that_takes(install):
    install("three", THREE, priority=100)
    f = on_auto(tg.sin(X), nan_guard=True)
    assert f.backend == "three"
    with pytest.raises(NonFiniteError, match="NaN"):
        f(np.array([1.0, np.inf]))


def declines(*arrays):
    return NotImplemented


@pytest.mark.parametrize("options", [{}, {"compile": "background"}], ids=str)
@pytest.mark.parametrize("jit", [None, lambda function, options: function])
def test_a_rule_that_declines_when_it_is_first_called_sends_the_program_on(install, jit, options):
    install("three", {**THREE, tg.cos: declines}, priority=100, jit=jit)
    install("more", {**MORE, tg.cos: declines}, priority=20, jit=jit)
    install("whole", {**MORE, tg.cos: np.cos}, priority=10, jit=jit)
    total = tg.shared(np.zeros(3), name="total")
    f = on_auto(tg.cos(X) + X, updates={total: total + X}, **options)
    for k in (1, 2, 3):
        np.testing.assert_array_equal(f(given()), np.cos(given()) + given())
        assert total.get_value().tolist() == (k * given()).tolist()
        assert f.wait(10)
    assert f.backend == "whole"
    assert on_auto(tg.cos(X)).backend == "whole"


class Late(Linker):
    """A linker that finds out late what it lacks."""

    def compile(self, graph, request):
        raise NoRuleError("backend 'late' has no rule for this")


@pytest.mark.parametrize("jit", [None, lambda function, options: function])
def test_what_is_compiled_in_the_background_goes_on_there(install, world, jit):
    world.module("fake_linker_late", LINKER=Late())
    own = RuleProtocol("source", 1)
    fields = {"priority": 100, "linker": "fake_linker_late:LINKER", "rules": own, "raises": True}
    world.add_backend("late", fields=fields, tg_rules=lambda backend: Rules(own, {}) if backend == "late" else None)
    install("more", MORE, priority=10, jit=jit)
    f = on_auto(tg.cos(X), compile="background")
    for _ in range(3):
        np.testing.assert_array_equal(f(given()), np.cos(given()))
        assert f.wait(10)
    assert f.backend == "more"
    assert f.explain().passed_over == (("late", "has no rule for this"),)
