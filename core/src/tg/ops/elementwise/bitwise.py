"""Operations on the bits of integers; on bool they are the logical ones."""

from __future__ import annotations

import numpy as np

from tg.ops.elementwise.facts import of_and, of_or, of_right_shift, of_xor
from tg.ops.elementwise.record import binary, unary
from tg.ops.family import Family

bitwise_and = binary(
    "bitwise_and",
    np.bitwise_and,
    np.bitwise_and,
    "The bits set in x and y.",
    d=(None, None),
    commutative="exact",
    accuracy=0,
    cost=1,
    facts=of_and,
)
bitwise_or = binary(
    "bitwise_or",
    np.bitwise_or,
    np.bitwise_or,
    "The bits set in x or y.",
    d=(None, None),
    commutative="exact",
    accuracy=0,
    cost=1,
    facts=of_or,
)
bitwise_xor = binary(
    "bitwise_xor",
    np.bitwise_xor,
    np.bitwise_xor,
    "The bits set in one of x and y.",
    d=(None, None),
    commutative="exact",
    accuracy=0,
    cost=1,
    facts=of_xor,
)
left_shift = binary(
    "left_shift", np.left_shift, np.left_shift,
    "The bits of x moved up by y places; none are left where y is negative or not below the width of x.",
    d=(None, None), accuracy=0, cost=1.1,
)  # fmt: skip
right_shift = binary(
    "right_shift", np.right_shift, np.right_shift,
    "The bits of x moved down by y places, the sign filling in; a y that is negative or not below the width of x "
    "leaves the sign only.",
    d=(None, None), accuracy=0, cost=1.1,
    facts=of_right_shift,
)  # fmt: skip
bitwise_invert = unary(
    "bitwise_invert", np.invert, np.invert, "The bits not set in x.", d=(None,), accuracy=0, cost=0.7
)

FAMILY = Family(
    "elementwise/bitwise",
    (bitwise_and, bitwise_or, bitwise_xor, bitwise_invert, left_shift, right_shift),
    aliases=(
        ("bitwise_not", bitwise_invert),
        ("invert", bitwise_invert),
        ("bitwise_left_shift", left_shift),
        ("bitwise_right_shift", right_shift),
    ),
)
