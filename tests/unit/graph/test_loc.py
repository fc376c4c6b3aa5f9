import threading

import pytest

import tg
from tg.graph.loc import Loc, at, here


def made_here():
    return tg.vector("x")  # the line


def test_a_variable_knows_the_line_that_made_it():
    loc = made_here().loc
    assert loc.source == 'return tg.vector("x")  # the line'
    assert str(loc) == f"test_loc.py:{made_here.__code__.co_firstlineno + 1} in made_here"
    assert repr(loc) == f"Loc({loc})"


def test_a_node_knows_the_line_that_applied_its_op_not_the_one_inside_tg():
    x = tg.vector("x")
    y = tg.softmax(x)  # made of several ops or of one
    assert "tg.softmax(x)" in y.loc.source


@pytest.mark.parametrize("operation", [lambda x: x + 1, lambda x: -x, lambda x: x[0], lambda x: x.sum()])
def test_operators_and_methods_are_the_users_lines_too(operation):
    assert operation(tg.vector("x")).loc.code is operation.__code__


def test_at_module_level_only_the_line_is_named():
    scope = {"tg": tg}
    exec(compile("\n\nx = tg.vector('x')", "/some/where/model.py", "exec"), scope)
    assert str(scope["x"].loc) == "model.py:3"
    assert scope["x"].loc.source == ""


def test_each_line_of_a_call_over_several_lines_is_told_apart():
    x = [
        tg.vector("a"),
        tg.vector("b"),
    ]
    assert x[1].loc.line == x[0].loc.line + 1


def test_a_fixed_place_is_given_to_what_is_made_inside_the_block():
    loc = made_here().loc
    with at(loc):
        assert tg.vector("y").loc is loc
        with at(None):
            assert tg.vector("y").loc is None
        assert here() is loc
    assert here() is not loc


def test_a_fixed_place_ends_with_an_exception():
    with pytest.raises(ZeroDivisionError), at(None):
        1 / 0  # noqa: B018 (it raises)
    assert here() is not None


def test_a_fixed_place_belongs_to_one_thread():
    found = []
    with at(None):
        thread = threading.Thread(target=lambda: found.append(here()))
        thread.start()
        thread.join()
    assert found[0] is not None


def test_equal_code_in_a_module_of_tg_and_in_one_of_the_user_is_told_apart():
    inside, outside = ({"tg": tg, "x": tg.vector("x"), "__name__": name} for name in ("tg.some", "some"))
    codes = [compile("y = tg.exp(x)", "same.py", "exec") for _ in range(2)]
    assert codes[0] == codes[1]
    exec(codes[0], inside)
    exec(codes[1], outside)
    assert "exec(codes[0], inside)" in inside["y"].loc.source
    assert outside["y"].loc.code is codes[1]


def test_a_module_whose_name_only_begins_like_that_of_tg_is_the_users():
    scope = {"tg": tg, "__name__": "tgmodels.one"}
    exec("x = tg.vector('x')", scope)
    assert str(scope["x"].loc) == "<string>:1"


def test_lines_of_code_without_a_line_table_are_those_of_its_start():
    assert Loc(made_here.__code__, -5).line == made_here.__code__.co_firstlineno
