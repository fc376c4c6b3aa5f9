"""Running the full tier for a certificate: `python -m tg_conformance.certify --backend NAME --certify FILE`.

Nothing of the surroundings takes part. The process has the variables that a process needs to run (`KEPT`) and those
asked for with `--variable NAME`, whose values the certificate has; no configuration file, no `conftest.py` and none of
pytest's plugins is read but the kit and pytest-xdist; of tg's plugins there are the backend's and those that it
requires, so that what else is installed gives and takes no certificate.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tg import plugin

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SUITE: Final = Path(__file__).parent / "suite"
KEPT: Final = frozenset(
    {"COLUMNS", "DYLD_LIBRARY_PATH", "HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "LOGNAME"}
    | {"PATH", "PATHEXT", "PYTHONNOUSERSITE", "PYTHONPATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "TZ", "USER"}
    | {"TG_CACHE_DIR", "VIRTUAL_ENV"}
)
SPEAKING: Final = ("TG_", "PYTEST", "PYTHON")
OWN: Final = frozenset({"TG_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD"})  # as `cleared` sets them
RUNNING: Final = ("PYTEST_CURRENT_TEST", "PYTEST_XDIST_", "PYTEST_VERSION")  # as pytest sets them


def cleared(environment: Mapping[str, str], backend: str, variables: Iterable[str] = ()) -> dict[str, str]:
    """The environment in which a backend is certified.

    Args:
        variables: names that are kept besides; none of those by which tg, pytest or Python are told something.
    Raises:
        ValueError: a variable is one of these.
    """
    wrong = [name for name in variables if name.startswith(SPEAKING) and name not in KEPT]
    if wrong:
        raise ValueError(f"--variable: found {wrong[0]}, needed none that tg, pytest or Python reads")
    base = {name: text for name, text in environment.items() if name in KEPT or name in variables}
    registry = plugin.registry()
    plugins = dict.fromkeys(one.distribution for one in (registry.provided_by(backend), *registry.required(backend)))
    return {**base, "TG_PLUGINS": ",".join(plugins), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def speaking(environment: Iterable[str]) -> list[str]:
    """The variables of an environment by which somebody may have chosen what is tested, and how."""
    own = (*KEPT, *OWN)
    return sorted(n for n in environment if n.startswith(SPEAKING) and n not in own and not n.startswith(RUNNING))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run pytest on the suite; the exit status is pytest's."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(prog="tg_conformance.certify", add_help=False)
    parser.add_argument("--backend", action="append", default=[])
    parser.add_argument("--variable", action="append", default=[])
    options, _ = parser.parse_known_args(words)
    backend = options.backend[0] if options.backend else "perform"  # pytest refuses a line without a backend
    try:
        environment = cleared(os.environ, backend, options.variable)
    except ValueError as error:
        sys.stderr.write(f"tg conformance: {error}\n")
        return 4
    with_xdist = ["-p", "xdist.plugin"] if importlib.util.find_spec("xdist") is not None else []
    alone = ["-c", str(SUITE / "certificate.ini"), "--noconftest", "-p", "no:cacheprovider", *with_xdist]
    command = [sys.executable, "-m", "pytest", "-q", *alone, "-p", "tg_conformance", str(SUITE / "conformance.py")]
    return subprocess.run([*command, *words], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
