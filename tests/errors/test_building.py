"""Mistakes in expressions: found while they are built, at the line that makes them."""

from __future__ import annotations

import functools
import operator

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import tg

pytestmark = pytest.mark.sampled(3)  # of the backends

# --- shapes


def test_inner_lengths_of_a_product(mistake):
    a, b = tg.matrix("a", shape=(4, 3)), tg.matrix("b", shape=(5, 3))
    with mistake(tg.ShapeError, "matmul", "lhs has 3, rhs has 5", "a  float64[4, 3]", "b  float64[5, 3]", "w.T"):
        a @ b


def test_fixed_lengths_that_differ(mistake):
    x, y = tg.vector("x", shape=(3,)), tg.vector("y", shape=(4,))
    with mistake(tg.ShapeError, "add", "3 and 4", "x  float64[3]", "y  float64[4]", "hint:"):
        x + y


def test_a_new_shape_of_another_size(mistake):
    x = tg.matrix("x", shape=(2, 3))
    with mistake(tg.ShapeError, "reshape", "(2, 3) has 6", "(4, 2) has 8", "x  float64[2, 3]", "hint:"):
        tg.reshape(x, (4, 2))


def test_a_new_shape_with_two_free_lengths(mistake):
    x = tg.vector("x")
    with mistake(tg.ShapeError, "reshape: found 2 lengths of -1, needed at most one"):
        x.reshape(-1, -1)


def test_an_axis_that_the_array_lacks(mistake):
    x = tg.matrix("x")
    with mistake(tg.AxisError, "sum: axis 2 is out of range: the array has 2 axes", "hint: axes are 0 to 1"):
        tg.sum(x, axis=2)


def test_an_axis_of_a_scalar(mistake):
    x = tg.scalar("x")
    with mistake(tg.AxisError, "cumsum: axis 0 is out of range: the array has 0 axes", "hint: a scalar has no axes"):
        tg.cumsum(x, axis=0)


def test_an_axis_of_another_type(mistake):
    x = tg.matrix("x")
    with mistake(tg.InputError, "max: axis: found 'rows', needed an integer"):
        tg.max(x, axis="rows")


def test_parts_that_do_not_join(mistake):
    a, b = tg.matrix("a", shape=(2, 3)), tg.matrix("b", shape=(2, 4))
    with mistake(tg.ShapeError, "concatenate: axis 1", "3 and 4", "a  float64[2, 3]", "b  float64[2, 4]"):
        tg.concatenate([a, b], axis=0)


def test_parts_of_another_rank(mistake):
    a, b = tg.matrix("a"), tg.vector("b")
    with mistake(tg.ShapeError, "concatenate: ranks differ: 2 and 1", "a  float64[?, ?]", "b  float64[?]", "hint:"):
        tg.concatenate([a, b])


def test_variables_in_place_of_a_list(mistake):
    x = tg.matrix("x")
    with mistake(tg.InputError, "concatenate", "<x : float64[?, ?]>, needed a list of arrays", "hint:"):
        tg.concatenate(x)


def test_a_broadcast_to_another_shape(mistake):
    x = tg.vector("x", shape=(3,))
    with mistake(tg.ShapeError, "broadcast_to", "found 3, needed 1 or 4", "x  float64[3]"):
        tg.broadcast_to(x, (2, 4))


def test_axes_that_are_no_permutation(mistake):
    x = tg.matrix("x")
    with mistake(tg.ShapeError, "transpose: found axes (0, 0), needed a permutation of 2 axes"):
        tg.transpose(x, (0, 0))


def test_vectors_of_a_product(mistake):
    a, b = tg.vector("a", shape=(3,)), tg.vector("b", shape=(2,))
    with mistake(tg.ShapeError, "matmul", "lhs has 3, rhs has 2", "ExpandDims(a)  float64[1, 3]", "ExpandDims(b)"):
        tg.dot(a, b)


