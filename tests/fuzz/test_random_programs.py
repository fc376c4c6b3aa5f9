"""Random programs and their gradients mean the same however they are compiled, and as written what NumPy computes.

`make fuzz BACKEND=c GRAPHS=5000 SEED=0` compares as many as one likes.
"""

import dataclasses

import pytest

import tg
from tests.fuzz.search import search
from tg import plugin
from tg.plugin.registry import Registry
from tg.rewrite.rule import Pass, rule


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(4))
def test_rewriting_keeps_the_meaning_on_the_reference(seed):
    assert search("perform", 50, seed).error is None


def available():
    return [one.name for one in plugin.registry().backends() if one.is_available and one.name != "perform"]


@pytest.mark.parametrize("backend", available())
def test_a_backend_gives_what_the_program_says(backend):
    graphs = {"c": 8}.get(backend, 4)
    assert search(backend, graphs, 1000).error is None


# --- the search itself ----------------------------------------------------------------------------------------------


def wrong(name, match, replace, kind, dtypes=("float64",)):
    about = {"phase": "canonicalize", "kind": kind, "why": "A test."}
    return rule(name, match=match, replace=replace, dtypes=frozenset(dtypes), **about)


def _subtract_is_add(view):
    found = [a for a in view.applies if a.op is tg.subtract.op]
    return {id(view.results(a)[0]): tg.add(*a.inputs) for a in found if view.results(a)[0].type.dtype == "float64"}


WRONG = [
    wrong("a_value", tg.tanh, lambda x: x / (1 + tg.absolute(x)), "reassociates"),
    wrong("roundings", tg.square, lambda x: tg.absolute(x) ** 1.5 * tg.sqrt(tg.absolute(x)), "exact"),
    wrong("digits", lambda x: tg.exp(x) - 1, lambda x: tg.expm1(x) + x * 1e-11, "reassociates"),
    wrong("integers", lambda x: x % 2, lambda x: x & 3, "exact", ["int64", "int32"]),
    Pass("a_pass", phase="canonicalize", kind="reassociates", why="A test.", run=_subtract_is_add),
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("one", WRONG, ids=lambda one: one.name)
def test_a_wrong_rewrite_is_found_and_named(one, monkeypatch):
    given = Registry.rewrites

    def with_another(registry, name):
        known = given(registry, name)
        added = {"passes": (*known.passes, one)} if isinstance(one, Pass) else {"rules": (*known.rules, one)}
        return dataclasses.replace(known, **added)

    monkeypatch.setattr(Registry, "rewrites", with_another)
    found = next(
        error for error in (search("perform", 200, k, shrink=False).error for k in range(10)) if error is not None
    )
    assert "program" in found
    assert one.name in found
