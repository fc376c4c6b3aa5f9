"""Every public function is given arguments of wrong kinds, one at a time: what it refuses, it refuses as tg does.

The calls are those of `docs/samples.toml`, which work; of each, every argument is replaced by each of `WRONG`. A call
may work all the same: most functions take any array.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tg
from tg import refusals
from tg.errors import TgError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SAMPLES = tomllib.loads((Path(__file__).parents[2] / "docs" / "samples.toml").read_text())
HEAD = re.compile(r"^[^:]+: ")  # `what: found …, needed …`, or another fact
PYTHONS = re.compile(r"unexpected keyword|positional argument|multiple values")  # of calls that no signature has

WRONG: dict[str, Callable[[], Any]] = {
    "a fraction": lambda: 1.5,
    "a string": lambda: "text",
    "None": lambda: None,
    "a negative length": lambda: -99,
    "a large integer": lambda: 2**70,
    "True": lambda: True,
    "NaN": lambda: float("nan"),
    "an imaginary number": lambda: 1j,
    "bytes": lambda: b"x",
    "a set": lambda: {1, 2},
    "a dict": lambda: {"a": 1},
    "nothing": list,
    "a ragged list": lambda: [[1.0], [1.0, 2.0]],
    "strings": lambda: ["a", "b"],
    "a tuple of a fraction": lambda: (1.5,),
    "a tuple of None": lambda: (None,),
    "an array of objects": lambda: np.array([object()]),
    "an array of dates": lambda: np.array(["2020-01-01"], "datetime64[D]"),
    "too many axes": lambda: np.ones((1,) * 40),
    "a vector": lambda: tg.vector("v"),
    "a matrix": lambda: tg.matrix("m"),
    "a function": lambda: lambda *_: 1,
    "a class": lambda: int,
    "a slice": lambda: slice(1, 2),
    "a generator": lambda: (x for x in (1.0, 2.0)),
    "an object": object,
}


def of_tg(address: str) -> Any:
    """What stands at an address in tg."""
    return functools.reduce(getattr, address.split(".")[1:], tg)


def evaluated(node: ast.expr) -> Any:
    """The value of a part of a sample."""
    return eval(compile(ast.Expression(node), "<sample>", "eval"), {"tg": tg, "np": np})


def call_in(text: str, function: Any) -> ast.Call | None:
    """The call of a function in a sample, where its arguments can be computed by themselves."""
    for node in ast.walk(ast.parse(text, mode="eval")):
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("tg.") and evaluated(node.func) is function:
            try:
                arguments(node)
            except NameError:  # of a lambda around it
                continue
            return node
    return None


def arguments(call: ast.Call) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call, computed anew."""
    return [evaluated(a) for a in call.args], {str(k.arg): evaluated(k.value) for k in call.keywords}


CALLS = {
    address: call
    for module, names in SAMPLES.items()
    for name, text in names.items()
    if (call := call_in(text, of_tg(address := f"{module}.{name}"))) is not None
}


def mistakes(function: Any, call: ast.Call) -> Iterator[tuple[str, inspect.BoundArguments]]:
    """The call with each of its arguments replaced by each wrong value."""
    signature = inspect.signature(function)
    for parameter in signature.parameters.values():
        if parameter.kind is not parameter.VAR_KEYWORD:
            for what, wrong in WRONG.items():
                args, kwargs = arguments(call)
                bound = signature.bind(*args, **kwargs)
                value = wrong()
                bound.arguments[parameter.name] = (value,) if parameter.kind is parameter.VAR_POSITIONAL else value
                yield f"{parameter.name}: {what}", bound


def fault(function: Any, bound: inspect.BoundArguments) -> str | None:
    """The part of the house's form that an error lacks; None where the call works, or is refused as it should be."""
    try:
        function(*bound.args, **bound.kwargs)
    except TgError as error:
        has_place = any(" at " in note for note in (str(error), *getattr(error, "__notes__", ())))
        return None if HEAD.match(str(error)) and has_place else f"{type(error).__name__} without a place: {error}"
    except refusals.RAW_ERRORS as error:
        return None if PYTHONS.search(str(error)) else f"{type(error).__name__}: {error}"
    return None


def test_most_functions_have_a_call() -> None:
    assert len(CALLS) >= 0.95 * sum(map(len, SAMPLES.values()))


@pytest.mark.sampled(12)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("address", CALLS)
def test_wrong_kinds_of_arguments_are_refused_in_the_form_of_errors(address: str) -> None:
    function = of_tg(address)
    args, kwargs = arguments(CALLS[address])
    function(*args, **kwargs)
    found = {label: f for label, bound in mistakes(function, CALLS[address]) if (f := fault(function, bound))}
    assert found == {}
