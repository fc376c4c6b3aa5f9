"""All bugs."""

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
GAPS = Bug("gaps", "R8", "^elementwise/trigonometric:sin")  # whose gaps are wrong, which is tested by itself
PLACES = {bug.backend: bug for bug in (*BUGS, GAPS) if not bug.core}
"""The backends, by name."""
