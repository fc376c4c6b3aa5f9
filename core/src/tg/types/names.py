"""Constants of the array API standard and NumPy: dtypes, which are their names as everywhere in tg, and numbers."""

from __future__ import annotations

from typing import Final

import numpy as np

bool: Final = "bool"
int8: Final = "int8"
int16: Final = "int16"
int32: Final = "int32"
int64: Final = "int64"
uint8: Final = "uint8"
uint16: Final = "uint16"
uint32: Final = "uint32"
uint64: Final = "uint64"
float16: Final = "float16"
bfloat16: Final = "bfloat16"
float32: Final = "float32"
float64: Final = "float64"
complex64: Final = "complex64"
complex128: Final = "complex128"

e: Final = np.e
euler_gamma: Final = np.euler_gamma
inf: Final = np.inf
nan: Final = np.nan
newaxis: Final = None
pi: Final = np.pi

CONSTANTS: Final = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16",
    "float32", "float64", "complex64", "complex128", "e", "euler_gamma", "inf", "nan", "newaxis", "pi",
)  # fmt: skip
"""Every name above: what `tg` offers of this module."""
