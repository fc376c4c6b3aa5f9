"""What rewriting makes of programs means what they mean: of listed ones, drawn ones, and those once found.

`make enumerate OUTPUTS=100000 SEED=7` compares as many as one likes, `make nightly` a million.
"""

import dataclasses
import zlib
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
import scipy.special

import tg
from tests.enumerate.alphabet import INTEGERS, families
from tests.enumerate.judge import Data
from tests.enumerate.mended import faults_of
from tests.enumerate.numbers import FLOATING, INTEGER, UNKNOWN, exact, near_float, wrapped
from tests.enumerate.run import Run, drawn, listed
from tests.enumerate.search import Rewritten, about, faults
from tg.plugin.registry import Registry
from tg.rewrite.rule import Pass, rule

PROGRAMS = 40  # of each family
HERE = Path(__file__).parent
FOUND = sorted((HERE / "found").glob("*.tg"))
OPEN = sorted((HERE / "found" / "open").glob("*.tg"))  # not mended yet: what is goes up to the others


def told(run):
    """What a run has found, as text."""
    return "\n".join(find.text for find in run.finds)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", sorted(families()))
def test_rewriting_keeps_the_meaning_of_drawn_programs(name):
    run = Run()
    drawn(run, name, range(zlib.crc32(name.encode()), zlib.crc32(name.encode()) + PROGRAMS))
    assert not told(run)
    assert run.outputs > 2 * PROGRAMS
    assert run.skipped < PROGRAMS / 4


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", sorted(families()))
def test_rewriting_keeps_the_meaning_of_every_letter(name):
    run = Run()
    for dtype in dict.fromkeys(families()[name].dtypes):
        listed(run, name, dtype, 1)
    assert not told(run)
    assert run.outputs >= len(families()[name].own)


@pytest.mark.parametrize(
    "path",
    [*FOUND, *(pytest.param(path, marks=pytest.mark.xfail(reason="not mended", strict=True)) for path in OPEN)],
    ids=lambda path: path.stem,
)
def test_what_was_found_once_is_right(path):
    assert not faults_of(path)


# --- what is found ----------------------------------------------------------------------------------------------------


def wrong(name, match, replace, kind, dtypes=("float64",), **more):
    return rule(
        name,
        match=match,
        replace=replace,
        phase="canonicalize",
        kind=kind,
        why="A test.",
        dtypes=frozenset(dtypes),
        **more,
    )


def sums_of_negatives(view):
    """x + y for x - y."""
    nodes = [a for a in view.applies if a.op is tg.subtract.op and a.inputs[0].type.dtype == "float64"]
    return {id(view.results(a)[0]): tg.add(*a.inputs) for a in nodes}


WRONG = [
    (wrong("a_sign", lambda x, y: -x / y, lambda x, y: x / y, "reassociates"), "arithmetic"),
    (wrong("digits", tg.square, lambda x: x * (x * (1 + 1e-9)), "reassociates"), "arithmetic"),
    (wrong("a_hidden_nan", lambda x: x - x, lambda x: tg.cast(tg.isinf(x), "float64"), "reassociates"), "arithmetic"),
    (wrong("an_edge", lambda x: tg.absolute(x), lambda x: tg.maximum(x, -x), "exact", ["uint8", "int8"]), "integers"),
    (wrong("a_width", lambda x, y: (x >> y) >> y, lambda x, y: x >> (y + y), "exact", INTEGERS), "bitwise"),
    (wrong("a_zero", lambda x: x + 0, lambda x: x, "exact"), "constants"),
    (Pass("a_pass", phase="canonicalize", kind="reassociates", why="A test.", run=sums_of_negatives), "arithmetic"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "family"), WRONG, ids=lambda one: getattr(one, "name", one))
@pytest.mark.sampled(7)
def test_a_wrong_rewrite_is_found_and_named(one, family, monkeypatch):
    given = Registry.rewrites

    def with_another(registry, name):
        known = given(registry, name)
        added = {"passes": (one, *known.passes)} if isinstance(one, Pass) else {"rules": (one, *known.rules)}
        return dataclasses.replace(known, **added)

    monkeypatch.setattr(Registry, "rewrites", with_another)
    about.cache_clear()
    run = Run()
    for seed in range(0, 2000, 25):
        drawn(run, family, range(seed, seed + 25))
        if any(find.fault.rule == one.name for find in run.finds):
            break
    about.cache_clear()
    assert any(find.fault.rule == one.name for find in run.finds)


def test_a_wrong_step_that_a_later_one_hides_is_found(monkeypatch):
    given = Registry.rewrites
    there = wrong("there", tg.sinh, tg.cbrt, "reassociates")
    back = wrong("back", tg.cbrt, lambda x: (tg.exp(x) - tg.exp(-x)) / 2, "reassociates")
    monkeypatch.setattr(
        Registry,
        "rewrites",
        lambda registry, name: dataclasses.replace(given(registry, name), rules=(there, back), passes=()),
    )
    about.cache_clear()
    x = tg.tensor("x", "float64", (3,))
    program = Rewritten([x], [tg.sinh(x)])
    data = Data("tame", program.inputs, [np.array([0.5, 1.0, -2.0])], tame=True)
    about.cache_clear()
    assert {f.rule for f in faults(program, data)} == {"there", "back"}


# --- the oracle -------------------------------------------------------------------------------------------------------

REAL = sorted(set(FLOATING) - {"complex", "real", "imag", "conjugate", "positive", "gate", "sigmoid", "softplus"})
POINTS = (0.3, -0.7, 1.5, 2.0, -3.0, 0.0, -0.0, np.inf, -np.inf, np.nan, 40.0)


@pytest.mark.parametrize("name", REAL)
def test_numbers_without_rounding_are_numpys_but_for_it(name):
    own = {"clip": np.clip, "sech_squared": lambda x: 1 / np.cosh(x) ** 2}
    function = own.get(name) or getattr(np, name, None) or getattr(scipy.special, name)
    arity = {"clip": 3, "sinc": 1, "sech_squared": 1, "factorial": 1}.get(name) or function.nin
    for place in np.ndindex((len(POINTS),) * min(arity, 2)):
        given = [POINTS[k] for k in place] + [2.5] * (arity - len(place))
        with np.errstate(all="ignore"), mp.workdps(60):
            want, got = function(*map(np.float64, given)), FLOATING[name](*map(exact, given))
        if got is not UNKNOWN:
            got = near_float(got) if not isinstance(got, bool) else got
            np.testing.assert_allclose(got, want, rtol=1e-14, atol=1e-15, err_msg=str(given))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64"])
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "negative", "absolute", "square", "bitwise_invert"])
def test_integers_wrap_as_numpys(name, dtype):
    info = np.iinfo(dtype)
    points = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 100]
    function = getattr(np, {"bitwise_invert": "invert"}.get(name, name))
    for place in np.ndindex((len(points),) * function.nin):
        given = [points[k] for k in place]
        with np.errstate(all="ignore"):
            want = function(*(np.array([v], dtype) for v in given))[0]
        assert wrapped(INTEGER[name](*given), dtype) == int(want), given
