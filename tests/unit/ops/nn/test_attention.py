"""Attention against PyTorch and JAX: values, gradients and their gradients; masks of rows, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tg
from tg.errors import DtypeError, InputError, ShapeError
from tg.ops.nn.attention import Attention, AttentionGradient

attention = tg.nn.scaled_dot_product_attention
DRAWS = np.random.default_rng(7)
SEEN = DRAWS.random((2, 6, 5, 7)) < 0.5
SEEN[0, 1, 2] = False
BIAS = np.where(SEEN, DRAWS.normal(size=SEEN.shape), -np.inf)
FORMS: list[tuple[int, Any, dict[str, Any]]] = [
    (6, None, {}),
    (6, None, {"is_causal": True, "scale": 0.3}),
    (6, SEEN, {}),
    (6, BIAS[:, :1], {}),
    (3, BIAS, {"enable_gqa": True}),
    (2, SEEN[:, :, :1], {"enable_gqa": True, "is_causal": True}),
]


def of_tg(arrays: list[Any], mask: Any, options: dict[str, Any]) -> list[Any]:
    """The value, the gradients of a sum of sines of it, and those of a sum of these."""
    values = [*arrays, *([] if mask is None else [mask])]
    given = [tg.tensor(shape=(None,) * a.ndim, dtype=str(a.dtype)) for a in values]
    asked = [v for v in given if v.type.dtype != "bool"]
    y = attention(*given, **options)
    first = tg.grad(tg.sum(tg.sin(y)), asked)
    second = tg.grad(sum(tg.sum(tg.sin(v)) for v in first), asked)
    return tg.function(given, [y, *first, *second], backend="perform")(*values)  # type: ignore[no-any-return]


def of_torch(arrays: list[Any], mask: Any, options: dict[str, Any]) -> list[Any]:
    torch = pytest.importorskip("torch")
    from torch.nn.attention import SDPBackend, sdpa_kernel

    given = [torch.tensor(a, requires_grad=a.dtype != bool) for a in (*arrays, *([] if mask is None else [mask]))]
    asked = [v for v in given if v.requires_grad]
    with sdpa_kernel(SDPBackend.MATH):  # the fused ones have no second derivative
        y = torch.nn.functional.scaled_dot_product_attention(*given, **options)
    first = torch.autograd.grad(torch.sin(y).sum(), asked, create_graph=True)
    second = torch.autograd.grad(sum(torch.sin(v).sum() for v in first), asked)
    return [v.detach().numpy() for v in (y, *first, *second)]


@pytest.mark.parametrize(("heads", "mask", "options"), FORMS)
def test_values_gradients_and_theirs_are_those_of_pytorch(heads: int, mask: Any, options: dict[str, Any]) -> None:
    arrays = [DRAWS.normal(size=s) for s in ((2, 6, 5, 4), (2, heads, 7, 4), (2, heads, 7, 3))]
    if "is_causal" in options and mask is not None:  # PyTorch's formula refuses both
        both = mask & (np.tri(5, 7) > 0)
        wants = of_torch(arrays, both, {k: v for k, v in options.items() if k != "is_causal"})
    else:
        wants = of_torch(arrays, mask, options)
    for found, want in zip(of_tg(arrays, mask, options), wants, strict=True):
        np.testing.assert_allclose(found, want, rtol=0, atol=1e-13)


def test_values_are_those_of_jax() -> None:
    jax = pytest.importorskip("jax")
    q, k, v = (DRAWS.normal(size=s) for s in ((2, 6, 5, 4), (2, 3, 7, 4), (2, 3, 7, 4)))
    with jax.enable_x64(True):
        moved = [np.swapaxes(x, 1, 2) for x in (q, k, v)]
        want = np.swapaxes(jax.nn.dot_product_attention(*moved, mask=SEEN[:1, :1], is_causal=True), 1, 2)
    found = np.asarray(attention(q, k, v, SEEN[:1, :1], is_causal=True, enable_gqa=True).eval())
    some = np.any(SEEN[0, 0] & (np.tri(5, 7) > 0), -1)  # JAX has the mean of all values where no key takes part
    np.testing.assert_allclose(found[:, :, some], want[:, :, some], rtol=0, atol=1e-6)  # its weights are of float32


def test_a_row_in_which_no_key_takes_part_is_0_and_so_are_its_derivatives() -> None:
    q, k, v = (tg.tensor(shape=s) for s in ((4, 5), (3, 5), (3, 2)))
    y = attention(q, k, v, np.array([[True, False, True], [False] * 3, [True] * 3, [False, True, False]]))
    slopes = tg.grad(tg.sum(y), [q, k, v])
    values = [DRAWS.normal(size=s) for s in ((4, 5), (3, 5), (3, 2))]
    found = tg.function([q, k, v], [y, *slopes], backend="perform")(*values)
    assert all(np.all(np.isfinite(a)) for a in found)
    assert not np.any(found[0][1])
    assert not np.any(found[1][1])


def test_a_scale_may_be_a_variable() -> None:
    x, s = tg.tensor(shape=(3, 2)), tg.scalar()
    outputs = [
        attention(x, x, x, scale=s),
        attention(x, x, x, scale=0.7),
        tg.grad(tg.sum(attention(x, x, x, scale=s)), s),
    ]
    found, want, slope = tg.function([x, s], outputs, backend="perform")(DRAWS.normal(size=(3, 2)), 0.7)
    np.testing.assert_allclose(found, want, atol=1e-15)
    assert abs(slope) > 0


def test_dropout_is_that_of_the_weights() -> None:
    q, k, key = DRAWS.normal(size=(2, 4, 3)), DRAWS.normal(size=(2, 5, 3)), tg.random.key(4)
    weights = attention(q, k, np.broadcast_to(np.eye(5), (2, 5, 5)), SEEN[0, 0, :4, :5])
    want = tg.nn.dropout(weights, 0.4, key)
    found = attention(q, k, np.broadcast_to(np.eye(5), (2, 5, 5)), SEEN[0, 0, :4, :5], dropout_p=0.4, dropout_key=key)
    np.testing.assert_array_equal(*tg.function([], [found, want], backend="perform")())
    with pytest.raises(InputError, match="scaled_dot_product_attention: key: found None"):
        attention(q, k, k, dropout_p=0.4)


def test_it_is_one_op_until_a_backend_lacks_it() -> None:
    x = tg.tensor(shape=(3, 2))
    assert attention(x, x, x, is_causal=True).op == Attention(True, False, None)


def test_its_gradient_is_one_op_that_reads_what_the_value_has() -> None:
    q, k, v = (tg.tensor(shape=(3, 2)) for _ in range(3))
    y = attention(q, k, v, is_causal=True)
    (dq,) = tg.grad(tg.sum(y), [q])
    assert dq.op == AttentionGradient(True, False, None)
    assert dq.apply.inputs[3].apply is y.apply
    assert dq.apply.inputs[4].apply is y.apply


def test_forward_mode_agrees_with_reverse_mode() -> None:
    arrays = [DRAWS.normal(size=s) for s in ((2, 5, 4), (2, 7, 4), (2, 7, 3), (5, 7))]
    given = [tg.tensor(shape=a.shape) for a in arrays]
    y = tg.sum(tg.sin(attention(*given, is_causal=True)))
    tangents = [DRAWS.normal(size=a.shape) for a in arrays]
    (forward,) = tg.jvp([y], given, tangents)
    reverse = sum(tg.sum(dx * t) for dx, t in zip(tg.grad(y, given), tangents, strict=True))
    again = tg.jvp(tg.grad(y, given), given, tangents)  # forward over reverse
    twice = tg.grad(forward, given)
    found = tg.function(given, [forward, reverse, *again, *twice], backend="perform")(*arrays)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-13)
    for a, b in zip(found[2:6], found[6:], strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-13)


def test_queries_whose_results_are_not_selected_leak_nothing() -> None:
    q, k, v, takes = tg.matrix(), tg.matrix(), tg.matrix(), tg.vector(dtype="bool")
    y = tg.where(takes[:, None], attention(1 / q, k, v), 0.0)
    slopes = tg.grad(tg.sum(tg.sin(y)), [k, v])
    arrays = [DRAWS.normal(size=s) for s in ((4, 3), (5, 3), (5, 2))]
    f = tg.function([q, k, v, takes], slopes, backend="perform")
    want = f(*arrays, np.array([True, False, True, True]))
    arrays[0][1] = 0
    for a, b in zip(f(*arrays, np.array([True, False, True, True])), want, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda x: attention(x[0], x, x), ShapeError, "q: found float64[2], needed at least 2 axes"),
        (
            lambda x: attention(x, x, x, enable_gqa=True),
            ShapeError,
            "q: found float64[3, 2], needed at least 3 axes, the first of them that of heads",
        ),
        (lambda x: attention(x, x[:, :1], x), ShapeError, "lengths of queries and keys"),
        (lambda x: attention(x, x, x[:2]), ShapeError, "numbers of keys and values"),
        (
            lambda x: attention(x, x, x, np.ones((2, 3), bool)),
            ShapeError,
            "mask: found bool[2, 3], needed one that broadcasts with 3 queries and 3 keys",
        ),
        (lambda x: attention(x, x, x, np.ones((3, 3), int)), DtypeError, "mask: found int64[3, 3], needed bool"),
        (lambda x: attention(x, x, x * 1j), DtypeError, "found complex128[3, 2], needed a real dtype"),
        (lambda x: attention(x, x, x, scale=x), InputError, "scale: found float64[3, 2], needed a number or a scalar"),
        (
            lambda x: attention(tg.zeros((4, 1, 2)), tg.zeros((3, 1, 2)), tg.zeros((3, 1, 2)), enable_gqa=True),
            ShapeError,
            "heads: found 4 of queries for 3, needed a multiple",
        ),
    ],
)
def test_what_is_refused(make: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match="scaled_dot_product_attention") as caught:
        make(tg.tensor(shape=(3, 2)))
    assert text in str(caught.value)


def test_what_stands_behind_the_mask_is_given_by_name() -> None:
    x: Any = tg.tensor(shape=(3, 2))
    with pytest.raises(TypeError, match="arguments by position"):
        attention(x, x, x, None, 0.0, True)  # PyTorch's order: the probability of dropout first
