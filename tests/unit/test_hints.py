"""Annotations of public callables can be evaluated when a program runs, as `typing` and libraries on it do."""

from __future__ import annotations

import functools
import inspect
import pickle
import subprocess
import sys
import typing
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

import tg
from tg.hints import Annotations
from tg.ops.elementwise.record import ElementwiseFunction
from tg.types.choices import Reduction

if TYPE_CHECKING:
    from collections.abc import Iterator

INSIDE = (tg.nn.init, tg.signal.windows, tg.sparse.linalg)


def modules() -> Iterator[tuple[ModuleType, list[str]]]:
    yield tg, [name for name in dir(tg) if not name.startswith("_")]
    own = [v for name in dir(tg) if isinstance(v := getattr(tg, name), ModuleType)]
    for module in (*own, *INSIDE):
        yield module, [*getattr(module, "__all__", ())]


def methods(kind: type) -> Iterator[tuple[str, Any]]:
    """The functions of a class itself; those that NamedTuple writes are of no module."""
    for name, member in vars(kind).items():
        f = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if type(f) is FunctionType and not f.__globals__.get("__name__", "").startswith("namedtuple_"):
            yield name, f


def callables() -> Iterator[tuple[str, Any]]:
    """Public functions, records and classes, and the methods of classes."""
    for module, names in modules():
        for name in names:
            value = getattr(module, name)
            where = f"{module.__name__}.{name}"
            if isinstance(value, functools.partial):
                value = value.func
            if isinstance(value, FunctionType | ElementwiseFunction | type):
                yield where, value
            elif callable(value) and not isinstance(value, ModuleType):
                yield f"{where}.__call__", type(value).__call__
            if isinstance(value, type):
                yield from ((f"{where}.{method}", f) for method, f in methods(value))


def test_hints_of_every_public_callable_are_evaluated() -> None:
    every = [*callables()]
    failures = {}
    for where, value in every:
        try:
            typing.get_type_hints(value)
        except (NameError, TypeError, ImportError) as error:
            failures[where] = str(error)
    assert not failures
    assert len(every) > 2000


def test_hints_are_types() -> None:
    hints = typing.get_type_hints(tg.nn.mse_loss)
    assert hints["reduction"] is Reduction
    assert hints["return"] is tg.Variable
    assert typing.get_type_hints(tg.function)["name"] == str | None
    assert inspect.get_annotations(tg.grad, eval_str=True)["return"] is Any


def test_elementwise_functions_have_hints_of_their_operands() -> None:
    hints = typing.get_type_hints(tg.where)
    assert list(hints) == ["condition", "x", "y", "return"]
    assert hints["return"] is tg.Variable
    assert np.ndarray[Any, Any] in typing.get_args(hints["x"])
    assert tg.exp.__annotations__.keys() == {"x", "return"}
    assert not ElementwiseFunction.__annotations__


def test_annotations_are_a_dict_of_texts() -> None:
    own = tg.sum.__annotations__
    assert isinstance(own, Annotations)
    assert {**own}["return"] == own["return"] == own.get("return") == "Variable"
    assert own.get("colour", 1) == 1
    assert dict(zip(own.keys(), own.values(), strict=True)) == dict(own.items())
    assert type(pickle.loads(pickle.dumps(own))) is dict
    assert inspect.signature(tg.sum).return_annotation == "Variable"


def test_importing_tg_and_calling_it_completes_no_module() -> None:
    code = """if True:
        import sys, tg
        x = tg.vector("x")
        f = tg.function([x], tg.sum(tg.exp(x)), backend="perform")
        f([1.0])
        from tg import hints
        assert not hints._complete, hints._complete
        import typing
        typing.get_type_hints(tg.function)
        assert "tg.functions.make" in hints._complete
    """
    subprocess.run([sys.executable, "-c", code], check=True)
