"""Nestings keep their classes, and inputs have as many axes as their constructor says."""

from __future__ import annotations

import pickle
from collections import Counter, OrderedDict, defaultdict
from typing import Any, NamedTuple

import numpy as np
import pytest

import tg
from tg.variables.structure import flatten


class Pair(NamedTuple):
    first: Any
    second: Any


class Checked(dict[str, Any]):
    def __init__(self, needed: str) -> None:
        super().__init__(needed=needed)

    def __setitem__(self, key: str, value: Any) -> None:
        raise AssertionError


@pytest.mark.parametrize(
    "nesting",
    [
        OrderedDict([("b", 1), ("a", [2])]),
        defaultdict(list, {"x": 1}),
        defaultdict(None, {"x": 1}),
        Counter("aab"),
        Pair(1, {"k": 2}),
        {"p": OrderedDict(q=(1, None))},
        Checked("it"),
    ],
    ids=lambda v: type(v).__name__,
)
def test_a_nesting_comes_back_as_what_it_was(nesting: Any) -> None:
    leaves, structure = flatten(nesting)
    for built in (structure(iter(leaves)), pickle.loads(pickle.dumps(structure))(iter(leaves))):
        assert built == nesting
        assert type(built) is type(nesting)
        assert list(built) == list(nesting)
    if isinstance(nesting, defaultdict):
        assert built.default_factory is nesting.default_factory
    assert structure == flatten(nesting)[1]
    assert structure.leaves_of(nesting, "values") == leaves


def test_structures_of_other_classes_differ() -> None:
    kinds = [{"a": 1}, OrderedDict(a=1), defaultdict(list, a=1), defaultdict(int, a=1)]
    assert len({flatten(v)[1] for v in kinds}) == 4
    ordered = flatten(kinds[1])[1]
    assert ordered.leaves_of({"a": 5}, "values") == [5]  # a dict of any class gives leaves


@pytest.mark.parametrize("backend", ["perform", tg.backend("auto").name])
def test_functions_and_gradients_keep_the_classes_of_dicts(backend: str) -> None:
    x, y = tg.vector("x"), tg.vector("y")
    params = OrderedDict([("y", y), ("x", x)])
    f = tg.function([x, y], {"gradients": tg.grad(tg.sum(x * y), params)}, backend=backend)
    for _ in range(2):
        found = f([2.0], [3.0])["gradients"]
        assert type(found) is OrderedDict
        assert [(k, v.tolist()) for k, v in found.items()] == [("y", [2.0]), ("x", [3.0])]


def test_jitted_functions_take_and_give_dicts_of_any_class() -> None:
    @tg.jit(backend="perform")
    def step(state: Any) -> Any:
        assert type(state) is defaultdict
        return OrderedDict((k, v + 1) for k, v in state.items())

    found = step(defaultdict(list, a=np.ones(2)))
    assert type(found) is OrderedDict
    assert found["a"].tolist() == [2.0, 2.0]


def test_an_input_has_the_axes_that_its_constructor_says() -> None:
    assert tg.tensor("t", shape=3).type.shape == (3,)
    assert tg.vector("v", shape=None).type.shape == (None,)
    assert tg.vector("v", shape=tg.dim("n")).type.ndim == 1
    with pytest.raises(tg.ShapeError, match=r"matrix: shape: found \(3,\), needed 2 lengths"):
        tg.matrix("m", shape=(3,))
    with pytest.raises(tg.ShapeError, match="matrix: shape: found 3, needed 2 lengths"):
        tg.matrix("m", shape=3)
    with pytest.raises(tg.ShapeError, match=r"vector: shape: found \(3, 4\), needed 1"):
        tg.vector("v", shape=(3, 4))
    with pytest.raises(tg.ShapeError, match=r"tensor: shape: found 1\.5"):
        tg.tensor("t", shape=1.5)
