"""Options of the JAX backend that are XLA's, or the process's."""

from __future__ import annotations

import numpy as np
import pytest

import tg
from tg_jax import Options
from tg_jax.settings import AS_WRITTEN, compiler_options

x = tg.vector("x")


def compiled(**options):
    return tg.function([x], [tg.exp(x) * x, tg.sum(x)], backend=tg.backend("jax", **options))


def test_flags_of_xla_come_behind_those_that_programs_have_anyway():
    options = Options(compile_options={"xla_cpu_enable_fast_math": True})
    assert compiler_options(options, has_loops=False) == {**AS_WRITTEN, "xla_cpu_enable_fast_math": True}
    assert options == Options(compile_options=(("xla_cpu_enable_fast_math", True),))
    value, total = compiled(compile_options={"xla_cpu_enable_fast_math": False})([0.0, 1.0])
    np.testing.assert_allclose(value, [0, np.e])
    assert total == 1


def test_a_flag_that_xla_does_not_have_is_refused_when_the_function_is_made():
    with pytest.raises(tg.OptionError, match=r"option compile_options: .*No such compile option: 'xla_no'"):
        compiled(compile_options={"xla_no": 1})


def test_without_its_compiler_operations_run_one_by_one_on_arrays_of_jax():
    f = compiled(compile=False)
    value, _ = f([0.0, 1.0])
    np.testing.assert_allclose(value, [0, np.e])
    assert f.compiles == 0
    assert f.profile(np.ones(3), calls=1).rows  # a row for each operation
    given = np.arange(3.0)
    same = tg.function([x], [x, tg.reshape(x, (3,))], backend=tg.backend("jax", compile=False))(given)
    same[0][:] = 7
    np.testing.assert_array_equal(same[1], [0, 1, 2])
    np.testing.assert_array_equal(given, [0, 1, 2])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"autotune": 2}, "option autotune: found 2 and device cpu, needed a GPU"),
        ({"preallocate": True}, "option preallocate: found True and device cpu, needed a GPU"),
        ({"autotune": 1, "compile": False}, "option autotune: found 1 and compile=False, needed one of the two"),
    ],
)
def test_an_option_that_does_nothing_here_is_refused(options, told):
    with pytest.raises(tg.OptionError, match=told):
        compiled(device="cpu", **options)


def test_what_the_process_has_set_is_compared_and_named(monkeypatch):
    monkeypatch.setattr("tg_jax.settings.platform", lambda options: "gpu")
    from tg_jax.settings import check

    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    check(Options(preallocate=False))
    with pytest.raises(tg.OptionError) as caught:
        check(Options(preallocate=True))
    assert str(caught.value) == (
        "backend 'jax': option preallocate: JAX has one setting for the process: found True, needed False\n"
        "  hint: XLA_PYTHON_CLIENT_PREALLOCATE=true in the environment, before JAX starts, sets it"
    )
    assert compiler_options(Options(autotune=3), has_loops=True) == {"xla_gpu_autotune_level": 3}
