"""Faults that a plugin can have: a `Problem` with its reason and remedy, and the error it becomes when asked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import pluggy

from tg.errors import BackendUnavailable, PluginError, TgError, message
from tg.plugin.records import HOOK_API, Problem, key_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.plugin.discovery import Entry
    from tg.plugin.records import Backend, Rules


def as_error(problem: Problem, backend: str) -> TgError:
    """The error for whoever asks for `backend`, with the remembered exception as its cause.

    A TgError that was raised in the plugin keeps its class and its text: it says what is wrong better than core can.
    """
    if isinstance(problem.cause, (PluginError, BackendUnavailable)):
        error: TgError = type(problem.cause)(str(problem.cause))
    else:
        error = BackendUnavailable(message(f"backend {backend!r}: {_told(problem)}", hint=problem.remedy))
    error.__cause__ = problem.cause
    return error


def broken(entry: Entry, doing: str, error: BaseException) -> Problem:
    """An exception from a plugin's code, remembered."""
    place = _in_checkout(entry, error)
    again = f"pip install --upgrade --force-reinstall {entry.distribution}" if entry.target else None
    remedy = f"mend {place}" if place else again
    if isinstance(error, TgError):
        reason, _, hint = str(error).partition("\n  hint: ")
        fact = _first_line(reason).removeprefix(f"{entry.source}: ")
        return Problem(entry.distribution, entry.version, "broken", fact, hint or None, error)
    reason = f"{doing} raised {type(error).__name__}: {_first_line(str(error))}"
    return Problem(entry.distribution, entry.version, "broken", reason, remedy, error)


def wrong_api(entry: Entry) -> Problem:
    """A plugin for another version of the hooks: the older of the two packages is to be upgraded."""
    newer = entry.api.isdigit() and int(entry.api) > HOOK_API
    reason = f"written for hook API {entry.api}, this tg has {HOOK_API}"
    remedy = f"pip install --upgrade {'tg-core' if newer else entry.distribution}"
    return Problem(entry.distribution, entry.version, "wrong API", reason, remedy)


def outdated(entry: Entry, backend: Backend, rules: Rules) -> Problem:
    """A table of rules for another protocol than the backend's, none of which is used."""
    names = ", ".join(sorted(map(key_name, rules.table)))
    reason = f"rules for backend {backend.name!r} are of protocol {rules.protocol}, needed {backend.rules}: {names}"
    older = rules.protocol.kind == backend.rules.kind and rules.protocol.version > backend.rules.version
    remedy = f"pip install --upgrade {backend.distribution if older else entry.distribution}"
    return Problem(entry.distribution, entry.version, "wrong API", reason, remedy)


def unsuited(entry: Entry, requirements: Sequence[tuple[str, str | None]]) -> Problem:
    """A plugin whose distribution requires other versions of tg's."""
    shown = ", ".join(f"{needed} (found {version or 'nothing'})" for needed, version in requirements)
    remedy = f"pip install --upgrade {entry.distribution}"
    return Problem(entry.distribution, entry.version, "broken", f"requires {shown}", remedy)


def two_providers(backend: str, entries: Sequence[Entry]) -> Problem:
    """Two distributions that provide one name: neither is taken."""
    sources = " and ".join(entry.source for entry in entries)
    hint = switch_off(entries)
    error = PluginError(message(f"backend {backend!r} has {len(entries)} providers: {sources}", hint=hint))
    names = " and ".join(entry.distribution for entry in entries)
    return Problem(names, None, "broken", f"{len(entries)} providers of backend {backend!r}: {sources}", hint, error)


def undeclared(entry: Entry, declared: Sequence[str]) -> Problem:
    """An entry point under a name for which the plugin has no backend."""
    line = ("tg_backends", f"found {', '.join(declared) or 'none'}, needed {entry.name}")
    return faulty(entry, f"entry point {entry.name!r} has no backend", line)


def reserved(entry: Entry) -> Problem:
    """An entry point under the name of a backend of core's own, which stays core's."""
    return faulty(entry, f"backend name {entry.name!r} is tg-core's own", hint="rename the entry point and the backend")


