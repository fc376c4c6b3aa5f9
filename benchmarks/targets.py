"""What tg is to reach, as figures in one run: a bound for an engine on a row, from what the others took on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from draws import DRAWS
from models import MODELS
from recurrences import LOOPS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Row = Mapping[str, float]  # figures by engine
    Bound = Callable[["Figures"], float | None]
    Stated = tuple[str, Bound]  # a bound in words, and what it is in a run

OWN = ("tg-c", "tg-numba")
NOISE = 1.05  # of what is to be equal
IMPORT = "import-numpy"  # whose seconds say how fast a machine starts and compiles
FRAMEWORKS = {"tg-jax": "jax", "tg-torch": "torch", "tg-mlx": "mlx", "tg-mlx compile=True": "mlx.compile"}


class Figures(NamedTuple):
    """The figures of one run that a bound may hang on, each by engine; only those of `row` compete with tg's.

    Attributes:
        row: of the row itself.
        forward: of the row of the value alone, where the row has gradients.
        start: seconds of whole processes.
        call: microseconds of a call with three numbers.
    """

    row: Row
    forward: Row
    start: Row
    call: Row


class Target(NamedTuple):
    """An engine's bound on a row of a page."""

    page: str
    row: str
    engine: str
    text: str
    bound: Bound  # None: what it is compared with has no figure


class Verdict(NamedTuple):
    """A target beside what was found."""

    target: Target
    found: float
    bound: float

    @property
    def met(self) -> bool:
        """Whether the figure is within the bound."""
        return self.found <= self.bound


