"""The dask backend of tg: hooks only; dask is imported behind the strings and inside the hooks."""

from dataclasses import dataclass

from tg.backend import DTYPES, Backend, RuleProtocol, Rules, hookimpl

PROTOCOL = RuleProtocol("array", 2)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the backend."""

    chunks: int = 0  # the length of a chunk along every axis; 0: as dask has it, chunks of 128 MiB


@hookimpl
def tg_backends():
    """The one backend of this distribution."""
    return (
        Backend(
            "dask",
            distribution="tg-dask",
            requires=("dask>=2026.3", "numpy>=2"),
            rules=PROTOCOL,
            dtypes=frozenset(DTYPES) - {"bfloat16"},
            options=Options,
            linker="tg_dask.linker:LINKER",
            gaps="tg_dask.gaps:GAPS",
            priority=-1,
            conformance_level=1,
        ),
    )


@hookimpl
def tg_rules(backend):
    """The rules of the backend."""
    if backend != "dask":
        return None
    from tg_dask import elementwise, structure

    return Rules(PROTOCOL, {**elementwise.RULES, **structure.RULES})
