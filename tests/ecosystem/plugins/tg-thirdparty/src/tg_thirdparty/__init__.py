"""The sum of cubes, an op of a third party, with rules for two backends of others."""

from tg.plugin import hookimpl


@hookimpl
def tg_ops():
    from tg_thirdparty.cubes import FAMILY

    return (FAMILY,)


@hookimpl
def tg_rules(backend):
    if backend == "toy":
        from tg_thirdparty.rules import toy

        return toy.RULES
    if backend == "jax":
        from tg_thirdparty.rules import jax

        return jax.RULES
    return None


@hookimpl
def tg_cases():
    from tg_thirdparty.cases import CASES

    return CASES
