"""A plugin with a rule for an op that the backend has a rule for already."""

from tg.plugin import RuleProtocol, Rules, hookimpl


@hookimpl
def tg_rules(backend):
    if backend != "toy":
        return None
    import numpy as np

    from tg.ops.elementwise.arithmetic import add

    return Rules(RuleProtocol("array", 2), {add: np.add})