def unmatched(name: str) -> Problem:
    """A name in `TG_PLUGINS` or `TG_PLUGINS_OFF` that says nothing."""
    return Problem("environment", None, "broken", f"TG_PLUGINS or TG_PLUGINS_OFF names {name}, which is not installed")


def blocked(entry: Entry) -> tuple[str, str]:
    """Why a plugin may not be used that somebody has blocked in pluggy's manager, and what to change."""
    return "blocked in the plugin manager", f"call registry().manager.unblock({entry.plugin_name!r})"


def not_installed(backend: str) -> Problem:
    """One of the backends published with tg that is not here."""
    return Problem(f"tg-{backend}", None, "not installed", "not installed", f'pip install "tg-core[{backend}]"')


def unknown(there: Sequence[str], near: list[str]) -> Problem:
    """A name that neither tg nor anything installed has."""
    hint = f"backend={near[0]!r} exists" if near else "run `tg backends` for what is known"
    return Problem("unknown", None, "not installed", f"not installed: found {', '.join(there)}", hint)


DEVICES: Final = ("cpu", "cuda", "gpu", "hip", "metal", "mps", "rocm", "tpu", "xla", "xpu")
"""Names of devices, which are no backends: users of PyTorch and JAX ask for one as for the other."""


def device(name: str, there: Sequence[str], owners: Sequence[str]) -> Problem:
    """The name of a device in place of that of a backend."""
    reason = f"found a device, needed one of {', '.join(there)}"
    if name == "cpu":
        return Problem("unknown", None, "not installed", reason, "backends run on the processor unless told otherwise")
    if not owners:
        return Problem(
            "unknown", None, "not installed", reason, 'pip install "tg-core[torch]", whose option device= it is'
        )
    hint = f'tg.backend("{owners[-1]}", device="{name}"); it is an option of {", ".join(owners)}'
    return Problem("unknown", None, "not installed", reason, hint)


def lacking(entry: Entry, requirements: Sequence[tuple[str, str | None]]) -> Problem:
    """A backend whose requirements are not met by what is installed."""
    shown = ", ".join(f"{needed} (found {version or 'nothing'})" for needed, version in requirements)
    remedy = "pip install " + " ".join(f'"{needed}"' for needed, _ in requirements)
    return Problem(entry.distribution, entry.version, "broken", f"needs {shown}", remedy)


def switch_off(entries: Sequence[Entry]) -> str:
    """Advice about plugins that exclude one another; the last is the one to go."""
    return f"uninstall one, or {entries[-1].without}"


def faulty(entry: Entry, fact: str, *lines: tuple[str, str], hint: str | None = None) -> Problem:
    """A plugin whose records contradict the contract or one another."""
    error = PluginError(message(f"{entry.source}: {fact}", *lines, hint=hint))
    return Problem(entry.distribution, entry.version, "broken", fact, hint, error)


def _in_checkout(entry: Entry, error: BaseException) -> str | None:
    """Place where a plugin's code has raised, if that is in a checkout: installed code is not for its user to mend."""
    import sysconfig  # both for messages alone
    from importlib import metadata

    try:
        installed = str(metadata.distribution(entry.distribution).locate_file(""))
    except metadata.PackageNotFoundError:
        return None
    places: list[tuple[str, int | None]] = []
    traceback = error.__traceback__
    while traceback is not None:
        places.append((traceback.tb_frame.f_code.co_filename, traceback.tb_lineno))
        traceback = traceback.tb_next
    if isinstance(error, SyntaxError) and error.filename:
        places.append((error.filename, error.lineno))
    others = (
        installed,
        str(Path(__file__).parents[1]),
        str(Path(pluggy.__file__).parent),
        sysconfig.get_path("stdlib"),
    )
    own = [(name, line) for name, line in places if not name.startswith(("<", *others))]
    return f"{own[-1][0]}:{own[-1][1]}" if own else None


def _told(problem: Problem) -> str:
    if problem.version is None:
        return problem.reason
    return f"{problem.distribution} {problem.version}: {problem.reason}"


def _first_line(text: str) -> str:
    return text.partition("\n")[0]
