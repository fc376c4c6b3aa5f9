"""The pytest plugin: `pytest -p tg_conformance --pyargs tg_conformance.suite --backend NAME --tier quick`.

Every case of every backend is an item. The first item of a batch that is reached has the whole batch run, in the
backend's worker process; the others look up what came of them. A plugin that is broken, or does not give its cases, is
an item that fails, which no selection leaves out. A case above the level that a backend was certified for is advisory:
where it fails, it is reported and expected.
"""

from __future__ import annotations

import functools
import io
import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from _pytest.mark.expression import Expression  # as pytest reads -k; it has no public way

from tg import plugin
from tg.errors import OptionError
from tg.plugin.case import Case
from tg_conformance import report
from tg_conformance.case import TIERS, Item, batches, items
from tg_conformance.certificate import TIER, certificate, refusal
from tg_conformance.certify import speaking
from tg_conformance.choice import choice
from tg_conformance.outcome import NOT_RUN
from tg_conformance.page import page
from tg_conformance.parent import Worker
from tg_conformance.report import from_properties

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tg_conformance.case import Tier
    from tg_conformance.outcome import Outcome

MARKS: Final = {"xdist_group": "xdist", "timeout": "timeout"}  # that items have, where these plugins are
TRUSTED: Final = ("_pytest", "pytest", "xdist", "__channelexec__", "tg_conformance")  # the fourth: workers of xdist
SUITE: Final = Path(__file__).parent / "suite" / "conformance.py"
LIMIT: Final = 120.0


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the suite."""
    group = parser.getgroup("tg-conformance")
    group.addoption("--backend", action="append", help="a backend to test; may be repeated; all that are available")
    group.addoption(
        "--tier",
        choices=TIERS,
        default="quick",
        help="sparse: one dtype and layout of each case; quick: pairs of dtype, layout, static shape; full: all",
    )
    group.addoption(
        "--every",
        type=int,
        default=1,
        metavar="N",
        help="every N-th batch of cases alone, others for each backend, and no gaps; 1: all",
    )
    group.addoption("--mode", help="how functions are rewritten: strict, finite, off, …; as configured by default")
    group.addoption(
        "--exclude",
        action="append",
        default=[],
        metavar="NAME",
        help="a rule, pass or class of rewriting that they go without; may be repeated",
    )
    group.addoption(
        "--backend-option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the backends, such as threads=2; may be repeated",
    )
    group.addoption("--time-limit", type=float, default=LIMIT, help="seconds that one batch of cases may take")
    group.addoption("--conformance-report", type=Path, metavar="FILE", help="write what came of each case as JSON")
    group.addoption("--conformance-html", type=Path, metavar="FILE", help="write it as a page to read")
    group.addoption("--certify", type=Path, metavar="FILE", help="run the full tier of one backend, for a certificate")
    group.addoption(
        "--variable",
        action="append",
        default=[],
        metavar="NAME",
        help="a variable of the environment that a certificate is made with, and has; may be repeated",
    )


def pytest_configure(config: pytest.Config) -> None:
    """The results of the run, and one group for each batch where pytest-xdist distributes."""
    config.stash[RESULTS] = report.Results()
    if config.getoption("--certify"):
        _prepare_certificate(config)
    if config.getoption("--every") < 1:
        raise pytest.UsageError(f"--every: found {config.getoption('--every')}, needed 1 or more")
    _words(config)
    options = config.getoption("--backend-option")
    for name in (config.getoption("--backend") or available()) if options else ():
        try:
            choice(name, options)
        except OptionError as error:
            raise pytest.UsageError(str(error)) from error


RESULTS: pytest.StashKey[report.Results] = pytest.StashKey()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The suite's file stands for all cases."""
    return Suite.from_parent(parent, path=file_path, nodeid="conformance") if file_path == SUITE else None  # no path


class Suite(pytest.File):
    """The cases of all backends that are tested, and what is wrong with plugins."""

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """One collector for each backend; their names are in no item's keywords, or `-k erf` would choose `perform`."""
        for name in self.config.getoption("--backend") or available():
            yield BackendCases.from_parent(self, name="cases", nodeid=f"{self.nodeid}::{name}", backend=name)
        for k, text in enumerate(lost(self.config)):
            yield LostItem.from_parent(self, name=f"plugin {k}", text=text)


