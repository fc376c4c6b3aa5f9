"""Rules of complex numbers: parts of what was made of parts, signs and conjugates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.elementwise.arithmetic import absolute, hypot, square
from tg.ops.elementwise.cast import Cast, cast_variable
from tg.ops.elementwise.complex import complex, conjugate, imag, real
from tg.rewrite.phases import CANONICALIZE, EXACT, REASSOCIATES
from tg.rewrite.rule import rule, rule_of_node
from tg.types.dtypes import COMPLEX, is_complex

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable

WHOLES: Final = frozenset(COMPLEX)
PARTS: Final = frozenset(("float32", "float64"))


def _real_operand(z: Variable) -> Variable | None:
    """The real number that a converted one was made of."""
    (x,) = z.inputs
    return None if is_complex(x.type.dtype) else x


@rule_of_node(real, kind=EXACT, below=(Cast,), example=lambda x: real(Cast("complex128")(x)))
def _real_of_real(node: Apply, outputs: Any) -> Variable | None:
    """A number that was real is its real part."""
    x = _real_operand(node.inputs[0])
    return None if x is None else cast_variable(x, outputs[0].type.dtype)


EXACTLY: Final[tuple[tuple[str, Any, Any, frozenset[str], str], ...]] = (
    (
        "conjugate_twice",
        lambda z: conjugate(conjugate(z)),
        lambda z: z,
        WHOLES,
        "The sign of the imaginary part changes twice.",
    ),
    ("real_of_conjugate", lambda z: real(conjugate(z)), real, WHOLES, "Both have one real part."),
    ("real_of_negative", lambda z: real(-z), lambda z: -real(z), WHOLES, "One part changes its sign, not both."),
    ("real_of_complex", lambda x, y: real(complex(x, y)), lambda x, y: x, PARTS, "The part was given."),
    ("imag_of_complex", lambda x, y: imag(complex(x, y)), lambda x, y: y, PARTS, "The part was given."),
    (
        "conjugate_of_complex",
        lambda x, y: conjugate(complex(x, y)),
        lambda x, y: complex(x, -y),
        PARTS,
        "The sign changes before the parts are put together.",
    ),
)

RULES = (
    *(
        rule(name, match=match, replace=replace, phase=CANONICALIZE, kind=EXACT, why=why, dtypes=dtypes)
        for name, match, replace, dtypes, why in EXACTLY
    ),
    rule(
        "real_of_product_with_conjugate",
        match=lambda z: real(z * conjugate(z)),
        replace=lambda z: square(real(z)) + square(imag(z)),
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="The other products cancel.",
        dtypes=WHOLES,
    ),
    rule(
        "absolute_of_complex",
        match=lambda x, y: absolute(complex(x, y)),
        replace=hypot,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="The number need not be put together.",
        dtypes=PARTS,
    ),
    _real_of_real,
)
