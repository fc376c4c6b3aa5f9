"""Batches: what is in them, in which order, for whom; a training that is cut off and goes on."""

from __future__ import annotations

import pickle
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tg
from tg.errors import DtypeError, InputError, ShapeError

if TYPE_CHECKING:
    from pathlib import Path

DATA = {"x": np.arange(100.0).reshape(50, 2), "y": np.arange(50)}
KEY = tg.random.key(5)


def orders(**options: Any) -> list[list[int]]:
    found = []
    for batch in tg.data.batches(DATA, 8, **options):
        np.testing.assert_array_equal(batch["x"][:, 0], 2.0 * batch["y"])
        found.append(batch["y"].tolist())
    return found


@pytest.mark.parametrize("ahead", [0, 1, 5])
def test_each_epoch_has_each_element_at_most_once_in_an_order_of_its_own(ahead: int) -> None:
    found = orders(key=KEY, epochs=3, ahead=ahead)
    assert len(found) == 18
    epochs = [[y for batch in found[k : k + 6] for y in batch] for k in (0, 6, 12)]
    assert all(len(set(epoch)) == 48 for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 3
    assert found == orders(key=KEY, epochs=3)
    assert found != orders(key=tg.random.key(6), epochs=3)


def test_without_a_key_the_order_is_that_of_the_data() -> None:
    assert orders(epochs=1) == [list(range(k, k + 8)) for k in range(0, 48, 8)]


@pytest.mark.parametrize("start", [0, 1, 6, 11, 18])
def test_it_goes_on_where_it_was(start: int) -> None:
    assert orders(key=KEY, epochs=3, start=start) == orders(key=KEY, epochs=3)[start:]


def test_an_iterator_that_was_left_goes_on() -> None:
    batches = tg.data.batches(DATA, 8, key=KEY, epochs=3)
    first = [batch["y"].tolist() for batch, _ in zip(batches, range(4), strict=False)]
    rest = tg.data.batches(DATA, 8, key=KEY, epochs=3, start=4)
    assert first + [batch["y"].tolist() for batch in rest] == orders(key=KEY, epochs=3)
    assert (rest.step, rest.epoch, len(rest)) == (18, 3, 0)


def test_processes_have_parts_of_one_order() -> None:
    parts = [orders(key=KEY, epochs=2, shard=(k, 3)) for k in range(3)]
    assert [len(part) for part in parts] == [4, 4, 4]
    for epoch in (slice(0, 2), slice(2, 4)):
        seen = [y for part in parts for batch in part[epoch] for y in batch]
        assert len(seen) == len(set(seen)) == 48


def test_memory_mapped_files_are_read_by_batches(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", DATA["x"])
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    found = list(tg.data.batches([mapped], 8, key=KEY, epochs=1))
    assert type(found[0][0]) is np.ndarray
    np.testing.assert_array_equal([batch[0][:, 0] / 2 for batch in found], orders(key=KEY, epochs=1))


def test_a_thread_makes_batches_ready_and_ends() -> None:
    class Slow:
        """An array whose elements take a while."""

        shape = (50,)

        def __getitem__(self, chosen: Any) -> Any:
            if 49 in chosen:
                raise ValueError("a page is missing")
            return np.asarray(chosen)

    def at_work() -> int:
        return sum(t.name == "tg.data" for t in threading.enumerate())

    before = at_work()
    for _ in tg.data.batches([Slow()], 5):
        break
    with pytest.raises(ValueError, match="a page is missing"):
        list(tg.data.batches([Slow()], 5, epochs=1))
    for _ in range(50):
        if at_work() == before:
            break
        time.sleep(0.05)
    assert at_work() == before


def test_what_is_refused() -> None:
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: tg.data.batches([], 8), InputError, "found no arrays"),
        (lambda: tg.data.batches([[1, 2]], 1), InputError, "needed an array"),
        (lambda: tg.data.batches(DATA, 51), InputError, "found 50 elements, needed 51 for a batch"),
        (lambda: tg.data.batches(DATA, 20, shard=(0, 3)), InputError, "50 elements for 3 processes, needed 20"),
        (lambda: tg.data.batches(DATA, 0), InputError, "size: found 0"),
        (lambda: tg.data.batches(DATA, 8, start=-1), InputError, "start: found -1"),
        (lambda: tg.data.batches(DATA, 8, shard=(3, 3)), InputError, "shard: found (3, 3)"),
        (lambda: tg.data.batches(DATA, 8, key=0), DtypeError, "batches: key: found int64[], needed uint32[2]"),
        (lambda: tg.data.batches(DATA, 8, key=tg.random.RandomStream(0)), InputError, "rng.key() gives a key"),
        (lambda: tg.data.batches([np.ones(3), np.ones(4)], 2), ShapeError, "shapes [3], [4]"),
    ]
    for make, error, text in cases:
        with pytest.raises(error) as refused:
            make()
        assert text in str(refused.value)
    with pytest.raises(TypeError, match="there is no end"):
        len(tg.data.batches(DATA, 8))


def test_batches_can_be_pickled_where_they_are() -> None:
    batches = tg.data.batches(DATA, 8, key=KEY, epochs=3)
    for _ in zip(range(4), batches, strict=False):
        pass
    again = pickle.loads(pickle.dumps(batches))
    assert (again.step, again.epoch, len(again)) == (batches.step, batches.epoch, len(batches))
    assert [batch["y"].tolist() for batch in again] == orders(key=KEY, epochs=3)[4:]


@pytest.mark.parametrize("backend", ["perform", "c"])
def test_a_training_that_was_cut_off_goes_on_bit_for_bit(tmp_path: Path, backend: str) -> None:
    """Parameters, statistics, what the optimizer keeps, the stream of random numbers, the place in the data."""

    def training() -> Any:
        net = tg.nn.Sequential(tg.nn.Dense(2, 8), tg.nn.BatchNorm(8), tg.relu, tg.nn.Dropout(0.3), tg.nn.Dense(8, 1))
        model, rng = tg.nn.randomized(net, tg.random.key(1)), tg.random.RandomStream(2)
        x, y = tg.matrix("x", "float32"), tg.vector("y", "float32")
        loss = tg.nn.mse_loss(model(x, training=True, key=rng.key())[:, 0], y)
        updates = tg.optimize.nadam(loss, tg.nn.params(model), learning_rate=tg.optimize.cosine_decay_schedule(0.1, 20))
        step = tg.function([x, y], loss, updates=updates, backend=backend)
        return step, {"model": model, "training": tg.optimize.state(updates)}

    def batches(start: int) -> Any:
        scaled = [DATA["x"].astype("float32") / 100, DATA["y"].astype("float32") / 50]
        return tg.data.batches(scaled, 8, key=KEY, epochs=4, start=start)

    step, _ = training()
    whole = [step(*batch) for batch in batches(0)]
    step, kept = training()
    first = [step(*batch) for batch, _ in zip(batches(0), range(10), strict=False)]
    tg.nn.save(kept, tmp_path / "run.safetensors")
    step, kept = training()
    step(*next(iter(batches(7))))  # it has been somewhere else meanwhile
    tg.nn.load(kept, tmp_path / "run.safetensors")
    rest = [step(*batch) for batch in batches(10)]
    np.testing.assert_array_equal(np.array(first + rest).view(np.uint32), np.array(whole).view(np.uint32))
    assert whole[-1] < whole[0]