class LostItem(pytest.Item):
    """A plugin that is broken: what it should have given is not tested."""

    def __init__(self, *, text: str, **facts: Any) -> None:
        super().__init__(**facts)
        self.text = text

    def runtest(self) -> None:
        """Fail."""
        raise CaseFailure(self.text)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The fault of the plugin."""
        return self.text

    def reportinfo(self) -> tuple[Path, int, str]:
        """The origin of the item."""
        return SUITE, 0, self.name


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Keep what is wrong with plugins among the items, whatever is selected."""
    lost_items = [item for item in items if isinstance(item, LostItem)]
    yield
    items.extend(item for item in lost_items if item not in items)


class BackendCases(pytest.Collector):
    """The cases of one backend, and its worker."""

    def __init__(self, *, backend: str, **facts: Any) -> None:
        super().__init__(**facts)
        self.backend = backend

    def collect(self) -> Iterator[pytest.Item]:
        """The cases in batches, then the gaps, and for a certificate the options."""
        tier: Tier = self.config.getoption("--tier")
        mode, exclude = self.config.getoption("--mode"), self.config.getoption("--exclude")
        limit, options = self.config.getoption("--time-limit"), self.config.getoption("--backend-option")
        self.worker = Worker(self.backend, tier, limit, mode=mode, exclude=exclude, options=options)
        self.outcomes: dict[str, Outcome] = {}
        self.config.add_cleanup(self.worker.close)
        backend = plugin.registry().backend(self.backend)
        self.level = backend.conformance_level
        every, shift = self.config.getoption("--every"), zlib.crc32(self.backend.encode())
        is_chosen = _chosen_by_words(self)
        for number, batch in enumerate(batches(items(backend, tier))):
            if (number + shift) % every:
                continue
            ids = {item.id for item in batch}
            for item in filter(is_chosen, batch):
                yield CaseItem.from_parent(self, name=item.id, item=item, batch=(number, ids))
        gaps = plugin.registry().gaps(self.backend)
        as_usual = every == 1 and not (mode or exclude or options)  # gaps are strict about what is compiled by default
        if gaps and as_usual:
            from tg_conformance.lowered import gap_name

            for k, gap in enumerate(gaps):
                yield CaseItem.from_parent(self, name=gap_name(k, gap), item=None, batch=(f"gap {k}", set()), gap=k)
        if tier == TIER and as_usual:
            from tg_conformance.options import option_names

            for option, name in option_names(self.backend).items():
                yield CaseItem.from_parent(self, name=name, item=None, batch=(name, set()), option=option)

    def outcome(self, one: CaseItem) -> Outcome:
        """The outcome of an item; runs its batch if that has not been done."""
        if one.name not in self.outcomes:
            if one.item is not None:
                outcomes = self.worker.run([name for name in self._selected if name in one.batch[1]])
            elif one.option is not None:
                outcomes = self.worker.option(one.option, one.name)
            else:
                outcomes = self.worker.gap(one.gap, one.name)
            self.outcomes.update((outcome.id, outcome) for outcome in outcomes)
        return self.outcomes[one.name]

    @functools.cached_property
    def _selected(self) -> list[str]:
        """The names of the items that are left after selection, in order."""
        return [item.name for item in self.session.items if item.parent is self]


def _words(config: pytest.Config) -> Expression | None:
    """The expression of `-k`; None if there is none.

    Raises:
        UsageError: it is no expression, of which workers of pytest-xdist would tell as an error of pytest's own.
    """
    words = config.option.keyword.lstrip()
    try:
        return Expression.compile(words) if words else None
    except SyntaxError as error:
        needed = "words joined by and, or, not"
        raise pytest.UsageError(f"-k: found {words!r}, needed {needed}: {error}") from error


def _chosen_by_words(collector: BackendCases) -> Callable[[Item], bool]:
    """Whether pytest will choose an item by `-k`: of thousands that it will not, none is built.

    It looks for the words in names: the item's, those of what it stands in, and those of its marks.
    """
    expression = _words(collector.config)
    if expression is None:
        return lambda item: True
    around = {node.name.lower() for node in collector.listchain() if not isinstance(node, pytest.Session)}
    around |= {mark for mark, plugin in MARKS.items() if collector.config.pluginmanager.hasplugin(plugin)}

    def is_chosen(item: Item) -> bool:
        names = (item.id.lower(), *around)

        def matches(word: str, /, **_: object) -> bool:
            return any(word.lower() in name for name in names)

        return expression.evaluate(matches)

    return is_chosen


