"""`check_grad`: right gradients pass, wrong ones are found and named."""

from __future__ import annotations

import numpy as np
import pytest

import tg


def test_an_analytic_function_is_checked_by_a_complex_step():
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(4, 3)), rng.normal(size=3)]
    check = tg.check_grad(lambda a, x: tg.sum(tg.log1p(tg.exp(a @ x))), values)
    assert check.passed
    assert check.method == "complex step"
    assert check.compared == 15


def test_choices_follow_the_real_values():
    check = tg.check_grad(lambda x: tg.where(x > 0, tg.log(x), x**2), [[0.5, -1.0, 2.0]])
    assert (check.passed, check.method) == (True, "complex step")


def test_what_is_not_analytic_is_checked_by_differences():
    check = tg.check_grad(lambda x: tg.max(tg.absolute(x)) + tg.sum(tg.absolute(x)), [[0.5, -1.0, 2.0]])
    assert (check.passed, check.method) == (True, "differences")


def test_single_precision_is_held_to_its_own():
    assert tg.check_grad(lambda x: tg.cumsum(tg.tanh(x)), [np.array([0.5, -1.0, 2.0], np.float32)])
    assert tg.check_grad(lambda x: tg.sum(tg.cast(x, "float32") ** 3), [[0.5, -1.0, 2.0]])


def test_expressions_take_values_by_variable():
    v, i = tg.vector("v"), tg.vector("i", dtype="int64")
    check = tg.check_grad([v[i] ** 2, i], {v: [1.0, 2.0, 3.0], i: [0, 0, 2]})
    assert (check.passed, check.name, check.compared) == (True, "v", 3)


def test_large_inputs_are_sampled():
    assert tg.check_grad(lambda x: tg.sum(x**2), [np.arange(1000.0)], entries=20).compared == 20


def wrong(x, scale=3.0):
    return tg.wrap(lambda v: v**3, infer=lambda t: t, name="cube", grad=lambda xs, ys, dys: scale * dys[0] * xs[0])(x)


def test_a_wrong_gradient_is_found_and_the_op_named():
    def model(x):
        y = tg.exp(x)
        return tg.sum(wrong(y) * 2)

    with pytest.raises(tg.GradientError, match=r"check_grad: x\[2\]: found a gradient") as caught:
        tg.check_grad(model, [[0.5, -1.0, 2.0]])
    text = str(caught.value)
    assert "cube: its own derivative differs" in text
    assert "test_check_grad.py" in text
    check = tg.check_grad(model, [[0.5, -1.0, 2.0]], raises=False)
    assert check.difference / check.gradient == pytest.approx(np.exp(2.0), rel=1e-12)


@pytest.mark.parametrize("factor", [1 + 1e-6, -1.0, 0.0, np.nan])
def test_a_gradient_that_is_slightly_wrong_is_found_too(factor):
    cube = tg.wrap(
        lambda v: v**3, infer=lambda t: t, name="cube", grad=lambda xs, ys, dys: factor * 3.0 * dys[0] * xs[0] ** 2
    )
    check = tg.check_grad(lambda x: tg.sum(cube(x)), [[0.5, -1.0, 2.0]], raises=False)
    assert not check
    right = tg.wrap(lambda v: v**3, infer=lambda t: t, grad=lambda xs, ys, dys: 3.0 * dys[0] * xs[0] ** 2)
    assert tg.check_grad(lambda x: tg.sum(right(x)), [[0.5, -1.0, 2.0]])


def test_a_function_without_complex_numbers_on_the_way_is_differenced():
    def real_only(v):
        return np.array([float(a) ** 3 for a in v.tolist()])  # refuses complex numbers

    cube = tg.wrap(real_only, infer=lambda t: t, grad=lambda xs, ys, dys: 3.0 * dys[0] * xs[0] ** 2)
    check = tg.check_grad(lambda x: tg.sum(cube(x)), [[0.5, -1.0, 2.0]])
    assert (check.passed, check.method) == (True, "differences")


def test_conjugates_do_not_deceive_the_complex_step():
    turned = tg.wrap(lambda v: np.conj(v) * 2.0, infer=lambda t: t, grad=lambda xs, ys, dys: dys[0] * 2.0)
    check = tg.check_grad(lambda x: tg.sum(turned(x)), [[0.5, -1.0]])
    assert (check.passed, check.method) == (True, "differences")


def test_a_stopped_gradient_is_named():
    with pytest.raises(tg.GradientError, match="StopGradient: its own derivative differs"):
        tg.check_grad(lambda x: tg.stop_gradient(x) * tg.exp(x), [2.0])


def test_a_corner_fails_with_a_hint():
    with pytest.raises(tg.GradientError, match="not smooth"):
        tg.check_grad(lambda x: tg.maximum(x, 0.0) * 2 + tg.minimum(x, 0.0), [0.0], rtol=0.0)


@pytest.mark.parametrize(
    ("subject", "inputs", "error"),
    [
        (lambda x: x > 0, [1.0], tg.DtypeError),
        (lambda x: x * 2, [1], tg.DtypeError),
        (lambda x: x * 2, [1j], tg.DtypeError),
        (lambda x: x * 2, 1.0, tg.InputError),
        (lambda x: x * 2, {"x": 1.0}, tg.InputError),
        (lambda x: x * 2, [], tg.DtypeError),
    ],
)
def test_wrong_arguments_are_refused(subject, inputs, error):
    if inputs == []:
        subject = lambda: tg.constant(1.0)  # noqa: E731
    with pytest.raises(error, match="check_grad"):
        tg.check_grad(subject, inputs)


def test_wrt_chooses_inputs():
    check = tg.check_grad(lambda x, y: wrong(x) + y**2, [1.0, 2.0], wrt=[1])
    assert (check.passed, check.name) == (True, "y")
    with pytest.raises(tg.InputError, match="wrt"):
        tg.check_grad(lambda x: x, [1.0], wrt=[3])
