"""A plugin of pytest that writes the outcome of each case to the file that TG_OUTCOMES names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ORDER = ("failed", "passed", "skipped")  # of the phases of a case, the first of these that one has


class Outcomes:
    def __init__(self, path):
        self.path, self.by_id = path, {}

    def pytest_runtest_logreport(self, report):
        before = self.by_id.get(report.nodeid)
        if before is None or ORDER.index(report.outcome) < ORDER.index(before):
            self.by_id[report.nodeid] = report.outcome
        if report.when == "setup" and report.outcome == "passed" and before is None:
            del self.by_id[report.nodeid]  # what the case itself does decides

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self):
        self.path.write_text("".join(f"{outcome} {case}\n" for case, outcome in sorted(self.by_id.items())))


def pytest_configure(config):
    config.pluginmanager.register(Outcomes(Path(os.environ["TG_OUTCOMES"])))
