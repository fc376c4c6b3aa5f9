"""Offers of all plugins together: one `Registry` for each process, filled as it is asked, never changed by a caller.

Core's own backend, rules, rewrites and ops come through the same hooks, from `tg.plugin.builtin`. The order in which
plugins were installed means nothing: core comes first, then the backend asked for, then the extensions by distribution
and entry name.
"""

from __future__ import annotations

import dataclasses
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar, final

from tg import __version__
from tg.errors import PluginError, TgError, message
from tg.graph.op import Op
from tg.link.declines import Declines
from tg.plugin import exporters, tables
from tg.plugin.discovery import Entry, Policy, entries, top_level
from tg.plugin.installed import Installed, Provider
from tg.plugin.memo import Memo
from tg.plugin.problems import as_error, outdated
from tg.plugin.records import Backend, BackendStatus, DiskCache, Gap, NoRules, Problem, Rewrites, Rule, Rules, key_name
from tg.plugin.requirements import project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tg.ops.family import Family
    from tg.plugin.exporters import Offer
    from tg.plugin.manager import Manager
    from tg.plugin.tables import Tables

T = TypeVar("T")

AUTO = "auto"
FALLBACK = "perform"
"""The backend that is always there."""

_PROCESS = Memo()
_UNSAID: ContextVar[tuple[Gap, ...]] = ContextVar("_UNSAID", default=())


def registry() -> Registry:
    """The registry of this process, made on the first call."""
    return _PROCESS.get(("registry",), _from_environment)


def reset() -> None:
    """Forget the registry and the scan of what is installed; the next `registry()` finds anew. For tests."""
    _PROCESS.clear()
    entries.cache_clear()


@contextmanager
def unsaid(gaps: Iterable[Gap]) -> Iterator[None]:
    """Compile as if these gaps were not declared: what the conformance suite does to see whether they are true."""
    token = _UNSAID.set((*_UNSAID.get(), *gaps))
    try:
        yield
    finally:
        _UNSAID.reset(token)


