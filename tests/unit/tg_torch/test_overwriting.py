"""Updates in the memory of old values: PyTorch's own steps, and nothing that others see is written."""

import threading

import numpy as np
import pytest
import torch

import tg
from tests.unit.native_backends import test_in_place_at_random as at_random
from tg.functions import lending

N = 37
SHAPE = (N, 5)


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.fixture(autouse=True)
def lend_small_values(monkeypatch):
    monkeypatch.setattr(lending, "WORTH", 0)


def address(shared):
    """Where the value lies that backend torch reads, seen without keeping anything."""
    value = shared.snapshot
    return value.natives["torch"].data_ptr() if "torch" in value.natives else None


def updating(updates, outputs=(), inputs=(), **options):
    f = tg.function(list(inputs), list(outputs), updates=updates, backend="torch", **options)
    f.overwrites = f.programs.main.executable.overwrites
    return f


def momentum(w, speed, slope):
    """A step of descent, as that of `torch.optim.SGD(lr=0.125, momentum=0.75)`."""
    faster = 0.75 * speed + slope
    return {speed: faster, w: w - 0.125 * faster}


@pytest.mark.parametrize("shape", [(None, None), SHAPE])
def test_steps_are_those_of_torch_and_stay_where_they_are(shape):
    w, speed, x = tg.shared(numbers(*SHAPE), shape=shape), tg.shared(np.zeros(SHAPE), shape=shape), tg.vector("x")
    loss = tg.sum(tg.tanh(tg.matmul(w, x)))
    f = updating(momentum(w, speed, tg.grad(loss, w)), [loss], [x])
    assert len(f.overwrites) == 2
    theirs = torch.tensor(w.get_value(), requires_grad=True)
    faster, places = torch.zeros(SHAPE, dtype=torch.float64), set()
    for k in range(5):
        given = numbers(5, seed=k)
        (ours,) = f(given)
        expected = torch.tanh(theirs @ torch.from_numpy(given)).sum()
        faster.mul_(0.75).add_(*torch.autograd.grad(expected, theirs))
        with torch.no_grad():
            theirs.sub_(faster, alpha=0.125)
        np.testing.assert_allclose(ours, expected.item(), rtol=1e-12)
        places.add((address(w), address(speed)))
    assert len(places - {(None, None)}) <= 2  # the first step has looked at what rules give, and made new values
    assert places == {*places, (address(w), address(speed))}
    np.testing.assert_allclose(w.get_value(), theirs.detach().numpy(), rtol=1e-12)


def test_the_second_call_and_later_ones_write_in_place():
    w, g = tg.shared(numbers(*SHAPE), "w"), tg.matrix("g")
    f = updating({w: w - 0.5 * g}, inputs=[g])
    f(numbers(*SHAPE))
    before, wanted = address(w), w.get_value()
    f(numbers(*SHAPE, seed=1))
    assert address(w) != before  # the array that get_value has copied is of this memory, and the value has kept it
    wanted -= 0.5 * numbers(*SHAPE, seed=1)
    before = address(w)
    for k in (2, 3, 4):
        f(numbers(*SHAPE, seed=k))
        wanted -= 0.5 * numbers(*SHAPE, seed=k)
        assert address(w) == before
    np.testing.assert_allclose(w.get_value(), wanted, rtol=1e-14)


