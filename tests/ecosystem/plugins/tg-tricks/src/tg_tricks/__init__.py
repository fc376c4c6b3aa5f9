"""The reference through the seam, but for one trick at a time, which the environment names."""

import os

from tg.plugin import Backend, RuleProtocol, Rules, hookimpl

PROTOCOL = RuleProtocol("array", 2)
TRICK = os.environ.get("TG_TRICK", "")


@hookimpl
def tg_backends():
    if TRICK == "unnamed skip":
        raise OSError("this backend does not feel well")
    return (
        Backend(
            "tricks",
            distribution="tg-tricks",
            rules=PROTOCOL,
            linker="tg_conformance.loopback:LINKER",
            gaps="tg_tricks.gaps:GAPS",
            compiles="slowly" if TRICK == "chosen tier" else "fast",
            priority=-1,
        ),
    )


@hookimpl
def tg_rules(backend):
    if backend != "tricks":
        return None
    from tg_conformance import loopback
    from tg_tricks.rules import TRICKS

    return Rules(PROTOCOL, {**loopback.table(), **TRICKS.get(TRICK, {})})
