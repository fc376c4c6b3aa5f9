"""Lengths that are symbols of `torch.export`: one program for all of them, against the reference at several lengths."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch

import tg

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")  # PyTorch's own

DYNAMIC = torch.export.Dim.DYNAMIC


class Module(torch.nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *args):
        return self.f(*args)


def exported(f, shapes, example=7, **options):
    """The function exported with lengths named by letters as symbols, loaded from its file."""
    args = tuple(torch.from_numpy(a) for a in drawn(shapes, dict.fromkeys("bc", example)))
    symbols = tuple({k: DYNAMIC for k, n in enumerate(shape) if isinstance(n, str)} for shape in shapes)
    program = torch.export.export(Module(f.traceable(**options)), args, dynamic_shapes=(symbols,))
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    return torch.export.load(file).module()


def drawn(shapes, lengths):
    draw = np.random.default_rng(0)
    return [draw.normal(size=[lengths.get(n, n) for n in shape]) for shape in shapes]


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
    "windows": lambda x: tg.sum(x[1:] * x[:-1]) + x[-1],
    "written": lambda x: x.at[1:].multiply(2.0).at[-1].add(0.5),
    "padded": lambda x: tg.concatenate([tg.pad(x, ((1, 2), (0, 0))), tg.zeros((2, 3))], axis=0),
    "products": lambda x: tg.tril(x @ x.T) + tg.eye(x.shape[0]),
    "middle": lambda x: tg.median(x, axis=0),
    "root": lambda x: x / tg.sqrt(x.shape[0]),
    "one row is another case": lambda x: tg.where(tg.equal(x.shape[0], 1), 2.0 * x, x),
    "more than one is": lambda x: tg.where(tg.greater(x.shape[0], 1), 2.0 * x, x),
}
FROM_3_ROWS = ("standardised", "windows", "written")  # a window of one row is a case of its own to PyTorch


@pytest.mark.sampled(5)
@pytest.mark.parametrize("program", PROGRAMS)
def test_one_program_for_all_numbers_of_rows(program):
    f, oracle = (rows(PROGRAMS[program], backend=backend) for backend in ("torch", "perform"))
    g = exported(f, [("b", 3)])
    for n in (3, 5, 8) if program in FROM_3_ROWS else (1, 2, 5, 8):
        (x,) = drawn([("b", 3)], {"b": n})
        np.testing.assert_allclose(g(torch.from_numpy(x)), oracle(x), rtol=1e-12, atol=1e-14)


def test_images_and_attention_have_several_symbols():
    image, kernel = (tg.tensor(name, dtype="float64", shape=(None, 2, None, None)) for name in ("image", "kernel"))
    convolved = tg.nn.relu(tg.nn.conv2d(image, kernel, padding=1))
    q = tg.tensor("q", dtype="float64", shape=(None, None, 4))
    attended = tg.nn.scaled_dot_product_attention(q, q, q, is_causal=True)
    for inputs, result, shapes in (
        ([image, kernel], convolved, [("b", 2, 6, 6), (3, 2, 3, 3)]),
        ([q], attended, [("b", "c", 4)]),
    ):
        f, oracle = (tg.function(inputs, result, backend=backend) for backend in ("torch", "perform"))
        g = exported(f, shapes)
        for lengths in ({"b": 2, "c": 3}, {"b": 4, "c": 2}, {"b": 3, "c": 6}):
            args = drawn(shapes, lengths)
            np.testing.assert_allclose(g(*map(torch.from_numpy, args)), oracle(*args), rtol=1e-12, atol=1e-14)


def test_a_loop_whose_number_of_steps_is_a_symbol_is_refused():
    f = rows(lambda x: tg.scan(lambda h, v: (tg.tanh(h + v), h), tg.zeros(3), x)[0], backend="torch")
    with pytest.raises(tg.InputError, match=r"scan: found the symbol s.* for the number of steps"):
        exported(f, [("b", 3)])


def test_lengths_that_have_to_agree_are_told_at_a_call():
    x, y = tg.matrix("x"), tg.matrix("y")
    f = tg.function([x, y], x + y, backend="torch")
    g = exported(f, [("b", 3), ("b", 3)])
    with pytest.raises(AssertionError, match="Guard failed"):
        g(torch.ones(4, 3, dtype=torch.float64), torch.ones(5, 3, dtype=torch.float64))
