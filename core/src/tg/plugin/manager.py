"""pluggy's manager of the plugins of one registry, and how a hook of one plugin is called.

Each plugin is registered when something of it is first needed, under `distribution/kind/name` of its entry point:
`tg-jax/backends/jax`; core is `tg-core/extensions/core`. So `list_name_plugin()` has what was needed so far. A plugin
that is forbidden is blocked under that name, and one whose hooks are wrong is not registered.

Whatever somebody else registers takes part from then on, as an extension and with the backends that it has. That is
for tests: `tg.plugin.registry().manager.register(module, name="trial")`. `check_pending()` tells of its hooks that are
misspelled, as the registry's problems do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import pluggy

from tg.errors import PluginError, message, nearest
from tg.plugin import hookspecs
from tg.plugin.discovery import Entry, imported
from tg.turns import Claim, alone

if TYPE_CHECKING:
    from collections.abc import Callable

HOOKS: Final = tuple(name for name in vars(hookspecs) if name.startswith("tg_"))
BY_HAND: Final = "(registered by hand)"


@final
class Plugin:
    """One registered plugin: the entry under which it is registered, and its hooks, called apart from all others'."""

    __slots__ = ("_manager", "entry", "namespace")

    def __init__(self, manager: Manager, entry: Entry, namespace: object) -> None:
        self._manager, self.entry, self.namespace = manager, entry, namespace

    def call(self, hook: str, **arguments: object) -> object | None:
        """Return value of this plugin's `hook`; None where it has no such hook."""
        # `manager.hook.tg_rules(…)` would ask all plugins and stop at the first exception: one's would be everyone's
        for impl in getattr(self._manager.hook, hook).get_hookimpls():
            if impl.plugin is self.namespace:
                return impl.function(*(arguments[name] for name in impl.argnames))  # type: ignore[no-any-return]
        return None


@final
class Manager(pluggy.PluginManager):
    """pluggy's manager of tg's hooks; `changed` is called when anybody else registers, takes away or blocks a plugin.

    A plugin of an installed distribution that is taken away is registered again when it is next needed; one that is
    blocked stays away.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__(hookspecs.PROJECT)
        self.add_hookspecs(hookspecs)
        self._changed = changed
        self._claim = Claim(frozenset([("plugins", id(self))]), delays_forks=True)
        self._loaded: dict[str, Plugin] = {}  # those that are registered as a whole, whose hooks are right
        self._by_hand: dict[str, Entry] = {}

    @property
    def by_hand(self) -> tuple[Entry, ...]:
        """Of what others than the registry have registered: entries that no distribution has."""
        return tuple(self._by_hand.values())

    def register(self, plugin: object, name: str | None = None) -> str | None:
        """Register a plugin, as pluggy does; it counts from then on."""
        for turn in alone():
            turn.take(self._claim)
            registered = super().register(plugin, name)
            if registered is not None:
                self._by_hand[registered] = Entry(registered, registered, "extensions", "", BY_HAND)
                self._loaded.pop(registered, None)
        turn.leave()
        self._changed()
        return registered

    def unregister(self, plugin: object | None = None, name: str | None = None) -> Any | None:
        """Take a plugin away, as pluggy does."""
        label = name or self.get_name(plugin)
        gone = super().unregister(plugin, name)
        if label is not None:
            self._by_hand.pop(label, None)
            self._loaded.pop(label, None)
        self._changed()
        return gone

    def set_blocked(self, name: str) -> None:
        """Keep a plugin away, as pluggy does."""
        super().set_blocked(name)
        self._changed()

    def unblock(self, name: str) -> bool:
        """Allow a plugin again, as pluggy does."""
        was_blocked = super().unblock(name)
        self._changed()
        return was_blocked

    def load(self, entry: Entry) -> Plugin:
        """The plugin of an entry, imported and registered if it is not yet; whatever its module raises goes through.

        Raises:
            PluginError: a hook that does not exist, takes an argument that no hook has, lacks its mark, is there twice
                or wraps others'.
        """
        plugin = self._loaded.get(entry.plugin_name)
        if plugin is None:
            plugin = self.take(entry, imported(entry) if entry.target else self.get_plugin(entry.plugin_name))
        return plugin

    def take(self, entry: Entry, namespace: object) -> Plugin:
        """Register the object that an entry names; another entry may have named it before.

        Raises:
            PluginError: as `load` has it.
        """
        for turn in alone():  # pluggy adds hook by hook: nobody is to ask half a plugin
            turn.take(self._claim)
            name = self.get_name(namespace) or ""
            plugin = self._loaded.get(name) or self._whole(self._by_hand.get(name, entry), namespace)
        turn.leave()
        return plugin

    def _whole(self, entry: Entry, namespace: object) -> Plugin:
        if entry.target:
            super().unregister(name=entry.plugin_name)  # what an interrupt has left of it
            self._put(entry, namespace)
        try:
            self._check(entry, namespace)
        except PluginError:
            if entry.target:
                super().unregister(name=entry.plugin_name)
            raise
        return self._loaded.setdefault(entry.plugin_name, Plugin(self, entry, namespace))

    def _put(self, entry: Entry, namespace: object) -> None:
        try:
            registered = super().register(namespace, entry.plugin_name)
        except (pluggy.PluginValidationError, ValueError) as error:
            super().unregister(name=entry.plugin_name)
            text = f"{entry.source}: {' '.join(str(error).split())}"
            raise PluginError(message(text, ("hooks", ", ".join(HOOKS)))) from error
        if registered is None:
            raise PluginError(message(f"{entry.source}: {entry.plugin_name} is blocked"))

    def _check(self, entry: Entry, namespace: object) -> None:
        """Check what `check_pending` does, for one plugin, and what it does not know of."""
        for caller in self.get_hookcallers(namespace) or ():
            mine = [impl for impl in caller.get_hookimpls() if impl.plugin is namespace]
            if not caller.has_spec() and not all(impl.optionalhook for impl in mine):
                raise PluginError(_misspelled(entry.source, caller.name))
            if any(impl.wrapper or impl.hookwrapper for impl in mine):
                text = f"{entry.source}: {caller.name} wraps what other plugins give, needed a hook that gives its own"
                raise PluginError(message(text, hint="write @tg.plugin.hookimpl above it, without arguments"))
            if len(mine) > 1:
                names = " and ".join(sorted(impl.function.__name__ for impl in mine))
                raise PluginError(message(f"{entry.source}: {caller.name} is there {len(mine)} times: {names}"))
        for name in HOOKS:
            # pluggy before 1.7 asks only of what is there
            if callable(getattr(namespace, name, None)) and self.parse_hookimpl_opts(namespace, name) is None:
                text = f"{entry.source}: {name} is not marked as a hook"
                raise PluginError(message(text, hint=f"write @tg.plugin.hookimpl above def {name}"))


def _misspelled(source: str, name: str) -> str:
    like = nearest(name, HOOKS)
    hint = (
        f"rename it to {like[0]}" if like else "mark what newer versions of tg call with @hookimpl(optionalhook=True)"
    )
    return message(f"{source}: {name} is not a hook", ("hooks", ", ".join(HOOKS)), hint=hint)
