"""What programs of the backend do, whatever they compute; `tg conformance --backend onnxruntime` compares every op."""

import numpy as np
import pytest

import tg


def test_a_cost_and_its_gradient_agree_with_the_reference():
    x = tg.matrix("x")
    cost = tg.sum(tg.tanh(x @ x.T) ** 2)
    programs = [tg.function([x], [cost, tg.grad(cost, x)], backend=name) for name in ("onnxruntime", "perform")]
    found, wanted = (f(np.arange(6.0).reshape(2, 3) / 4) for f in programs)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_a_model_is_made_for_each_combination_of_shapes():
    x = tg.vector("x")
    f = tg.function([x], tg.exp(x), backend="onnxruntime")
    for value in ([1.0, 2.0], [1.0, 2.0, 3.0], [3.0, 4.0]):
        np.testing.assert_allclose(f(value), np.exp(value), rtol=1e-15)
    assert f.source().count("Exp (i0)") == 2


def test_what_onnxruntime_has_no_kernel_for_is_refused():
    x = tg.vector("x")
    with pytest.raises(tg.NoRuleError, match="float32 only"):
        tg.function([x], tg.arctan(x), backend="onnxruntime")
