"""What steps cost: the records' figures, and what native backends decide by them."""

from __future__ import annotations

import numpy as np
import pytest

import tg
from tg.graph.function_graph import freeze
from tg.ops.catalog import ELEMENTWISE
from tg.ops.elementwise.dtype_loops import floating
from tg.ops.elementwise.record import binary
from tg.ops.reductions import ALL, ANY, LARGEST, LEAST, PRODUCT, REDUCTIONS, SUM, Reduction
from tg_native.loops import costs

LONG = """
    power cbrt hypot floor_divide remainder exp exp2 expm1 log log2 log10 log1p logaddexp sigmoid softplus sin cos tan
    arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh sinc
    sech_squared inverse_mills
    erf erfc erfcx erfinv erfcinv ndtr ndtri log_ndtr ndtri_exp gammaln digamma trigamma gammasgn gamma factorial
    zeta zeta_ds zeta_dss polygamma beta betaln poch binom i0 i1 i0e i1e
    gammainc gammaincc gammainc_da gammainc_daa gammaincinv gammainccinv
    betainc betainc_da betainc_db betainc_along_two betaincinv
    log_beta_tail log_beta_tail_da log_beta_tail_db log_beta_tail_along_two
    log_gamma_lower log_gamma_lower_da log_gamma_lower_daa log_gamma_upper log_gamma_upper_da log_gamma_upper_daa
    iv ive kv kve kv_dv kve_dv j0 j1 jv owens_t hyp2f1 hyp2f1_along hyp2f1_along_two stdtr stdtr_dn stdtrit
    threefry gamma_draw log_gamma_draw poisson_draw binomial_draw hypergeometric_draw vonmises_draw wald_draw
"""


def test_functions_of_many_steps_are_those_that_are_called_or_as_long_as_a_call():
    """No instruction, nor two or three, does what these do; all others are one or a few."""
    computed = {name: fn for name, fn in ELEMENTWISE.items() if not fn.only_derives}  # no kernel has one of the others
    assert {name for name, fn in computed.items() if costs.has_many_steps(fn)} == set(LONG.split())


def test_no_cost_lies_so_near_to_the_threshold_that_another_measurement_would_decide_otherwise():
    for fn in ELEMENTWISE.values():
        assert not costs.FEW_STEPS / 1.1 < fn.cost < costs.FEW_STEPS * 1.1


def test_a_function_that_states_no_cost_takes_what_an_exponential_does():
    unknown = binary("unknown", np.hypot, floating, "A function of nobody knows how many steps.")
    assert unknown.cost == pytest.approx(ELEMENTWISE["exp"].cost, rel=0.1)
    assert costs.has_many_steps(unknown)


@pytest.mark.parametrize(
    ("dtype", "build", "nanoseconds"),
    [
        ("float64", lambda x: x * x, 8 * costs.LIGHT),
        ("float32", lambda x: x * x, 4 * costs.LIGHT),
        ("float64", lambda x: tg.sqrt(x) + x, 16 * costs.LIGHT),
        ("float64", tg.exp, 8 * costs.HEAVY),
        ("float64", lambda x: tg.sin(x) * x, 8 * costs.HEAVY + 8 * costs.LIGHT),
        ("float16", tg.exp, 2 * costs.HEAVY * costs.ALONE),
        ("complex128", tg.exp, 16 * costs.HEAVY * costs.ALONE),
        ("complex128", tg.conj, 16 * costs.LIGHT),
    ],
)
def test_the_time_of_a_program_is_that_of_its_steps(dtype, build, nanoseconds):
    x = tg.scalar("x", dtype=dtype)
    graph = freeze([x], [build(x)])
    assert costs.time_of(graph.nodes, [t.dtype for t in graph.types]) == pytest.approx(nanoseconds)


def test_the_time_of_a_reduction_is_that_of_its_function():
    for record in (SUM, PRODUCT, LEAST, LARGEST, ALL, ANY):
        assert costs.time_of_reduction(record, "float64") == 8 * costs.LIGHT
    logsum = Reduction("logsum", tg.logaddexp, start=-np.inf, pullback=None)
    try:
        assert costs.time_of_reduction(logsum, "float32") == 4 * costs.HEAVY
    finally:
        del REDUCTIONS[tg.logaddexp]


def test_to_move_elements_takes_as_long_as_their_bytes():
    assert costs.time_to_move(["float64", "int8"]) == pytest.approx(9 * costs.BYTE)


def test_partial_sums_are_as_many_as_any_length_needs():
    """Each is of twice as many chunks as the one before, and no array has more bytes than a pointer tells apart."""
    assert 2**48 // costs.CHUNK < 2**costs.PARTIAL_SUMS
