import dataclasses
from typing import Literal

import pytest

from tg.errors import OptionError
from tg.plugin import Backend, RuleProtocol, validate_options


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
        "  options  device, threads, level, tolerance, donate, shape, extra\n"
        "  hint: device exists"
    )


def test_an_option_of_a_backend_without_options_is_an_error_that_says_so():
    with pytest.raises(OptionError) as caught:
        validate_options(Backend("b", distribution="d", rules=RuleProtocol("array", 2), linker="m:L"), {"x": 1})
    assert str(caught.value) == "backend 'b': unknown option 'x'\n  options  none"


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
