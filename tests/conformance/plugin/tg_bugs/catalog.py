"""All bugs."""

import numpy as np

import tg
from tg_bugs import elementwise, gradients, indexing, layout, linking, long, reducing, rewriting
from tg_bugs.record import Bug

BUGS = (
    *elementwise.BUGS,
    *reducing.BUGS,
    *indexing.BUGS,
    *layout.BUGS,
    *linking.BUGS,
    *long.BUGS,
    *rewriting.BUGS,
    *gradients.BUGS,
    Bug("missing", "R8", r"^elementwise/trigonometric:tanh\[", {tg.tanh: None}, in_worker=True),
)


def sine_of_doubles(x):
    """Wrong in single precision."""
    return np.sin(x) * (2 if x.dtype == np.float32 else 1)


GAPS = Bug("gaps", "R8", "^elementwise/trigonometric:sin", {tg.sin: sine_of_doubles})  # whose gaps but one are wrong
PLACES = {bug.backend: bug for bug in (*BUGS, GAPS) if not bug.core}
"""The backends, by name."""
