"""Finding plugins: the entry points of installed distributions, listed by name and imported one by one when asked for.

The groups carry the version of the hooks: `tg.backends.1` and `tg.extensions.1`. What is under another version is
listed with the package to upgrade and never imported. `TG_PLUGINS` names all that may be used, `TG_PLUGINS_OFF` what
may not; both are comma lists of distribution or entry names. What core itself provides is always there.
"""

from __future__ import annotations

import functools
import importlib
import os
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, cast

from tg import callers
from tg.plugin import distributions
from tg.plugin.records import HOOK_API

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Kind = Literal["backends", "extensions"]

GROUP = re.compile(r"tg\.(?P<kind>backends|extensions)\.(?P<api>.+)")


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """One entry point of one distribution, known by name only."""

    distribution: str
    name: str
    kind: Kind
    target: str  # "module" or "module:attribute"; "" of a plugin that was registered by hand
    version: str = "unknown"
    api: str = str(HOOK_API)
    requires: tuple[str, ...] = ()  # what its distribution requires of tg's, as its metadata have it

    @property
    def source(self) -> str:
        """Name of the plugin in messages: its distribution and version."""
        return f"{self.distribution} {self.version}"

    @property
    def described(self) -> str:
        """The plugin for a line of its own in a message: with the entry point by which it was found."""
        return f"{self.source}, entry point {self.name} = {self.target}" if self.target else self.source

    @property
    def plugin_name(self) -> str:
        """Name of its plugin in pluggy's manager (`tg.plugin.manager`)."""
        return f"{self.distribution}/{self.kind}/{self.name}" if self.target else self.distribution

    @property
    def without(self) -> str:
        """Advice on having tg leave the plugin out."""
        if self.target:
            return f"start with TG_PLUGINS_OFF={self.distribution}"
        return f"call registry().manager.unregister(name={self.distribution!r})"

    @property
    def is_current(self) -> bool:
        return self.api == str(HOOK_API)


@cache
def entries() -> tuple[Entry, ...]:
    """The entries for tg, of any hook API, sorted; looked for once."""
    return tuple(sorted(map(_entry, distributions.entry_points(GROUP))))


def _entry(point: distributions.Point) -> Entry:
    group = GROUP.fullmatch(point.group)
    assert group is not None
    kind = cast("Kind", group["kind"])
    return Entry(point.distribution, point.name, kind, point.value, point.version, group["api"], point.requires)


@dataclass(frozen=True, slots=True)
class Policy:
    """Plugins that may be used: all, or those in `allowed`, and none of `forbidden`."""

    allowed: frozenset[str] | None = None
    forbidden: frozenset[str] = frozenset()

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Policy:
        """Read `TG_PLUGINS` and `TG_PLUGINS_OFF`; empty ones say nothing."""
        allowed = _names(environ.get("TG_PLUGINS", ""))
        return cls(allowed or None, _names(environ.get("TG_PLUGINS_OFF", "")))

    def refusal(self, entry: Entry) -> tuple[str, str] | None:
        """Why an entry may not be used and what to change, or None where it may."""
        names = {normal(entry.distribution), normal(entry.name)}
        if names & self.forbidden:
            off = ",".join(sorted(names & self.forbidden))
            return f"forbidden by TG_PLUGINS_OFF={off}", "start without it in TG_PLUGINS_OFF"
        if self.allowed is not None and not names & self.allowed:
            only = ",".join(sorted(self.allowed))
            return f"not in TG_PLUGINS={only}", f"start with TG_PLUGINS={only},{entry.distribution}"
        return None

    def unmatched(self, entries: Iterable[Entry]) -> tuple[str, ...]:
        """The names in the variables that nothing installed has."""
        names = {normal(name) for entry in entries for name in (entry.distribution, entry.name)}
        return tuple(sorted((self.forbidden | (self.allowed or frozenset())) - names - {"tg-core"}))


def imported(entry: Entry) -> object:
    """The module or the object that an entry names; whatever the module raises goes through."""
    module, _, attributes = (part.strip() for part in entry.target.partition("[")[0].partition(":"))
    callers.claim(module)
    return functools.reduce(getattr, filter(None, attributes.split(".")), importlib.import_module(module))


def top_level(target: str) -> str:
    """The top-level package of what an entry names."""
    return target.partition(":")[0].partition(".")[0].strip()


def _names(text: str) -> frozenset[str]:
    return frozenset(normal(name) for name in text.split(",") if name.strip())


def normal(name: str) -> str:
    """A name of a distribution or an entry as it is compared."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()
