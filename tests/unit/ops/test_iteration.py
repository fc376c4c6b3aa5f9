"""Loops and branches as users write them: structures, the dtypes of Python scalars, captured values, errors."""

import re
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
import pytest

import tg

X = [1.0, 2.0, 4.0]


def value(v, **inputs):
    """What an expression gives for inputs by their names."""
    f = tg.function(list(names(v).values()), v, backend="perform", on_unused_input="ignore")
    return f(**inputs)


def names(v):
    """The named inputs of a nested value."""
    found = {}
    for leaf in tg.variables.structure.flatten(v)[0]:
        stack = [leaf]
        while stack:
            one = stack.pop()
            if one.apply is None and not isinstance(one, tg.Constant):
                found[one.name] = one
            stack.extend(one.inputs)
    return dict(sorted(found.items()))


def test_structures_come_back_in_their_classes():
    @dataclass
    class State:
        mean: object
        count: object

    x, m = tg.vector("x"), tg.matrix("m")

    def step(c, v):
        state, rest = c
        number, row = v["x"], v["m"]
        new = State(state.mean + (number - state.mean) / (state.count + 1), state.count + 1)
        return (new, OrderedDict(b=rest["b"] + row)), [new.mean, (row * 2,)]

    init = (State(0.0, 0), OrderedDict(b=tg.zeros(2)))
    (state, rest), (means, (rows,)) = tg.scan(step, init, {"x": x, "m": m})
    assert type(state) is State
    assert type(rest) is OrderedDict
    rows_in = np.arange(6.0).reshape(3, 2)
    f = tg.function([x, m], [state.mean, state.count, rest["b"], means, rows], backend="perform")
    mean, count, total, found, twice = f(X, rows_in)
    assert (mean, count, count.dtype) == (np.mean(X), 3, np.int64)
    np.testing.assert_allclose(found, np.cumsum(X) / [1, 2, 3])
    assert np.array_equal(total, rows_in.sum(0))
    assert np.array_equal(twice, rows_in * 2)


def test_nothing_as_carry_and_as_result():
    x = tg.vector("x")
    assert tg.scan(lambda c, v: (c, None), None, x) == (None, None)
    assert tg.cond(x[0] > 0, lambda: None, lambda: None) is None
    assert tg.while_loop(lambda c: x[0] > 0, lambda c: c, ()) == ()


DTYPES = [
    (0.0, "float64", "float64"),
    (0, "float64", "float64"),
    (0, "float32", "float32"),
    (0.5, "float32", "float32"),
    (0, "int8", "int8"),
    (True, "int16", "int16"),
    (0, "complex64", "complex64"),
    (1j, "float32", "complex64"),
]


@pytest.mark.parametrize(("start", "of", "found"), DTYPES)
def test_a_python_scalar_takes_the_dtype_of_what_is_made_of_it(start, of, found):
    x = tg.vector("x", of)
    c, ys = tg.scan(lambda c, v: (c + v, c), start, x)
    assert (c.type.dtype, ys.type.dtype) == (found, found)
    given = np.array([1, 2, 3], of)
    after, before = tg.function([x], [c, ys], backend="perform")(given)
    sums = start + np.concatenate([[0], np.cumsum(given)])
    assert (after, list(before)) == (sums[-1], list(sums[:-1]))


def test_python_scalars_that_change_places_have_one_dtype():
    x = tg.vector("x")
    a, b = tg.scan(lambda c, _: ((c[1], c[0]), None), (0, 0.5), x)[0]
    assert (a.type.dtype, b.type.dtype) == ("float64", "float64")
    assert [float(v) for v in value([a, b, x], x=X)[:2]] == [0.5, 0.0]


def test_a_step_that_gives_a_python_scalar():
    x = tg.vector("x", "float32")
    assert tg.scan(lambda c, _: (0.5, None), 0, x)[0].type.dtype == "float64"
    assert tg.scan(lambda c, _: (1, None), x[0], x)[0].type.dtype == "float32"
    with pytest.raises(tg.DtypeError, match=r"found float64 after a step, needed int64 as before"):
        tg.scan(lambda c, _: (0.5, None), np.int64(0), x)