def rows_of(results: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What was found by row and engine: of programs of arrays, of loops, of random numbers."""
    return {row: found for page in ("run", "loops", "draws") for row, found in results.get(page, {}).items()}


def tables(results: Mapping[str, Any]) -> dict[str, dict[str, dict[str, float]]]:
    """The figures by page, row and engine; what failed is left out."""
    calls = results.get("calls", {})
    labels = dict.fromkeys(label for engine in calls.values() for label in engine if label != "error")
    run = rows_of(results)
    pages = {
        "start": {
            "first result": {name: got["seconds"] for name, got in results.get("start", {}).items() if "seconds" in got}
        },
        "calls": {label: {name: got[label] for name, got in calls.items() if label in got} for label in labels},
        **{
            key: {row: {name: got[key] for name, got in found.items() if key in got} for row, found in run.items()}
            for key in ("compile", "run", "least", "spread")
        },
    }
    return {page: {row: found for row, found in rows.items() if found} for page, rows in pages.items()}


def verdicts(results: Mapping[str, Any]) -> list[Verdict]:
    """What was found of each target whose figures are there."""
    pages = tables(results)
    start, call = pages["start"].get("first result", {}), pages["calls"].get(ONE_ARRAY, {})
    found = []
    for target in TARGETS:
        rows = pages[target.page]
        row = rows.get(target.row, {})
        bound = target.bound(Figures(row, rows.get(FORWARD.get(target.row, ""), {}), start, call))
        if target.engine in row and bound is not None:
            found.append(Verdict(target, row[target.engine], bound))
    return found


def best_peer(row: Row) -> str | None:
    """The fastest engine that is neither tg's nor a limit."""
    peers = [name for name in row if not name.startswith(("limit", "tg-"))]
    return min(peers, key=lambda name: row[name], default=None)


def _times(factor: float, of: str = "limit") -> Stated:
    return f"≤ {factor:g} × {of}", lambda found: factor * found.row[of] if of in found.row else None


def _times_and_call(factor: float) -> Stated:
    """So many times the limit, and what the limit of a call takes, as often."""

    def bound(found: Figures) -> float | None:
        parts = (found.row.get("limit"), found.call.get("limit"))
        return None if None in parts else factor * sum(parts)  # type: ignore[arg-type]

    return f"≤ {factor:g} × (limit + a call's limit)", bound


def _times_forward(factor: float) -> Stated:
    """So many times the limit of the value alone."""
    text = f"≤ {factor:g} × the value's limit"
    return text, lambda found: factor * found.forward["limit"] if "limit" in found.forward else None


def _beyond(seconds: float, of: str) -> Stated:
    return f"≤ {of} + {seconds:g}", lambda found: found.row[of] + seconds if of in found.row else None


def _ahead(factor: float = 1.0) -> Stated:
    """The best of the peers, or so many times that."""

    def bound(found: Figures) -> float | None:
        name = best_peer(found.row)
        return None if name is None else factor * found.row[name]

    return f"≤ {factor:g} × the best peer", bound


def _imports(factor: float) -> Stated:
    """So many times what NumPy's import takes in the same run."""
    text = f"≤ {factor:g} × NumPy's import"
    return text, lambda found: factor * found.start[IMPORT] if IMPORT in found.start else None


def _part_of_pytensor(part: int) -> Stated:
    """An eighth of PyTensor's best, or another part."""

    def bound(found: Figures) -> float | None:
        modes = [figure for name, figure in found.row.items() if name.startswith("pytensor")]
        return min(modes) / part if modes else None

    return f"≤ PyTensor / {part}", bound


RUN = {  # the bounds of OWN, by the first words of a row
    "w1": _times(1.1),
    "w2 transcendental 1e3": _times_and_call(1.3),
    "w2": _times(1.2),
    "w3": _times(1.05),
    "w4": _times(1.05),
    "w5": _times(1.15),
    "w6": _times(1.1, "jax"),
    "w7": _times(1.15),
    "radon": _times_and_call(1.2),
    "logistic": _times(1.3),
    "deep": _times(1.2),
    "GP": _ahead(1.05),
    **dict.fromkeys(("MvNormal", "cholesky", "solve", "det"), _ahead()),
    "SIR": _times_and_call(1.5),
    "AR(1) 1e5, gradient": _times_forward(5),
    "AR(1)": _times(1.5),
    "SEIR 1200, gradient": _times_forward(5),
    "SEIR": _times(1.5),
    "1000 chains": _times_and_call(1.5),
    "Kalman": _ahead(),
    **dict.fromkeys(("uniform", "normal 1e7"), _times(1, "numpy")),
    **dict.fromkeys(("gamma", "poisson", "binomial"), _times(2, "numpy")),
}
FORWARD = {row: row.removesuffix(", gradient") for row in LOOPS}  # the row of the value alone, by hand
COMPILE = {
    ("SIR + AR(2) 200, gradient", "tg-c"): _imports(5),
    ("radon", "tg-c"): _imports(4),
    ("radon", "tg-numba"): _imports(10),
    ("radon", "tg-jax"): _beyond(0.05, "jax"),
    ("mlp 10x64", "tg-c"): _imports(4),
    ("mlp 10x64", "tg-numba"): _imports(33),
    ("deep 5342", "tg-c"): _imports(15),
    ("logistic 5000x20", "tg-c"): _imports(4),
    ("GP 200", "tg-c"): _imports(6),
}
ONE_ARRAY = "3-vector sum(x**2)"
CALLS = {"scalar x+1": 2, ONE_ARRAY: 2, "5 in, 5 out": 10}  # how many arrays
START = {
    "import-tg": _imports(1.6),
    "perform": _imports(2),
    "c": _imports(4),
    "c-warm": _imports(2),
    "numba-warm": _imports(2),
    **{name: _beyond(0.1, f"raw-{name}") for name in ("jax", "torch", "mlx")},
}


def _targets_of_run() -> list[Target]:
    found = []
    for row in MODELS:
        own = next((bound for words, bound in RUN.items() if row.startswith(words)), None)
        found += [Target("run", row, engine, *own) for engine in OWN if own]
        if row.startswith("w2 transcendental") and "1e3" not in row:
            found += [Target("run", row, engine, *_part_of_pytensor(8)) for engine in OWN]
        found.append(Target("run", row, "tg-c threads=2", *_times(NOISE, "tg-c")))
        found.append(Target("run", row, "tg-c threads=2", *_times(1.1, "limit threads=2")))
        found += [Target("run", row, own, *_times(NOISE, framework)) for own, framework in FRAMEWORKS.items()]
    return found


def _targets_of_calls() -> list[Target]:
    found = []
    for row, arrays in CALLS.items():
        found += [Target("calls", row, engine, *_times(1.5)) for engine in OWN]
        found += [
            Target("calls", row, own, *_beyond(1 + 0.3 * arrays, f"raw-{framework}"))
            for own, framework in FRAMEWORKS.items()
        ]
    return found


def _targets_of_loops() -> list[Target]:
    found = []
    for row in LOOPS:
        own = next(bound for words, bound in RUN.items() if row.startswith(words))
        found += [Target("run", row, engine, *own) for engine in OWN]
        found.append(Target("run", row, "tg-jax", *_times(1.1, "jax")))
        if row.startswith("1000 chains"):
            found += [Target("run", row, engine, *_times(1, "jax")) for engine in OWN]
        if row.startswith("SIR"):
            found += [Target("run", row, engine, *_part_of_pytensor(80)) for engine in OWN]
    return found


def _targets_of_draws() -> list[Target]:
    found = []
    for row in DRAWS:
        own = next((bound for words, bound in RUN.items() if row.startswith(words)), None)
        found += [Target("run", row, engine, *own) for engine in OWN if own]
        if row in ("uniform 1e7", "normal 1e7"):
            found.append(Target("run", row, "tg-jax", *_times(NOISE, "jax")))
    return found


TARGETS = (
    *_targets_of_run(),
    *_targets_of_loops(),
    *_targets_of_draws(),
    *(Target("compile", row, engine, *bound) for (row, engine), bound in COMPILE.items()),
    *_targets_of_calls(),
    *(Target("start", "first result", engine, *bound) for engine, bound in START.items()),
)
