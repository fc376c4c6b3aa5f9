"""The search for programs that are compiled wrongly: hypothesis draws them, and shrinks one that shows a difference."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.fuzz.programs import Checked, Program
from tg.errors import NoRuleError


def against_numpy(checked, backend):
    checked.agrees_with_numpy()


def strictly(checked, backend):
    checked.is_exact_in_strict_mode()


def compiled(checked, backend):
    try:
        checked.agrees_compiled(backend)
    except NoRuleError:
        if backend == "perform":
            raise


ALL = {"numpy": against_numpy, "strict": strictly, "compiled": compiled}


class Found(NamedTuple):
    """How many programs were compared, and what was found, as text."""

    programs: int
    error: str | None


def search(backend, programs, number, *, checks=None, shrink=True) -> Found:
    """Compare so many programs of a seed; stops at the first difference, once it is as small as it gets."""
    chosen = [ALL[name] for name in checks or (ALL if backend == "perform" else ("compiled",))]
    phases = [Phase.generate, Phase.shrink] if shrink else [Phase.generate]
    count = 0

    @seed(number)
    @settings(
        max_examples=programs, deadline=None, database=None, phases=phases, report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck), print_blob=False,
    )  # fmt: skip
    @given(st.randoms(use_true_random=False))
    def examine(random):
        nonlocal count
        count += 1
        checked = Checked(Program(lambda n: random.randrange(n)))
        for check in chosen:
            check(checked, backend)

    try:
        examine()
    except Exception as error:  # noqa: BLE001 (every kind of error is a find)
        notes = "\n".join(n for n in getattr(error, "__notes__", []) if n.startswith("program"))
        return Found(count, f"{type(error).__name__}: {error}\n{notes}".rstrip())
    return Found(count, None)
