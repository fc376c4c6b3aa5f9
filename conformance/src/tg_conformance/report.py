"""The result of a run: one entry for each case, dtype and backend; counts; and what the run was made with.

`Results` gathers records, one for each item. `Report` is all that the page and the JSON say:

| field | |
|---|---|
| `version` | of this layout: 5 |
| `tier`, `time` | `sparse`, `quick` or `full`, as asked for; when the run ended, in UTC |
| `words`, `mode`, `exclude`, `options` | what chose cases, and how functions were compiled where it is not as usual |
| `tg`, `suite`, `python`, `numpy`, `machine` | versions, and the processor |
| `extensions` | the plugins that took part beside the backends': `[distribution, version]` |
| `skipped` | installed backends that were not tested, and why: `[name, reason]` |
| `lost` | what is wrong with plugins whose cases are missing for it |
| `backends` | for each: `name`, `distribution`, `version`, `engines`, `tier`, levels, `counts`, `seconds`, `measured` |
| `cases` | for each: `backend`, `family`, `case`, `dtype`, `level`, `outcome`, `counts`, `seconds`, `details` |

A backend's `tier` is what was run of it: of one that compiles slowly the quick tier has the cases of the sparse one.
Its `level` is what it declares; `achieved` is the highest below which no case that ran has failed. `measured` has the
largest error found under each gap whose answers differ, in units of the last place, by the id of the gap's item.

`counts` has the number of items (layouts, kinds of static shape) by outcome; `outcome` is the worst of them: `failed`;
`advisory`, a failure of a case above the backend's level; `gap`, a failure that the backend declares; `passed`;
`not run`. `details` holds `[id, outcome, text]` for each item that did not pass, and why a case did not run.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
from collections import Counter
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

import tg
from tg import plugin
from tg_conformance.case import all_cases, can_run, case_name, tier_as_run, variants
from tg_conformance.outcome import NOT_RUN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tg.plugin import Backend
    from tg_conformance.case import Tier

VERSION: Final = 5
OUTCOMES: Final = ("failed", "advisory", "gap", "passed", NOT_RUN)
"""What can come of a case, the worst first."""


class Record(NamedTuple):
    """One item that ran."""

    backend: str
    id: str
    level: int
    outcome: str
    seconds: float
    dtype: str = ""
    detail: str = ""
    measured: float | None = None

    @property
    def case(self) -> str:
        """The case's family and name."""
        return self.id.partition("[")[0]


class Entry(NamedTuple):
    """A case in one dtype on one backend: all its items."""

    backend: str
    family: str
    case: str
    dtype: str
    level: int
    outcome: str
    counts: Mapping[str, int]
    seconds: float
    details: tuple[tuple[str, str, str], ...]


class Tested(NamedTuple):
    """A backend of the run."""

    name: str
    distribution: str
    version: str | None
    engines: Mapping[str, str | None]
    tier: str
    level: int
    achieved: int
    counts: Mapping[str, int]
    seconds: float
    measured: Mapping[str, float]


class Asked(NamedTuple):
    """The options of a run, and the reasons for which anything was kept out of it."""

    tier: Tier = "quick"
    words: str = ""  # pytest's -k
    mode: str = ""
    exclude: tuple[str, ...] = ()
    options: tuple[str, ...] = ()  # of the backends, as NAME=VALUE
    skipped: tuple[tuple[str, str], ...] = ()  # installed backends that are not tested, and why
    lost: tuple[str, ...] = ()  # what is wrong with plugins whose cases are missing for it

    @property
    def is_whole(self) -> bool:
        """Whether nothing was chosen, left out or lost."""
        return not any((self.words, self.mode, self.exclude, self.options, self.lost))


class Report(NamedTuple):
    """Everything about a run."""

    version: int
    tier: str
    time: str
    words: str
    mode: str
    exclude: tuple[str, ...]
    options: tuple[str, ...]
    tg: str
    suite: str
    python: str
    numpy: str
    machine: str
    extensions: tuple[tuple[str, str], ...]
    skipped: tuple[tuple[str, str], ...]
    lost: tuple[str, ...]
    backends: tuple[Tested, ...]
    cases: tuple[Entry, ...]

    def as_json(self) -> str:
        """The report as JSON, a line for each backend and each case."""
        facts = self._asdict()
        rows = {name: [json.dumps(row._asdict()) for row in facts.pop(name)] for name in ("backends", "cases")}
        head = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in facts.items()]
        lists = [f'"{name}": [\n' + ",\n".join(lines) + "\n]" for name, lines in rows.items()]
        return "{\n" + ",\n".join([*head, *lists]) + "\n}\n"