def test_a_stack_of_other_shapes(mistake):
    a, b = tg.vector("a", shape=(3,)), tg.vector("b", shape=(2,))
    with mistake(tg.ShapeError, "stack: shapes differ: found float64[3], float64[2]"):
        tg.stack([a, b])


# --- indices


def test_too_many_indices(mistake):
    x = tg.matrix("x")
    with mistake(tg.BoundsError, "index: found 3 indices, needed at most 2 for <x : float64[?, ?]>"):
        x[0, 1, 2]


def test_an_index_outside_a_fixed_length(mistake):
    x = tg.vector("x", shape=(3,))
    with mistake(tg.BoundsError, "index 7 is out of bounds for an axis of length 3", "hint:"):
        x[7]


def test_a_negative_index_outside_a_fixed_length(mistake):
    x = tg.vector("x", shape=(3,))
    with mistake(tg.BoundsError, "index -4 is out of bounds for an axis of length 3", "hint:"):
        x[-4]


def test_an_index_of_floats(mistake):
    x, i = tg.vector("x"), tg.scalar("i")
    with mistake(tg.DtypeError, "index: found float64, needed an integer dtype", "hint:"):
        x[i]


def test_an_index_that_is_none(mistake):
    x = tg.vector("x")
    with mistake(tg.InputError, "index: found 'a', needed integers, masks, slices, None or ..."):
        x["a"]


def test_a_mask_of_another_length(mistake):
    x = tg.vector("x", shape=(3,))
    mask = np.array([True, False])
    with mistake(tg.BoundsError, "index: a mask of another shape: axis 0: found length 2, needed 3"):
        x[mask]


def test_item_assignment(mistake):
    x = tg.vector("x")
    with mistake(tg.InputError, "variables are immutable", "hint: x.at[index].set(value)"):
        x[0] = 1.0


def test_an_update_with_too_many_values(mistake):
    x, v = tg.vector("x", shape=(3,)), tg.vector("v", shape=(3,))
    with mistake(tg.ShapeError, "update: found values float64[3], needed what broadcasts to float64[2]"):
        x.at[1:].set(v)
    with mistake(tg.ShapeError, "update: found values float64[3], needed what broadcasts to float64[2]"):
        x.at[tg.array([0, 2])].add(v)


def test_an_update_with_another_dtype(mistake):
    x = tg.vector("x", dtype="int64")
    with mistake(tg.DtypeError, "update: found 0.5, needed a value that int64 can hold", "hint:"):
        x.at[0].set(0.5)


# --- variables where values are needed


def test_if(mistake):
    x = tg.scalar("x")
    with mistake(tg.SymbolicError, "if", "no value until the function runs", "hint: tg.where(condition, a, b)"):
        if x > 0:
            pass


def test_a_chain_of_comparisons(mistake):
    x = tg.scalar("x")
    with mistake(tg.SymbolicError, "if", "no value until the function runs", "(0 < x) & (x < 1) is a condition"):
        tg.where(0 < x < 1, x, 0.0)


def test_for_over_an_unknown_length(mistake):
    x = tg.vector("x")
    with mistake(tg.SymbolicError, "first length of <x : float64[?]> is not known", "hint:"):
        for _ in x:
            pass


def test_range_of_an_unknown_length(mistake):
    x = tg.vector("x")
    with mistake(
        tg.LengthError, "length x.shape[-1]: its value is", "not known until the program runs", "hint: tg.arange"
    ):
        range(x.shape[0])


def test_an_array_of_an_unknown_shape(mistake):
    x = tg.vector("x")
    with mistake(
        tg.LengthError, "length x.shape[-1]: its value is", "hint: tg.arange, tg.zeros and tg.fori_loop take it"
    ):
        np.zeros(x.shape)


def test_float(mistake):
    x = tg.scalar("x")
    with mistake(tg.SymbolicError, "float: <x : float64[]> has no value until the function runs", "hint: x.eval("):
        float(x)


