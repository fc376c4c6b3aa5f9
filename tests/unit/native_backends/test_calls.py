"""Calls through compiled entries: the same as through Python in every case, and nothing of them stays."""

import dataclasses
import gc
import sys
import threading
import typing

import numpy as np
import pytest

import tg
from tg.functions.programs import Programs
from tg.link.linker import Executable
from tg.types.dtypes import DTYPES, numpy_dtype
from tg_native.calls.interface import interface_of

pytestmark = pytest.mark.sampled(2)
HOSTILE = (
    *(
        0,
        1,
        -1,
        127,
        128,
        -128,
        -129,
        255,
        256,
        65535,
        2**31,
        -(2**31),
        2**53 + 1,
        2**63 - 1,
        -(2**63),
        2**63,
        2**64,
        2**70,
    ),
    *(0.0, -0.0, 1.5, 3.4e38, 3.5e38, 1e-46, 1e308, float("inf"), float("-inf"), float("nan")),
    *(True, False, 1j, None, "1", b"1", [1.0], (2.0,), [[3.0]], np.array([1.0]), object(), slice(None)),
)


class Subclass(np.ndarray):
    pass


class Point(typing.NamedTuple):
    x: object
    y: object


@dataclasses.dataclass
class Record:
    x: object
    y: object


def is_entry(f):
    return type(f.__call__).__name__ == "builtin_function_or_method"


@pytest.fixture
def through_python(backend, monkeypatch):
    """Makes functions that have no compiled entry."""
    x = tg.vector("x", dtype="float32")
    kind = type(tg.function([x], x, backend=backend).programs.main.executable)

    def make(*arguments, **options):
        with monkeypatch.context() as patch:
            patch.setattr(kind, "entry", Executable.entry)
            return tg.function(*arguments, backend=backend, **options)

    return make


@pytest.fixture
def both(backend, through_python):
    """Makes a function with the compiled entry, and the same without."""

    def make(*arguments, **options):
        quick, plain = tg.function(*arguments, backend=backend, **options), through_python(*arguments, **options)
        assert is_entry(quick)
        assert not is_entry(plain)
        return quick, plain

    return make


def outcome(f, *args, **kwargs):
    """All that can be seen of a call."""
    try:
        found = f(*args, **kwargs)
    except Exception as error:  # noqa: BLE001
        return type(error), str(error), error.__notes__ if hasattr(error, "__notes__") else None
    found = [found] if isinstance(found, np.ndarray) else found
    return type(found), [(type(v), v.dtype, v.shape, v.strides, v.flags.num, v.tobytes()) for v in found]


def unaligned(array):
    raw = np.zeros(array.nbytes + 1, np.uint8)
    found = raw[1:].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def forms(array):
    """An array in every form that an argument may have, the odd ones included."""
    read_only = array.copy()
    read_only.flags.writeable = False
    every_second = np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array
    return [
        array,
        read_only,
        every_second,
        array[..., ::-1] if array.ndim else array,
        np.asfortranarray(array),
        array.T,
        np.broadcast_to(array[:1], array.shape) if array.ndim else array,
        unaligned(array),
        array.astype(array.dtype.newbyteorder()),
        array.astype(np.dtype(array.dtype, metadata={"a": 1})),
        array.view(Subclass),
        np.ma.array(array),
        np.ma.array(array, mask=True),
        array.tolist(),
        *(array.real.astype(d) for d in "?bBfdqlgDO"),
        array[None],
        array[..., None],
        array[..., 0] if array.ndim else array,
        array[:1] if array.ndim else array,
        array[:0] if array.ndim else array,
        array[()],
        None,
        tg.vector("v"),
        "text",
        3,
    ]


