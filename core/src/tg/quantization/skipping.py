"""Names of weights and modules that stay as they are."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING

from tg.errors import InputError, message, nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tg.quantization.sites import Site


def skipped(places: Sequence[Site], skip: str | Collection[str]) -> list[bool]:
    """For each site whether its name, or that of a module it is in, is among those to skip.

    Raises:
        InputError: nothing has such a name; a name that is no string.
    """
    patterns = [skip] if isinstance(skip, str) else list(skip)
    names = sorted({name for site in places for name in _modules(site.name)})
    for pattern in patterns:
        if not isinstance(pattern, str):
            raise InputError(message(f"quantized: skip: found {pattern!r}, needed names of weights or modules"))
        if not any(fnmatch.fnmatchcase(name, pattern) for name in names):
            near = nearest(pattern, names)
            hint = f"{near[0]!r} is one" if near else f"there are {', '.join(sorted({s.name for s in places}))}"
            raise InputError(message(f"quantized: skip: found no weights {pattern!r}", hint=hint))
    return [any(fnmatch.fnmatchcase(n, p) for n in _modules(site.name) for p in patterns) for site in places]


def _modules(name: str) -> list[str]:
    """A path, and those of the modules around it."""
    parts = name.split(".")
    return [".".join(parts[:k]) for k in range(1, len(parts) + 1)]
