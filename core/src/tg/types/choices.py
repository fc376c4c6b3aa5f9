"""Literals of options: the words that arguments such as `mode=` and `layout=` take, for type checkers and editors.

Functions check what they are given at run time, too, with messages of their own; `tests/typing` holds both together.
"""

from __future__ import annotations

from typing import Literal

__all__ = [
    "ActivationFormat",
    "AkimaMethod",
    "Approximation",
    "AssumedStructure",
    "Average",
    "BitOrder",
    "Boundary",
    "Casting",
    "CoefficientUse",
    "ConvolutionMethod",
    "ConvolutionMode",
    "CovarianceRoot",
    "DecimationFilter",
    "Direction",
    "Disconnected",
    "DivergenceReduction",
    "Ends",
    "FanMode",
    "FilterMethod",
    "FilterPadding",
    "FourBits",
    "ImageLayout",
    "IndexMode",
    "Indexing",
    "Layout",
    "LevelDtype",
    "MinimizeMethod",
    "Nonlinearity",
    "OdeAdjoint",
    "OdeMethod",
    "OnError",
    "OnTraced",
    "Order",
    "Output",
    "PackedFormat",
    "PadMode",
    "PaddingWord",
    "PhaseName",
    "PipelineSchedule",
    "PutMode",
    "QRMode",
    "QuantileMethod",
    "ReadMode",
    "Reduction",
    "ResampleDomain",
    "ResamplePadding",
    "ResizeConvention",
    "ResizeMethod",
    "SchurOutput",
    "SegmentBoundary",
    "SequenceLayout",
    "Side",
    "SignalExtension",
    "SmoothingEdge",
    "SparseStructure",
    "SpectrogramMode",
    "SpectrumAverage",
    "SpectrumScaling",
    "TextStyle",
    "TransformNorm",
    "TransformScaling",
    "TrendType",
    "Triangle",
    "UnusedInput",
    "VolumeLayout",
    "WeightDistribution",
    "WeightFormat",
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
SparseStructure = Literal["gen", "pos"]
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
PaddingWord = Literal["same", "valid"]
ResizeMethod = Literal["nearest", "bilinear", "bicubic"]
ResizeConvention = Literal["torch", "jax"]

Disconnected = Literal["raise", "zero", "warn"]
Direction = Literal["auto", "forward", "reverse"]

PipelineSchedule = Literal["1f1b", "gpipe"]
UnusedInput = Literal["raise", "warn", "ignore"]
Output = Literal["numpy", "native"]
TextStyle = Literal["text", "tree"]

PutMode = Literal["set", "add", "multiply", "min", "max"]
Ends = Literal["f", "b", "fb"]
TransformNorm = Literal["backward", "ortho", "forward"]
AssumedStructure = Literal[
    "gen",
    "general",
    "sym",
    "symmetric",
    "her",
    "hermitian",
    "pos",
    "positive definite",
    "diagonal",
    "tridiagonal",
    "upper triangular",
    "lower triangular",
]
SchurOutput = Literal["real", "complex"]
CovarianceRoot = Literal["cholesky", "eigh", "svd"]
Nonlinearity = Literal["tanh", "relu"]
FanMode = Literal["fan_in", "fan_out", "fan_avg", "fan_geo_avg"]
WeightDistribution = Literal["truncated_normal", "normal", "uniform"]
PackedFormat = Literal["q8_0", "q4_0", "q4_1", "q5_0", "q4_k", "q6_k"]
WeightFormat = Literal["int8", "int4", "q8_0", "q4_0", "q4_1", "q5_0", "q4_k", "q6_k"]
ActivationFormat = Literal["int8", "uint8"]
LevelDtype = Literal["int4", "uint4", "int8", "uint8", "int16", "uint16"]
FourBits = Literal["int4", "uint4"]
MinimizeMethod = Literal["BFGS", "L-BFGS", "Newton-CG"]
OdeMethod = Literal["euler", "midpoint", "heun", "rk4", "RK23", "bosh3", "RK45", "dopri5"]
OdeAdjoint = Literal["direct", "backsolve"]
AkimaMethod = Literal["akima", "makima"]
SpectrumScaling = Literal["density", "spectrum"]
TransformScaling = Literal["spectrum", "psd"]
SpectrumAverage = Literal["mean", "median"]
SpectrogramMode = Literal["psd", "complex", "magnitude", "angle", "phase"]
SegmentBoundary = Literal["zeros"]
DecimationFilter = Literal["iir", "fir"]
TrendType = Literal["linear", "l", "constant", "c"]
FilterPadding = Literal["odd", "even", "constant"]
FilterMethod = Literal["pad"]
ResampleDomain = Literal["time", "freq"]
SignalExtension = Literal[
    "constant", "edge", "wrap", "symmetric", "reflect", "antireflect", "antisymmetric", "smooth", "line"
]
ResamplePadding = Literal[
    "mean",
    "median",
    "minimum",
    "maximum",
    "constant",
    "edge",
    "wrap",
    "symmetric",
    "reflect",
    "antireflect",
    "antisymmetric",
    "smooth",
    "line",
]
CoefficientUse = Literal["conv", "dot"]
SmoothingEdge = Literal["mirror", "nearest", "wrap", "constant", "interp"]
OnTraced = Literal["nan"]
PhaseName = Literal["canonicalize", "stabilize", "specialize", "expand", "backend"]
