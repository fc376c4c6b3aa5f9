"""Installed plugins, and the outcome of asking each one: its answers and its failures, both remembered.

A failure is a value here, a `Problem`, so that one plugin's never reaches another; who asks for that plugin raises it.
Where somebody changes which plugins there are, by hand, a new memory takes the place of the old one: what is being
worked out meanwhile is published in the old.
"""

from __future__ import annotations

import dataclasses
import importlib
from typing import TYPE_CHECKING, Any, NamedTuple

from tg import callers
from tg.errors import nearest
from tg.plugin import faults, problems
from tg.plugin.certificates import certified
from tg.plugin.discovery import Entry, Policy, normal
from tg.plugin.manager import Manager, Plugin
from tg.plugin.memo import Memo
from tg.plugin.records import Backend, BackendStatus, Problem
from tg.plugin.requirements import installed, project, unmet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Engines = tuple[tuple[str, str | None], ...]  # what is required, with the version that is installed

EXTRAS = ("c", "jax", "mlx", "numba", "torch")
"""The backends that are published with tg, each an extra of `tg-core`."""


class Provider(NamedTuple):
    """A backend and the plugin that provides it."""

    plugin: Plugin
    backend: Backend


def option_names(backend: Backend) -> tuple[str, ...]:
    """The names of a backend's own options."""
    return tuple(field.name for field in dataclasses.fields(backend.options) if field.init)


