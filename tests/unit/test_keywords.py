"""Keywords of other libraries: each is told by the name that it has here."""

from __future__ import annotations

import functools
import inspect
import pickle
from typing import TYPE_CHECKING, Any

import pytest

import tg
from tests.hints import codes, run
from tg.errors import InputError
from tg.keywords import ELSEWHERE, INSTEAD

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def taken(f: Any) -> set[str] | None:
    """The keywords that a function takes; None for one that hands others on, of which Python asks for more first."""
    own = inspect.signature(f).parameters.values()
    return (
        None if any(p.kind is p.VAR_KEYWORD for p in own) else {p.name for p in own if p.kind is not p.VAR_POSITIONAL}
    )


OTHERS = (tg.linalg, tg.special, tg.random, tg.fft, tg.integrate, tg.interpolate, tg.data, tg.tree)
PUBLIC = [(name, getattr(module, name)) for module in (tg.nn, tg.optimize, *OTHERS) for name in module.__all__]
PUBLIC += [(name, getattr(tg, name)) for name in dir(tg) if not name[0].isupper()]
KINDS = [(name, kind) for name, kind in PUBLIC if isinstance(kind, type) and issubclass(kind, tg.nn.Module)]
KINDS = [(name, kind) for name, kind in KINDS if kind is not tg.nn.Module]
CALLS = [(f"{name}()", functools.partial(kind.__call__, object.__new__(kind))) for name, kind in KINDS]
FUNCTIONS = [(name, f) for name, f in PUBLIC if inspect.isfunction(f)]
TAKEN = [(name, f, own) for name, f in [*FUNCTIONS, *KINDS, *CALLS] if (own := taken(f)) is not None]


@pytest.mark.parametrize(("here", "others"), ELSEWHERE)
def test_each_name_of_a_row_is_told_where_the_first_is_taken(here: str, others: str) -> None:
    taking = [(name, f, own) for name, f, own in TAKEN if here in own]
    assert taking, "no function has it"
    for other in others.split():
        for name, f, own in taking:
            if other not in own:
                assert told(f, other) in firsts(other, own), name


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("text", dict.fromkeys(text for _, _, text in INSTEAD))
def test_what_is_said_instead_of_a_keyword_works(text: str, dtype: str, tmp_path: Path) -> None:
    assert codes(text)
    for code in codes(text):
        run(code, dtype, tmp_path)


@pytest.mark.parametrize(("functions", "keywords", "text"), INSTEAD)
def test_each_keyword_without_a_counterpart_is_told(functions: str, keywords: str, text: str) -> None:
    for name in functions.split() if functions != "*" else ["exp"]:
        f = getattr(tg, name, None) or getattr(tg.Shared, name)
        for keyword in keywords.split():
            if keyword not in inspect.signature(f).parameters and not firsts(keyword, taken(f) or set()):
                with pytest.raises(InputError, match=f"keyword:? (found )?{keyword}") as found:
                    f(**{keyword: None})
                assert str(found.value).partition("\n  hint: ")[2] == text


def told(f: Callable[..., Any], keyword: str) -> str:
    """The name that is told in place of a keyword."""
    with pytest.raises(InputError, match=f"keyword: found {keyword}, needed ") as found:
        f(**{keyword: None})
    return str(found.value).splitlines()[0].rpartition(" ")[2]


