"""The pytest plugin: `pytest -p tg_conformance --pyargs tg_conformance.suite --backend NAME --tier quick`.

Every case of every backend is an item. The first item of a batch that is reached has the whole batch run, in the
backend's worker process; the others look up what came of them.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tg import plugin
from tg_conformance import report
from tg_conformance.case import TIERS, Item, batches, items
from tg_conformance.parent import Worker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tg_conformance.case import Tier
    from tg_conformance.outcome import Outcome

SUITE: Final = Path(__file__).parent / "suite" / "conformance.py"
LIMIT: Final = 120.0
PROPERTY: Final = "conformance"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the suite."""
    group = parser.getgroup("tg-conformance")
    group.addoption("--backend", action="append", help="a backend to test; may be repeated; all that are available")
    group.addoption(
        "--tier", choices=TIERS, default="quick", help="quick: pairs of dtype, layout, static shape; full: all"
    )
    group.addoption("--time-limit", type=float, default=LIMIT, help="seconds that one batch of cases may take")
    group.addoption(
        "--conformance-report", type=Path, metavar="FILE", help="write the table op x dtype x backend as JSON"
    )


def pytest_configure(config: pytest.Config) -> None:
    """The results of the run, and one group for each batch where pytest-xdist distributes."""
    config.stash[RESULTS] = report.Results()


RESULTS: pytest.StashKey[report.Results] = pytest.StashKey()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The suite's file stands for all cases."""
    return Suite.from_parent(parent, path=file_path) if file_path == SUITE else None


class Suite(pytest.File):
    """The cases of all backends that are tested."""

    def collect(self) -> Iterator[pytest.Collector]:
        """One collector for each backend."""
        for name in self.config.getoption("--backend") or available():
            yield BackendCases.from_parent(self, name=name)


class BackendCases(pytest.Collector):
    """The cases of one backend, and its worker."""

    def collect(self) -> Iterator[pytest.Item]:
        """The cases in batches, then the gaps."""
        tier: Tier = self.config.getoption("--tier")
        self.worker = Worker(self.name, tier, self.config.getoption("--time-limit"))
        self.outcomes: dict[str, Outcome] = {}
        self.config.add_cleanup(self.worker.close)
        backend = plugin.registry().backend(self.name)
        for number, batch in enumerate(batches(items(backend, tier))):
            ids = {item.id for item in batch}
            for item in batch:
                yield CaseItem.from_parent(self, name=item.id, item=item, batch=(number, ids))
        gaps = plugin.registry().gaps(self.name)
        if gaps:
            from tg_conformance.run import gap_name

            for k, gap in enumerate(gaps):
                yield CaseItem.from_parent(self, name=gap_name(k, gap), item=None, batch=("gaps", set()))

    def outcome(self, one: CaseItem) -> Outcome:
        """What came of an item; runs its batch if that has not been done."""
        if one.name not in self.outcomes:
            wanted = [name for name in self._selected if name in one.batch[1]]
            found = self.worker.run(wanted) if one.item is not None else self.worker.gaps()
            self.outcomes.update((outcome.id, outcome) for outcome in found)
        return self.outcomes[one.name]

    @functools.cached_property
    def _selected(self) -> list[str]:
        """The names of the items that are left after selection, in order."""
        return [item.name for item in self.session.items if item.parent is self]


class CaseItem(pytest.Item):
    """One case on one backend."""

    parent: BackendCases

    def __init__(self, *, item: Item | None, batch: tuple[Any, set[str]], **facts: Any) -> None:
        super().__init__(**facts)
        self.item, self.batch = item, batch
        if self.config.pluginmanager.hasplugin("xdist"):
            self.add_marker(pytest.mark.xdist_group(f"{self.parent.name} {batch[0]}"))

    def runtest(self) -> None:
        """Fail, or note as expected, what the worker found."""
        found = self.parent.outcome(self)
        dtype = self.item.dtypes if self.item is not None else ""
        record = report.Record(self.parent.name, self.name.partition("[")[0], dtype, found.outcome, found.seconds)
        self.user_properties.append((PROPERTY, json.dumps(record)))
        if found.outcome == "xfailed":
            pytest.xfail(found.detail)
        if found.outcome != "passed":
            raise CaseFailure(found.detail)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The case, what is wrong, and how to run it alone."""
        if not isinstance(excinfo.value, CaseFailure):
            return super().repr_failure(excinfo, style)
        case = self.item.case if self.item is not None else None
        lines = [f"backend  {self.parent.name}", f"case     {self.name}"]
        lines += [f"note     {case.note}"] if case is not None and case.note else []
        lines += [f"traps    {', '.join(case.traps)}"] if case is not None and case.traps else []
        return "\n".join([*lines, str(excinfo.value)])

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the item is from."""
        return SUITE, 0, f"{self.parent.name} {self.name}"


class CaseFailure(Exception):  # noqa: N818
    """A case that a backend does not pass."""


def available() -> list[str]:
    """The backends that are installed and can be imported."""
    return [one.name for one in plugin.registry().backends() if one.is_available]


def pytest_sessionstart(session: pytest.Session) -> None:
    """Listen to reports, those from the workers of pytest-xdist too."""
    session.config.pluginmanager.register(Listener(session.config.stash[RESULTS]), "tg-conformance-listener")


class Listener:
    """Collects the records that items leave in their reports."""

    def __init__(self, results: report.Results) -> None:
        self.results = results

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One record for each item that ran."""
        if report.when == "call":
            self.results.add(value for name, value in report.user_properties if name == PROPERTY)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """One line for each backend, and the report if it is asked for."""
    results = config.stash[RESULTS]
    if not results.records:
        return
    terminalreporter.section("conformance")
    for line in results.summary():
        terminalreporter.write_line(line)
    path: Path | None = config.getoption("--conformance-report")
    if path is not None:
        results.write(path, config.getoption("--tier"))
        terminalreporter.write_line(f"written to {path}")
