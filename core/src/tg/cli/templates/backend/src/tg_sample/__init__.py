"""The sample backend of tg: hooks only; the array library is imported behind the strings and inside the hooks."""

from dataclasses import dataclass

from tg.backend import DTYPES, Backend, RuleProtocol, Rules, hookimpl

PROTOCOL = RuleProtocol("array", 2)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the backend, once there are any: each a field with a type and a default."""


@hookimpl
def tg_backends():
    """The one backend of this distribution."""
    return (
        Backend(
            "sample",
            distribution="tg-sample",
            requires=("numpy>=2",),
            rules=PROTOCOL,
            dtypes=frozenset(DTYPES),  # those that the library has
            options=Options,
            linker="tg_sample.linker:LINKER",
            gaps="tg_sample.gaps:GAPS",
            priority=-1,  # 0 or more: what "auto" may choose
            conformance_level=1,
        ),
    )


@hookimpl
def tg_rules(backend):
    """The rules of the backend."""
    if backend != "sample":
        return None
    from tg_sample.rules import RULES

    return Rules(PROTOCOL, RULES)
