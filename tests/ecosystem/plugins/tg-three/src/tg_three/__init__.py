"""A backend with three rules and a priority above all others'."""

from tg.backend import Backend, RuleProtocol, Rules, hookimpl

THREE = Backend(
    "three",
    distribution="tg-three",
    rules=RuleProtocol("array", 2),
    linker="tg_three.linker:LINKER",
    raises=True,
    priority=100,
)


@hookimpl
def tg_backends():
    return (THREE,)


@hookimpl
def tg_rules(backend):
    if backend != "three":
        return None
    from tg_three.linker import RULES

    return Rules(THREE.rules, RULES)
