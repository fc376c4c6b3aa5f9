"""Certificate of a backend, which lies in its package, beside the versions that are installed.

Core shows it and never decides by it. `tg conformance --certify` alone writes one.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tg import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg.plugin.discovery import Entry

FILE: Final = "certificate.json"


def certified(entry: Entry, backend: str, engines: Mapping[str, str | None]) -> str:
    """Summary of a backend's certificate: level, items, what the host computes, versions if others; "" for none."""
    certificate = _read(entry)
    if certificate is None:
        return ""
    if certificate.get("backend") != backend:
        return f"found a certificate of {certificate.get('backend')}"
    then = {
        "tg-core": certificate.get("tg"),
        entry.distribution: certificate.get("version"),
        **certificate.get("engines", {}),
    }
    now = {"tg-core": __version__, entry.distribution: entry.version, **engines}
    other = [f"{name} {version}" for name, version in then.items() if now.get(name) != version]
    level = f"level {certificate.get('level')}{_counted(certificate)}"
    return f"{level}, but with {', '.join(other)}" if other else level


def _counted(certificate: Mapping[str, Any]) -> str:
    """Number of items that ran, of how many, and number of ops computed by way of the host."""
    ran, hosted = certificate.get("items"), certificate.get("ops", {}).get("host")
    text = f", {ran[0]:,} of {ran[1]:,} items" if isinstance(ran, list) and len(ran) == 2 else ""
    return text + (f", {hosted} ops by the host" if hosted else "")


def _read(entry: Entry) -> dict[str, Any] | None:
    """The certificate in the package of an entry point, which is not imported."""
    try:
        spec = importlib.util.find_spec(entry.target.partition(":")[0].partition(".")[0])
    except ValueError:  # of a module that was put together by hand
        return None
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder) / FILE
        if path.is_file():
            import json

            try:
                certificate = json.loads(path.read_text(encoding="utf-8"))
            except ValueError:
                return {}
            return certificate if isinstance(certificate, dict) else {}
    return None
