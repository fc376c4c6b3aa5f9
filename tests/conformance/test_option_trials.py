"""The suite tries each option of a backend: one that does nothing fails, whatever it does to keys of caches."""

from __future__ import annotations

import dataclasses
import types
from typing import Literal

import numpy as np
import pytest

from tg import plugin
from tg.backend import FuncifyLinker, option
from tg.errors import OptionError
from tg.plugin import Backend, Rules, hookimpl
from tg_conformance import loopback
from tg_conformance.certificate import expected
from tg_conformance.options import fault, tried

NAME = "doubtful"


TOLD = "tests.conformance.test_option_trials:told"


@dataclasses.dataclass(frozen=True)
class Options:
    idle: bool = option(False, "does nothing")
    level: Literal["low", "high"] = option("low", "does nothing either")
    factor: float = option(1.0, "what sums of products are multiplied by")
    picky: bool = option(False, "is refused")
    device: str = option("here", "has no other value that is tried")
    place: str = option("here", "is told the engine", trial="there", observed=TOLD)
    forgotten: str = option("here", "is not told", trial="there", observed=TOLD)
    beside: int = option(1, "acts beside a factor", beside={"factor": 2.0})

    def __post_init__(self):
        if self.picky:
            text = "there is no such thing here"
            raise OptionError(text)


def told(options):
    return options.place


def scaled(x, y, context):
    more = context.beside if context.factor != 1 else 1
    return np.multiply(x, y) * x.dtype.type(context.factor * more)


@pytest.fixture
def doubtful():
    module = types.ModuleType(NAME)
    facts = {"distribution": NAME, "rules": loopback.PROTOCOL, "linker": f"{__name__}:LINKER", "options": Options}
    module.tg_backends = hookimpl(lambda: (Backend(NAME, priority=-1, **facts),))

    def tg_rules(backend):
        from tg.ops.elementwise.arithmetic import multiply

        return Rules(loopback.PROTOCOL, {**loopback.table(), multiply: scaled}) if backend == NAME else None

    module.tg_rules = hookimpl(tg_rules)
    plugin.reset()
    plugin.registry().manager.register(module, name=NAME)
    yield NAME
    plugin.reset()


LINKER = FuncifyLinker(to_native=np.array, to_numpy=np.asarray)


@pytest.mark.parametrize("name", ["factor", "picky", "place", "beside"])
def test_an_option_that_shows_in_results_in_an_error_or_in_what_the_engine_is_told_passes(doubtful, name):
    assert fault(doubtful, name) is None


@pytest.mark.parametrize(("name", "values"), [("idle", "True"), ("level", "'high'"), ("forgotten", "'there'")])
def test_an_option_that_does_nothing_fails(doubtful, name, values):
    assert tried(doubtful, name)[:3] == (
        f"option:{name}",
        "failed",
        f"option {name}: nothing shows {values}: found code, results, compilations and threads as they were without",
    )


def test_an_option_without_another_value_to_try_fails(doubtful):
    assert fault(doubtful, "device") == "option device: found no value to try, needed option(…, trial=VALUE)"


def test_a_certificate_counts_every_option(doubtful):
    assert {f"option:{one.name}" for one in dataclasses.fields(Options)} <= set(expected(doubtful))


@pytest.mark.parametrize("name", ["fast_math", "threads", "keep_source", "optimize", "accuracy"])
@pytest.mark.long
def test_options_of_the_backend_c_show(name):
    assert fault("c", name) is None