def test_asarray(mistake):
    x = tg.vector("x")
    with mistake(tg.SymbolicError, "array: <x : float64[?]> has no value until the function runs", "hint: x.eval("):
        np.asarray(x)


@pytest.mark.parametrize("function", [scipy.linalg.cholesky, scipy.linalg.expm, scipy.special.softmax])
def test_a_function_of_scipy_that_needs_arrays(mistake, function):
    m = tg.matrix("m")
    with mistake(
        tg.SymbolicError,
        "array: <m : float64[?, ?]> has no value until the function runs",
        "at  test_building.py:",
        "function(m)",
        "hint: tg.linalg and tg.special have SciPy's functions for variables; tg.wrap",
    ):
        function(m)


def test_in_a_list(mistake):
    x, y = tg.scalar("x"), tg.scalar("y")
    with mistake(tg.SymbolicError, "has no value until the function runs", "hint:"):
        x in [y, x]  # noqa: B015


def test_in_a_variable(mistake):
    x = tg.vector("x")
    with mistake(tg.SymbolicError, "in: <x : float64[?]> has no value", "hint: tg.any(x == item)"):
        1.0 in x  # noqa: B015


def test_a_range_of_a_variable(mistake):
    n = tg.scalar("n", dtype="int64")
    with mistake(tg.SymbolicError, "index: <n : int64[]> has no value until the function runs", "hint:"):
        range(n)


# --- dtypes and values


def test_a_dtype_that_tg_lacks(mistake):
    with mistake(tg.DtypeError, "found float128, needed one that tg has", "float64"):
        tg.vector("x", dtype="float128")


def test_a_number_that_the_dtype_cannot_hold(mistake):
    x = tg.vector("x", dtype="int8")
    with mistake(tg.RangeError, "found 300, needed an integer in [-128, 127] for int8", "x.astype('int32')"):
        x + 300


def test_a_constant_of_objects(mistake):
    value = np.array([object(), None])
    with mistake(tg.InputError, "constant: found", "needed numbers", "hint:"):
        tg.constant(value)


def test_a_variable_in_an_array_of_objects(mistake):
    x = tg.scalar("x")
    with mistake(tg.SymbolicError, "array: <x : float64[]> has no value until", "tg.array([x, y]) stacks variables"):
        np.array([x, None], dtype=object)


def test_a_string_in_an_expression(mistake):
    x = tg.vector("x")
    with mistake(tg.InputError, "found 'two'", "needed", "hint:"):
        x * "two"


def test_a_negative_power_of_integers(mistake):
    x = tg.vector("x", dtype="int64")
    y = x**-1  # here
    f = tg.function([x], y)
    with mistake(tg.DomainError, "power: found the negative exponent -1, needed exponents >= 0", "hint:"):
        f(np.array([2]))


def test_an_unknown_name(mistake):
    with mistake(AttributeError, "module 'tg' has no attribute 'arrange'", "hint: tg.arange exists"):
        tg.arrange(3)


def test_an_unknown_keyword(mistake):
    x = tg.vector("x")
    with mistake(tg.InputError, "sum: keyword: found axes, needed axis"):
        tg.sum(x, axes=0)


def test_a_numpy_function_without_a_counterpart(mistake):
    x = tg.vector("x")
    with mistake(
        tg.InputError, "np.busday_count: has no counterpart in tg", "hint: tg.wrap makes an op of a Python function"
    ):
        np.busday_count(x, x)


def test_an_output_buffer(mistake):
    x, out = tg.vector("x"), np.zeros(3)
    with mistake(tg.InputError, "np.add", "out=", "hint: variables are immutable"):
        np.add(x, 1.0, out=out)


# --- derivatives


def loss(parameters):
    return tg.sum(parameters**2)


