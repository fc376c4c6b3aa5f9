"""Classes of users nest: of dataclasses, attrs and pydantic, and those registered with JAX, optree and tg."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import pytest

import tg
from tg.errors import InputError
from tg.variables.structure import flatten

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Plain:
    weight: Any
    bias: Any
    name: str = dataclasses.field(default="plain", metadata={"static": True})


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class OfDataclass:
    weight: Any
    bias: Any
    power: int = dataclasses.field(default=2, metadata={"static": True})


class OfJax:
    def __init__(self, weight: Any, bias: Any, name: str = "jax") -> None:
        self.weight, self.bias, self.name = weight, bias, name


class OfTg:
    def __init__(self, weight: Any, bias: Any, name: str = "tg") -> None:
        self.weight, self.bias, self.name = weight, bias, name

    def tree_flatten(self) -> tuple[tuple[Any, Any], str]:
        return (self.weight, self.bias), self.name

    @classmethod
    def tree_unflatten(cls, name: str, parts: tuple[Any, Any]) -> OfTg:
        return cls(*parts, name)


jax.tree_util.register_pytree_with_keys(
    OfJax,
    lambda v: (((jax.tree_util.GetAttrKey("weight"), v.weight), (jax.tree_util.GetAttrKey("bias"), v.bias)), v.name),
    lambda name, parts: OfJax(*parts, name),
)
tg.tree.register(OfTg)


def of_attrs() -> Callable[..., Any]:
    attrs = pytest.importorskip("attrs")
    return attrs.make_class(  # type: ignore[no-any-return]
        "OfAttrs",
        {"weight": attrs.field(), "bias": attrs.field(), "name": attrs.field(default="a", metadata={"static": True})},
        frozen=True,
        slots=True,
    )


def of_pydantic() -> Callable[..., Any]:
    pydantic = pytest.importorskip("pydantic")
    return pydantic.create_model("OfPydantic", weight=(Any, ...), bias=(Any, ...))  # type: ignore[no-any-return]


def of_optree() -> Callable[..., Any]:
    optree = pytest.importorskip("optree")

    class OfOptree:
        def __init__(self, weight: Any, bias: Any) -> None:
            self.weight, self.bias = weight, bias

    everywhere = vars(optree.registry)["__GLOBAL_NAMESPACE"]
    optree.register_pytree_node(
        OfOptree, lambda v: ((v.weight, v.bias), None), lambda _, parts: OfOptree(*parts), namespace=everywhere
    )
    return OfOptree


MAKERS: list[Callable[[], Callable[..., Any]]] = [
    lambda: Plain, lambda: OfDataclass, lambda: OfJax, lambda: OfTg, of_attrs, of_pydantic, of_optree
]  # fmt: skip
NAMES = ["dataclass", "jax dataclass", "jax", "tg", "attrs", "pydantic", "optree"]


@pytest.fixture(params=MAKERS, ids=NAMES)
def make(request: pytest.FixtureRequest) -> Callable[[Any, Any], Any]:
    kind = request.param()
    return lambda weight, bias: kind(weight=weight, bias=bias)


def test_a_value_comes_back_as_what_it_was(make: Callable[[Any, Any], Any]) -> None:
    value = make(1, {"c": [2, 3]})
    leaves, structure = flatten(value)
    again = structure(iter(leaves))
    assert leaves == [1, 2, 3]
    assert type(again) is type(value)
    assert (again.weight, again.bias) == (1, {"c": [2, 3]})
    assert structure == flatten(make(4, {"c": [5, 6]}))[1]
    assert structure != flatten(make(4, {"c": [5]}))[1]


def test_inputs_results_and_gradients_keep_the_class(make: Callable[[Any, Any], Any]) -> None:
    x, params = tg.vector("x"), make(tg.vector("weight"), {"c": tg.scalar("c")})
    loss = tg.sum(params.weight * x) + params.bias["c"] ** 2
    f = tg.function([params, x], [loss, tg.grad(loss, params)], backend="perform")
    value, slope = f(make(np.array([1.0, 2.0]), {"c": 3.0}), np.array([4.0, 5.0]))
    assert value == 23
    assert type(slope) is type(params)
    assert slope.weight.tolist() == [4, 5]
    assert slope.bias["c"] == 6
    with pytest.raises(InputError, match=rf"needed {type(params).__name__}\("):
        f([1.0], [4.0, 5.0])


def test_jit_and_vmap_take_and_give_the_class(make: Callable[[Any, Any], Any]) -> None:
    step = tg.jit(lambda v: make(v.weight * 2, v.bias + 1), backend="perform")
    result = step(make(np.ones(2), 1.0))
    assert type(result) is type(make(0, 0))
    assert result.weight.tolist() == [2, 2]
    rows = tg.vmap(lambda v: make(tg.sum(v.weight), v.bias))(make(np.ones((3, 2)), np.arange(3.0)))
    assert rows.weight.eval().tolist() == [2, 2, 2]


def test_a_carry_of_a_loop_keeps_the_class(make: Callable[[Any, Any], Any]) -> None:
    def step(carry: Any, x: Any) -> tuple[Any, Any]:
        return make(carry.weight + x, carry.bias), carry.weight

    last, partial = tg.scan(step, make(tg.zeros(()), tg.ones(())), tg.arange(4.0))
    assert type(last) is type(make(0, 0))
    assert (last.weight.eval(), last.bias.eval(), partial.eval().tolist()) == (6, 1, [0, 0, 1, 3])


@pytest.mark.parametrize("kind", [Plain, OfJax, OfTg, OfDataclass], ids=lambda kind: kind.__name__)
def test_a_structure_of_a_class_of_a_module_is_pickled(kind: Any) -> None:
    structure = flatten(kind(1, 2))[1]
    assert pickle.loads(pickle.dumps(structure)) == structure


@pytest.mark.parametrize("kind", [OfJax, OfDataclass], ids=lambda kind: kind.__name__)
def test_leaves_and_places_are_those_of_jax(kind: Any) -> None:
    value = kind(1, [2, {"a": 3}])
    theirs = jax.tree_util.tree_leaves_with_path(value)
    assert tg.tree.leaves(value) == [leaf for _, leaf in theirs]
    assert tg.tree.paths(value) == [jax.tree_util.keystr(path) for path, _ in theirs]


def test_values_that_differ_beside_their_parts_have_two_structures() -> None:
    for kind, field in ((Plain, "name"), (OfJax, "name"), (OfTg, "name"), (OfDataclass, "power")):
        assert flatten(kind(1, 2))[1] != flatten(kind(1, 2, **{field: 3}))[1]
    params = Plain(tg.scalar("w"), tg.scalar("b"))
    f = tg.function([params], params.weight + params.bias, backend="perform")
    assert f(Plain(1.0, 2.0)) == 3
    with pytest.raises(InputError, match=r"name='other'\), needed Plain\(weight=\*, bias=\*, name='plain'\)"):
        f(Plain(1.0, 2.0, "other"))


def test_what_stands_beside_the_parts_is_compiled_in_by_jit() -> None:
    f = tg.jit(lambda v: v.weight**v.power + v.bias, backend="perform")
    assert f(OfDataclass(3.0, 1.0)) == 10
    assert f(OfDataclass(3.0, 1.0, 3)) == 28


def test_what_stands_beside_the_parts_has_a_hash() -> None:
    with pytest.raises(InputError, match=r"Plain: found .* beside its parts, needed something hashable"):
        flatten(Plain(1, 2, ["a list"]))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (3, "needed a class"),
        (dict, "needed a class that is none of tg's or Python's"),
        (np.ndarray, "none of tg's"),
        (tg.Variable, "none of tg's"),
        (pytest.Item, "found no functions"),
    ],
)
def test_register_refuses(kind: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        tg.tree.register(kind)


def test_neither_jax_nor_optree_is_imported() -> None:
    program = """
import sys, tg
class Mine: pass
assert tg.tree.leaves({"a": Mine(), "b": 1})[1] == 1
assert not {"jax", "optree", "attr", "pydantic"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("parts", [5, (1.0, None), ((1.0,),), None])
def test_what_flatten_gives_is_said_if_it_is_no_pair(parts: Any) -> None:
    class Odd:
        pass

    tg.tree.register(Odd, lambda _: parts, lambda *_: Odd())
    with pytest.raises(InputError, match=r"Odd: flatten gave .*, needed \(parts, rest\)"):
        tg.tree.leaves(Odd())
