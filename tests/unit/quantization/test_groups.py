"""Weights packed by group: bytes and values beside gguf's, errors, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tg
from tg.errors import DtypeError, InputError, ShapeError
from tg.ops.groups import FORMATS

gguf = pytest.importorskip("gguf")

FORMS = pytest.mark.parametrize("name", FORMATS)
GIVEN_BY_GGUF = ("q8_0", "q4_0", "q4_1", "q5_0")  # it reads the others, and writes none of them


def kind(name):
    return gguf.GGMLQuantizationType[name.upper()]


def weights(seed):
    """Rows of 512 of all sizes, with zeros, ties, signs that change places, numbers on halves, and tiny ones."""
    draws = np.random.default_rng(seed)
    w = draws.normal(size=(40, 512)) * np.exp(3 * draws.normal(size=(40, 1)))
    w[0], w[1, :32], w[2, 1::2], w[3] = 0, 1, -w[2, ::2], np.round(2 * w[3]) / 2
    w[4] *= 1e-7 / np.abs(w[4]).max()
    w[5, :64] = np.tile([127.0, 0.5, -0.5, 1.5, -2.5, 63.5, -127.0, 0.0], 8)
    return w.astype("float32")


@pytest.mark.parametrize("name", GIVEN_BY_GGUF)
def test_bytes_are_those_of_gguf(name):
    w = weights(1)
    assert np.array_equal(tg.quantize_groups(w, name), gguf.quants.quantize(w, kind(name)))


@FORMS
def test_values_are_those_of_gguf(name):
    q = np.random.default_rng(2).integers(0, 256, (16, 3 * FORMATS[name].size), dtype=np.uint8)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(tg.dequantize_groups(q, name).eval(), gguf.quants.dequantize(q, kind(name)))


# Roots of mean squares that ggml's own encoders leave (ggml 0.13.1, ggml_quantize_chunk, without an importance matrix)
# of the draws below.
OF_GGML = {
    ("q4_k", "normal"): 0.0715525,
    ("q4_k", "laplace"): 0.1197429,
    ("q6_k", "normal"): 0.0177764,
    ("q6_k", "laplace"): 0.0306934,
}


@pytest.mark.parametrize(("name", "law"), OF_GGML)
def test_scales_that_are_searched_for_leave_no_larger_error_than_those_of_ggml(name, law):
    draws = np.random.default_rng(0)
    w = {law: getattr(draws, law)(size=(256, 1024)) for law in ("normal", "laplace")}[law].astype("float32")
    rest = gguf.quants.dequantize(tg.quantize_groups(w, name), kind(name)) - w
    assert np.sqrt(np.mean(rest**2)) < OF_GGML[name, law]


def test_values_that_a_format_has_come_back():
    whole = np.random.default_rng(3).integers(-31, 32, (4, 256)).astype("float32")
    whole[:, ::16] = -32
    assert np.array_equal(tg.dequantize_groups(tg.quantize_groups(whole / 4, "q6_k"), "q6_k").eval(), whole / 4)


@FORMS
def test_zeros_stay(name):
    w = np.zeros((2, 512), "float32")
    assert not tg.dequantize_groups(tg.quantize_groups(w, name), name).eval().any()


@FORMS
def test_leading_axes_and_other_dtypes_are_packed_alike(name):
    w = weights(4)
    q = tg.quantize_groups(w.reshape(4, 10, 512).astype("float64"), name)
    assert np.array_equal(q.reshape(40, -1), tg.quantize_groups(w, name))
    assert str(tg.dequantize_groups(tg.tensor("q", "uint8", (4, None, q.shape[-1])), name).type) == "float32[4, ?, 512]"


def test_many_groups_are_those_of_few(monkeypatch):
    w = weights(5)
    whole = tg.quantize_groups(w, "q4_k")
    monkeypatch.setattr("tg.quantization.groups.AT_ONCE", 1000)
    assert np.array_equal(tg.quantize_groups(w, "q4_k"), whole)


def test_the_name_of_a_format_is_that_of_ggml_too():
    w = weights(6)
    q = tg.quantize_groups(w, "Q4_K")
    assert np.array_equal(q, tg.quantize_groups(w, "q4_k"))
    assert tg.dequantize_groups(q, "Q4_K").apply.op.format == "q4_k"


def test_what_cannot_be_packed_is_refused():
    w = np.ones((2, 48), "float32")
    with pytest.raises(ShapeError, match=r"found shape \(2, 48\), needed a last length that is a multiple of 32"):
        tg.quantize_groups(w, "q8_0")
    with pytest.raises(InputError, match="format: found 'q3', needed one of q8_0"):
        tg.quantize_groups(w[:, :32], "q3")
    with pytest.raises(DtypeError, match="found int64, needed a real floating dtype"):
        tg.quantize_groups(np.ones((2, 32), int), "q8_0")
    with pytest.raises(InputError, match="found NaN or infinity"):
        tg.quantize_groups(np.full((2, 32), np.nan, "float32"), "q8_0")
    for name in FORMATS:
        with pytest.raises(InputError, match=r"found a scale of .*needed at most 65504"):
            tg.quantize_groups(np.full((1, 256), 1e30, "float32"), name)


def test_bytes_that_are_no_groups_are_refused():
    with pytest.raises(ShapeError, match=r"found uint8\[2, 35\], needed rows of a multiple of 34 bytes"):
        tg.dequantize_groups(np.zeros((2, 35), "uint8"), "q8_0")
    with pytest.raises(ShapeError, match="needed rows of a multiple of 34 bytes"):
        tg.dequantize_groups(tg.matrix("q", "uint8"), "q8_0")
    with pytest.raises(DtypeError, match="needed uint8"):
        tg.dequantize_groups(np.zeros((2, 34), "int8"), "q8_0")


def test_bytes_have_no_derivative_and_products_with_them_do():
    q = tg.tensor("q", "uint8", (3, 34))
    x = tg.matrix("x", "float32")
    slope = tg.grad(tg.sum(x @ tg.dequantize_groups(q, "q8_0").T), x)
    packed = tg.quantize_groups(weights(7)[:3, :32], "q8_0")
    ones = np.ones((2, 32), "float32")
    expected = np.broadcast_to(gguf.quants.dequantize(packed, kind("q8_0")).sum(0), (2, 32))
    np.testing.assert_allclose(slope.eval({x: ones, q: packed}), expected, rtol=1e-6, atol=1e-6)
