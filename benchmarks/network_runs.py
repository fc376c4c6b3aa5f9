"""Networks: engines in turn on each row, and what is stated of them.

An engine has a process for each network and task. Rounds are single calls if these take longer than SLICE.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from network_rows import PARTS, ROWS, SHAPES
from network_work import operations
from rich.progress import track
from workers import NoFigureError, Worker

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from network_rows import Row

    Found = Mapping[str, Mapping[str, Any]]  # by row and engine

OWN = ("tg-c", "tg-numba", "tg-jax", "tg-torch", "tg-mlx")
PEERS = ("torch", "torch channels_last", "onnxruntime", "jax", "mlx")
ENGINES = {
    "inference": (*PEERS, *OWN),
    "training": ("torch", "jax", "mlx", *OWN),
    "decoding": ("memcpy", "read", "torch", "jax", "mlx", *OWN),
    "convolution": ("torch", "sgemm", "tg-c", "tg-numba"),
    "product": ("multiply-adds", "sgemm"),
}
LIMITS = ("memcpy", "read", "sgemm", "multiply-adds")  # what others are held against, with results of their own
WITH_CACHES = ("tg-c", "tg-numba")  # what they compile serves the next process
SLICE, LIMIT = 0.2, 150.0  # seconds of an answer, and the most to wait for one


def engines_of(row: Row, *, quick: bool) -> list[str]:
    """Those that measure a row: channels are those of images, and large products take minutes by MLX.

    Its wheel for processors multiplies by a BLAS of the reference, 6 Gflop/s.
    """
    left_out = ["mlx", "torch channels_last", "onnxruntime"] * quick
    is_vit = row.network.startswith("ViT")
    left_out += ["mlx", "tg-mlx"] * (row.task == "inference" and (row.batch > 1 or is_vit))
    left_out += ["torch channels_last"] * is_vit
    return [name for name in ENGINES[row.task] if name not in left_out]


def networks(rounds: int, words: Sequence[str], *, quick: bool) -> dict[str, Any]:
    """For each row and engine: microseconds a call, seconds of compiling, megabytes and first results."""
    chosen = [row for row in ROWS if not words or any(row.startswith(word) for word in words)]
    groups: dict[str, list[str]] = {}
    for name in chosen:
        groups.setdefault(ROWS[name].group, []).append(name)
    results: dict[str, Any] = {}
    for names in track(groups.values(), "networks"):
        results |= _group(names, rounds, quick=quick)
    return {name: results[name] for name in chosen}


def _group(names: Sequence[str], rounds: int, *, quick: bool) -> dict[str, Any]:
    known = dict.fromkeys(engine for name in names for engine in engines_of(ROWS[name], quick=quick))
    workers = {engine: Worker(engine, "measure_networks.py", LIMIT) for engine in known}
    try:
        results = {
            name: _row(name, [workers[e] for e in engines_of(ROWS[name], quick=quick)], rounds) for name in names
        }
        for engine in WITH_CACHES:
            if "error" not in results[names[0]].get(engine, {"error": ""}):
                workers[engine].end(keeps_caches=True)
                results[names[0]][engine]["warm"] = workers[engine].ask(names[0], SLICE)["compile"]
    finally:
        for worker in workers.values():
            worker.end()
    return results


def _row(name: str, workers: Sequence[Worker], rounds: int) -> dict[str, Any]:
    answers: dict[str, list[dict[str, Any]]] = {worker.engine: [] for worker in workers}
    failed: dict[str, dict[str, str]] = {}
    for worker in [*workers] * rounds:
        if worker.engine not in failed:
            try:
                answers[worker.engine].append(worker.ask(name, SLICE))
            except NoFigureError as why:
                failed[worker.engine] = {"error": str(why)}
    return {engine: failed.get(engine) or _together(found) for engine, found in answers.items()}


def _together(answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    runs = sorted(one["run"] for one in answers)
    return {**answers[0], "run": runs[len(runs) // 2], "least": min(one["least"] for one in answers)}


def wrong(results: Found) -> list[str]:
    """The rows on which two engines do not agree about the first results."""
    lines = []
    for row, by_engine in results.items():
        firsts = {name: got["checksum"] for name, got in by_engine.items() if got.get("checksum")}
        firsts = {name: values for name, values in firsts.items() if name not in LIMITS}
        reference = firsts.get("torch", next(iter(firsts.values()), None))
        for name, values in firsts.items():
            size = max(map(abs, reference))
            error = max(abs(a - b) for a, b in zip(values, reference, strict=True)) / (size or 1.0)
            if not error < 1e-3:
                lines.append(f"{row}: {name} is off by {error:.2g}")
    return lines


class Verdict(NamedTuple):
    """A target beside what was measured: a ratio, or seconds."""

    row: str
    engine: str
    text: str
    value: float
    bound: float
    is_most: bool  # whether the bound is the most that is allowed
    work: str = ""  # the row whose operations a second are shown beside those of sgemm

    @property
    def met(self) -> bool:
        return self.value <= self.bound if self.is_most else self.value >= self.bound


def figures(results: Found, row: str, key: str) -> dict[str, float]:
    """Figures of a row by engine."""
    return {name: got[key] for name, got in results.get(row, {}).items() if key in got}


def rates(results: Found, row: str) -> dict[str, float]:
    """Operations a second of a row by engine, in units of 10^9."""
    times = figures(results, row, "least")
    work = operations(row) if times else 0
    return {name: work / t / 1e3 for name, t in times.items() if work}


def share_of_sgemm(results: Found, row: str, engine: str) -> float | None:
    """An engine's rate by that of a large product of square matrices."""
    own, product = rates(results, row) if row else {}, rates(results, "product of matrices")
    return own[engine] / product["sgemm"] if engine in own and "sgemm" in product else None


