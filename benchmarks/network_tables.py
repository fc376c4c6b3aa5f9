"""Tables of networks: images, iterations and tokens a second, memory, compiling, convolutions, and what is reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from network_rows import PARTS, ROWS, SHAPES
from network_runs import (
    LIMITS,
    OWN,
    PEERS,
    WITH_CACHES,
    bandwidth,
    figures,
    geometric_mean,
    rates,
    ratios_of_convolutions,
    share_of_sgemm,
    verdicts,
)
from report import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from network_runs import Found, Verdict
    from report import Lines


def tables(results: Found) -> dict[str, Lines]:
    """Titles with heads and rows; those without any figure are left out."""
    inference = {name: row for name, row in ROWS.items() if row.task == "inference"}
    training = {name: row for name, row in ROWS.items() if row.task == "training"}
    both = {**inference, **training}
    found = {
        "Inference at 224 by 224, images a second": _by_engine(
            results, inference, "least", lambda name, t: 1e6 * ROWS[name].batch / t
        ),
        "Training steps at 64 by 64, iterations a second": _by_engine(
            results, training, "least", lambda name, t: 1e6 / t
        ),
        "Peak memory of a call, MB": _by_engine(results, both, "megabytes", lambda name, value: value),
        "Compiling: seconds of a processor to the first result": _compiling(results, both),
        "Decoding": _decoding(results),
        "Convolutions of ResNet-18, batch 1: torch's time by that of tg": _convolutions(results),
        "Gflop/s": _rates(results, {name: row for name, row in ROWS.items() if row.task != "convolution"}),
        "Gflop/s of the convolutions": _rates_of_convolutions(results),
        "Targets": (
            ["row", "engine", "target", "found", "", "of sgemm"],
            [_verdict(results, v) for v in verdicts(results)],
        ),
        "No figure": (
            ["row", "engine", "why"],
            [[row, name, got["error"]] for row, by in results.items() for name, got in by.items() if "error" in got],
        ),
    }
    return {title: lines for title, lines in found.items() if lines[1]}


def _by_engine(results: Found, rows: Mapping[str, Any], key: str, value: Callable[[str, float], float]) -> Lines:
    """A line for each row, a column for each engine: tg's first."""
    table = {name: figures(results, name, key) for name in rows}
    known = dict.fromkeys(engine for row in table.values() for engine in row)
    columns = [*(name for name in OWN if name in known), *(name for name in known if name not in OWN)]
    lines = [
        [name, *(shown(value(name, row[engine])) if engine in row else "" for engine in columns)]
        for name, row in table.items()
        if row
    ]
    return ["", *columns], lines


def _compiling(results: Found, rows: Mapping[str, Any]) -> Lines:
    """Cold, and warm where there is a cache; the first of a network's batches is compiled for all."""
    first = {name: row for name, row in rows.items() if row.task == "training" or row.batch == 1}
    compilers = {
        row: {e: got for e, got in by.items() if e != "onnxruntime"} for row, by in results.items()
    }  # exported
    head, lines = _by_engine(compilers, first, "compile", lambda name, value: value)
    warm = [figures(results, line[0], "warm") for line in lines]
    extra = [f"{name}, warm" for name in WITH_CACHES]
    return [*head, *extra], [
        [*line, *(shown(row.get(name)) for name in WITH_CACHES)] for line, row in zip(lines, warm, strict=True)
    ]


def _decoding(results: Found) -> Lines:
    """Tokens a second, and the gigabytes of weights that are read for them."""
    times = figures(results, "GPT decoding", "least")
    lines = []
    for name in times:
        rate = bandwidth(results, name)
        tokens = "" if name in ("memcpy", "read") else shown(1e6 / times[name])
        lines.append([name, tokens, shown(rate)])
    return ["", "tokens a second", "GB a second"], lines


def _rates(results: Found, rows: Mapping[str, Any]) -> Lines:
    """10^9 operations a second: a line for each row, a column for each engine."""
    table = {name: rates(results, name) for name in rows}
    known = dict.fromkeys(engine for row in reversed(table.values()) for engine in row)
    columns = [name for name in (*LIMITS, *OWN, *PEERS) if name in known]
    return ["", *columns], [[name, *(shown(row.get(e)) for e in columns)] for name, row in table.items() if row]


def _rates_of_convolutions(results: Found) -> Lines:
    columns = ("sgemm", "tg-c", "torch")
    head = ["channels, window, stride, side", "sgemm", *(f"{e}, {part}" for e in columns[1:] for part in PARTS)]
    names = {(row.shape, row.part): name for name, row in ROWS.items() if row.task == "convolution"}
    lines = []
    for shape in SHAPES:
        by_part = [rates(results, names[shape, part]) for part in PARTS]
        cells = [by_part[0].get("sgemm"), *(found.get(e) for e in columns[1:] for found in by_part)]
        if any(cells):
            lines.append([_shape(shape), *map(shown, cells)])
    return head, lines


def _shape(shape: tuple[int, ...]) -> str:
    inner, outer, window, stride, side = shape
    return f"{inner} to {outer}, {window}, {stride}, {side}"


def _verdict(results: Found, v: Verdict) -> list[str]:
    share = shown(share_of_sgemm(results, v.work, v.engine))
    return [v.row, v.engine, v.text, shown(v.value), "met" if v.met else "not met", share]


def _convolutions(results: Found) -> Lines:
    columns = {name: ratios_of_convolutions(results, name) for name in WITH_CACHES}
    columns = {name: rows for name, rows in columns.items() if any(r is not None for row in rows.values() for r in row)}
    head = ["channels, window, stride, side", *(f"{name}, {part}" for name in columns for part in PARTS)]
    lines = [
        [_shape(shape), *(shown(r) for rows in columns.values() for r in rows[shape])]
        for shape in next(iter(columns.values()), {})
    ]
    if columns:
        by_part = [
            [row[k] for row in rows.values() if row[k] is not None]
            for rows in columns.values()
            for k in range(len(PARTS))
        ]
        lines.append(["geometric mean", *(shown(geometric_mean(values)) if values else "" for values in by_part)])
    return head, lines


def markdown(results: Mapping[str, Any]) -> str:
    """All tables as the page of networks includes them."""
    about = ", ".join(f"{key} {value}" for key, value in results["machine"].items())
    parts = [f"Measured on: {about}.\n"]
    for title, (head, rows) in tables(results["networks"]).items():
        lines = [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]
        parts.append(f"### {title}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def write(results: Mapping[str, Any], folder: Path) -> None:
    """Write the tables for the page."""
    (folder / "networks.txt").write_text(markdown(results), encoding="utf-8")
