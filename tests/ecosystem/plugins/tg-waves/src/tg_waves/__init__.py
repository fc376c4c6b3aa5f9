"""Ops of a third party whose rules are a kernel, C functions and functions of numba.njit."""

from tg.backend import hookimpl


@hookimpl
def tg_ops():
    from tg_waves.waves import FAMILY

    return (FAMILY,)


@hookimpl
def tg_rules(backend):
    if backend == "c":
        from tg_waves.rules import c

        return c.RULES
    if backend == "numba":
        from tg_waves.rules import numba

        return numba.RULES
    return None


@hookimpl
def tg_cases():
    from tg_waves.cases import CASES

    return CASES