class CaseItem(pytest.Item):
    """One case on one backend."""

    parent: BackendCases

    def __init__(
        self, *, item: Item | None, batch: tuple[Any, set[str]], gap: int = 0, option: str | None = None, **facts: Any
    ) -> None:
        super().__init__(**facts)
        self.item, self.batch, self.gap, self.option = item, batch, gap, option
        if self.config.pluginmanager.hasplugin("xdist"):
            self.add_marker(pytest.mark.xdist_group(f"{self.parent.backend} {batch[0]}"))
        if self.config.pluginmanager.hasplugin("timeout"):  # the first of a batch waits for all; workers have a limit
            self.add_marker(pytest.mark.timeout(0))

    def runtest(self) -> None:
        """Fail, or note as expected, what the worker found."""
        result = self.parent.outcome(self)
        dtype, level = (self.item.dtypes, self.item.case.level) if self.item is not None else ("", 1)
        outcome = "gap" if result.outcome == "xfailed" else result.outcome
        if outcome == "failed" and level > self.parent.level:
            outcome = "advisory"
        record = report.Record(
            self.parent.backend, self.name, level, outcome, result.seconds, dtype, result.detail, result.measured
        )
        self.user_properties.extend(report.properties(record))
        if outcome == "gap":
            pytest.xfail(result.detail)
        if outcome == "advisory":
            pytest.xfail(f"advisory, level {level}: {result.detail}")
        if outcome == NOT_RUN:
            pytest.skip(result.detail)
        if outcome != "passed":
            raise CaseFailure(result.detail)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The case, what is wrong, and how to run it alone."""
        if not isinstance(excinfo.value, CaseFailure):
            return super().repr_failure(excinfo, style)
        case = self.item.case if self.item is not None else None
        lines = [f"backend  {self.parent.backend}", f"case     {self.name}"]
        lines += [f"note     {case.note}"] if case is not None and case.note else []
        lines += [f"traps    {', '.join(case.traps)}"] if case is not None and case.traps else []
        return "\n".join([*lines, str(excinfo.value)])

    def reportinfo(self) -> tuple[Path, int, str]:
        """The origin of the item."""
        return SUITE, 0, f"{self.parent.backend} {self.name}"


class CaseFailure(Exception):  # noqa: N818
    """A case that a backend does not pass."""


def available() -> list[str]:
    """The backends that are installed and can be imported."""
    return [one.name for one in plugin.registry().backends() if one.is_available]


def skipped(named: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The backends that are installed in some state, and not tested; why."""
    statuses = [one for one in plugin.registry().backends() if one.state != "not installed"]
    if named:
        return tuple((one.name, "not asked for") for one in statuses if not {one.name, *one.aliases} & set(named))
    return tuple((one.name, f"{one.state}: {one.reason}") for one in statuses if not one.is_available)


def lost(config: pytest.Config) -> tuple[str, ...]:
    """Faults of plugins that should take part: extensions, and backends unless others are asked for."""
    registry = plugin.registry()
    faults = [f"cases lost: {one}" for one in registry.lost_cases()]
    faults += [
        f"cases lost: found {type(case).__name__} {case!r:.60} among them, needed tg.plugin.case.Case"
        for case in registry.cases()
        if not isinstance(case, Case)
    ]
    if not config.getoption("--backend"):
        broken = [one for one in registry.backends() if one.state in ("broken", "wrong API")]
        faults += [
            f"backend {one.name!r} is installed and cannot be tested: {one.state}: {one.reason}" for one in broken
        ]
    return tuple(faults)


