"""Keywords of other libraries: each is told by the name that it has here."""

from __future__ import annotations

import functools
import inspect
import pickle
from typing import TYPE_CHECKING, Any

import pytest

import tg
from tg.errors import InputError
from tg.keywords import ELSEWHERE

if TYPE_CHECKING:
    from collections.abc import Callable


def taken(f: Any) -> set[str] | None:
    """The keywords that a function takes; None for one that hands others on, of which Python asks for more first."""
    own = inspect.signature(f).parameters.values()
    return (
        None if any(p.kind is p.VAR_KEYWORD for p in own) else {p.name for p in own if p.kind is not p.VAR_POSITIONAL}
    )


PUBLIC = [(name, getattr(module, name)) for module in (tg.nn, tg.optimize) for name in module.__all__]
KINDS = [(name, kind) for name, kind in PUBLIC if isinstance(kind, type) and kind is not tg.nn.Module]
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
        (lambda: tg.nn.Attention(8, 2)(tg.matrix("x"), attn_mask=None), "found attn_mask, needed mask"),
    ],
)
def test_calls_of_newcomers(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(InputError) as found:
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


def test_functions_stay_what_they_are() -> None:
    assert pickle.loads(pickle.dumps(tg.nn.swish)) is tg.nn.swish is tg.nn.silu
    assert list(inspect.signature(tg.nn.softmax).parameters) == ["x", "axis"]
    assert tg.nn.softmax.__doc__ == tg.softmax.__doc__
