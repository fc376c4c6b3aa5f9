"""What the backend does not do, one entry for each case; the conformance suite holds it to that."""

from tg import NoRuleError
from tg.backend import Gap, loops

GAPS = tuple(
    Gap(op, None, None, "todo", NoRuleError, "a graph of dask has no loops and no branches")
    for op in (loops.Scan, loops.While, loops.Cond)
)