class Results:
    """The records of a run."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def add(self, record: Record) -> None:
        """Take the record of an item."""
        self.records.append(record)

    @property
    def backends(self) -> list[str]:
        """The backends of the run, in its order."""
        return list(dict.fromkeys(record.backend for record in self.records))

    def summary(self, tier: Tier) -> list[Tested]:
        """Versions, levels, counts and seconds of each backend."""
        status = {one.name: one for one in plugin.registry().backends()}
        rows = []
        for name in self.backends:
            own = [record for record in self.records if record.backend == name]
            counts = Counter(record.outcome for record in own)
            one, backend = status[name], plugin.registry().backend(name)
            levels = (backend.conformance_level, _achieved(own))
            versions = (one.distribution, one.version, dict(one.engines))
            facts = (*versions, tier_as_run(backend, tier), *levels, _ordered(counts))
            measured = {record.id: record.measured for record in own if record.measured is not None}
            rows.append(Tested(name, *facts, round(sum(record.seconds for record in own), 3), measured))
        return rows

    def report(self, request: Asked) -> Report:
        """All of it; cases that ran on some backend and not on another, or not in a dtype, are there as not run."""
        tested = self.summary(request.tier)
        absent = list(self._not_run())
        entries = sorted([*self._ran(), *absent], key=lambda e: (e.family, e.case, e.dtype, e.backend))
        more = Counter(entry.backend for entry in absent)
        tested = [
            one._replace(counts=_ordered({**one.counts, NOT_RUN: one.counts.get(NOT_RUN, 0) + more[one.name]}))
            for one in tested
        ]
        now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
        versions = (tg.__version__, version_of_suite(), platform.python_version(), np.__version__, machine)
        chosen = (request.words, request.mode, request.exclude, request.options)
        missing = (extensions(), request.skipped, request.lost)
        return Report(VERSION, request.tier, now, *chosen, *versions, *missing, tuple(tested), tuple(entries))

    def _ran(self) -> Iterator[Entry]:
        groups: dict[tuple[str, str, str], list[Record]] = {}
        for record in self.records:
            groups.setdefault((record.backend, record.case, record.dtype), []).append(record)
        for (backend, case, dtype), members in groups.items():
            counts = _ordered(Counter(record.outcome for record in members))
            details = tuple((r.id, r.outcome, r.detail) for r in members if r.outcome != "passed")
            level, seconds = members[0].level, round(sum(record.seconds for record in members), 6)
            yield Entry(backend, _family(case), case, dtype, level, next(iter(counts)), counts, seconds, details)

    def _not_run(self) -> Iterator[Entry]:
        """Cases that ran somewhere but not on a backend or in a dtype, and the reason."""
        ran = {(record.backend, record.case, record.dtype) for record in self.records}
        names = {record.case for record in self.records}
        backends = [plugin.registry().backend(name) for name in self.backends]
        for (name, dtype), (level, able) in _known(names, backends).items():
            for backend in backends:
                if (backend.name, name, dtype) not in ran:
                    reason = "not selected" if backend.name in able else "the backend does not claim the dtype"
                    facts = (_family(name), name, dtype, level, NOT_RUN, {NOT_RUN: 1}, 0.0)
                    yield Entry(backend.name, *facts, (("", NOT_RUN, reason),))


def _achieved(records: Sequence[Record]) -> int:
    """The highest level below which nothing has failed: 0 if a case of the first has."""
    levels = {record.level for record in records}
    failed = {record.level for record in records if record.outcome in ("failed", "advisory")}
    return min(failed) - 1 if failed else max(levels, default=0)


def version_of_suite() -> str:
    """The version of tg-conformance."""
    return metadata.version("tg-conformance")


def extensions() -> tuple[tuple[str, str], ...]:
    """The plugins that take part beside those of backends."""
    return tuple(dict.fromkeys((one.distribution, one.version) for one in plugin.registry().extensions()))


def _known(names: set[str], backends: Sequence[Backend]) -> dict[tuple[str, str], tuple[int, set[str]]]:
    """For each case that is named and each of its dtypes, its level and the backends that could run it."""
    table: dict[tuple[str, str], tuple[int, set[str]]] = {}
    for case in all_cases():
        if case_name(case) in names or f"{case_name(case)}.grad" in names:
            for item in variants(case, "quick"):
                able = {backend.name for backend in backends if can_run(item, backend)}
                table[item.id.partition("[")[0], item.dtypes] = (case.level, able)
    return table


def _ordered(counts: Mapping[str, int]) -> dict[str, int]:
    """Counts that are not 0, the worst outcome first."""
    return {outcome: counts[outcome] for outcome in OUTCOMES if counts.get(outcome)}


def _family(case: str) -> str:
    return case.partition(":")[0]


def write(path: Path, text: str) -> None:
    """Write a report, in a folder that is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def properties(record: Record) -> Iterable[tuple[str, Any]]:
    """A record as the properties of an item, which pytest carries between processes and writes into JUnit's XML."""
    return [(f"conformance.{name}", value) for name, value in record._asdict().items() if value not in ("", None)]


def from_properties(properties: Iterable[tuple[str, Any]]) -> Record | None:
    """The record among the properties of an item, None for an item of another suite."""
    facts = {name.removeprefix("conformance."): value for name, value in properties if name.startswith("conformance.")}
    return Record(**facts) if facts else None