def firsts(other: str, own: set[str]) -> list[str]:
    """What may be told: the first row that fits."""
    return [here for here, others in ELSEWHERE if here in own and other in others.split()][:1]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tg.nn.softmax(tg.vector("x"), dim=0), "softmax: keyword: found dim, needed axis"),
        (lambda: tg.optimize.adam(None, {}, lr=0.1), "adam: keyword: found lr, needed learning_rate"),
        (lambda: tg.optimize.sgd(None, {}, learning_rates=0.1), "found learning_rates, needed learning_rate"),
        (lambda: tg.nn.Dense(in_features=3, out_features=2), "Dense: keyword: found in_features, needed inner"),
        (lambda: tg.nn.RNN(3, 2, num_layers=2), "RNN: keyword: found num_layers, needed layers"),
        (lambda: tg.nn.Transformer(2, 16, 4, 32, rate=0.1), "needed dropout"),
        (lambda: tg.sum(tg.vector("x"), keepdim=True), "sum: keyword: found keepdim, needed keepdims"),
        (lambda: tg.vector("x").mean(dim=0), "mean: keyword: found dim, needed axis"),  # type: ignore[call-arg]
        (lambda: tg.function([], 1.0, backed="c"), "function: keyword: found backed, needed backend"),
        (lambda: tg.jit(tg.exp, outputt="native"), "jit: keyword: found outputt, needed output"),
        (lambda: tg.random.normal(tg.random.key(0), size=3), "normal: keyword: found size, needed shape"),
        (lambda: tg.exp(tg.vector("x"), out=None), "exp: found the keyword out, needed x by position"),
        (lambda: tg.maximum(x1=1.0, x2=2.0), "hint: operands go by position: tg.maximum(x, y)"),
        (lambda: tg.shared(1.0).get_value(borrow=True), "get_value: keyword: found borrow, needed "),
        (lambda: tg.zeros(2, 3), "hint: a shape is one tuple: tg.zeros((2, 3))"),
        (lambda: tg.reshape(tg.vector("x"), 2, 3), "hint: a shape is one tuple: tg.reshape(x, (2, 3))"),
        (lambda: tg.grad(tg.sum(tg.vector("x"))), "grad: found no wrt, needed cost, wrt"),
        (lambda: tg.vjp(tg.vector("x"), cotangents=1.0), "vjp: found no wrt, needed outputs, wrt, cotangents"),  # type: ignore[call-arg]
        (lambda: tg.function(), "function: found no inputs, outputs, needed inputs, outputs"),
        (lambda: tg.shared(1.0).set_value(), "set_value: found no value, needed value"),  # type: ignore[call-arg]
        (lambda: tg.nn.Attention(8, 2)(tg.matrix("x"), attn_mask=None), "found attn_mask, needed mask"),
    ],
)
def test_calls_of_newcomers(call: Callable[[], Any], text: str) -> None:
    with pytest.raises((InputError, tg.DtypeError)) as found:
        call()
    assert text in str(found.value)


def test_what_nobody_knows_is_pythons_own() -> None:
    class Net(tg.nn.Module):
        def __call__(self, x: Any) -> Any:
            return tg.nn.softmax(x, colour="red")

    for call in (
        lambda: tg.nn.softmax(tg.vector("x"), colour="red"),  # type: ignore[call-arg]
        lambda: Net()(tg.vector("x")),
        lambda: tg.nn.summary(Net(), tg.vector("x"), colour="red"),
    ):
        with pytest.raises(TypeError, match="unexpected keyword argument 'colour'") as found:
            call()
        assert not isinstance(found.value, InputError)


def test_what_a_function_of_the_user_lacks_is_pythons_own() -> None:
    def step(carry: Any, x: Any, rate: Any) -> Any:
        return carry, x

    with pytest.raises(TypeError, match="missing 1 required positional argument: 'rate'") as found:
        tg.scan(step, 0.0, tg.vector("x"))  # type: ignore[call-overload]
    assert not isinstance(found.value, InputError)


def test_signatures_name_operands() -> None:
    names = {f: [*inspect.signature(getattr(tg, f)).parameters] for f in ("exp", "maximum", "where", "clip")}
    assert names == {
        "exp": ["x"], "maximum": ["x", "y"], "where": ["condition", "x", "y"], "clip": ["x", "min", "max"],
    }  # fmt: skip
    assert [*inspect.signature(tg.special.betainc).parameters] == ["a", "b", "x"]
    functions = {name: f for name, f in PUBLIC if not isinstance(f, type)}
    unnamed = [name for name, f in functions.items() if "operands" in str(signature_of(f))]
    assert set(unnamed) <= {"call", "cond", "einsum", "same_shape", "switch"}  # which take any number


def signature_of(value: Any) -> inspect.Signature | None:
    """The signature of what has one."""
    try:
        return inspect.signature(value)
    except (TypeError, ValueError):
        return None


def test_every_function_is_pickled_by_its_public_name() -> None:
    functions = {name: f for name, f in PUBLIC if inspect.isfunction(f)}
    for name, f in functions.items():
        assert pickle.loads(pickle.dumps(f)) is f, name


def test_functions_stay_what_they_are() -> None:
    assert pickle.loads(pickle.dumps(tg.nn.swish)) is tg.nn.swish is tg.nn.silu
    assert list(inspect.signature(tg.nn.softmax).parameters) == ["x", "axis"]
    assert tg.nn.softmax.__doc__ == tg.softmax.__doc__
