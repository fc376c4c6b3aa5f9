"""`tg doctor`: what tg finds on this machine, what "auto" would choose, and whether each backend computes."""

from __future__ import annotations

import dataclasses
import os
import platform
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from tg.cli import backends, show
from tg.errors import TgError

if TYPE_CHECKING:
    import argparse


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("doctor", help="what tg finds on this machine, and whether each backend computes")
    command.add_argument("--json", action="store_true", help="for machines to read")
    command.add_argument("--all", action="store_true", help="doubles of tests too")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the findings; 1 if a backend that is available does not compute, a plugin is broken or settings are."""
    statuses = backends.listed(every=args.all)
    findings = {
        **machine(),
        "settings": settings(),
        "checked": {one.name: examine(one.name) for one in statuses if one.is_available},
        "backends": [backends.as_record(one) for one in statuses],
        "problems": backends.problems(),
    }
    if args.json:
        show.as_json(findings)
    else:
        _print(findings)
    sound = all(one["computes"] for one in findings["checked"].values())
    return 0 if sound and not findings["problems"] and findings["settings"]["error"] is None else 1


def machine() -> dict[str, Any]:
    """Versions, processor, the backend that "auto" means, and variables that change speed or choice."""
    import tg
    from tg import plugin

    name, why = plugin.registry().default_backend()
    noted = ("OPENBLAS_CORETYPE", "OMP_NUM_THREADS", "TG_PLUGINS", "TG_PLUGINS_OFF", "TG_CACHE_DIR", "CC")
    return {
        "tg": tg.__version__,
        "python": f"{platform.python_version()} at {sys.executable}",
        "numpy": np.__version__,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        "auto": {"backend": name, "why": why},
        "environment": {key: os.environ[key] for key in noted if key in os.environ},
    }


def settings() -> dict[str, Any]:
    """The environment's settings for programs, the backend among them, and why programs would fail because of that."""
    import tg
    from tg.configuration import Config, current

    variables = {key: os.environ[key] for key in (f"TG_{f.name.upper()}" for f in dataclasses.fields(Config))
             if key in os.environ}  # fmt: skip
    try:
        return {"given": variables, "backend": tg.backend(current().backend).name, "error": None}
    except TgError as raised:
        return {"given": variables, "backend": None, "error": f"{type(raised).__name__}: {raised}"}


def examine(name: str) -> dict[str, Any]:
    """A backend's own findings, and a small program compiled and run with it."""
    import tg
    from tg import plugin

    x = tg.vector("x")
    began = time.perf_counter()
    try:
        facts = dict(plugin.registry().facts(name))
        f = tg.function([x], tg.grad(tg.sum(tg.exp(-x) * x), x), backend=name)
        value = np.asarray(f([0.5, 2.0]))
    except (TgError, ImportError, OSError, RuntimeError) as raised:  # whatever an engine raises when it does not load
        return {"computes": False, "seconds": None, "error": f"{type(raised).__name__}: {raised}", "facts": {}}
    right = bool(np.allclose(value, (1 - np.array([0.5, 2.0])) * np.exp([-0.5, -2.0]), rtol=1e-6))
    error = None if right else f"a gradient is wrong: found {value}"
    return {"computes": right, "seconds": round(time.perf_counter() - began, 3), "error": error, "facts": facts}


def _print(findings: dict[str, Any]) -> None:
    auto, environment = findings["auto"], findings["environment"]
    rows = [(key, findings[key]) for key in ("tg", "python", "numpy", "machine")]
    rows.append(('backend "auto"', f"{auto['backend']}: {auto['why']}"))
    rows += [(f"${key}", value) for key, value in (environment | findings["settings"]["given"]).items()]
    if findings["settings"]["error"] is not None:
        rows.append(("programs fail", findings["settings"]["error"]))
    show.table(rows)
    for name, one in findings["checked"].items():
        verdict = f"computes; first result after {one['seconds']:.2f} s" if one["computes"] else one["error"]
        show.table([("a small program", verdict), *one["facts"].items()], title=f"backend {name!r}")
    backends.table(findings["backends"])
