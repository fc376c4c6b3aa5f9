"""Backends that are copies of loopback with one bug each: bugs that other systems had, which the suite must catch."""

from tg.plugin import Backend, Rewrites, Rules, hookimpl
from tg_bugs.catalog import PLACES
from tg_conformance import loopback


@hookimpl
def tg_backends():
    return tuple(
        Backend(
            bug.backend,
            distribution="tg-bugs",
            rules=loopback.PROTOCOL,
            linker=bug.linker,
            dtypes=loopback.tg_backends()[0].dtypes,
            priority=-1,
            gaps="tg_bugs.gaps:GAPS" if bug.name == "gaps" else None,
        )
        for bug in PLACES.values()
    )


@hookimpl
def tg_rules(backend):
    if backend not in PLACES:
        return None
    found = {**loopback.table(), **PLACES[backend].rules}
    return Rules(loopback.PROTOCOL, {key: rule for key, rule in found.items() if rule is not None})


@hookimpl
def tg_rewrites(backend):
    return Rewrites(rules=PLACES[backend].rewrites) if backend in PLACES else None
