"""LAPACK as this process has it, on NumPy arrays: one matrix, or a batch along leading dimensions.

The functions have LAPACK's names without the letter of the dtype, which is the array's: float32, float64, complex64 or
complex128. They write to no argument. Each returns its results and, last, `info`: int32, one number for each matrix, 0
where all went well; what other numbers mean is LAPACK's. Positions count from 0. Arrays without elements are answered
here; work sizes are asked of LAPACK.

`lapack()` finds the library: the OpenBLAS of NumPy's wheels, else what SciPy was built with (`tg-core[blas]`).
"""

from tg.lapack.equations import gbsv, gelsd, getrs, gtsv, pbsv, trsyl, trtrs
from tg.lapack.factorizations import geqp3, geqrf, getrf, getri, orgqr, potrf, sytrf
from tg.lapack.library import Lapack, Source, find_lapack, has_lapack, lapack
from tg.lapack.spectra import gees, geev, gesdd, syevd

__all__ = [
    "Lapack",
    "Source",
    "find_lapack",
    "gbsv",
    "gees",
    "geev",
    "gelsd",
    "geqp3",
    "geqrf",
    "gesdd",
    "getrf",
    "getri",
    "getrs",
    "gtsv",
    "has_lapack",
    "lapack",
    "orgqr",
    "pbsv",
    "potrf",
    "syevd",
    "sytrf",
    "trsyl",
    "trtrs",
]
