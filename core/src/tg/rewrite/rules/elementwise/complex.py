"""Rules of complex numbers: parts of what was made of parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.elementwise.cast import Cast, cast_variable
from tg.ops.elementwise.complex import complex, conjugate, imag, real
from tg.rewrite.phases import CANONICALIZE, EXACT
from tg.rewrite.rule import node_rule, rule
from tg.types.dtypes import COMPLEX, is_complex

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable

WHOLE: Final = frozenset(COMPLEX)
PARTS: Final = frozenset(("float32", "float64"))


def _real_of_real(node: Apply, outputs: Any) -> Variable | None:
    (z,) = node.inputs
    if z.apply is None or not isinstance(z.apply.op, Cast) or is_complex(z.apply.inputs[0].type.dtype):
        return None
    return cast_variable(z.apply.inputs[0], outputs[0].type.dtype)


RULES = (
    rule(
        "conjugate_twice",
        match=lambda z: conjugate(conjugate(z)),
        replace=lambda z: z,
        phase=CANONICALIZE,
        kind=EXACT,
        why="The sign of the imaginary part changes twice.",
        dtypes=WHOLE,
    ),
    rule(
        "real_of_conjugate",
        match=lambda z: real(conjugate(z)),
        replace=real,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Both have one real part.",
        dtypes=WHOLE,
    ),
    rule(
        "imag_of_conjugate",
        match=lambda z: imag(conjugate(z)),
        replace=lambda z: -imag(z),
        phase=CANONICALIZE,
        kind=EXACT,
        why="The conjugate need not be stored.",
        dtypes=WHOLE,
    ),
    rule(
        "real_of_complex",
        match=lambda x, y: real(complex(x, y)),
        replace=lambda x, y: x,
        phase=CANONICALIZE,
        kind=EXACT,
        why="The part was given.",
        dtypes=PARTS,
    ),
    rule(
        "imag_of_complex",
        match=lambda x, y: imag(complex(x, y)),
        replace=lambda x, y: y,
        phase=CANONICALIZE,
        kind=EXACT,
        why="The part was given.",
        dtypes=PARTS,
    ),
    rule(
        "complex_of_parts",
        match=lambda z: complex(real(z), imag(z)),
        replace=lambda z: z,
        phase=CANONICALIZE,
        kind=EXACT,
        why="The number was there.",
        dtypes=WHOLE,
    ),
    node_rule(
        "real_of_real",
        keys=(real,),
        apply=_real_of_real,
        phase=CANONICALIZE,
        kind=EXACT,
        why="A number that was real is its real part.",
        example=lambda x: real(Cast("complex128")(x)),
    ),
)