def test_a_function_that_needs_variables_has_them():
    x = tg.vector("x", "float32")
    assert tg.scan(lambda c, v: (c.astype("float32") + v, None), 0.5, x)[0].type.dtype == "float32"


def test_an_inner_loop_takes_the_dtype_of_the_outer_ones_scalar():
    x = tg.vector("x", "float32")
    total = tg.reduce(lambda c, v: tg.reduce(lambda a, u: a + u * v, x, c), x, 0)
    assert total.type.dtype == "float32"
    assert value(total, x=np.float32(X)) == np.sum(X) ** 2


def test_what_is_used_besides_arguments_is_captured():
    """A value made before, a shared variable, a length; the derivative goes through the value."""
    x, k = tg.vector("x"), tg.scalar("k", "int64")
    squares, s = x * x, tg.shared(2.0, "s")
    total = tg.scan(lambda c, v: (c + v * s * tg.sum(squares[:k]) * x.shape[0], None), 0.0, x)[0]
    f = tg.function([x, k], [total, tg.grad(total, x)], backend="perform")
    a = np.array(X)
    found, gradient = f(X, 2)
    assert found == 2 * 3 * 5 * a.sum()
    np.testing.assert_allclose(gradient, 6 * (5 + 2 * a * [1, 1, 0] * a.sum()))
    s.set_value(0.0)
    assert f(X, 2)[0] == 0


def test_one_function_for_arrays_that_numpy_made():
    c, ys = tg.scan(lambda c, v: (c + v, c * v), 0.0, np.array(X))
    assert (value(c), value(ys).tolist()) == (7.0, [0.0, 2.0, 12.0])


def test_a_condition_that_is_known():
    x = tg.vector("x")
    assert value(tg.cond(np.bool_(False), lambda: x * 1, lambda: x * 2), x=X).tolist() == [2.0, 4.0, 8.0]
    assert value(tg.cond(3.5, lambda: x * 1, lambda: x * 2), x=X).tolist() == X
    assert value(tg.switch(7, [lambda: x * 1, lambda: x * 2]), x=X).tolist() == [2.0, 4.0, 8.0]


def test_branches_of_python_scalars():
    x = tg.vector("x", "float32")
    assert tg.cond(x[0] > 0, lambda: 1, lambda: 0.5).type.dtype == "float64"
    assert tg.cond(x[0] > 0, lambda: x[0], lambda: 1).type.dtype == "float32"


def test_a_branch_of_another_length():
    x, w = tg.vector("x"), tg.vector("w")
    f = tg.function([x, w], tg.cond(x[0] > 0, lambda: x, lambda: w), backend="perform")
    assert f([1.0, 2.0], [3.0, 4.0]).tolist() == [1.0, 2.0]
    assert f([-1.0, 2.0], [3.0, 4.0]).tolist() == [3.0, 4.0]
    with pytest.raises(tg.ShapeError, match="a result of a branch: axis 0: lengths differ: 2 and 3"):
        f([1.0, 2.0], [3.0, 4.0, 5.0])


def test_a_carry_that_changes_its_length_at_run_time():
    x, k = tg.vector("x"), tg.scalar("k", "int64")
    f = tg.function([x, k], tg.scan(lambda c, _: (c[:k], None), x, None, 2)[0], backend="perform")
    assert f(X, 3).tolist() == X
    with pytest.raises(tg.ShapeError, match="scan: a carry after a step: axis 0"):
        f(X, 2)


