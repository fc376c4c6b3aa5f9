"""What a user sees of programs that a library runs: in the background, in profiles and in reports."""

import numpy as np
import pytest

import tg


def made(backend, **options):
    x, k = tg.vector("x", dtype="float32"), tg.scalar("k", dtype="int64")
    decay = tg.exp(-x) * x[k]
    return tg.function([x, k], [decay, tg.sum(decay)], backend=backend, **options)


def test_nothing_but_speed_changes_when_the_library_has_compiled(backend):
    f = made(backend, compile="background")
    given = np.linspace(0, 1, 11, dtype=np.float32)

    def seen():
        found = f(given, 3)
        with pytest.raises(tg.BoundsError) as info:
            f(given, 11)
        return found, (str(info.value), info.value.__notes__)

    before, error = seen()
    assert f.wait(120)
    after, again = seen()
    assert f.compiled
    assert error == again
    assert [(type(v), v.dtype, v.shape) for v in before] == [(type(v), v.dtype, v.shape) for v in after]
    for one, other in zip(before, after, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_shared_variables_go_over_to_the_library(backend):
    total, x = tg.shared(np.float32(0), "total"), tg.vector("x", dtype="float32")
    f = tg.function([x], total, updates={total: total + tg.sum(x)}, backend=backend, compile="background")
    found = [f(np.ones(2, np.float32)) for _ in range(2)]
    assert f.wait(120)
    found += [f(np.ones(2, np.float32)) for _ in range(2)]
    assert [float(v) for v in found] == [0, 2, 4, 6]
    assert float(total.get_value()) == 8


def test_native_outputs_are_the_librarys_at_every_call(backend):
    f = made(backend, compile="background", output="native")
    given = np.linspace(0, 1, 11, dtype=np.float32)
    before = f(given, 3)
    assert f.wait(120)
    assert [type(v) for v in before] == [type(v) for v in f(given, 3)]
    assert not any(isinstance(v, np.ndarray) for v in before)


def test_a_profile_has_phases_and_the_nodes_where_they_run_one_by_one(backend):
    found = made(backend).profile(np.ones(100, np.float32), 3, calls=2)
    assert sum(found.phases.values()) > 0
    if not found.rows:
        return  # a library makes one program of all
    rows = {row.part: row for row in found.rows}
    assert rows["exp"].name == "decay"
    assert rows["exp"].lines[0].endswith("decay = tg.exp(-x) * x[k]")
    assert found.phases["program"] == pytest.approx(sum(row.seconds for row in found.rows))


def test_a_call_that_compiled_is_in_the_report(backend):
    f = made(backend)
    f(np.ones(3, np.float32), 1)
    f(np.ones(3, np.float32), 2)
    late = [row for row in f.compile_report().rows if row.depth == 0 and row.name == "call"]
    assert len(late) == (f.compiles if f.programs.main.executable.compiles_shapes else 0)