def _prepare_certificate(config: pytest.Config) -> None:
    """Ask for what a certificate needs, and refuse what would make it say less than it seems to."""
    option = config.option
    options = [name for name in ("keyword", "markexpr", "mode", "exclude", "backend_option") if getattr(option, name)]
    options += ["every"] if option.every != 1 else []
    if options:
        raise pytest.UsageError(f"--certify: found {', '.join(options)}, needed the whole suite compiled as usual")
    if len(option.backend or ()) != 1:
        raise pytest.UsageError(f"--certify: found {len(option.backend or ())} backends, needed one: --backend NAME")
    strange = [*speaking(os.environ), *_strangers(config)]
    if strange:
        text = f"--certify: found {', '.join(strange)}, needed nothing that speaks to the suite"
        raise pytest.UsageError(f"{text}: tg conformance --backend {option.backend[0]} --certify {option.certify}")
    option.tier = TIER


def _strangers(config: pytest.Config) -> list[str]:
    """The plugins of pytest that may choose items or change outcomes: all but its own, pytest-xdist's and the kit's."""
    modules = [
        getattr(one, "__name__", type(one).__module__) for _, one in config.pluginmanager.list_name_plugin() if one
    ]
    return sorted({f"the plugin {one}" for one in modules if one.partition(".")[0] not in TRUSTED})


def asked(config: pytest.Config) -> report.Asked:
    """The options of the run."""
    option = config.option
    named = option.backend or ()
    chosen = (option.tier, option.keyword, option.mode or "", tuple(option.exclude), tuple(option.backend_option))
    return report.Asked(*chosen, skipped(named), lost(config))


def pytest_sessionstart(session: pytest.Session) -> None:
    """Listen to reports, those from the workers of pytest-xdist too."""
    session.config.pluginmanager.register(Listener(session.config.stash[RESULTS]), "tg-conformance-listener")


class Listener:
    """Collects the records that items leave in their reports."""

    def __init__(self, results: report.Results) -> None:
        self.results = results

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A run that was to certify and cannot has failed."""
        if session.config.getoption("--certify") and session.exitstatus == 0:
            was_asked = asked(session.config)
            if refusal(self.results.report(was_asked), was_asked, self.results.records):
                session.exitstatus = 1

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One record for each item that ran."""
        record = from_properties(report.user_properties) if report.when == "call" else None
        if record is not None:
            self.results.add(record)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """A line for each backend, and the reports that are asked for."""
    results = config.stash[RESULTS]
    if not results.records:
        return  # of another suite
    terminalreporter.section("conformance")
    was_asked = asked(config)
    terminalreporter.write(_table(results, was_asked.tier, colour=terminalreporter.hasmarkup))
    if was_asked.words:
        terminalreporter.write_line(f"only cases that match {was_asked.words!r}")
    for name, reason in was_asked.skipped if not config.getoption("--backend") else ():
        terminalreporter.write_line(f"not tested: {name}: {reason}")
    for text in was_asked.lost:
        terminalreporter.write_line(text, red=True)
    chosen: dict[str, Path | None] = {name: config.getoption(f"--conformance-{name}") for name in ("report", "html")}
    wanted: Path | None = config.getoption("--certify")
    if not any(chosen.values()) and wanted is None:
        return
    full_report = results.report(was_asked)
    for name, path in chosen.items():
        if path is not None:
            report.write(path, full_report.as_json() if name == "report" else page(full_report))
            terminalreporter.write_line(f"written to {path}")
    if wanted is not None:
        why = refusal(full_report, was_asked, results.records)
        if why is None:
            report.write(wanted, certificate(full_report, config.getoption("--variable")))
        terminalreporter.write_line(f"no certificate: {why}" if why else f"certificate written to {wanted}")


def _table(results: report.Results, tier: Tier, *, colour: bool) -> str:
    """Counts and seconds of each backend, as rich lays them out."""
    from rich.console import Console
    from rich.table import Table

    shown = Table(box=None, pad_edge=False)
    for name in ("backend", "cases", "passed", "failed", "gaps", "advisory", "tier", "level", "achieved", "seconds"):
        shown.add_column(name, justify="left" if name == "backend" else "right", no_wrap=True)
    for one in results.summary(tier):
        counts = [one.counts.get(outcome, 0) for outcome in ("passed", "failed", "gap", "advisory")]
        facts = (sum(counts), *counts, one.tier, one.level, one.achieved, f"{one.seconds:.1f}")
        shown.add_row(one.name, *map(str, facts), style="red" if one.counts.get("failed") else "green")
    stream = io.StringIO()
    Console(file=stream, width=100, force_terminal=colour, no_color=not colour, highlight=False).print(shown)
    return stream.getvalue()
