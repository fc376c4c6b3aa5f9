"""Formats of `tg.export`: which installed plugin writes one, and what is said where none does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tg.errors import BackendUnavailable, OptionError, PluginError, TgError, message, nearest
from tg.plugin import problems
from tg.plugin.faults import shown
from tg.plugin.manager import Plugin
from tg.plugin.records import Exporter, Problem
from tg.plugin.requirements import unmet

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.plugin.installed import Installed

FORMATS: Final = {"c": "tg-c", "onnx": "tg-onnx", "stablehlo": "tg-jax", "torch": "tg-torch"}
"""The formats that are published with tg, each with its distribution."""


class Offer(NamedTuple):
    """An exporter, and the plugin that provides it."""

    plugin: Plugin
    exporter: Exporter


def offer_of(installed: Installed, format: str) -> Offer:
    """The provider of a format.

    Raises:
        OptionError: no plugin that is known has it.
        BackendUnavailable: the distribution that has it is not installed, or lacks what it requires.
        PluginError: two plugins have it, or the one that should is broken.
    """
    offers, failures = _answers(installed, format)
    if len(offers) > 1:
        entries = [one.plugin.entry for one in offers]
        sources = " and ".join(entry.source for entry in entries)
        text = f"export: format {format!r} has {len(offers)} providers: {sources}"
        raise PluginError(message(text, hint=problems.switch_off(entries)))
    if not offers:
        raise _absent(installed, format, failures)
    plugin, exporter = offers[0]
    if exporter.format != format:
        text = f"{plugin.entry.source}: tg_exports({format!r}): found an exporter of {exporter.format!r}"
        raise PluginError(message(f"{text}, needed one of {format!r}", ("plugin", plugin.entry.described)))
    requirements = unmet(exporter.requires, installed.version)
    if requirements:
        problem = problems.lacking(plugin.entry, requirements)
        text = f"export: format {format!r}: {plugin.entry.source}: {problem.reason}"
        raise BackendUnavailable(message(text, hint=problem.remedy))
    return offers[0]


def writer_of(installed: Installed, offer: Offer) -> Callable[..., object]:
    """The function that writes a format, imported on the first call.

    Raises:
        PluginError: it cannot be imported, or is no function; what has raised is the cause.
    """
    address = offer.exporter.writer
    writer: Any = installed.attribute(offer.plugin, address)
    if isinstance(writer, Problem):
        raise _failed(offer.exporter.format, writer)
    if not callable(writer):
        text = f"{offer.plugin.entry.source}: writer {address}: found {shown(writer)}, needed a function"
        raise PluginError(message(text, ("plugin", offer.plugin.entry.described)))
    return writer  # type: ignore[no-any-return]


def formats(installed: Installed) -> tuple[str, ...]:
    """The formats of tg's own distributions that can be written here."""
    return tuple(sorted(name for name in FORMATS if _answers(installed, name)[0]))


def _answers(installed: Installed, format: str) -> tuple[list[Offer], list[Problem]]:
    offers, failures = [], []
    for plugin in installed.plugins():
        answer = plugin if isinstance(plugin, Problem) else installed.offer(plugin, "tg_exports", format=format)
        if isinstance(answer, Problem):
            failures.append(answer)
        elif answer is not None and isinstance(plugin, Plugin):
            offers.append(Offer(plugin, answer))
    return offers, failures


def _absent(installed: Installed, format: str, failures: list[Problem]) -> TgError:
    """The error about a format that no plugin has."""
    distribution = FORMATS.get(format)
    blamed = [one for one in failures if one.distribution == distribution]
    if blamed:
        return _failed(format, blamed[0])
    here = formats(installed)
    lines = [("formats here", ", ".join(here) or "none")]
    if failures:
        lines.append(("plugins that failed", ", ".join(sorted({one.distribution for one in failures}))))
    if distribution is not None:
        text = f"export: format {format!r}: found no plugin that writes it, needed {distribution}"
        return BackendUnavailable(message(text, *lines, hint=f'pip install "{distribution}"'))
    like = nearest(format, FORMATS)
    text = f"export: found format {format!r}, needed one that a plugin writes"
    return OptionError(message(text, *lines, hint=f"format={like[0]!r} exists" if like else None))


def _failed(format: str, problem: Problem) -> TgError:
    error: TgError
    if isinstance(problem.cause, (PluginError, BackendUnavailable)):
        error = type(problem.cause)(str(problem.cause))
    else:
        source = " ".join(filter(None, (problem.distribution, problem.version)))
        text = f"export: format {format!r}: {source}: {problem.reason}"
        error = PluginError(message(text, hint=problem.remedy))
    error.__cause__ = problem.cause
    return error
