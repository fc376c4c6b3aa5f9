"""Rules of complex numbers: parts of what was made of parts, signs and conjugates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import absolute, add, divide, hypot, multiply, square, subtract
from tg.ops.elementwise.cast import Cast, cast_variable
from tg.ops.elementwise.complex import complex, conjugate, imag, real
from tg.rewrite.phases import CANONICALIZE, EXACT, REASSOCIATES, SIGNED_ZERO
from tg.rewrite.rule import node_rule, rule
from tg.types.dtypes import COMPLEX, is_complex

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable

WHOLES: Final = frozenset(COMPLEX)
PARTS: Final = frozenset(("float32", "float64"))


def _real_operand(z: Variable) -> Variable | None:
    """The real number that a converted one was made of."""
    (x,) = z.inputs
    return None if is_complex(x.type.dtype) else x


def _real_of_real(node: Apply, outputs: Any) -> Variable | None:
    x = _real_operand(node.inputs[0])
    return None if x is None else cast_variable(x, outputs[0].type.dtype)


def _imag_of_real(node: Apply, outputs: Any) -> int | None:
    return None if _real_operand(node.inputs[0]) is None else 0


def _absolute_of_real(node: Apply, outputs: Any) -> Variable | None:
    (z,) = node.inputs
    x = _real_operand(z) if is_complex(z.type.dtype) else None
    return None if x is None else absolute(cast_variable(x, outputs[0].type.dtype))


def _conjugate_of_real(node: Apply, outputs: Any) -> Variable | None:
    (z,) = node.inputs
    return None if _real_operand(z) is None else z


def _from_zero(node: Apply, outputs: Any) -> Variable | None:
    """complex(x, 0) as a conversion."""
    x, y = node.inputs
    if not isinstance(y, Constant) or y.data.any() or np.signbit(y.data).any():
        return None
    return cast_variable(x, outputs[0].type.dtype)


def _of_conjugates(fn: Any) -> Any:
    return lambda x, y: fn(conjugate(x), conjugate(y))


def _conjugated(fn: Any) -> Any:
    return lambda x, y: conjugate(fn(x, y))


EXACTLY: Final[tuple[tuple[str, Any, Any, frozenset[str], str], ...]] = (
    (
        "conjugate_twice",
        lambda z: conjugate(conjugate(z)),
        lambda z: z,
        WHOLES,
        "The sign of the imaginary part changes twice.",
    ),
    ("real_of_conjugate", lambda z: real(conjugate(z)), real, WHOLES, "Both have one real part."),
    (
        "imag_of_conjugate",
        lambda z: imag(conjugate(z)),
        lambda z: -imag(z),
        WHOLES,
        "The conjugate need not be stored.",
    ),
    ("absolute_of_conjugate", lambda z: absolute(conjugate(z)), absolute, WHOLES, "Both have one size."),
    ("absolute_of_negative_complex", lambda z: absolute(-z), absolute, WHOLES, "Both have one size."),
    ("real_of_negative", lambda z: real(-z), lambda z: -real(z), WHOLES, "One part changes its sign, not both."),
    ("imag_of_negative", lambda z: imag(-z), lambda z: -imag(z), WHOLES, "One part changes its sign, not both."),
    ("conjugate_of_negative", lambda z: conjugate(-z), lambda z: -conjugate(z), WHOLES, "Signs move outwards."),
    ("real_of_complex", lambda x, y: real(complex(x, y)), lambda x, y: x, PARTS, "The part was given."),
    ("imag_of_complex", lambda x, y: imag(complex(x, y)), lambda x, y: y, PARTS, "The part was given."),
    ("complex_of_parts", lambda z: complex(real(z), imag(z)), lambda z: z, WHOLES, "The number was there."),
    (
        "conjugate_of_complex",
        lambda x, y: conjugate(complex(x, y)),
        lambda x, y: complex(x, -y),
        PARTS,
        "The sign changes before the parts are put together.",
    ),
    (
        "complex_of_conjugated_parts",
        lambda z: complex(real(z), -imag(z)),
        conjugate,
        WHOLES,
        "One op in place of four.",
    ),
)

RULES = (
    *(
        rule(name, match=match, replace=replace, phase=CANONICALIZE, kind=EXACT, why=why, dtypes=dtypes)
        for name, match, replace, dtypes, why in EXACTLY
    ),
    *(
        rule(
            f"{fn.name}_of_conjugates",
            match=_of_conjugates(fn),
            replace=_conjugated(fn),
            phase=CANONICALIZE,
            kind=SIGNED_ZERO,
            why="One conjugate in place of two.",
            dtypes=WHOLES,
        )
        for fn in (add, subtract, multiply, divide)
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
    node_rule(
        "real_of_real",
        keys=(real,),
        apply=_real_of_real,
        phase=CANONICALIZE,
        kind=EXACT,
        why="A number that was real is its real part.",
        example=lambda x: real(Cast("complex128")(x)),
        below=(Cast,),
    ),
    node_rule(
        "imag_of_real",
        keys=(imag,),
        apply=_imag_of_real,
        phase=CANONICALIZE,
        kind=EXACT,
        why="A number that was real has no imaginary part.",
        example=lambda x: imag(Cast("complex128")(x)),
        below=(Cast,),
    ),
    node_rule(
        "absolute_of_real",
        keys=(absolute,),
        apply=_absolute_of_real,
        phase=CANONICALIZE,
        kind=EXACT,
        why="The size of a number that was real needs no root.",
        example=lambda x: absolute(Cast("complex128")(x)),
        below=(Cast,),
    ),
    node_rule(
        "conjugate_of_real",
        keys=(conjugate,),
        apply=_conjugate_of_real,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="A number that was real is its own conjugate, up to the sign of the imaginary 0.",
        example=lambda x: conjugate(Cast("complex128")(x)),
        below=(Cast,),
    ),
    node_rule(
        "complex_without_imaginary_part",
        keys=(complex,),
        apply=_from_zero,
        phase=CANONICALIZE,
        kind=EXACT,
        why="A conversion does so, and is known to be real.",
        example=lambda x: complex(Cast("float64")(x), Constant(np.zeros(()))),
        below=(Constant,),
    ),
)
