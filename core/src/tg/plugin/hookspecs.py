"""The contract of a plugin: six hooks, all optional, all returning data.

A plugin is a module (or another object) named by an entry point of an installed distribution: in group `tg.backends.1`
under the name of the backend it provides, or in group `tg.extensions.1` under any name. It marks the hooks it has with
`@hookimpl`. The entry module imports `tg` only; what is heavy is imported inside the hooks.

Hooks are called with keyword arguments and may leave out arguments they do not use. They grow only by optional
arguments and by new hooks; one that older versions of tg do not know is marked `@hookimpl(optionalhook=True)`. An
exception from a hook is remembered and shown to whoever asks for that plugin; it never reaches another. So hooks are
called one by one, never through pluggy's `manager.hook`, and none may wrap others. The manager itself is
`tg.plugin.registry().manager`: see `tg.plugin.manager`.
"""

# A hook specification is its signature and its docstring: pluggy never calls it.
# mypy: disable-error-code="empty-body"

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from tg.ops.family import Family
    from tg.plugin.records import Backend, Exporter, NoRules, Rewrites, Rules

PROJECT = "tg"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def tg_backends() -> tuple[Backend, ...]:
    """Describe the backends that this plugin provides.

    When:
        A backend of this plugin is asked for, or backends are listed. Only of plugins in group `tg.backends.1`.
    Returns:
        One `Backend` for each name under which the distribution has an entry point.
    Combine:
        Each name and alias belongs to one plugin: a second provider is a PluginError that names both.
    Promise:
        Imports no framework and no compiler: those wait behind `Backend.linker`.
    Since:
        hook API 1
    """


@hookspec
def tg_rules(backend: str) -> Rules | NoRules | None:
    """Give rules for ops on `backend`, this plugin's own or another's.

    When:
        The first function is compiled for `backend` (its name, never an alias): of the backend's plugin and of every
        extension.
    Returns:
        A table by op class or elementwise function; `NoRules` where ops of this plugin have no rule for `backend` and
        no expansion; None where there is nothing to say.
    Combine:
        Tables are united. Two rules for one op are a PluginError that names both plugins, unless one table alone says
        that it replaces the op. A table for another protocol than the backend's is dropped, which is a PluginError
        when one of its ops is compiled, and not before.
    Promise:
        Imports the table inside the hook; the same call returns equal tables every time.
    Since:
        hook API 1
    """


@hookspec
def tg_rewrites(backend: str | None) -> Rewrites | None:
    """Give rewrite rules and passes: general ones for None, else those that profit `backend`.

    When:
        The first function is compiled: for None of core and of every extension; for `backend` of its plugin as well.
    Returns:
        Rules and passes, each with a name and a phase, or None.
    Combine:
        Core's, then the backend's, then the extensions' by distribution and entry name; the general ones before those
        for `backend`. Two of one name are a PluginError that names both plugins.
    Promise:
        General rewrites hold on every backend; they keep dtype and rank and say what else they may change.
    Since:
        hook API 1
    """


@hookspec
def tg_ops() -> tuple[Family, ...]:
    """Give the op families of this plugin, so that the parser, the documentation and the conformance suite know them.

    When:
        A text is parsed, or the ops are listed: of core and of every extension.
    Returns:
        One `Family` for each file of ops.
    Combine:
        One list, core's first. Two families of one path, or two ops of one name, are a PluginError that names both
        plugins.
    Promise:
        Imports no framework.
    Since:
        hook API 1
    """


@hookspec
def tg_cases() -> tuple[object, ...]:
    """Give conformance cases for the ops of this plugin.

    When:
        The conformance suite collects its cases: of core and of every extension.
    Returns:
        Cases, which the suite runs on every backend.
    Combine:
        One list, core's first.
    Promise:
        Cases say what they need of a backend and never name one.
    Since:
        hook API 1
    """


@hookspec
def tg_exports(format: str) -> Exporter | None:
    """Give the writer of functions in a format that programs without tg read: "c", "onnx".

    When:
        `tg.export` is asked for the format: of core, of every backend's plugin and of every extension.
    Returns:
        An `Exporter` for this format, or None where the plugin does not write it.
    Combine:
        Each format belongs to one plugin: a second provider is a PluginError that names both.
    Promise:
        Imports no framework and no compiler: those wait behind `Exporter.writer`.
    Since:
        hook API 1
    """