@pytest.mark.parametrize(
    ("dtype", "shape", "array"),
    [
        ("float64", (None,), np.arange(4.0)),
        ("float64", (None, 3), np.arange(12.0).reshape(4, 3)),
        ("float64", (1, None), np.arange(4.0).reshape(1, 4)),
        ("float64", (), np.array(2.5)),
        ("int64", (None, None), np.arange(6).reshape(2, 3)),
        ("float32", (3,), np.arange(3, dtype=np.float32)),
        ("complex128", (None,), np.arange(3) * (1 + 2j)),
        ("bool", (None,), np.array([True, False])),
    ],
    ids=lambda v: "" if isinstance(v, np.ndarray) else str(v),
)
def test_every_form_of_an_argument_gives_what_it_gives_without_the_entry(both, dtype, shape, array):
    x = tg.tensor("x", dtype, shape)
    quick, plain = both([x], [x, tg.sum(tg.cast(x, "float64"))])
    for given in forms(array):
        before = given.tobytes() if isinstance(given, np.ndarray) else None
        wanted = outcome(plain, given)
        assert outcome(quick, given) == wanted
        assert outcome(quick, x=given) == wanted
        assert before is None or given.tobytes() == before


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_number_gives_what_it_gives_without_the_entry(both, dtype):
    x = tg.scalar("x", dtype=dtype)
    quick, plain = both([x], [x])
    scalars = [np.array(k).astype(numpy_dtype(d))[()] for d in DTYPES for k in (0, 1, 100)]
    for given in (*HOSTILE, *scalars, *(np.array(s) for s in scalars)):
        with np.errstate(all="ignore"):
            assert outcome(quick, given) == outcome(plain, given), repr(given)


def test_names_defaults_and_wrong_numbers_of_arguments(both):
    x, y = tg.vector("x"), tg.scalar("y")
    quick, plain = both([x, y], x * y, defaults={y: 2.0})
    a = np.ones(3)
    calls = [((), {}), ((a,), {}), ((a, 3.0), {}), ((a, 3.0, 1), {}), ((a,), {"y": 4}), ((), {"y": 4, "x": a})]
    calls += [((a,), {"z": 1}), ((a, 1.0), {"x": a}), ((), {"y": 1.0})]
    for args, kwargs in calls:
        assert outcome(quick, *args, **kwargs) == outcome(plain, *args, **kwargs)


def test_lengths_of_1_that_the_program_does_not_expect(both):
    x, y = tg.matrix("x"), tg.matrix("y")
    quick, plain = both([x, y], [x + y, tg.sum(x * y, axis=0)])
    shapes = [(2, 3), (1, 3), (2, 1), (1, 1), (0, 3), (2, 0), (3, 2)]
    for a in shapes:
        for b in shapes:
            assert outcome(quick, np.ones(a), np.ones(b)) == outcome(plain, np.ones(a), np.ones(b))
    assert quick.compiles == plain.compiles


@pytest.mark.parametrize("with_shared", [False, True])
def test_each_specialisation_has_an_entry(backend, monkeypatch, with_shared):
    x, y = tg.vector("x"), tg.vector("y")
    s = tg.shared(2.0) if with_shared else 2.0
    f = tg.function([x, y], x * y * s, backend=backend)
    shapes = [(3, 3), (1, 3), (3, 1), (1, 1)]
    for a, b in shapes:
        f(np.ones(a), np.ones(b))
    monkeypatch.setattr(Programs, "run", lambda *_: pytest.fail("declined"))
    for a, b in shapes:
        assert f(np.full(a, 3.0), np.ones(b)).tolist() == [6.0] * max(a, b)


def test_a_program_that_fits_lengths_of_1_only(both):
    x = tg.vector("x")
    quick, plain = both([x], [x + np.ones(3), x + np.ones(4)])
    for n in (0, 1, 3):
        assert outcome(quick, np.ones(n)) == outcome(plain, np.ones(n))


