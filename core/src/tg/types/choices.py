"""Literals of options: the words that arguments such as `mode=` and `layout=` take, for type checkers and editors.

Functions check what they are given at run time, too, with messages of their own; `tests/typing` holds both together.
"""

from __future__ import annotations

from typing import Literal

__all__ = [
    "Approximation",
    "Average",
    "BitOrder",
    "Boundary",
    "Casting",
    "ConvolutionMethod",
    "ConvolutionMode",
    "Direction",
    "Disconnected",
    "DivergenceReduction",
    "ImageLayout",
    "IndexMode",
    "Indexing",
    "Layout",
    "OnError",
    "Order",
    "Output",
    "PadMode",
    "QRMode",
    "QuantileMethod",
    "ReadMode",
    "Reduction",
    "ResizeConvention",
    "ResizeMethod",
    "SequenceLayout",
    "Side",
    "TextStyle",
    "Triangle",
    "UnusedInput",
    "VolumeLayout",
]

IndexMode = Literal["raise", "clip", "wrap", "promise"]
ReadMode = Literal["raise", "clip", "wrap", "fill", "promise"]
Order = Literal["C", "F"]
Side = Literal["left", "right"]
Indexing = Literal["xy", "ij"]
BitOrder = Literal["big", "little"]
Casting = Literal["no", "equiv", "safe", "same_kind", "unsafe"]
PadMode = Literal[
    "constant",
    "edge",
    "linear_ramp",
    "maximum",
    "mean",
    "median",
    "minimum",
    "reflect",
    "symmetric",
    "wrap",
    "empty",
]
QuantileMethod = Literal[
    "linear",
    "lower",
    "higher",
    "midpoint",
    "nearest",
    "hazen",
    "weibull",
    "median_unbiased",
    "normal_unbiased",
    "interpolated_inverted_cdf",
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
]

ConvolutionMode = Literal["full", "same", "valid"]
ConvolutionMethod = Literal["auto", "direct", "fft"]
Boundary = Literal["fill", "wrap", "symm"]

OnError = Literal["raise", "nan"]
QRMode = Literal["reduced", "complete", "r"]
Triangle = Literal["L", "U"]

Reduction = Literal["mean", "sum", "none"]
DivergenceReduction = Literal["mean", "sum", "none", "batchmean"]
SequenceLayout = Literal["NCW", "NWC"]
ImageLayout = Literal["NCHW", "NHWC"]
VolumeLayout = Literal["NCDHW", "NDHWC"]
Layout = Literal["NCW", "NWC", "NCHW", "NHWC", "NCDHW", "NDHWC"]
Approximation = Literal["none", "tanh"]
Average = Literal["binary", "macro", "micro", "none"]
ResizeMethod = Literal["nearest", "bilinear", "bicubic"]
ResizeConvention = Literal["torch", "jax"]

Disconnected = Literal["raise", "zero", "warn"]
Direction = Literal["auto", "forward", "reverse"]

UnusedInput = Literal["raise", "warn", "ignore"]
Output = Literal["numpy", "native"]
TextStyle = Literal["text", "tree"]