class Installed:
    """The plugins of this process: what their hooks return, and which of them provides a backend."""

    __slots__ = ("_found", "_policy", "core", "manager", "memo")

    def __init__(self, core: Entry, entries: Sequence[Entry], policy: Policy) -> None:
        self.memo = Memo()
        self.manager = Manager(self._forget)
        self._found = tuple(sorted(entries))
        self._policy = policy
        for entry in self._found:
            if policy.refusal(entry):
                self.manager.set_blocked(entry.plugin_name)
        self.core = self.manager.load(core)

    def provider(self, name: str) -> Provider | Problem:
        """The provider of the backend with this name or alias, or what keeps it from being one."""
        return self.memo.get(("provider", name), lambda: self._provider(name))

    def natives(self) -> tuple[Provider, ...]:
        """The providers that can be imported, core's own left out, by name."""
        providers = (self.provider(name) for name in sorted({entry.name for entry in self._backend_entries()}))
        return tuple(one for one in providers if isinstance(one, Provider))

    def plugins(self) -> tuple[Plugin | Problem, ...]:
        """Core, the plugins of backends and the extensions, each once, in that order; what fails is its problem."""
        usable = [*sorted(self._backend_entries(), key=lambda entry: entry.name), *self._usable("extensions")]
        return tuple(dict.fromkeys([self.core, *map(self._plugin, usable)]))

    def core_backends(self) -> tuple[Backend, ...]:
        """The backends that core itself provides."""
        return self.offer(self.core, "tg_backends")  # type: ignore[no-any-return]

    def extensions(self) -> tuple[Plugin, ...]:
        """The extensions that can be imported, by distribution and entry name."""
        plugins = dict.fromkeys(self._plugin(entry) for entry in self._usable("extensions"))
        return tuple(one for one in plugins if isinstance(one, Plugin))

    def lost(self, hook: str) -> tuple[Problem, ...]:
        """Faults of extensions that cannot be imported, or whose hook of this name raises."""
        plugins = [self._plugin(entry) for entry in self._usable("extensions")]
        answers = [self.offer(one, hook) if isinstance(one, Plugin) else one for one in plugins]
        outdated = [problems.wrong_api(entry) for entry in self._outdated() if entry.kind == "extensions"]
        return tuple(dict.fromkeys([*outdated, *(one for one in answers if isinstance(one, Problem))]))

    def offer(self, plugin: Plugin, hook: str, **arguments: object) -> Any:
        """Return value of a plugin's hook for these arguments, or the `Problem` with it."""
        question = (hook, plugin.entry.plugin_name, *arguments.values())
        return self.memo.get(question, lambda: self._offer(plugin, hook, arguments))

    def attribute(self, plugin: Plugin, address: str) -> Any:
        """Object at "module:ATTRIBUTE", or the `Problem` with importing it."""
        return self.memo.get(("attribute", address), lambda: self._attribute(plugin, address))

    def lack(self, provider: Provider) -> Problem | None:
        """Requirements of a backend that this machine does not meet, by the metadata of what is installed."""
        return self.memo.get(("lack", provider.backend.name), lambda: self._lack(provider))

    def required(self, provider: Provider) -> tuple[Entry, ...]:
        """The entries for tg of distributions that a backend requires, whether or not these take part by themselves."""
        names = dict.fromkeys(normal(project(text)) for text in provider.backend.requires)
        return tuple(entry for name in names for entry in self._by_distribution.get(name, ()))

    def version(self, requirement: str) -> str | None:
        """The version of what a requirement names: of a plugin as it was found, else by looking for it."""
        return self.memo.get(("version", requirement), lambda: self._version(requirement))

    def linker(self, provider: Provider) -> Any:
        """A backend's linker, or the `Problem` with what it requires, with importing it or with what was imported."""
        return self.lack(provider) or self.memo.get(("linker", provider.backend.linker), lambda: self._linker(provider))

    def linkers(self) -> tuple[Any, ...]:
        """The linkers that have been imported."""
        answers = self.memo.published().items()
        return tuple(linker for (kind, *_), linker in answers if kind == "linker" and not isinstance(linker, Problem))

    def status(self, name: str, *, probe: bool) -> BackendStatus:
        """State of a backend; with `probe` its linker is imported to know."""
        provider = self.provider(name)
        if isinstance(provider, Problem):
            return _status(name, None, provider)
        is_known = probe or ("linker", provider.backend.linker) in self.memo.published()
        trouble = self.linker(provider) if is_known else self.lack(provider)
        entry = provider.plugin.entry
        sound = Problem(entry.distribution, entry.version, "available", "")
        engines = tuple((project(text), self.version(text)) for text in provider.backend.requires)
        return _status(name, provider.backend, trouble if isinstance(trouble, Problem) else sound, entry, engines)

    def names(self) -> tuple[str, ...]:
        """The names of all backends that are installed in any state, or published with tg."""
        core = {backend.name for backend in self.core_backends()}
        others = {entry.name for entry in self._entries if entry.kind == "backends"} - set(self._core_names())
        return tuple(sorted({*core, *others, *EXTRAS}))

    def problems(self) -> tuple[Problem, ...]:
        """Problems of what is installed; entry modules are imported to know, and nothing heavier."""
        self.extensions()
        self.natives()
        listed = [problems.wrong_api(entry) for entry in self._outdated()]
        listed += [problems.reserved(e) for e in self._usable("backends") if e.name in self._core_names()]
        listed += map(problems.unmatched, self._policy.unmatched(self._found))
        listed += [one for one in self.memo.published().values() if isinstance(one, Problem)]
        serious = dict.fromkeys(one for one in listed if one.state in ("broken", "wrong API"))
        return tuple(sorted(serious, key=str))

    def _provider(self, name: str) -> Provider | Problem:
        for backend in self.core_backends():
            if name in (backend.name, *backend.aliases):
                return Provider(self.core, backend)
        entries = [entry for entry in self._backend_entries() if entry.name == name]
        if len(entries) > 1:
            return problems.two_providers(name, entries)
        return self._declared(entries[0]) if entries else self._by_alias(name) or self._absent(name)

    def _declared(self, entry: Entry) -> Provider | Problem:
        plugin = self._plugin(entry)
        if isinstance(plugin, Problem):
            return plugin
        backends = self.offer(plugin, "tg_backends")
        if isinstance(backends, Problem):
            return backends
        mine = [backend for backend in backends if backend.name == entry.name]
        if not mine:
            return problems.undeclared(entry, [one.name for one in backends])
        unknown = faults.unknown_protocol(mine[0])
        return problems.faulty(entry, unknown[0], hint=unknown[1]) if unknown else Provider(plugin, mine[0])

    def _by_alias(self, name: str) -> Provider | Problem | None:
        providers = [provider for provider in self.natives() if name in provider.backend.aliases]
        if len(providers) > 1:
            return problems.two_providers(name, [provider.plugin.entry for provider in providers])
        return providers[0] if providers else None

    def _absent(self, name: str) -> Problem:
        entries = [entry for entry in self._entries if entry.kind == "backends" and entry.name == name]
        for entry in entries:
            if self.manager.is_blocked(entry.plugin_name):
                refusal = self._policy.refusal(entry) or problems.blocked(entry)
                return Problem(entry.distribution, entry.version, "forbidden", *refusal)
        if entries:
            return problems.wrong_api(entries[0])
        if name in EXTRAS:
            return problems.not_installed(name)
        doubles = {one.backend.name for one in self.natives() if one.backend.is_double}
        own = {backend.name for backend in self.core_backends()}
        there = sorted(own | {entry.name for entry in self._backend_entries()} - doubles)
        if name.partition(":")[0] in problems.DEVICES:
            owners = [one.backend.name for one in self.natives() if "device" in option_names(one.backend)]
            return problems.device(name, there, owners)
        return problems.unknown(there, nearest(name, [*self.names(), *self._core_names()]))

    @property
    def _entries(self) -> tuple[Entry, ...]:
        """Entries of distributions, and of each plugin registered by hand: as an extension, and its backends."""
        return self.memo.get(("entries",), self._all_entries)

    def _all_entries(self) -> tuple[Entry, ...]:
        by_hand = self.manager.by_hand
        backends = [
            dataclasses.replace(entry, name=backend.name, kind="backends")
            for entry in by_hand
            if isinstance(plugin := self._plugin(entry), Plugin)
            if not isinstance(offered := self.offer(plugin, "tg_backends"), Problem)
            for backend in offered
        ]
        return tuple(sorted((*self._found, *by_hand, *backends)))

    def _plugin(self, entry: Entry) -> Plugin | Problem:
        """The plugin of an entry; entries of one module have one, registered under the name of the first."""
        same = (one for one in self._found if one.target == entry.target and self._is_usable(one))
        first = next(same, entry)
        return self.memo.get(("plugin", first.plugin_name), lambda: self._loaded(first))

    def _loaded(self, entry: Entry) -> Plugin | Problem:
        lacking = unmet(entry.requires, self._version_of_tgs)
        if lacking:
            return problems.unsuited(entry, lacking)
        try:
            return self.manager.load(entry)
        except (Exception, SystemExit) as error:  # noqa: BLE001 (a stranger's code: remembered)
            return problems.broken(entry, f"importing {entry.target}", error)

    def _offer(self, plugin: Plugin, hook: str, arguments: dict[str, object]) -> Any:
        call = f"{hook}({', '.join(map(repr, arguments.values()))})"
        return self._kept(plugin, call, lambda: faults.checked(plugin.entry, hook, plugin.call(hook, **arguments)))

    def _attribute(self, plugin: Plugin, address: str) -> Any:
        return self._kept(plugin, f"importing {address}", lambda: _imported(address))

    def _version(self, requirement: str) -> str | None:
        entries = self._by_distribution.get(normal(project(requirement)))
        return entries[0].version if entries else installed(requirement)

    def _version_of_tgs(self, requirement: str) -> str | None:
        """The version of one of tg's distributions: core's is that of the code that runs."""
        return self.core.entry.version if normal(project(requirement)) == "tg-core" else self._version(requirement)

    @property
    def _by_distribution(self) -> Mapping[str, tuple[Entry, ...]]:
        """The entries that were found, by the normal names of their distributions."""
        return self.memo.get(("distributions",), self._sorted_by_distribution)

    def _sorted_by_distribution(self) -> Mapping[str, tuple[Entry, ...]]:
        by_name: dict[str, tuple[Entry, ...]] = {}
        for entry in self._found:
            name = normal(entry.distribution)
            by_name[name] = (*by_name.get(name, ()), entry)
        return by_name

    def _lack(self, provider: Provider) -> Problem | None:
        requirements = unmet(provider.backend.requires, self.version)
        return problems.lacking(provider.plugin.entry, requirements) if requirements else None

    def _linker(self, provider: Provider) -> Any:
        plugin, address = provider.plugin, provider.backend.linker
        for entry in self.required(provider):
            callers.claim(entry.target)
        linker = self.attribute(plugin, address)
        if isinstance(linker, Problem):
            return linker
        doing = f"looking at {address}"
        return self._kept(plugin, doing, lambda: faults.check_linker(plugin.entry, address, linker)) or linker

    def _kept(self, plugin: Plugin, doing: str, work: Callable[[], object]) -> Any:
        try:
            return work()
        except (Exception, SystemExit) as error:
            if plugin is self.core:
                raise
            return problems.broken(plugin.entry, doing, error)

    def _core_names(self) -> tuple[str, ...]:
        return tuple(name for backend in self.core_backends() for name in (backend.name, *backend.aliases))

    def _usable(self, kind: str) -> list[Entry]:
        return [entry for entry in self._entries if entry.kind == kind and self._is_usable(entry)]

    def _is_usable(self, entry: Entry) -> bool:
        return entry.is_current and not self.manager.is_blocked(entry.plugin_name)

    def _backend_entries(self) -> list[Entry]:
        return [entry for entry in self._usable("backends") if entry.name not in self._core_names()]

    def _forget(self) -> None:
        """Work everything out anew from now on; linkers that have been imported stay known."""
        answers = self.memo.published().items()
        self.memo = Memo({question: answer for question, answer in answers if question[0] == "linker"})

    def _outdated(self) -> list[Entry]:
        current = {(entry.distribution, entry.kind) for entry in self._entries if entry.is_current}
        return [e for e in self._entries if not e.is_current and (e.distribution, e.kind) not in current]


def _imported(address: str) -> object:
    module, _, attribute = address.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _status(
    name: str, backend: Backend | None, problem: Problem, entry: Entry | None = None, engines: Engines = ()
) -> BackendStatus:
    facts = (name, backend.aliases if backend else (), problem.distribution, problem.version)
    status = BackendStatus(*facts, problem.state, problem.reason, problem.remedy)
    if backend is None or entry is None:
        return status
    told = certified(entry, backend.name, dict(engines))
    return dataclasses.replace(status, engines=engines, devices=backend.devices, dtypes=backend.dtypes, certified=told)