@pytest.mark.parametrize("name", ["grad", "value_and_grad", "jacobian", "hessian"])
def test_the_gradient_of_a_function_as_jax_has_it(mistake, name):
    hint = f"hint: tg.{name}(loss(x), x), where x is a variable"
    with mistake(tg.InputError, f"{name}: found the function loss, needed an expression", hint):
        getattr(tg, name)(loss, np.ones(500))


def test_a_gradient_without_variables(mistake):
    with mistake(tg.InputError, "grad: found the function loss, needed an expression"):
        tg.grad(loss)


def test_the_gradient_with_respect_to_an_array(mistake):
    x = tg.vector("x")
    with mistake(
        tg.InputError, "grad: wrt: found an array float64[500], needed a variable, or", "hint: x = tg.vector()"
    ):
        tg.grad(loss(x), np.ones(500))


def test_the_gradient_of_a_vector(mistake):
    x = tg.vector("x")
    y = x * x
    with mistake(tg.NotDifferentiable, "grad: found a cost float64[?], needed a scalar", "hint: tg.sum(cost)"):
        tg.grad(y, x)


def test_the_gradient_of_what_does_not_depend_on_it(mistake):
    x, y = tg.scalar("x"), tg.scalar("y")
    cost = x * x
    with mistake(tg.InputError, "grad: the cost does not depend on <y : float64[]>", "hint: disconnected"):
        tg.grad(cost, y)


def test_the_gradient_with_respect_to_integers(mistake):
    k = tg.vector("k", dtype="int64")
    cost = tg.sum(k * 0.5)
    with mistake(tg.NotDifferentiable, "<k : int64[?]>", "hint:"):
        tg.grad(cost, k)


def test_the_gradient_with_respect_to_a_number(mistake):
    x = tg.scalar("x")
    cost = x * x
    with mistake(tg.InputError, "grad", "found 2.0, needed a variable"):
        tg.grad(cost, 2.0)


def test_the_gradient_of_an_integer_cost(mistake):
    x = tg.vector("x")
    cost = tg.argmax(x)
    with mistake(tg.NotDifferentiable, "int64", "needed a real floating"):
        tg.grad(cost, x)


def test_a_loop_over_a_vector_of_unknown_length(mistake):
    x = tg.vector("x")
    with mistake(tg.SymbolicError, "iteration: the first length of <x : float64[?]>", "hint: tg.scan and tg.map"):
        for _ in x:
            pass


def test_a_format_of_a_number(mistake):
    x = tg.scalar("x")
    with mistake(tg.SymbolicError, "format '.2f': <x : float64[]> has no value", "hint: x.eval("):
        f"{x:.2f}"


def test_a_condition_without_parentheses(mistake):
    x = tg.vector("x")
    with mistake(tg.DtypeError, "bitwise_and: found int, float64", "hint: Python computes & and | before < and >"):
        tg.where(x > 0 & x < 1, x, 0)


def test_flatten_with_the_axis_of_pytorch(mistake):
    x = tg.tensor("x", shape=(None, 2, 3))
    with mistake(tg.InputError, "ravel: order: found 1, needed 'C' or 'F'", "hint: x.reshape((x.shape[0], -1))"):
        x.flatten(1)


def test_values_in_the_place_of_a_name(mistake):
    with mistake(tg.InputError, "tensor: name: found [1.0, 2.0], needed a string", "hint: tg.constant(value)"):
        tg.tensor([1.0, 2.0])


def test_labels_that_are_floats(mistake):
    logits, labels = tg.matrix("logits"), tg.vector("labels")
    with mistake(
        tg.DtypeError, "cross_entropy: found float64[?], needed integers", "hint: tg.vector('labels', 'int64')"
    ):
        tg.nn.cross_entropy(logits, labels)


def test_an_objective_that_is_no_scalar(mistake):
    with mistake(tg.InputError, "minimize: f gave float64[3], needed a real scalar", "hint: tg.sum(f(p)) is a scalar"):
        tg.optimize.minimize(lambda p: (p - 1) ** 2, np.zeros(3))