@final
class Registry:
    """Offers of the installed plugins, merged on demand; every answer, a failure too, is given once and for all.

    Raises:
        BackendUnavailable: a backend that is not installed, is broken, forbidden, or lacks what it requires.
        PluginError: plugins that break the contract of the hooks or clash with one another.
    """

    __slots__ = ("_installed",)

    def __init__(self, installed: Installed) -> None:
        self._installed = installed

    @property
    def _memo(self) -> Memo:
        return self._installed.memo

    @property
    def manager(self) -> Manager:
        """The manager of pluggy, which has the plugins that were needed so far: see `tg.plugin.manager`."""
        return self._installed.manager

    def declines(self, name: str) -> Declines:
        """Cases that the rules of a backend have declined so far."""
        return self._memo.get(("declines", self.backend(name).name), Declines)

    def versions(self, name: str) -> tuple[str, ...]:
        """Versions that decide what a program is compiled to: tg, the backend's plugin and requirements, extensions."""
        return self._memo.get(("versions", name), lambda: self._versions(self._provider(name)))

    def _versions(self, provider: Provider) -> tuple[str, ...]:
        plugins = dict.fromkeys((self._installed.core, provider.plugin, *self._installed.extensions()))
        required = (f"{project(text)} {self._installed.version(text)}" for text in provider.backend.requires)
        plugin_versions = (f"{plugin.entry.distribution} {plugin.entry.version}" for plugin in plugins)
        return tuple(dict.fromkeys((*plugin_versions, *required)))

    def packages(self, name: str) -> tuple[str, ...] | None:
        """The packages of tg, a backend's plugin, those that it requires, and the extensions.

        None where one was registered by hand.
        """
        return self._memo.get(("packages", name), lambda: self._packages(name))

    def _packages(self, name: str) -> tuple[str, ...] | None:
        provider = self._provider(name)
        plugins = dict.fromkeys((self._installed.core, provider.plugin, *self._installed.extensions()))
        targets = [entry.target for entry in (*(plugin.entry for plugin in plugins), *self.required(name))]
        return tuple(dict.fromkeys(map(top_level, targets))) if all(targets) else None

    def required(self, name: str) -> tuple[Entry, ...]:
        """The plugins of distributions that a backend requires: their code is its own, forbidden or not."""
        return self._installed.required(self._provider(name))

    def hosted(self, name: str) -> frozenset[object]:
        """The ops that the host may compute for a backend where no rule does, as their plugins say."""
        return self._tables(name).hosted

    def backend(self, name: str) -> Backend:
        """The backend of this name or alias; imports its entry module and no framework."""
        return self._provider(name).backend

    def backends(self, *, probe: bool = False) -> tuple[BackendStatus, ...]:
        """Every backend that is known, by name, and how it is; with `probe` every linker is imported to know."""
        return tuple(self._installed.status(name, probe=probe) for name in self._installed.names())

    def candidates(self) -> tuple[str, ...]:
        """Candidates for "auto", the first choice first: native backends by priority, core's own last.

        Entry modules are imported to know, and nothing heavier.
        """
        return self._memo.get((AUTO,), self._candidates)

    def obstacle(self, name: str) -> str | None:
        """Why "auto" passes over a backend whatever the program is; None where it may be tried.

        What it requires is looked at before its linker, rules and rewrites are imported.
        """
        return self._memo.get(("obstacle", name), lambda: self._obstacle(name))

    def default_backend(self) -> tuple[str, str]:
        """Meaning of "auto" here where a program does not decide, and why: the first candidate without an obstacle."""
        passed_over: list[str] = []
        for name in self.candidates():
            obstacle = self.obstacle(name)
            if obstacle is None:
                break
            passed_over.append(f"{name} passed over: {obstacle}")
        first = f"priority {self.backend(name).priority}, the highest available"
        return name, "; ".join(("no native backend is available" if name == FALLBACK else first, *passed_over))

    def extensions(self) -> tuple[Entry, ...]:
        """The plugins that work and take part beside those of backends."""
        return tuple(plugin.entry for plugin in self._installed.extensions())

    def linker(self, name: str) -> Any:
        """The linker of a backend, imported on the first call."""
        return self._sound(self._installed.linker(self._provider(name)), name)

    def linkers(self) -> tuple[Any, ...]:
        """The linkers that have been imported: of backends for which something has been compiled."""
        return self._installed.linkers()

    def gaps(self, name: str) -> tuple[Gap, ...]:
        """Gaps that a backend states, and what the plugins that have rules for it say of these."""
        name = self.backend(name).name
        all_gaps = self._memo.get(("gaps", name), lambda: (*self._own_gaps(name), *self._tables(name).gaps))
        without = _UNSAID.get()
        return tuple(gap for gap in all_gaps if gap not in without) if without else all_gaps

    def _own_gaps(self, name: str) -> tuple[Gap, ...]:
        provider = self._provider(name)
        if provider.backend.gaps is None:
            return ()
        gaps = self._attribute(name, provider.backend.gaps)
        if not isinstance(gaps, tuple) or not all(isinstance(gap, Gap) for gap in gaps):
            at = f"{provider.plugin.entry.source}: {provider.backend.gaps}"
            raise PluginError(message(f"{at}: found {type(gaps).__name__}, needed a tuple of Gap"))
        return gaps

    def rules(self, name: str) -> Mapping[object, Rule]:
        """All rules for a backend, by op class or elementwise function.

        Raises:
            PluginError: two plugins have a rule for one op and not exactly one replaces the other.
        """
        return self._tables(name).rules

    def rule_for(self, name: str, key: object) -> Rule | None:
        """The rule for one op class or elementwise function, or None where no plugin has one.

        Raises:
            PluginError: the only rule is written for another protocol than the backend's.
        """
        rule_tables = self._tables(name)
        if key not in rule_tables.rules and key in rule_tables.dropped:
            raise PluginError(tables.wrong_protocol(self.backend(name), key, *rule_tables.dropped[key]))
        return rule_tables.rules.get(key)

    def backends_with(self, key: object) -> tuple[str, ...]:
        """The backends that run an op class or elementwise function, by name; what is not available counts as not.

        Every backend that is available gives its rules, which may import its framework: this is for errors.
        """
        return tuple(name for name in self._installed.names() if self.computes(name, key))

    def backends_with_option(self, option: str) -> tuple[str, ...]:
        """The backends that have an option of their own of this name; entry modules are imported to know."""
        return tuple(name for name in self._installed.names() if option in self._options(name))

    def _options(self, name: str) -> tuple[str, ...]:
        try:
            return tuple(field.name for field in dataclasses.fields(self.backend(name).options) if field.init)
        except TgError:
            return ()

    def computes(self, name: str, key: object) -> bool:
        """Whether a backend is available and has a rule for an op class or elementwise function, or the host may."""
        if name == FALLBACK and _performs(key):
            return True
        try:
            return key in self._tables(name).rules or key in self._tables(name).hosted
        except TgError:
            return False

    def facts(self, name: str) -> Mapping[str, str]:
        """Facts that a backend finds on this machine; imports what it needs to know."""
        backend = self.backend(name)
        return self._attribute(name, backend.facts)() if backend.facts else {}

    def cache(self, name: str) -> DiskCache | None:
        """The cache of a backend, or None where it keeps nothing on disk."""
        backend = self.backend(name)
        return self._attribute(name, backend.cache) if backend.cache else None

    def rewrites(self, name: str | None) -> Rewrites:
        """The general rewrites and those of a backend, in that order; the general ones alone for None."""
        provider = self._provider(name) if name is not None else None
        canonical = provider.backend.name if provider else None
        return self._memo.get(("rewrites", canonical), lambda: self._merged_rewrites(provider))

    def provided_by(self, name: str) -> Entry:
        """The plugin that provides a backend."""
        return self._provider(name).plugin.entry

    def rule_source(self, name: str, key: object) -> Entry | None:
        """The plugin whose rule a backend uses for an op class or elementwise function, for messages."""
        provider = self._ready(name)
        rule = self._tables(name).rules.get(key)
        offers = self._offers("tg_rules", provider, backend=provider.backend.name)
        tables_of = [(entry, rules) for entry, rules in offers if isinstance(rules, Rules)]
        return next((entry for entry, rules in tables_of if rule is not None and rules.table.get(key) is rule), None)

    def rewrite_source(self, name: str | None, rewrite: str) -> Entry | None:
        """The plugin that gave the rewrite of a name, for messages; None for core's own."""
        provider = self._provider(name) if name is not None else None
        for entry, rewrites in self._rewrites_offered(provider):
            if entry != self._installed.core.entry and rewrite in map(key_name, (*rewrites.rules, *rewrites.passes)):
                return entry
        return None

    def families(self) -> tuple[Family, ...]:
        """The op families of core and of every extension.

        Raises:
            PluginError: two plugins have a family of one path or an op of one name.
        """
        return self._memo.get(("families",), lambda: tables.merge_families(self._offers("tg_ops")))

    def op_sources(self) -> Mapping[str, Entry]:
        """The extensions that ops other than core's are from, by the names of ops and elementwise functions."""
        return self._memo.get(("op sources",), self._op_sources)

    def _op_sources(self) -> Mapping[str, Entry]:
        offers = [
            (entry, families) for entry, families in self._offers("tg_ops") if entry != self._installed.core.entry
        ]
        members = ((entry, op) for entry, families in offers for one in families for op in (*one.elementwise, *one.ops))
        return {key_name(op): entry for entry, op in members}

    def cases(self) -> tuple[Any, ...]:
        """The conformance cases of core and of every extension."""
        return tuple(case for _, cases in self._offers("tg_cases") for case in cases)

    def lost_cases(self) -> tuple[Problem, ...]:
        """Reasons why extensions do not give their cases: they cannot be imported, or the hook raises."""
        return self._installed.lost("tg_cases")

    def exporter(self, format: str) -> Offer:
        """The exporter of a format, and the plugin that provides it; entry modules are imported to know.

        Raises:
            OptionError: no plugin that is known has the format.
            BackendUnavailable: its distribution is not installed, or lacks what it requires.
        """
        return exporters.offer_of(self._installed, format)

    def writer(self, offer: Offer) -> Callable[..., object]:
        """The function that writes a format, imported on the first call."""
        return exporters.writer_of(self._installed, offer)

    def formats(self) -> tuple[str, ...]:
        """The formats of tg's own distributions that can be written here."""
        return exporters.formats(self._installed)

    def outdated(self) -> tuple[Problem, ...]:
        """The tables of extensions that available backends drop, as they are of another protocol.

        Every extension gives its rules, which may import frameworks: this is for `tg backends`.
        """
        problems: list[Problem] = []
        for status in self.backends():
            for plugin in self._installed.extensions() if status.is_available else ():
                rules = self._installed.offer(plugin, "tg_rules", backend=status.name)
                backend = self.backend(status.name)
                if isinstance(rules, Rules) and rules.protocol != backend.rules:
                    problems.append(outdated(plugin.entry, backend, rules))
        return tuple(problems)

    def problems(self) -> tuple[Problem, ...]:
        """Problems of what is installed: all that errors about missing rules and `tg backends` have to tell."""
        return self._installed.problems()

    def _attribute(self, name: str, address: str) -> Any:
        return self._sound(self._installed.attribute(self._provider(name).plugin, address), name)

    def _tables(self, name: str) -> Tables:
        provider = self._ready(name)
        return self._memo.get(("rules", provider.backend.name), lambda: self._merged_rules(provider))

    def _merged_rules(self, provider: Provider) -> Tables:
        name = provider.backend.name
        offers = self._offers("tg_rules", provider, backend=name)
        if name == FALLBACK:  # it needs no rule of an op that can perform
            offers = [(entry, _without_performed(rules)) for entry, rules in offers]
        return tables.merge_rules(provider.backend, offers)

    def _merged_rewrites(self, provider: Provider | None) -> Rewrites:
        return tables.merge_rewrites(self._rewrites_offered(provider))

    def _rewrites_offered(self, provider: Provider | None) -> list[tuple[Entry, Rewrites]]:
        general = self._offers("tg_rewrites", backend=None)
        own = self._offers("tg_rewrites", provider, backend=provider.backend.name) if provider else []
        return general + own

    def _offers(self, hook: str, provider: Provider | None = None, **arguments: object) -> list[tuple[Entry, Any]]:
        """Answers of core, the backend's plugin and the extensions; only the backend's own failure is an error."""
        installed, own = self._installed, provider.plugin if provider else None
        plugins = dict.fromkeys((installed.core, *([own] if own else ()), *installed.extensions()))
        answers = [(plugin, installed.offer(plugin, hook, **arguments)) for plugin in plugins]
        for plugin, value in answers:
            if plugin is own and provider is not None:
                self._sound(value, provider.backend.name)
        return [
            (plugin.entry, value) for plugin, value in answers if value is not None and not isinstance(value, Problem)
        ]

    def _candidates(self) -> tuple[str, ...]:
        native = [one.backend for one in self._installed.natives() if one.backend.priority >= 0]
        return (*(one.name for one in sorted(native, key=lambda one: (-one.priority, one.name))), FALLBACK)

    def _obstacle(self, name: str) -> str | None:
        if name == FALLBACK:
            return None
        linker = self._installed.linker(self._provider(name))
        if isinstance(linker, Problem):
            return linker.reason
        try:
            self.rules(name), self.gaps(name), self.rewrites(name)
        except TgError as error:
            return str(error).partition("\n")[0]
        return None

    def _provider(self, name: str) -> Provider:
        return self._sound(self._installed.provider(name), name)

    def _ready(self, name: str) -> Provider:
        provider = self._provider(name)
        self._sound(self._installed.lack(provider), name)
        return provider

    @staticmethod
    def _sound(value: T | Problem, backend: str) -> T:
        if isinstance(value, Problem):
            raise as_error(value, backend)
        return value


def _performs(key: object) -> bool:
    """Whether the reference runs an op, which needs no rule for it."""
    from tg.ops.elementwise.record import ElementwiseFunction

    if isinstance(key, type) and issubclass(key, Op):
        return key.has_expansion or key.perform is not Op.perform
    return isinstance(key, ElementwiseFunction)


def _without_performed(rules: Rules | NoRules) -> Rules | NoRules:
    """Answer of a plugin for the reference; its word that there is no rule counts for no op that performs."""
    if not isinstance(rules, NoRules):
        return rules
    return NoRules(tuple(op for op in rules.ops if not _performs(op)), rules.reason)


def _from_environment() -> Registry:
    core = Entry("tg-core", "core", "extensions", "tg.plugin.builtin", version=__version__)
    return Registry(Installed(core, entries(), Policy.from_environment()))
