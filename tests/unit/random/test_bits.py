"""Keys and bits: those of `jax.random`, word for word, on every backend, and Threefry's published answers."""

from __future__ import annotations

import numpy as np
import pytest

import tg
from tg import plugin

KEY = np.array([2718281828, 3141592653], np.uint32)
SEEDS = (0, 42, -1, 1 << 31, 1 << 32, 123456789012345, (1 << 63) - 1, -(1 << 63))
WIDTHS = ("uint8", "uint16", "uint32", "uint64")
BACKENDS = [s.name for s in plugin.registry().backends() if s.is_available]
ANSWERS = (
    (0, 0, 0x6B20015999BA4EFE),
    (0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF, 0x1CB996FCBB002BE7),
    (0x13198A2E03707344, 0x243F6A8885A308D3, 0xC4923A9C483DF7A0),
)


def words(key):
    import jax

    return np.asarray(jax.random.key_data(key))


@pytest.mark.parametrize(("key", "counter", "answer"), ANSWERS)
def test_known_answers_of_threefry(key, counter, answer):
    """Source: kat_vectors of Random123, threefry2x32 with 20 rounds."""
    assert tg.threefry(np.uint64(key), np.uint64(counter)).eval() == answer


def test_threefry_takes_no_signed_integers():
    assert tg.threefry(1, np.uint8(2)).type.dtype == "uint64"
    with pytest.raises(tg.DtypeError, match="threefry: found int64, uint64, needed unsigned integers"):
        tg.threefry(tg.scalar("k", "int64"), tg.scalar("c", "uint64"))


def test_the_reference_of_threefry_goes_block_by_block():
    counters = np.arange(20_000, dtype=np.uint64).reshape(4, 5000)
    keys = np.arange(4, dtype=np.uint64)[:, None]
    whole = tg.threefry(tg.constant(keys), tg.constant(counters)).eval()
    for k in range(4):
        np.testing.assert_array_equal(whole[k], tg.threefry(k, tg.constant(counters[k])).eval())


@pytest.mark.parametrize("seed", SEEDS)
def test_keys_are_those_of_jax(jax, seed):
    wanted = words(jax.random.key(seed))
    np.testing.assert_array_equal(tg.random.key(seed).eval(), wanted)
    v = tg.scalar("v", "int64")
    np.testing.assert_array_equal(tg.random.key(v).eval({v: seed}), wanted)


def test_seeds_of_narrow_dtypes_have_the_keys_of_their_values():
    for dtype in ("int8", "int32", "int64"):
        np.testing.assert_array_equal(tg.random.key(np.dtype(dtype).type(-3)).eval(), tg.random.key(-3).eval())
    np.testing.assert_array_equal(tg.random.key((1 << 64) - 1).eval(), tg.random.key(-1).eval())


def test_split_and_fold_in_are_those_of_jax(jax):
    theirs = jax.random.wrap_key_data(KEY)
    data = tg.scalar("data", "int64")
    np.testing.assert_array_equal(tg.random.split(KEY).eval(), words(jax.random.split(theirs)))
    np.testing.assert_array_equal(tg.random.split(KEY, (2, 3)).eval(), words(jax.random.split(theirs, (2, 3))))
    for number in (0, 7, (1 << 32) - 1):
        wanted = words(jax.random.fold_in(theirs, number))
        np.testing.assert_array_equal(tg.random.fold_in(KEY, number).eval(), wanted)
        np.testing.assert_array_equal(tg.random.fold_in(KEY, data).eval({data: number}), wanted)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", WIDTHS)
def test_bits_are_those_of_jax(jax, dtype):
    theirs = jax.random.wrap_key_data(KEY)
    for shape in ((), (3, 50)):
        found = tg.random.bits(KEY, shape, dtype).eval()
        np.testing.assert_array_equal(found, jax.random.bits(theirs, shape, dtype), strict=True)
    assert tg.random.bits(KEY, (0, 3), dtype).eval().shape == (0, 3)