def test_an_optimizer_without_a_loss(mistake):
    with mistake(tg.InputError, "adamw: found no params, needed loss, params", "hint: tg.optimize.adamw(loss, params"):
        tg.optimize.adamw(1e-3)


def test_an_update_of_a_name(mistake):
    w = tg.shared(1.0, "w")
    with mistake(tg.InputError, "updates: found 'w', needed a shared variable", "hint: the variable itself is the key"):
        tg.function([], w, updates={"w": w + 1})


def test_options_of_a_layer_by_position(mistake):
    with mistake(
        tg.InputError,
        "Conv: found 5 arguments by position, needed at most 3: inner, outer, window",
        "hint: by name: stride, padding, dilation, groups, bias",
    ):
        tg.nn.Conv(3, 16, (3, 3), 1, 1)


def test_options_of_a_function_by_position(mistake):
    x = tg.tensor("x", shape=(None,) * 4)
    with mistake(
        tg.InputError, "sum: found 4 arguments by position, needed at most 3: x, axis, dtype", "hint: by name: keepdims"
    ):
        tg.sum(x, 0, "float64", True)


def test_a_layer_without_its_lengths(mistake):
    with mistake(tg.InputError, "Dense: found no outer, needed inner, outer"):
        tg.nn.Dense(3)


def test_the_size_of_an_axis_as_in_pytorch(mistake):
    x = tg.matrix("x")
    with mistake(tg.InputError, "length x.shape[-2]*x.shape[-1]: found a call, needed none", "hint: x.shape[0]"):
        x.size(0)


@pytest.mark.parametrize("make", [np.zeros, np.empty, np.eye, np.identity, functools.partial(np.full, fill_value=1.0)])
def test_an_array_of_numpy_of_an_unknown_length(mistake, make):
    x = tg.matrix("x")
    with mistake(tg.LengthError, "length x.shape[-2]: its value is not known", "hint: tg.arange, tg.zeros"):
        make(x.shape[0])


def test_draws_of_numpy_of_an_unknown_length(mistake):
    x, rng = tg.vector("x"), np.random.default_rng(0)
    with mistake(tg.LengthError, "length x.shape[-1]: its value is not known", "hint: "):
        rng.normal(size=x.shape[0])


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("relu", "tg.relu takes variables"),
        ("linalg.inv", "tg.linalg.inv takes variables"),
        ("special.erf", "tg.special.erf takes variables"),
        ("celu", "tg.nn.celu takes variables"),
        ("clone", "variables are immutable"),
    ],
)
def test_a_function_of_pytorch_on_a_variable(mistake, name, hint):
    x, function = tg.matrix("x"), operator.attrgetter(name)(pytest.importorskip("torch"))
    with mistake(tg.SymbolicError, f"torch.{name}: a variable has no value until the function runs", f"hint: {hint}"):
        function(x)


def test_a_variable_as_an_index_of_a_tensor(mistake):
    k, tensor = tg.scalar("k", "int64"), pytest.importorskip("torch").ones(3)
    with mistake(tg.SymbolicError, "torch.__getitem__: a variable has no value", "hint: tg.constant(tensor)"):
        tensor[k]


@pytest.mark.parametrize(
    ("function", "others", "hint"),
    [
        (operator.and_, (1,), "x.astype('int64') has bits"),
        (operator.or_, (True,), "x != 0 is a condition"),
        (operator.xor, (2,), "x ** 2 is a power"),
        (operator.invert, (), "x == 0 is a condition"),
        (operator.lshift, (1,), "x * 2**k scales"),
        (operator.rshift, (1,), "x // 2**k scales"),
    ],
    ids=["and", "or", "xor", "not", "left", "right"],
)
def test_bits_of_floats(mistake, function, others, hint):
    x = tg.vector("x")
    with mistake(tg.DtypeError, "found float64", "x  float64[?]", f"hint: {hint}"):
        function(x, *others)