HOLDERS = {
    "a value": lambda w: w.snapshot,
    "its array": lambda w: w.snapshot.numpy,
    "a tensor": lambda w: w.snapshot.natives["torch"],
    "a view": lambda w: w.snapshot.natives["torch"][3:],
    "a detached one": lambda w: w.snapshot.natives["torch"].detach(),
    "its memory": lambda w: w.snapshot.natives["torch"].untyped_storage(),
    "a capsule": lambda w: w.snapshot.natives["torch"].__dlpack__(),
    "an array of NumPy": lambda w: w.snapshot.natives["torch"].numpy(),
    "autograd": lambda w: w.snapshot.natives["torch"] * torch.ones(N, requires_grad=True),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_whoever_holds_a_value_keeps_it(name):
    w = tg.shared(numbers(N), "w")
    f = updating({w: w * 2.0})
    f()
    f()
    before, wanted = address(w), numbers(N) * 4
    held = HOLDERS[name](w)
    f()
    assert address(w) != before
    del held
    before = address(w)
    f()
    assert address(w) == before
    np.testing.assert_array_equal(w.get_value(), wanted * 4)


def test_a_mode_that_looks_at_what_is_done_sees_new_values():
    from torch.utils._python_dispatch import TorchDispatchMode

    class Looking(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    w = tg.shared(numbers(N), "w")
    f = updating({w: w * 2.0})
    f()
    before = address(w)
    with Looking():
        f()
    assert address(w) != before
    before = address(w)
    with torch.inference_mode():
        f()
    np.testing.assert_array_equal(w.get_value(), numbers(N) * 8)


def test_results_are_as_before_the_update_or_behind_it_and_no_views():
    w, x = tg.shared(numbers(N), "w"), tg.vector("x")
    new = w + x
    f = updating({w: new}, [w, w[::-1], tg.sum(w)], [x])
    assert f.overwrites
    f(np.ones(N))
    f(np.ones(N))
    old, backwards, total = f(np.ones(N))
    np.testing.assert_array_equal(old, (numbers(N) + 1) + 1)
    np.testing.assert_array_equal(backwards, old[::-1])
    np.testing.assert_allclose(total, old.sum(), rtol=1e-12)
    np.testing.assert_array_equal(w.get_value(), old + 1)
    assert not np.shares_memory(old, w.snapshot.numpy)


@pytest.mark.parametrize(
    ("name", "update", "count"),
    [
        ("the new value is a result", lambda a, b: ({a: a + b}, [a + b]), 0),
        ("something reads the new value", lambda a, b: ({a: a + b}, [tg.sum(a + b)]), 0),
        ("a view of the old one", lambda a, b: ({a: a + a[::-1]}, []), 0),
        ("one behind the other", lambda a, b: ({a: a + b, b: b - (a + b)}, []), 2),
        ("the old one is read later", lambda a, b: ({a: a * 2.0 + b, b: b * a}, []), 1),
        ("exchanged", lambda a, b: ({a: b, b: a}, []), 0),
        ("one value for two", lambda a, b: ({a: a + b, b: a + b}, []), 0),
        ("not of the old one", lambda a, b: ({a: b * 2.0}, []), 0),
    ],
)
def test_dependences_between_new_and_old_values(name, update, count):
    found = []
    for backend in ("torch", "perform"):
        a, b = tg.shared(numbers(N), "a", shape=(N,)), tg.shared(numbers(N, seed=1), "b", shape=(N,))
        updates, outputs = update(a, b)
        f = tg.function([], outputs, updates=updates, backend=backend)
        found.append([*(np.array(y) for _ in range(3) for y in f()), a.get_value(), b.get_value()])
        if backend == "torch":
            assert len(f.programs.main.executable.overwrites) == count
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, err_msg=name)


def test_a_call_that_fails_leaves_the_values():
    w, i = tg.shared(numbers(N), "w"), tg.scalar("i", dtype="int64")
    f = updating({w: w * 2.0}, [w[i]], [i])
    assert f.overwrites
    for k in range(3):
        f(k)
    before = address(w)
    with pytest.raises(tg.errors.BoundsError):
        f(N)
    assert address(w) == before
    np.testing.assert_array_equal(w.get_value(), numbers(N) * 8)


def test_lengths_that_do_not_fit_change_nothing():
    w, v, x = tg.shared(numbers(N), "w"), tg.shared(numbers(N), "v", shape=(N,)), tg.vector("x")
    f = updating({w: w * 2.0, v: x}, [], [x])
    f(np.ones(N))
    f(np.ones(N))
    with pytest.raises(tg.errors.ShapeError):
        f(np.ones(N + 1))
    np.testing.assert_array_equal(w.get_value(), numbers(N) * 4)
    np.testing.assert_array_equal(v.get_value(), 1)


def test_donated_arguments_are_left_as_they_are():
    w, x = tg.shared(numbers(N), "w"), tg.vector("x")
    f = updating({w: w + x}, [x * 2.0], [x], donate=[x])
    given = np.ones(N)
    for _ in range(3):
        (doubled,) = f(given)
        np.testing.assert_array_equal(doubled, 2)
        np.testing.assert_array_equal(given, 1)


def test_no_reader_sees_a_value_half_written():
    w = tg.shared(np.zeros(20000), "w")
    f = updating({w: w + 1.0})
    wrong, stop = [], threading.Event()

    def read():
        last = 0.0
        while not stop.is_set():
            copy = w.get_value()
            w.patience = 0
            if not copy.min() == copy.max() >= last:
                wrong.append((copy.min(), copy.max(), last))
            last = float(copy[0])

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(600):
        f()
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert w.get_value()[0] == 600


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", at_random.SEEDS)
def test_overwriting_changes_no_bit(seed):
    variables, f = at_random.function(seed, "torch")
    rng = np.random.default_rng(seed)
    f()
    for _ in range(2):
        values = [rng.standard_normal(v.get_value().shape) for v in variables]
        for v, value in zip(variables, values, strict=True):
            v.set_value(value)
        held = [v.snapshot for v in variables]
        apart = at_random.bits(f()) + at_random.bits(v.get_value() for v in variables)
        assert at_random.bits(h.numpy for h in held) == at_random.bits(values)
        del held
        for v, value in zip(variables, values, strict=True):
            v.set_value(value)
        assert at_random.bits(f()) + at_random.bits(v.get_value() for v in variables) == apart
