"""Whether what a backend requires is installed, by the metadata of distributions and without importing any.

Release numbers only: `>= > <= < == !=` between numbers joined by dots. Suffixes such as rc1 and +cpu, extras, markers
and other specifiers are passed over: what is not understood is never a reason to refuse.
"""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING

from tg.plugin import distributions

if TYPE_CHECKING:
    from collections.abc import Callable

Release = tuple[int, ...]

REQUIREMENT = re.compile(r"\s*(?P<name>[\w.-]+)\s*(?:\[.*?\])?\s*\(?(?P<specifiers>[^;)]*)")
SIGNS: dict[str, Callable[[Release, Release], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
SPECIFIER = re.compile(r"\s*(?P<sign>>=|<=|==|!=|>|<)\s*v?(?P<version>\d+(?:\.\d+)*)\s*")


def unmet(
    requires: tuple[str, ...], version_of: Callable[[str], str | None] | None = None
) -> tuple[tuple[str, str | None], ...]:
    """Entries of `requires` that do not hold here, each with the version found, or None."""
    versions = ((text, (version_of or installed)(text)) for text in requires)
    return tuple((text, version) for text, version in versions if not _holds(text, version))


def project(requirement: str) -> str:
    """The name of the distribution that a requirement names."""
    named = REQUIREMENT.match(requirement)
    return named["name"] if named else requirement


def installed(requirement: str) -> str | None:
    """The installed version of the distribution that a requirement names, or None."""
    named = REQUIREMENT.match(requirement)
    return distributions.version(named["name"]) if named else None


def _holds(requirement: str, version: str | None) -> bool:
    named = REQUIREMENT.match(requirement)
    if named is None or version is None:
        return version is not None
    specifiers = filter(None, map(SPECIFIER.fullmatch, named["specifiers"].split(",")))
    return all(SIGNS[s["sign"]](*_aligned(_release(version), _release(s["version"]))) for s in specifiers)


def _release(text: str) -> Release:
    digits = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(map(int, digits[0].split("."))) if digits else ()


def _aligned(release: Release, needed: Release) -> tuple[Release, Release]:
    width = max(len(release), len(needed))
    return release + (0,) * (width - len(release)), needed + (0,) * (width - len(needed))
