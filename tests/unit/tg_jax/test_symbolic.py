"""Lengths that are symbols of `jax.export`: one program for all of them, against the reference at several lengths."""

from __future__ import annotations

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

import tg


@pytest.fixture
def wide():
    with jax.enable_x64(True):
        yield


def exported(f, *shapes, scope=None, **options):
    """The function exported for shapes that name lengths, loaded from its bytes."""
    scope = scope or jax.export.SymbolicScope()
    args = [jax.ShapeDtypeStruct(jax.export.symbolic_shape(s, scope=scope), jnp.float64) for s in shapes]
    return jax.export.deserialize(jax.export.export(jax.jit(f.traceable(**options)))(*args).serialize())


def drawn(shapes, lengths):
    draw = np.random.default_rng(0)
    return [draw.normal(size=eval(f"({shape},)", dict(lengths))) for shape in shapes]


def rows(y, **options):
    """A function of a matrix of three columns."""
    x = tg.matrix("x", shape=(None, 3))
    return tg.function([x], y(x), **options)


def perceptron(x):
    return tg.mean(tg.softmax(tg.tanh(x @ tg.constant(np.linspace(-1, 1, 12).reshape(3, 4)))), axis=0)


PROGRAMS = {
    "perceptron": perceptron,
    "its gradient": lambda x: tg.grad(tg.sum(perceptron(x) ** 2), x),
    "standardised": lambda x: (x - tg.mean(x, axis=0)) / tg.std(x, axis=0, ddof=1),
    "one axis": lambda x: tg.reshape(x, (-1,)),
    "positions": lambda x: tg.arange(x.shape[0])[:, None] * x,
    "backwards": lambda x: x[::-1] + tg.sort(x, axis=0),
    "windows": lambda x: tg.sum(x[1:] * x[:-1]) + x[-1] + x[: x.shape[0] // 2].sum(axis=0),
    "every other": lambda x: [x[::2], x[::-2]],
    "written": lambda x: x.at[1:].multiply(2.0).at[::2].set(0.5),
    "shifted": lambda x: tg.roll(x, 1, axis=0) + tg.cumsum(x, axis=0),
    "padded": lambda x: tg.concatenate([tg.pad(x, ((1, 2), (0, 0))), tg.zeros((2, 3))], axis=0),
    "products": lambda x: tg.tril(x @ x.T) + tg.eye(x.shape[0]),
    "middle": lambda x: tg.median(x, axis=0),
    "root": lambda x: x / tg.sqrt(x.shape[0]),
    "one row is another case": lambda x: tg.where(tg.equal(x.shape[0], 1), 2.0 * x, x),
    "loop": lambda x: list(tg.scan(lambda h, v: (tg.tanh(h + v), tg.sum(h)), tg.zeros(3), x)),
    "counted": lambda x: tg.scan(lambda h, k: (h * 0.5 + k, h), tg.zeros(3), tg.arange(x.shape[0]) * 1.0)[0] + x[0],
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("program", PROGRAMS)
def test_one_program_for_all_numbers_of_rows(program, wide):
    ddof = 2 if program == "standardised" else 1
    f, oracle = (rows(PROGRAMS[program], backend=backend) for backend in ("jax", "perform"))
    g = exported(f, "b, 3")
    for n in {ddof, 2, 5, 8}:
        (x,) = drawn(["b, 3"], {"b": n})
        for a, b in zip(jax.tree.leaves(g.call(x)), jax.tree.leaves(oracle(x)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_images_and_attention_have_several_symbols(wide):
    image, kernel = (tg.tensor(name, dtype="float64", shape=(None, 2, None, None)) for name in ("image", "kernel"))
    convolved = tg.nn.relu(tg.nn.conv2d(image, kernel, padding=1))
    q = tg.tensor("q", dtype="float64", shape=(None, None, 4))
    attended = tg.nn.scaled_dot_product_attention(q, q, q, is_causal=True)
    for inputs, result, shapes in (
        ([image, kernel], convolved, ["b, 2, 6, 6", "3, 2, 3, 3"]),
        ([q], attended, ["b, c, 4"]),
    ):
        f, oracle = (tg.function(inputs, result, backend=backend) for backend in ("jax", "perform"))
        g = exported(f, *shapes)
        for lengths in ({"b": 1, "c": 3}, {"b": 4, "c": 1}, {"b": 3, "c": 6}):
            args = drawn(shapes, lengths)
            np.testing.assert_allclose(g.call(*args), oracle(*args), rtol=1e-12, atol=1e-14)


def test_the_gradient_is_exported_with_the_function(wide):
    f = rows(lambda x: tg.logsumexp(x) * tg.sum(x[1:] ** 2), backend="jax")
    g = jax.export.export(jax.jit(f.traceable()))(jax.ShapeDtypeStruct(jax.export.symbolic_shape("b, 3"), jnp.float64))
    loaded = jax.export.deserialize(g.serialize(vjp_order=1))
    slope = rows(lambda x: tg.grad(tg.logsumexp(x) * tg.sum(x[1:] ** 2), x), backend="perform")
    for n in (2, 5):
        (x,) = drawn(["b, 3"], {"b": n})
        (dx,) = loaded.vjp().call(x, 1.0)
        np.testing.assert_allclose(dx, slope(x), rtol=1e-12, atol=1e-14)


def test_two_symbols_that_have_to_agree_are_refused(wide):
    x, y = tg.matrix("x"), tg.matrix("y")
    f = tg.function([x, y], x + y, backend="jax")
    with pytest.raises(tg.InputError, match="symbols, of which it is not known whether this check holds") as error:
        exported(f, "b, 3", "c, 3")
    assert "lengths differ: b and c" in str(error.value)
    g = exported(f, "b, 3", "b, 3")
    np.testing.assert_array_equal(g.call(np.ones((1, 3)), np.ones((1, 3))), np.full((1, 3), 2.0))


def test_a_symbol_with_a_bound_passes_the_check_that_needs_it(wide):
    f = rows(lambda x: x[3] - x[-4], backend="jax")
    with pytest.raises(tg.InputError, match="not known whether this check holds"):
        exported(f, "b, 3")
    g = exported(f, "b, 3", scope=jax.export.SymbolicScope(["b >= 4"]))
    (x,) = drawn(["b, 3"], {"b": 6})
    np.testing.assert_array_equal(g.call(x), x[3] - x[-4])


def test_a_static_length_is_no_symbol(wide):
    x = tg.matrix("x", shape=(4, 3))
    with pytest.raises(tg.ShapeError, match="axis 0 has length b, needed 4"):
        exported(tg.function([x], 2.0 * x, backend="jax"), "b, 3")
