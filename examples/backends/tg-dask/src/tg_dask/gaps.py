"""Gaps of the backend, one entry for each case; the conformance suite holds it to them."""

from tg import NoRuleError
from tg.backend import Gap, loops, sparse_factors

LOOPS = (loops.Scan, loops.While, loops.Cond)
FACTORS = (sparse_factors.SparseCholesky, sparse_factors.SparseInverse)

GAPS = (
    *(Gap(op, None, None, "todo", NoRuleError, "a graph of dask has no loops and no branches") for op in LOOPS),
    *(Gap(op, None, None, "todo", NoRuleError, "neither dask nor SciPy factors sparse matrices so") for op in FACTORS),
)