def bandwidth(results: Found, engine: str) -> float | None:
    """Gigabytes of weights a second, of decoding; memcpy reads and writes them."""
    times = figures(results, "GPT decoding", "least")
    return WEIGHTS * (2 if engine == "memcpy" else 1) / times[engine] / 1e3 if engine in times else None


def _bytes_of_weights() -> int:
    from network_rows import DECODED, gpt

    return sum(4 * math.prod(shape) for shape in gpt.shapes(DECODED).values())


WEIGHTS = _bytes_of_weights()


def verdicts(results: Found) -> list[Verdict]:
    """What was reached of the targets whose figures are there."""
    return [
        *_of_speed(results),
        *_of_memory(results),
        *_of_compiling(results),
        *_of_decoding(results),
        *_of_convolutions(results),
    ]


def _faster(row: str, times: Mapping[str, float], engine: str, factor: float, others: Iterable[str]) -> list[Verdict]:
    """By how much an engine is faster than the best of some others."""
    known = [name for name in others if name in times]
    if engine not in times or not known:
        return []
    best = min(known, key=lambda name: times[name])
    ratio = times[best] / times[engine]
    return [Verdict(row, engine, f"≥ {factor:g} × {best}", ratio, factor, is_most=False, work=row)]


def _of_speed(results: Found) -> list[Verdict]:
    lines = []
    for name, row in ROWS.items():
        times = figures(results, name, "least")
        if row.task not in ("inference", "training"):
            continue
        if row.task == "training" or (row.batch > 1 and not row.network.startswith("ViT")):
            lines += _faster(name, times, "tg-c", 1.0, PEERS)
        elif row.network.startswith("ViT"):
            lines += _faster(name, times, "tg-c", 1.15, PEERS)
        else:
            lines += _faster(name, times, "tg-c", 1.2, ["torch"]) + _faster(name, times, "tg-c", 1.05, ["onnxruntime"])
            lines += _faster(name, times, "tg-mlx", 5.0, ["mlx"])
        for framework in ("jax", "torch"):
            lines += _faster(name, times, f"tg-{framework}", 0.95, [framework])
    return lines


def _of_memory(results: Found) -> list[Verdict]:
    lines = []
    for name, row in ROWS.items():
        most = figures(results, name, "megabytes")
        others = [most[engine] for engine in ("torch", "jax") if engine in most]
        if row.task in ("inference", "training") and "tg-c" in most and others:
            ratio = most["tg-c"] / min(others)
            lines.append(Verdict(name, "tg-c", "memory ≤ the better of torch and jax", ratio, 1.0, is_most=True))
    return lines


def _of_compiling(results: Found) -> list[Verdict]:
    lines = []
    for name, row in ROWS.items():
        cold, warm = (figures(results, name, key) for key in ("compile", "warm"))
        if row.task in ("inference", "training") and "tg-c" in warm:
            if "jax" in cold:
                ratio = cold["tg-c"] / cold["jax"]
                lines.append(Verdict(name, "tg-c", "cold compile ≤ 0.3 × jax", ratio, 0.3, is_most=True))
            lines.append(Verdict(name, "tg-c", "warm compile ≤ 0.2 s", warm["tg-c"], 0.2, is_most=True))
    return lines


def _of_decoding(results: Found) -> list[Verdict]:
    if "GPT decoding" not in results:
        return []
    own, limits = bandwidth(results, "tg-c"), [bandwidth(results, name) for name in ("memcpy", "read")]
    known = [limit for limit in limits if limit is not None]
    if own is None or not known:
        return []
    return [Verdict("GPT decoding", "tg-c", "≥ 0.85 × bandwidth of memory", own / max(known), 0.85, is_most=False)]


def ratios_of_convolutions(results: Found, engine: str) -> dict[tuple[int, ...], list[float | None]]:
    """For each shape: torch's time by an engine's, forward, of the images and of the weights."""
    names = {(row.shape, row.part): name for name, row in ROWS.items() if row.task == "convolution"}
    table = {}
    for shape in SHAPES:
        times = [figures(results, names[shape, part], "least") for part in PARTS]
        table[shape] = [t["torch"] / t[engine] if "torch" in t and engine in t else None for t in times]
    return table


def geometric_mean(values: Sequence[float]) -> float:
    """The root of their product."""
    return math.exp(sum(map(math.log, values)) / len(values))


def _of_convolutions(results: Found) -> list[Verdict]:
    names = [name for name, row in ROWS.items() if row.task == "convolution"]
    found = [r for row in ratios_of_convolutions(results, "tg-c").values() for r in row]
    ratios = {name: r for name, r in zip(names, found, strict=True) if r is not None}
    if not ratios:
        return []
    least, mean = min(ratios, key=lambda name: ratios[name]), geometric_mean(list(ratios.values()))
    return [
        Verdict("convolutions", "tg-c", "each ≥ 0.9 × torch", ratios[least], 0.9, is_most=False, work=least),
        Verdict("convolutions", "tg-c", "mean ≥ 1.2 × torch", mean, 1.2, is_most=False),
    ]
