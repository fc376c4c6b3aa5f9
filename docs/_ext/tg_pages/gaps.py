"""What the backends are, and what they say they lack."""

from __future__ import annotations

import tg
from tg import plugin
from tg.plugin.records import key_name
from tg.types.dtypes import DTYPES
from tg_pages.coverage import backends
from tg_pages.docstring import cell, table


def part() -> str:
    """A table of every gap of every backend."""
    rows = [
        (
            f"`{name}`",
            "every op" if gap.op is None else f"`{key_name(gap.op)}`",
            ", ".join(sorted(gap.dtypes)) if gap.dtypes is not None else "every dtype",
            gap.category,
            gap.raises.__name__ if gap.raises is not None else "another result",
            cell(gap.reason),
        )
        for name in backends()
        for gap in plugin.registry().gaps(name)
    ]
    without = [name for name in backends() if not plugin.registry().gaps(name)]
    return (
        table(("backend", "op", "dtypes", "category", "what happens", "reason"), rows)
        + f"\nNo gaps: {', '.join(f'`{name}`' for name in without)}.\n"
    )


def backends_part() -> str:
    """A table of the backends."""
    known = {one.name: one for one in tg.backends()}
    rows = []
    for name in backends():
        one, made = known[name], plugin.registry().backend(name)
        absent = [dtype for dtype in DTYPES if dtype not in one.dtypes]
        engines = ", ".join(f"{engine} {version}" for engine, version in one.engines)
        dtypes = f"all but {', '.join(absent)}" if absent else "all"
        rows.append((f"`{name}`", f"`{one.distribution}`", engines, dtypes, ", ".join(one.devices), str(made.priority)))
    return table(("backend", "distribution", "runs on", "dtypes", "devices", "priority"), rows)
