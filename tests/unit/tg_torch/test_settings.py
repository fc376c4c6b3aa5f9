"""Options of the PyTorch backend that are those of `torch.compile`."""

from __future__ import annotations

import pytest

import tg
from tg_torch import Options
from tg_torch.compiled import settings


def test_torch_compile_is_told_a_mode_or_options():
    assert settings(Options(compile=True)) == {"mode": "default"}
    assert settings(Options(compile=True, compile_options={"epilogue_fusion": False})) == {
        "options": {"epilogue_fusion": False}
    }


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"compile_options": {"a": 1}}, "option compile_options: found .*, needed compile=True beside it"),
        ({"mode": "max-autotune-no-cudagraphs"}, "option mode: found .*, needed compile=True beside it"),
        (
            {"compile": True, "mode": "max-autotune-no-cudagraphs", "compile_options": {"a": 1}},
            "option compile_options: found mode=.* beside them, needed one of the two",
        ),
    ],
)
def test_options_that_contradict_one_another_are_refused(options, told):
    with pytest.raises(tg.OptionError, match=told):
        tg.backend("torch", **options)
