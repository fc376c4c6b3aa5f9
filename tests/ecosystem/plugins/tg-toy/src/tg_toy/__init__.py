"""A backend of a few lines, made of NumPy: what the other plugins of the tests teach, break and clash with."""

from dataclasses import dataclass

from tg.plugin import Backend, RuleProtocol, Rules, hookimpl


@dataclass(frozen=True)
class Options:
    """What a program is compiled with."""

    level: int = 1


TOY = Backend(
    "toy",
    distribution="tg-toy",
    requires=("numpy>=2",),
    rules=RuleProtocol("array", 2),
    dtypes=frozenset({"bool", "int64", "float64"}),
    options=Options,
    linker="tg_toy.linker:LINKER",
    aliases=("plaything",),
    priority=-1,
)


@hookimpl
def tg_backends():
    return (TOY,)


@hookimpl
def tg_rules(backend):
    if backend != "toy":
        return None
    from tg_toy.rules import RULES

    return Rules(TOY.rules, RULES)