@pytest.mark.long
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_has_the_same_words(backend):
    key, n = tg.vector("key", "uint32", shape=(2,)), tg.scalar("n", "int64")
    r = tg.random
    drawn = [
        *(r.bits(key, (n, 3), dtype) for dtype in WIDTHS),
        r.split(key, n),
        r.fold_in(key, n),
        r.key(n),
        *(r.uniform(key, shape=n, dtype=dtype) for dtype in ("float64", "float32", "float16", "bfloat16")),
        r.integers(key, -5, n, shape=(7,)),
        r.integers(key, 0, 200, shape=(7,), dtype="uint8"),
        r.permutation(key, 20),
        r.choice(key, n, (3,), replace=False),
        r.bernoulli(key, 0.3, shape=(9,)),
    ]
    found = tg.function([key, n], drawn, backend=backend)(KEY, 11)
    wanted = tg.function([key, n], drawn, backend="perform", mode="off")(KEY, 11)
    for k, (a, b) in enumerate(zip(found, wanted, strict=True)):
        np.testing.assert_array_equal(a, b, str(k), strict=True)


def test_the_slice_of_a_draw_is_the_draw_of_the_slice():
    """Of a trillion words, two are computed."""
    found = tg.function([], tg.random.bits(KEY, (1 << 40,))[(1 << 39) + 5 :][:2])()
    counters = tg.constant(np.array([5, 6], np.uint64) + np.uint64(1 << 39))
    packed = int(KEY[0]) << 32 | int(KEY[1])
    np.testing.assert_array_equal(found, tg.threefry(np.uint64(packed), counters).eval())


def test_each_lane_has_its_own_key():
    keys = tg.random.split(tg.random.key(3), 4)
    found = tg.vmap(lambda key: tg.random.normal(key, shape=(5,)))(keys).eval()
    for k in range(4):
        np.testing.assert_array_equal(found[k], tg.random.normal(keys[k], shape=(5,)).eval())


def test_a_draw_in_each_step_of_a_loop():
    def step(key, _):
        key, own = tg.unstack(tg.random.split(key))
        return key, tg.random.uniform(own, shape=(2,))

    _, found = tg.scan(step, tg.constant(KEY), tg.arange(4))
    key = tg.constant(KEY)
    for drawn in found.eval():
        key, own = tg.unstack(tg.random.split(key))
        np.testing.assert_array_equal(drawn, tg.random.uniform(own, shape=(2,)).eval())


def test_another_seed_is_another_argument(monkeypatch):
    from tg.functions.programs import Programs

    seed = tg.scalar("seed", "int64")
    f = tg.function([seed], tg.random.uniform(tg.random.key(seed), shape=(3,)))
    first = f(1)
    monkeypatch.setattr(Programs, "compile_for", None)  # whoever compiled now would call it
    assert not np.array_equal(f(2), first)
    np.testing.assert_array_equal(f(1), first)


WRONG = {
    "int": (0, tg.DtypeError, r"bits: key: found int64\[\], needed uint32\[2\]\n  hint: tg.random.key\(seed\) makes a"),
    "words": (np.zeros(3, np.uint32), tg.ShapeError, r"bits: key: found uint32\[3\], needed uint32\[2\]"),
    "keys": (np.zeros((5, 2), np.uint32), tg.ShapeError, r"found uint32\[5, 2\].*\n  hint: tg.vmap maps over keys"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_key(name):
    given, error, text = WRONG[name]
    with pytest.raises(error, match=text):
        tg.random.bits(given, (3,))


def test_a_key_whose_length_is_known_late():
    key = tg.vector("key", "uint32")
    f = tg.function([key], tg.random.bits(key, (3,)))
    np.testing.assert_array_equal(f(KEY), tg.random.bits(KEY, (3,)).eval())
    with pytest.raises(tg.ShapeError, match="bits: key: axis 0: lengths differ: 3 and 2"):
        f(np.zeros(3, np.uint32))


def test_what_is_no_seed_and_no_number_to_fold_in():
    with pytest.raises(tg.DtypeError, match=r"key: found the seed float64\[\], needed an integer"):
        tg.random.key(1.5)
    with pytest.raises(tg.ShapeError, match=r"key: found the seed int64\[2\], needed a scalar"):
        tg.random.key([1, 2])
    with pytest.raises(tg.RangeError, match="key: found the seed 18446744073709551616, needed one of 64 bits"):
        tg.random.key(1 << 64)
    with pytest.raises(tg.RangeError, match="fold_in: found -1, needed an integer of 32 bits"):
        tg.random.fold_in(KEY, -1)
    with pytest.raises(tg.DtypeError, match="bits: dtype: found int8, needed an unsigned integer"):
        tg.random.bits(KEY, (3,), "int8")
