"""The operations of sample: hooks only; a framework is imported with the rules for it, inside the hook."""

import importlib

from tg.backend import NoRules, RuleProtocol, Rules, hookimpl

PROTOCOL = RuleProtocol("array", 2)
TAUGHT = {"jax": "tg_sample.rules.jax", "torch": "tg_sample.rules.torch"}


@hookimpl
def tg_ops():
    """One family for each file of operations."""
    from tg_sample.sample import FAMILY

    return (FAMILY,)


@hookimpl
def tg_rules(backend):
    """Rules for other plugins' backends; what has none and no expansion does not run there, and says so."""
    if backend not in TAUGHT:
        from tg_sample.sample import LeakySum

        return NoRules((LeakySum,), reason=f"no rule for {backend} is written yet")
    return Rules(PROTOCOL, importlib.import_module(TAUGHT[backend]).RULES)


@hookimpl
def tg_cases():
    """What the conformance suite compares."""
    from tg_sample.cases import CASES

    return CASES
