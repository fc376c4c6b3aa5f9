"""Options: what each backend takes, what core honours, and what is refused with which reason."""

from __future__ import annotations

import inspect

import tg
from tg import plugin
from tg.link.linker import Executable
from tg.plugin.fields import Described, described, reason_text
from tg.plugin.records import General
from tg_pages.coverage import backends
from tg_pages.docstring import cell, items_of, table

ROWS = {
    "dtype": "element type",
    "device": "device",
    "precision": "precision of products",
    "amp": "mixed precision",
    "preallocate": "preallocation",
    "compile_options": "options of its compiler",
    "autotune": "search for kernels",
    "static_shapes": "static shapes",
    "inference": "inference",
    "checkpointing": "checkpointing",
    "memory": "limit of memory",
    "threads": "threads",
    "fast_math": "fast mathematics",
    "donate": "donation",
    "mesh": "mesh of devices",
}
"""What users ask for, by the name of the option or of the argument of `tg.function`."""


def part() -> str:
    """A table of what users ask for, and what each backend does about it."""
    general = {one.name: one for one in described(General)}
    arguments = _arguments()
    rows = [
        (f"{title}: `{name}`", *(_cell(name, backend, general, arguments) for backend in backends()))
        for name, title in ROWS.items()
        if name in general or name in arguments or any(_own(name, b) or _refusal(name, b) for b in backends())
    ]
    return table(("", *(f"`{name}`" for name in backends())), rows)


def lists_part() -> str:
    """All options, those of every backend first, with types and defaults; of each backend its refusals last."""
    parts = ["### Every backend\n", _list(described(General), {})]
    for name in backends():
        record = plugin.registry().backend(name)
        parts += [f"### `{name}`\n", _list(described(record.options), record.refuses)]
    return "\n".join(parts)


def _list(options: tuple[Described, ...], refuses: object) -> str:
    rows = [(f"`{o.name}`", f"`{cell_code(o.type)}`", f"`{o.default}`", cell(o.meaning)) for o in options]
    rows += [(f"`{name}`", "refused", "", cell(reason_text(reason))) for name, reason in dict(refuses).items()]
    return table(("option", "type", "default", "meaning"), rows)


def cell_code(text: str) -> str:
    """Code in a cell of a table."""
    return text.replace("|", "\\|")


def _arguments() -> dict[str, str]:
    """The arguments of `tg.function` and what is said of each."""
    body = inspect.getdoc(tg.function).partition("Args:\n")[2].partition("\nRaises:")[0]
    told = dict(items_of(inspect.cleandoc(body)))
    return {name: told.get(name, "") for name in inspect.signature(tg.function).parameters}


def _own(name: str, backend: str) -> Described | None:
    return next((o for o in described(plugin.registry().backend(backend).options) if o.name == name), None)


def _refusal(name: str, backend: str) -> str | None:
    return plugin.registry().backend(backend).refuses.get(name)


def _cell(name: str, backend: str, general: dict[str, Described], arguments: dict[str, str]) -> str:
    """Answer of a backend: its own option, core's, an argument of `tg.function`, or the reason why not."""
    own, reason = _own(name, backend), _refusal(name, backend)
    if own is not None:
        return cell(own.meaning)
    if reason is not None:
        return f"refused: {cell(reason_text(reason))}"
    if name in general:
        return cell(general[name].meaning)
    if name == "donate":
        return "a result may take their memory" if _reuses(backend) else "accepted, and left as they are"
    return cell(arguments[name].partition(". ")[0]) if name in arguments else "no such option"


def _reuses(backend: str) -> bool:
    """Whether a backend's programs may write results into arguments that are donated."""
    x = tg.vector("x", dtype="float32")
    executable = tg.function([x], x + 1, backend=backend).programs.main.executable
    return type(executable).reuses is not Executable.reuses