MISTAKES = {
    "another structure": (
        lambda x, w: tg.scan(lambda c, v: ({"a": c["a"]}, None), {"a": 0.0, "b": x}, x),
        tg.InputError,
        r"scan: the carry: found {'a': .*}, needed {'a': \*, 'b': \*}",
    ),
    "another dtype": (
        lambda x, w: tg.scan(lambda c, v: ({"rates": [c["rates"][0].astype("int8")]}, None), {"rates": [w[0]]}, x),
        tg.DtypeError,
        r"scan: carry\['rates'\]\[0\]: found int8 after a step, needed float64 as before\n  hint: astype\('float64'\)",
    ),
    "another rank": (
        lambda x, w: tg.reduce(lambda c, v: x, x, 0.0),
        tg.ShapeError,
        r"reduce: carry: found float64\[\?\] after a step, needed float64\[\] as before",
    ),
    "another length": (
        lambda x, w: tg.while_loop(lambda c: True, lambda c: c[:2], tg.zeros(3)),
        tg.ShapeError,
        r"while_loop: carry: found float64\[2\] after a step, needed float64\[3\] as before",
    ),
    "no pair": (
        lambda x, w: tg.scan(lambda c, v: c + v, 0.0, x),
        tg.InputError,
        r"scan: f gave Variable, needed a pair: the next carry and a result",
    ),
    "a triple": (lambda x, w: tg.scan(lambda c, v: (c, c, c), 0.0, x), tg.InputError, r"scan: f gave tuple of 3"),
    "no length": (
        lambda x, w: tg.scan(lambda c, v: (c, None), 0.0),
        tg.InputError,
        r"scan: found neither xs nor length, needed one: how many steps",
    ),
    "a negative length": (
        lambda x, w: tg.scan(lambda c, v: (c, None), 0.0, None, -1),
        tg.ShapeError,
        r"scan: length: found -1, needed at least 0",
    ),
    "half a step": (
        lambda x, w: tg.fori_loop(0, 2.5, lambda i, c: c, 0.0),
        tg.InputError,
        r"fori_loop: upper: found 2.5, needed an integer",
    ),
    "a float as length": (
        lambda x, w: tg.scan(lambda c, v: (c, None), 0.0, None, w[0]),
        tg.InputError,
        r"scan: length: found float64\[\], needed an integer scalar",
    ),
    "a scalar as sequence": (
        lambda x, w: tg.map(lambda v: v["a"], {"a": x, "b": w[0]}),
        tg.ShapeError,
        r"map: xs\['b'\]: found float64\[\], needed an axis for the steps",
    ),
    "sequences of two lengths": (
        lambda x, w: tg.scan(lambda c, v: (c, None), 0.0, (tg.zeros(3), tg.zeros(4))),
        tg.ShapeError,
        r"scan: .*lengths differ: 3 and 4",
    ),
    "a length that each step decides": (
        lambda x, w: tg.scan(lambda c, v: (c + 1, (v, w[:c])), 0, x),
        tg.ShapeError,
        r"scan: result 1 of a step has a length that each step decides, .*\n  created at .*w\[:c\].*\n  hint: .*size=",
    ),
    "a condition of arrays": (
        lambda x, w: tg.cond(x > 0, lambda: x, lambda: w),
        tg.InputError,
        r"cond: pred: found bool\[\?\], needed a scalar\n  hint: tg.where is elementwise",
    ),
    "branches of two dtypes": (
        lambda x, w: tg.cond(x[0] > 0, lambda: {"a": x}, lambda: {"a": x.astype("int8")}),
        tg.DtypeError,
        r"cond: result\['a'\]: found .*int8.*, needed one dtype\n  hint: x.astype\(dtype\)",
    ),
    "branches of two ranks": (
        lambda x, w: tg.switch(1, [lambda: x, lambda: x[0]]),
        tg.ShapeError,
        r"switch: result: found float64\[\?\] and float64\[\], needed one shape",
    ),
    "branches of two structures": (
        lambda x, w: tg.cond(x[0] > 0, lambda: (x, x), lambda: [x, x]),
        tg.InputError,
        r"cond: then: found \(.*\), needed \[\*, \*\]",
    ),
    "a value as branch": (
        lambda x, w: tg.cond(x[0] > 0, x, w),
        tg.InputError,
        r"cond: otherwise: found .*, needed a function\n  hint: tg.where\(condition, x, y\) chooses elements",
    ),
    "no branch": (lambda x, w: tg.switch(0, []), tg.InputError, r"switch: branches: found \[\], needed a sequence"),
    "where by another name": (lambda x, w: tg.switch(x > 0, x, w), tg.InputError, r"switch: .*\n  hint: tg.where"),
    "a float as number": (
        lambda x, w: tg.switch(x[0], [lambda: x]),
        tg.InputError,
        r"switch: index: found float64\[\], needed an integer scalar",
    ),
    "a number as condition": (
        lambda x, w: tg.while_loop(lambda c: c, lambda c: c + 1, 0),
        tg.InputError,
        r"while_loop: cond gave int64\[\], needed a bool scalar",
    ),
    "a limit below 0": (
        lambda x, w: tg.while_loop(lambda c: c < 3, lambda c: c, 0, max_steps=-1),
        tg.InputError,
        r"while_loop: max_steps: found -1, needed an int of at least 0",
    ),
    "reverse mode without a limit": (
        lambda x, w: tg.grad(tg.while_loop(lambda c: c < 9, lambda c: c * x[0], w[0]), x),
        tg.NotDifferentiable,
        r"while_loop: reverse mode needs to keep every step, .*\n(.*\n)*  hint: max_steps= is such a limit",
    ),
    "a branch of Python's": (
        lambda x, w: tg.scan(lambda c, v: (c if c > 0 else v, None), w[0], x),
        tg.SymbolicError,
        r"has no value until the function runs",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name):
    make, error, text = MISTAKES[name]
    with pytest.raises(error) as caught:
        make(tg.vector("x"), tg.vector("w"))
    assert re.match(text, str(caught.value)) or (error is tg.SymbolicError and re.search(text, str(caught.value)))


def test_a_variable_of_a_step_means_nothing_outside():
    x, kept = tg.vector("x"), []

    def step(c, v):
        kept.append(c * v)
        return c + v, None

    tg.scan(step, 0.0, x)
    with pytest.raises(tg.InputError, match="is used but is not among the inputs"):
        tg.function([x], kept[-1], backend="perform")
    with pytest.raises(tg.InputError, match="is used but is not among the inputs"):
        tg.function([x], tg.scan(lambda c, v: (c + kept[-1], None), 0.0, x)[0], backend="perform")


def test_the_steps_of_a_loop_that_tells_its_length_late():
    n = tg.scalar("n", "int64")
    f = tg.function([n], tg.scan(lambda c, _: (c + 1, c * c), 0, None, n), backend="perform")
    for k in (0, 1, 5):
        last, squares = f(k)
        assert (last, squares.tolist()) == (k, [t * t for t in range(k)])
    with pytest.raises(tg.ShapeError, match="-1"):
        f(-1)


def test_a_branch_and_a_step_say_for_which_shapes_they_fail():
    """What a library asks that traces all of them: the number of the check, and what it shows."""
    x, y, p = tg.vector("x"), tg.vector("y"), tg.scalar("p", "bool")
    branches = tg.cond(p, lambda: tg.sum(x + y), lambda: tg.sum(x)).apply.op
    assert branches.refused(0, [(2,), (3,)]) == ()
    assert branches.refused(1, [(2,), (3,)]) == (1, 2, 3)
    assert branches.refused(1, [(2,), (2,)]) == ()
    start = tg.scalar("start")
    made = tg.while_loop(lambda c: c < x[0], lambda c: c + tg.sum(x * y), start).apply
    for length in (2, 3):
        shapes = [(2,) if v is x else (length,) if v is y else () for v in made.inputs]
        status = made.op.refused(shapes)
        assert status == (() if length == 2 else (len(made.op.condition.checks) + 1, 2, 3))