@pytest.mark.parametrize(
    "make",
    [
        lambda x, y, n: tg.concatenate([x, y, x]),
        lambda x, y, n: x[:, None] * y,
        lambda x, y, n: tg.reshape(x[:, None] * y, (-1,)),
        lambda x, y, n: x[1:-1],
        lambda x, y, n: x[::-2],
        lambda x, y, n: x[2:5],
        lambda x, y, n: [x[: y.shape[0]], x[y.shape[0] :], tg.zeros((x.shape[0] // 3, y.shape[0] % 4))],
        lambda x, y, n: x + y,
        lambda x, y, n: tg.diag(x),
        lambda x, y, n: x[x > 2],
        lambda x, y, n: [tg.flatnonzero(x > 2), y[y > 1], y, tg.sum(x)],
        lambda x, y, n: tg.arange(n),
        lambda x, y, n: [tg.arange(n) * 2, x, tg.zeros((n, 2))],
        lambda x, y, n: x[n],
        lambda x, y, n: tg.reshape(x, (n, -1)),
        lambda x, y, n: tg.zeros((x.shape[0] - 3,)),
        lambda x, y, n: [x, x, y, x + 0, tg.zeros((0,)), tg.zeros((x.shape[0], 0))],
        lambda x, y, n: tg.constant(np.arange(2000.0)) * n,
        lambda x, y, n: [tg.constant(np.arange(1000.0)), tg.constant(np.arange(3000.0)) + tg.sum(x)],
        lambda x, y, n: n // 0,
        lambda x, y, n: tg.max(x),
    ],
)
@pytest.mark.sampled(6)
def test_results_of_every_length_are_what_they_are_without_the_entry(both, make):
    x, y, n = tg.vector("x"), tg.vector("y"), tg.scalar("n", dtype="int64")
    quick, plain = both([x, y, n], make(x, y, n), on_unused_input="ignore")
    for a, b in [(6, 6), (6, 3), (0, 0), (2, 7), (1, 4), (4, 1), (3, 0)]:
        for k in (2, 0, -1, 5):
            args = (np.arange(float(a)), np.arange(float(b)), k)
            assert outcome(quick, *args) == outcome(plain, *args)


def test_lengths_that_are_too_large_are_refused_as_without_the_entry(both):
    x, y = tg.tensor("x", "float64", (None, 0)), tg.tensor("y", "float64", (None, 0))
    quick, plain = both([x, y], tg.zeros((x.shape[0], y.shape[0])) + 1.0)
    huge = np.empty((2**40, 0))
    assert outcome(quick, huge, huge) == outcome(plain, huge, huge)
    assert outcome(quick, huge, huge)[0] is tg.ShapeError


@pytest.mark.parametrize(
    "nest",
    [
        lambda a, b: a,
        lambda a, b: [a],
        lambda a, b: [a, b],
        lambda a, b: (a, b),
        lambda a, b: (a, [b, (a,)], {"k": b, 3: [a]}),
        lambda a, b: {"z": a, "a": {"b": b}},
        lambda a, b: [],
        lambda a, b: (),
        lambda a, b: {},
        lambda a, b: [[], a, ([], {})],
        lambda a, b: None,
        lambda a, b: [a, None],
        lambda a, b: Point(a, b),
        lambda a, b: [Point(a, [b])],
        lambda a, b: Record(a, (b,)),
    ],
)
def test_results_are_nested_as_the_outputs_were(backend, nest):
    x = tg.vector("x")
    f = tg.function([x], nest(x + 1, x * 2), backend=backend, on_unused_input="ignore")
    assert is_entry(f)
    given = np.arange(3.0)
    assert repr(f(given)) == repr(nest(given + 1, given * 2))


def test_outputs_own_their_memory_and_share_none(backend):
    x, s = tg.vector("x"), tg.scalar("s")
    f = tg.function([x, s], [x, x, x + 0, s, s * 1, tg.reshape(x, (2, -1))], backend=backend)
    given, number = np.arange(4.0), np.array(2.0)
    first, second = f(given, number), f(given, number)
    arrays = [given, number, *first, *second]
    for k, a in enumerate(arrays):
        assert a.flags.owndata
        assert a.flags.writeable
        assert all(not np.shares_memory(a, b) for b in arrays[k + 1 :])


def kept(call, times, watched):
    """How many blocks of memory, and references to each object, there are more after many calls than before."""

    def count():
        gc.collect()
        return [sys.getallocatedblocks(), *map(sys.getrefcount, watched)]

    for _ in range(100):
        call()
    before = count()
    for _ in range(times):
        call()
    return [after - first for after, first in zip(count(), before, strict=True)]


@pytest.mark.long
def test_nothing_of_a_call_stays(backend):
    x, y, n = tg.vector("x"), tg.scalar("y"), tg.scalar("n", dtype="int64")
    f = tg.function([x, y, n], (x, [y * n], {"a": x[n:]}), backend=backend)
    g = tg.function([x, y, n], [Point(x, y), x[x > n]], backend=backend)
    a, b = np.arange(300.0), np.float64(3.0)
    watched = [a, b, a.dtype, np.dtype("int64"), np.ndarray, f, f.__call__, Point, "a"]
    assert max(kept(lambda: (f(a, b, 3), f(a, 2.5, 10**6), g(a, b, 4)), 34_000, watched)) < 250


@pytest.mark.long
def test_nothing_of_a_call_that_fails_stays(backend):
    x, n = tg.vector("x"), tg.scalar("n", dtype="int64")
    f = tg.function([x, n], (x * 2, x[n]), backend=backend)
    a = np.arange(3.0)

    def fail():
        for args in ((a, 5), (a[:, None], 1), (a, 1.5), (a,)):
            with pytest.raises(tg.TgError):
                f(*args)

    assert max(kept(fail, 500, [a, a.dtype, np.ndarray, f])) < 250


def in_threads(count, work):
    """Run `work(number)` in threads that begin together; what they raised."""
    raised, barrier = [], threading.Barrier(count)

    def run(number):
        barrier.wait()
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001
            raised.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


@pytest.mark.long
@pytest.mark.sampled(4)
@pytest.mark.parametrize("size", [3, 5000], ids=["with the GIL", "without"])
def test_eight_threads_call_one_function_ten_thousand_times_each(backend, size):
    x, n = tg.vector("x"), tg.scalar("n", dtype="int64")
    f = tg.function([x, n], {"sum": tg.sum(x * n), "part": x[n:] + n}, backend=backend)
    times = 10_000 if size < 1000 else 1000

    def work(number):
        x = np.full(size + number, number + 1.0)
        for k in range(times):
            found = f(x, k % 3)
            assert found["sum"] == x.size * x[0] * (k % 3)
            assert found["part"].shape == (x.size - k % 3,)
            assert found["part"][0] == x[0] + k % 3

    assert in_threads(8, work) == []


def test_calls_that_fail_in_threads_disturb_no_other(backend):
    x, n = tg.vector("x"), tg.scalar("n", dtype="int64")
    f = tg.function([x, n], x[n], backend=backend)

    def work(number):
        x = np.arange(number + 2.0)
        for k in range(500):
            if k % 10:
                assert f(x, k % x.size) == k % x.size
            else:
                with pytest.raises(tg.BoundsError, match=f"index {x.size} .* length {x.size}"):
                    f(x, x.size)

    assert in_threads(8, work) == []


def test_no_update_is_lost_between_threads(backend):
    total, x = tg.shared(0, "total"), tg.scalar("x", dtype="int64")
    f = tg.function([x], total, updates={total: total + x}, backend=backend)
    read = tg.function([], total * 2, backend=backend)

    def work(number):
        last = -1
        for _ in range(1000):
            f(1)
            now = int(read())
            assert now > last
            last = now

    assert in_threads(8, work) == []
    assert total.get_value() == 8000


def test_shared_variables_of_every_shape_are_read(backend, through_python):
    def made(function, **options):
        s, x = tg.shared(np.arange(3.0), "s"), tg.vector("x")
        return s, function([x], [s * x, s], **options)

    quick, plain = made(tg.function, backend=backend), made(through_python)
    for value in (np.arange(3.0), [1.0], np.arange(6.0)[::2], np.arange(4.0), [2, 3, 4]):
        for given in (np.ones(3), np.ones(1), [1, 2, 3], np.ones((1, 3)), 2.0):
            seen = []
            for s, f in (quick, plain):
                s.set_value(value)
                seen.append(outcome(f, given))
            assert seen[0] == seen[1]


def test_a_failing_update_stores_nothing_and_a_kept_result_is_not_changed(backend):
    s, x = tg.shared(np.zeros(3), "s", shape=(3,)), tg.vector("x")
    f = tg.function([x], s, updates={s: s + x}, backend=backend)
    first = f(np.ones(3))
    with pytest.raises(tg.ShapeError):
        f(np.ones(4))
    with pytest.raises(tg.DtypeError):
        f(np.ones(3, complex))
    kept = s.get_value()
    second = f(x=np.ones(3))
    assert (first.tolist(), kept.tolist(), second.tolist()) == ([0.0] * 3, [1.0] * 3, [1.0] * 3)
    second[0] = 9
    assert s.get_value().tolist() == [2.0] * 3


def test_the_gil_is_kept_for_what_is_bounded_by_its_lengths_and_short(backend):
    def of(inputs, outputs):
        return interface_of(tg.function(inputs, outputs, backend=backend).graph).patience

    x, y, A = tg.vector("x"), tg.vector("y"), tg.matrix("A")
    assert of([x], x + 1) > of([x], [tg.exp(x) * x + 1, tg.sum(x * x)]) > 10
    assert of([x, y], tg.sum(x[:, None] * y)) == 0
    assert of([A], A @ A) == 0
    assert of([x], tg.sort(x)) == 0
