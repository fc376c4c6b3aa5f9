"""Compiled functions inside of programs of PyTorch: `f.traceable()` under its transformations, beside PyTorch's own."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.nn import functional

import tg

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")  # PyTorch's own


def compiled(inputs, outputs, **options):
    return tg.function(inputs, outputs, backend="torch", **options)


def drawn(*shape, dtype=torch.float64, requires_grad=True):
    generator = torch.Generator().manual_seed(len(shape) + sum(shape))
    return torch.randn(*shape, dtype=dtype, generator=generator, requires_grad=requires_grad)


def product():
    x, w = tg.matrix("x"), tg.matrix("w")
    return compiled([x, w], tg.tanh(x @ w)), lambda x, w: torch.tanh(x @ w), (drawn(4, 3), drawn(3, 2))


def softmax():
    x = tg.matrix("x")
    y = tg.softmax(x, axis=-1)
    return compiled([x], tg.sum(y * y)), lambda x: (torch.softmax(x, -1) ** 2).sum(), (drawn(4, 3),)


def mean():
    x = tg.matrix("x")
    return compiled([x], tg.mean(x * x, axis=0)), lambda x: (x * x).mean(0), (drawn(4, 3),)


def images():
    x, w = (tg.tensor(name, dtype="float64", shape=(None,) * 4) for name in "xw")
    f = compiled([x, w], tg.nn.conv2d(x, w, padding=1))
    return f, lambda x, w: functional.conv2d(x, w, padding=1), (drawn(1, 2, 3, 4), drawn(2, 2, 3, 3))


def walk():
    x, w = tg.matrix("x"), tg.matrix("w")
    last, trace = tg.scan(lambda h, v: (tg.tanh(h @ w + v), tg.sum(h)), tg.zeros(3), x)

    def expected(x, w):
        h, rows = torch.zeros(3, dtype=x.dtype), []
        for v in x:
            rows.append(h.sum())
            h = torch.tanh(h @ w + v)
        return h, torch.stack(rows)

    return compiled([x, w], [last, trace]), expected, (drawn(4, 3), drawn(3, 3))


def choice():
    x = tg.vector("x")
    f = compiled([x], tg.where(x > 0, tg.sqrt(tg.abs(x)), x * x))
    return f, lambda x: torch.where(x > 0, torch.sqrt(torch.abs(x)), x * x), (drawn(5),)


def branches():
    x = tg.vector("x", shape=(5,))
    f = compiled([x], tg.cond(tg.sum(x) > 0, lambda v: tg.exp(v), lambda v: v * v, x))
    return f, lambda x: torch.exp(x) if x.sum() > 0 else x * x, (drawn(5),)


def windows():
    x, v = tg.matrix("x", shape=(4, 5)), tg.vector("v", shape=(2,))
    y = x.at[1:3, ::2].multiply(v[:, None]).at[tg.constant([0, 0, 3])].add(1.5 * x[1])

    def expected(x, v):
        scale = torch.ones_like(x)
        scale[1:3, ::2] = v[:, None]
        y = x * scale
        return y.index_add(0, torch.tensor([0, 0, 3]), (1.5 * x[1]).expand(3, 5))

    return compiled([x, v], y), expected, (drawn(4, 5), drawn(2))


def backwards():
    x = tg.matrix("x")
    f = compiled([x], tg.cumsum(x[::-1], axis=0) + tg.sort(x, axis=-1))
    return f, lambda x: torch.cumsum(x.flip(0), 0) + torch.sort(x, -1).values, (drawn(4, 3),)


def solution():
    a, b = tg.matrix("a"), tg.vector("b")
    f = compiled([a, b], tg.linalg.solve(a, b, on_error="nan"))
    return f, torch.linalg.solve, (drawn(3, 3) + 3 * torch.eye(3, dtype=torch.float64), drawn(3))


def factors():
    a = tg.matrix("a")
    f = compiled([a], tg.linalg.cholesky(a @ a.T + tg.eye(3), on_error="nan"))
    return f, lambda a: torch.linalg.cholesky(a @ a.T + torch.eye(3, dtype=a.dtype)), (drawn(3, 3),)


def complexes():
    z = tg.vector("z", dtype="complex128")
    point = torch.complex(drawn(3, requires_grad=False), drawn(4, requires_grad=False)[:3]).requires_grad_()
    return compiled([z], tg.exp(z) * z[0]), lambda z: torch.exp(z) * z[0], (point,)


def integers():
    x, k = tg.vector("x"), tg.vector("k", dtype="int64")
    f = compiled([x, k], [tg.sum(x * k), k * 2, tg.argmax(x)])
    return f, lambda x, k: ((x * k).sum(), k * 2, torch.argmax(x)), (drawn(3), torch.tensor([1, 4, 2]))


PROGRAMS = (
    product, softmax, mean, images, walk, choice, branches, windows, backwards, solution, factors, complexes, integers,
)  # fmt: skip


def leaves(result):
    return [y for y in torch.utils._pytree.tree_leaves(result) if isinstance(y, torch.Tensor)]


def cost(f):
    """A real number of all inexact results."""

    def number(*args):
        inexact = [y for y in leaves(f(*args)) if y.is_floating_point() or y.is_complex()]
        return sum((torch.abs(y + (k + 1.0)) ** 2).sum() for k, y in enumerate(inexact))

    return number


def inexact(args):
    return tuple(k for k, x in enumerate(args) if x.requires_grad)


def assert_equal(found, expected, tolerance=1e-10):
    found, expected = leaves(found), leaves(expected)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_and_gradients_are_those_of_pytorch(program):
    f, expected, args = program()
    traced = f.traceable()
    assert_equal(traced(*args), expected(*args))
    wrt = [args[k] for k in inexact(args)]
    assert_equal(torch.autograd.grad(cost(traced)(*args), wrt), torch.autograd.grad(cost(expected)(*args), wrt))


@pytest.mark.parametrize("program", PROGRAMS)
def test_derivatives_pass_the_check_of_autograd(program):
    f, _, args = program()
    traced = f.traceable()
    points = tuple(x.detach().clone().requires_grad_(x.requires_grad) for x in args)
    assert torch.autograd.gradcheck(traced, points, check_forward_ad=True)
    if program is not images:
        assert torch.autograd.gradgradcheck(cost(traced), points)


TRANSFORMS = {
    "grad": lambda f, args: torch.func.grad(cost(f), inexact(args))(*args),
    "vjp": lambda f, args: torch.func.vjp(cost(f), *args)[0],
    "vmap": lambda f, args: torch.func.vmap(f)(*[torch.stack([x, 2 * x]) for x in args]),
    "vmap of one": lambda f, args: torch.func.vmap(f, (0, *[None] * (len(args) - 1)))(
        torch.stack([args[0], args[0] / 2]), *args[1:]
    ),
    "vmap of grad": lambda f, args: torch.func.vmap(torch.func.grad(cost(f)))(*[torch.stack([x, 2 * x]) for x in args]),
    "grad of vmap": lambda f, args: torch.func.grad(cost(torch.func.vmap(f)))(*[torch.stack([x, 2 * x]) for x in args]),
    "jvp": lambda f, args: torch.func.jvp(lambda x: cost(f)(x, *args[1:]), (args[0],), (0.5 * args[0],)),
    "hessian": lambda f, args: torch.func.hessian(lambda x: cost(f)(x, *args[1:]))(args[0]),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("program", [product, softmax, mean, walk, windows, backwards, choice, factors])
def test_transformations_of_functions(program, transform):
    f, expected, args = program()
    args = tuple(x.detach() for x in args)
    ask = tuple(x.clone().requires_grad_() for x in args) if transform == "grad" else args
    assert_equal(TRANSFORMS[transform](f.traceable(), ask), TRANSFORMS[transform](expected, ask))


def test_autocasting_leaves_the_dtypes_of_the_program():
    x, w = tg.matrix("x", dtype="float32"), tg.matrix("w", dtype="float32")
    f = compiled([x, w], x @ w).traceable()
    args = [drawn(4, 3, dtype=torch.float32), drawn(3, 2, dtype=torch.float32)]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = f(*args)
        assert (args[0] @ args[1]).dtype == torch.bfloat16
        half = f(args[0].bfloat16(), args[1])
    assert y.dtype == half.dtype == torch.float32
    torch.testing.assert_close(y, args[0] @ args[1])
    (slope,) = torch.autograd.grad(y.sum(), args[0])
    torch.testing.assert_close(slope, args[1].sum(1).expand(4, 3))


def test_structures_names_and_defaults():
    x, k = tg.vector("x"), tg.scalar("k", "int32")
    f = compiled([x, k], {"sum": tg.sum(x) * k, "rest": (x * 2, [k + 1])}, defaults={k: 3}, name="parts").traceable()
    point = drawn(3)
    first, second = f(point), f(k=torch.tensor(5, dtype=torch.int32), x=point)
    torch.testing.assert_close(first["sum"], point.sum() * 3)
    torch.testing.assert_close(second["sum"], point.sum() * 5)
    torch.testing.assert_close(second["rest"][0], 2 * point)
    assert (int(first["rest"][1][0]), int(second["rest"][1][0])) == (4, 6)
    assert first["rest"][1][0].dtype == torch.int32
    assert f.__name__ == "parts"


def test_shared_variables_have_the_values_that_they_had():
    x, data = tg.vector("x"), tg.shared(np.arange(3.0), "data")
    f = compiled([x], tg.sum(data * x**2)).traceable()
    data.set_value(np.zeros(3))
    point = drawn(3)
    value = f(point)
    torch.testing.assert_close(value, (torch.arange(3.0) * point**2).sum())
    torch.testing.assert_close(torch.autograd.grad(value, point)[0], torch.arange(3.0) * 2 * point)


def test_what_the_expression_says_of_its_derivative_holds_at_every_order():
    x = tg.vector("x")
    f = compiled([x], tg.sum(tg.stop_gradient(x) * x * x)).traceable()
    point = drawn(3)
    (slope,) = torch.autograd.grad(f(point), point, create_graph=True)
    torch.testing.assert_close(slope, 2 * point * point)
    torch.testing.assert_close(torch.autograd.grad(slope.sum(), point)[0], 2 * point)


def test_a_check_of_values_is_refused_or_gives_nan():
    x, k = tg.vector("x"), tg.scalar("k", "int64")
    f = compiled([x, k], x[k] * x)
    with pytest.raises(tg.InputError, match="a check that values decide"):
        f.traceable()
    point, traced = drawn(3), f.traceable(on_error="nan")
    torch.testing.assert_close(traced(point, 1), point[1] * point)
    assert traced(point, 3).isnan().all()


def test_arguments_are_looked_at():
    x, n = tg.vector("x", shape=(3,)), tg.scalar("n", "int32")
    f = compiled([x, n], x * n).traceable()
    torch.testing.assert_close(f(drawn(3).float(), 2), drawn(3).float().double() * 2)
    wrong = {
        "input 'x': found 2 axes": (drawn(3, 1), 2),
        "input 'x': axis 0 has length 4, needed 3": (drawn(4), 2),
        "input 'n': found dtype float64, needed int32": (drawn(3), torch.tensor(2.0, dtype=torch.float64)),
        "input 'x': found dtype complex128, needed float64": (drawn(3) * 1j, 2),
    }
    for text, args in wrong.items():
        with pytest.raises(tg.TgError, match=text):
            f(*args)


class Layer(torch.nn.Module):
    """A layer of PyTorch, one by `f`, and one of PyTorch again."""

    def __init__(self, f):
        super().__init__()
        torch.manual_seed(0)
        self.first = torch.nn.Linear(3, 8, dtype=torch.float64)
        self.weight = torch.nn.Parameter(torch.randn(8, 8, dtype=torch.float64))
        self.last = torch.nn.Linear(8, 1, dtype=torch.float64)
        self.f = f

    def forward(self, x):
        return self.last(self.f(self.first(x), self.weight))


def layer():
    h, w = tg.matrix("h"), tg.matrix("w")
    f = compiled([h, w], tg.tanh(h @ w) * tg.sigmoid(h))
    return f.traceable(), lambda h, w: torch.tanh(h @ w) * torch.sigmoid(h)


def test_a_module_with_a_layer_is_trained_as_pytorch_trains_it():
    losses = []
    x, y = drawn(16, 3, requires_grad=False), drawn(16, 1, requires_grad=False)
    for f in layer():
        module = Layer(f)
        steps = torch.optim.Adam(module.parameters(), lr=0.02)
        for _ in range(20):
            steps.zero_grad()
            loss = functional.mse_loss(module(x), y)
            loss.backward()
            steps.step()
        losses.append([loss.item(), *(p.detach() for p in module.parameters())])
    assert losses[0][0] == pytest.approx(losses[1][0], rel=1e-10)
    assert_equal(losses[0][1:], losses[1][1:])


@pytest.mark.long
@pytest.mark.parametrize("engine", ["aot_eager", "inductor"])
@pytest.mark.parametrize("program", [mean, walk, windows, branches, integers])
def test_torch_compile_takes_it_whole(program, engine):
    f, expected, args = program()
    torch.compiler.reset()  # all programs have the code of one function, which is compiled so often at most
    traced = torch.compile(f.traceable(), fullgraph=True, backend=engine)
    assert_equal(traced(*args), expected(*args))
    wrt = [args[k] for k in inexact(args)]
    assert_equal(torch.autograd.grad(cost(traced)(*args), wrt), torch.autograd.grad(cost(expected)(*args), wrt))


ALONE = """
import sys, torch
program, (x, y) = torch.export.load(sys.argv[1]), torch.load(sys.argv[2])
torch.testing.assert_close(program.module()(x), y, rtol=1e-12, atol=1e-12)
assert not any(name == "tg" or name.startswith("tg_") for name in sys.modules)
"""


@pytest.mark.long
def test_an_exported_program_runs_without_tg(tmp_path):
    f, expected = layer()
    module, x = Layer(f), drawn(4, 3, requires_grad=False)
    program = torch.export.export(module, (x,))
    ops = {str(node.target) for node in program.graph.nodes if node.op == "call_function"}
    assert all(op.startswith("aten.") for op in ops)
    torch.export.save(program, tmp_path / "program.pt2")
    torch.save((x, Layer(expected)(x)), tmp_path / "values.pt")
    subprocess.run([sys.executable, "-c", ALONE, tmp_path / "program.pt2", tmp_path / "values.pt"], check=True)
