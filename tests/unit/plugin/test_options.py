import dataclasses
from typing import Literal

import pytest

from tg.errors import OptionError, PluginError
from tg.plugin import Backend, RuleProtocol, validate_options
from tg.plugin.fields import described, option, pairs, trial
from tg.plugin.options import general_options
from tg.plugin.records import GENERAL


@dataclasses.dataclass(frozen=True)
class Options:
    device: str = "cpu"
    threads: int | None = None
    level: Literal["fast", "exact"] = "fast"
    tolerance: float = 0.5
    donate: tuple[str, ...] = ()
    shape: tuple[int, bool] = (1, True)
    extra: object = None

    def __post_init__(self):
        if self.threads is not None and self.threads < 1:
            text = "threads is at least 1"
            raise ValueError(text)


def backend(options=Options):
    return Backend("mine", distribution="tg-mine", rules=RuleProtocol("array", 2), linker="m:L", options=options)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"device": "gpu:0"},
        {"threads": 2},
        {"threads": None},
        {"level": "exact"},
        {"tolerance": 1},
        {"donate": ("x", "y")},
        {"shape": (2, False)},
        {"extra": {1}},
    ],
)
def test_options_given_stand_in_place_of_the_defaults(given):
    assert validate_options(backend(), given) == Options(**given)


def test_an_unknown_option_is_an_error_that_lists_those_that_exist_and_names_the_near_match():
    with pytest.raises(OptionError) as caught:
        validate_options(backend(), {"devise": "cpu"})
    assert str(caught.value) == (
        "backend 'mine': unknown option 'devise'\n"
        f"  options  device, threads, level, tolerance, donate, shape, extra, {', '.join(GENERAL)}\n"
        "  hint: device exists"
    )


def test_a_backend_without_options_of_its_own_has_the_general_ones():
    with pytest.raises(OptionError) as caught:
        validate_options(Backend("b", distribution="d", rules=RuleProtocol("array", 2), linker="m:L"), {"x": 1})
    assert str(caught.value) == f"backend 'b': unknown option 'x'\n  options  {', '.join(GENERAL)}"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"device": 1}, "option device: found 1, needed str"),
        ({"threads": "2"}, "option threads: found '2', needed int | None"),
        ({"threads": True}, "option threads: found True, needed int | None"),
        ({"level": "slow"}, "option level: found 'slow', needed Literal['fast', 'exact']"),
        ({"tolerance": "small"}, "option tolerance: found 'small', needed float"),
        ({"donate": ("x", 1)}, "option donate: found ('x', 1), needed tuple[str, ...]"),
        ({"donate": "x"}, "option donate: found 'x', needed tuple[str, ...]"),
        ({"shape": (1, True, 2)}, "option shape: found (1, True, 2), needed tuple[int, bool]"),
    ],
)
def test_a_value_of_another_type_is_shown_with_the_type_needed(given, told):
    with pytest.raises(OptionError) as caught:
        validate_options(backend(), given)
    assert str(caught.value) == f"backend 'mine': {told}"


def test_a_value_that_the_backend_refuses_is_shown_with_its_reason():
    with pytest.raises(OptionError) as caught:
        validate_options(backend(), {"threads": 0})
    assert str(caught.value) == "backend 'mine': threads is at least 1: found threads=0"
    assert isinstance(caught.value.__cause__, ValueError)


def test_an_option_error_of_the_backend_is_passed_on():
    @dataclasses.dataclass(frozen=True)
    class Picky:
        def __post_init__(self):
            text = "backend 'mine': no device here"
            raise OptionError(text)

    with pytest.raises(OptionError, match=r"(?m)^backend 'mine': no device here$"):
        validate_options(backend(Picky), {})


def test_an_option_without_a_default_must_be_given():
    @dataclasses.dataclass(frozen=True)
    class Needy:
        device: str

    with pytest.raises(OptionError, match="missing 1 required positional argument: 'device': found no options"):
        validate_options(backend(Needy), {})


@dataclasses.dataclass(frozen=True)
class Described:
    fast: bool = option(False, "fewer digits")
    level: Literal["low", "high", "most"] = option("low", "how far it goes")
    sizes: tuple[int, ...] = option((), "of tiles", trial=(3,), beside={"fast": True}, observed="m:told")
    name: str = option("", "of the program")
    choice: bool | None = option(None, "whether; None: as the process has it")


def test_the_meaning_of_an_option_stands_with_its_type_and_default():
    assert [tuple(one) for one in described(Described)][:2] == [
        ("fast", "bool", "False", "fewer digits"),
        ("level", "Literal['low', 'high', 'most']", "'low'", "how far it goes"),
    ]
    assert Described(fast=True).level == "low"


@pytest.mark.parametrize(
    ("name", "values"),
    [("fast", (True,)), ("level", ("high", "most")), ("sizes", ((3,),)), ("name", ()), ("choice", (True, False))],
)
def test_an_option_is_tried_with_values_that_are_not_its_default(name, values):
    assert trial(Described, name).values == values


def test_a_trial_says_beside_which_options_it_acts_and_what_shows_it():
    assert trial(Described, "sizes")[1:] == ({"fast": True}, "m:told")


def test_settings_of_an_engine_are_pairs_in_the_order_of_their_names():
    assert pairs({"b": 1, "a": True}) == pairs((("a", True), ("b", 1))) == (("a", True), ("b", 1))


def test_an_option_that_a_backend_refuses_is_an_error_with_the_reason_and_what_to_do_instead():
    refusing = dataclasses.replace(backend(Described), refuses={"threads": "there is one pool; pool({value}) sets it"})
    with pytest.raises(OptionError) as caught:
        general_options(refusing, {"threads": 2})
    assert str(caught.value) == (
        "backend 'mine': option threads: there is one pool: found threads=2, needed none\n  hint: pool(2) sets it"
    )


def test_a_backend_does_not_refuse_an_option_that_it_has():
    with pytest.raises(PluginError, match="needed none of its options"):
        dataclasses.replace(backend(Described), refuses={"fast": "no"})
