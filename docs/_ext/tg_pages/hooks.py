"""The hooks of plugins, with their exact signatures, and the records they return."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any

from tg.plugin import hookspecs, records
from tg_pages.docstring import entry, myst, signature, table

RECORDS = (
    records.Backend,
    records.RuleProtocol,
    records.Rules,
    records.Rewrites,
    records.Gap,
    records.DiskCache,
    records.Exporter,
)


def page() -> str:
    """The page."""
    hooks = [fn for name, fn in vars(hookspecs).items() if name.startswith("tg_")]
    parts = ["# Hooks\n", myst(hookspecs.__doc__ or "")]
    parts += [f"## {hook.__name__}\n\n{contract(hook)}" for hook in hooks]
    parts += ["## The records\n", myst(records.__doc__ or ""), *map(record, RECORDS)]
    return "\n".join(parts)


def contract(hook: Any) -> str:
    """A hook with its signature and what its docstring promises."""
    return entry("function", signature(hook, f"tg.plugin.hookspecs.{hook.__name__}"), myst(hook.__doc__ or ""))


def record(cls: type) -> str:
    """A record: its docstring, and a table of its fields with types, defaults and the comments beside them."""
    source = inspect.getsource(cls)
    rows = []
    for field in dataclasses.fields(cls):
        said = re.search(rf"^    {field.name}:.*?#\s*(.+)$", source, re.MULTILINE)
        default = "" if field.default is dataclasses.MISSING else f"`{shown(field.default)}`"
        kind = str(field.type).replace("|", "\\|")
        rows.append((f"`{field.name}`", f"`{kind}`", default, said[1].replace("|", "\\|") if said else ""))
    body = myst(cls.__doc__ or "") + "\n" + table(("field", "type", "default", ""), rows)
    return entry("class", f"tg.plugin.{cls.__name__}", body)


def shown(value: object) -> str:
    """A default."""
    return value.__name__ if inspect.isclass(value) else repr(value)
