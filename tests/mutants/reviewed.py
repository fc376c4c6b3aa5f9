"""Mutants that mean the same as what they are mutants of, each with the reason: read one by one."""

from __future__ import annotations

ORDERS = (
    "No integer dtype has so many bits that a bit or an eighth fewer puts it on the other side of another's digits."
)
ALIKE = "At the place where one formula follows the other both have one value, but for its last digit."
BOUND = "It keeps finite what is not chosen beyond the place where the formulas follow one another, as the other does."

BY_ONE = "A quotient by 1 is the number itself, a remainder 0: neither is an atom."
SIGN_OF_EXTREME = (
    "Which of two zeros an extreme is each backend says; the reference goes on from piece to piece as in one array."
)
EXCHANGED = "It is the equation with x and y exchanged, of a function that does not tell them apart."
SIGN_OF_POWER = "Of the power of what is written is asked only whether it is above 0."
NEVER_ZERO = "Nothing that is 0, or stands there no times, comes so far."
FRACTIONS = "A fraction by 1 is equal to the integer, and takes longer."
USES = "It is asked whether there are uses; whether there is one alone only of what a squeeze uses as well."
NEEDED_WHOLE = "What is needed whole is not pushed either way; of what it is a slice the next run of the pass asks."

EQUIVALENT: dict[str, str] = {
    "extreme_of_pieces: signed_zero as exact": SIGN_OF_EXTREME,
    "extreme_of_reduction: signed_zero as exact": SIGN_OF_EXTREME,
    "extreme_of_repeated: signed_zero as exact": SIGN_OF_EXTREME,
    "extreme_of_reshape: signed_zero as exact": SIGN_OF_EXTREME,
    "and_of_and: match, logical_and: x as x1": EXCHANGED,
    "or_of_or: match, logical_or: x as x1": EXCHANGED,
    "triangles._numbers: abs(k) < LARGE as LtE": "The bound is far from where anything wraps.",
    "hypot_of_negative: replace, hypot: operands swapped": "A length has no order of its sides.",
    "hypot_with_negative: replace, hypot: operands swapped": "A length has no order of its sides.",
    "bounds._lower_bounds: 0 as 1 in atom.rhs > 0": BY_ONE,
    "bounds._lower_bounds: 0 as 1 in atom.rhs > 0 (2)": BY_ONE,
    "bounds._lower_bounds: factor > 0 as GtE": NEVER_ZERO,
    "bounds._product: c > 0 as GtE": "Times 0 both ends are 0.",
    "bounds._remainder: low is None or high is None or (not at_most(1, low)) without low is None": (
        "What is not known counts as 0, of which nobody knows that it is at least 1."
    ),
    "reads._Reads.demand: if found.is_all: never": NEEDED_WHOLE,
    "reads.Read.is_all: not self.axes without its sign": NEEDED_WHOLE,
    "reads.Read.is_all: return not self.axes and all((w is None for w in self.windows)): None in its place": (
        NEEDED_WHOLE
    ),
    "reads._Reads.demand: 1 as 2 in self.add_use(v, 1)": USES,
    "reads._Reads.push: 1 as 2 in self.add_use(v, 1)": USES,
    "bounds.interval: 64 as 63 in limits.bits < 64": "No dtype has 63 bits.",
    "reads._Reads.visit: uses and kind is Squeeze and self.is_single_slice(node.inputs[0]) without uses": (
        "What is read of what nobody needs is swept, and not counted when the pass runs again."
    ),
    "windows._are_apart: lengths.subtract(a.start, b.start) with operands swapped": (
        "What is no multiple of a number is none with the other sign."
    ),
    "windows._extremes: factor > 0 as GtE": NEVER_ZERO,
    "through._part: 0 as 1 in inside[0] - begin if inside else 0": "What has no size is read nowhere.",
    "movements._reshape_of_broadcast: any(repeated) by all (2)": (
        "Where some are and some are not it has ended before; where there are none all lengths are 1."
    ),
    "joining._over_pieces: 0 as 1 in joined[0]": "All are compared with it, whichever it is.",
    "joining._over_pieces: v.op == first.op and _is_cut_as(v, first) without v.op == first.op": (
        "Pieces of the same shapes make arrays of different shapes along different axes; where these meet, what would"
        " be joined of the results is of another type than what it replaces, and is not taken."
    ),
    "powers.raised: c is None or exact(c) != n without c is None": "What is no constant is no number, and so not n.",
    "powers._power_of_root: n > 0 as GtE": "The power 0 of all is 1.",
    "powers._small_power: n > 0 as GtE": "The exponent 0 is left to others before.",
    "product_pass._whole_power: found[1] <= 0 as Lt": "The power 0 of all is 1, and a rule of its own.",
    "product_pass.Product._take: 0 as 1 in n < 0": NEVER_ZERO,
    "product_pass.Stripped._leaves_out: n > 0 as LtE": "Both sides begin with the same counts.",
    "product_pass._smaller: scale <= 1 as Lt": "A value times 1 is the value, wherever it stands.",
    "scalars._exact: int(value) if value.is_integer() else Fraction(value): always the second": FRACTIONS,
    "scalars.Scale.value: self.n if self.d == 1 else Fraction(self.n, self.d): always the second": FRACTIONS,
    "scalars.Scale.value: 1 as 0 in self.d == 1": FRACTIONS,
    "scalars.Scale.to_power: 0 as 1 in n < 0": NEVER_ZERO,
    "scalars._exponent: guess > 0 as GtE": "A shift by nothing is the same to either side.",
    "scalars.is_in_range: 1 as 2 in _format(dtype).largest + 1": (
        "A quarter of one more is no whole number more: the dtypes' ranges are powers of two."
    ),
    "scalars._rounded: shift > 0 as GtE": "A shift by nothing is the same to either side.",
    "scalars._rounded: n > 0 as GtE": "0 has no sign as an integer.",
    "sum_pass.Term.take: factor.numerator < 0 as LtE": NEVER_ZERO,
    "sum_pass._by_factor: factor < 0 as LtE": NEVER_ZERO,
    "sum_pass.Sum._walk: stack and (not self.given_up) without not self.given_up": (
        "What is walked on with has been given up; it takes longer."
    ),
    "sum_pass.Sum.largest: 1 as 0 in found.get(one[0], 1)": "Only factors above 1 are compared with it.",
    "sum_pass.Plan.keeps_apart: all((below for _, below in terms)) by any": (
        "A group of both signs is the only large one, and stands in front whether the order is changed or not."
    ),
    "sum_pass.Plan._large: found.largest() if sizes is None else sizes: always the first": (
        "The same is found again, and takes longer."
    ),
    "sum_pass.Plan.cost: 0 as 1 in len(self.groups) - 1 if self.groups else 0": (
        "Where no terms are left some have met, and one operation less need not be saved."
    ),
    "sum_pass._rebuilt: if found is not None and (not found.can_distribute): never": (
        "Where no factor is multiplied into a sum what comes out is not looked at; it takes longer."
    ),
    "sum_pass.Plan._summed: self.value > 0 as GtE": "A constant that is 0 is not written.",
    "trees.Inside.__init__: if inner or factored: always": (
        "A tree of one node has no two things that meet, or one form by rules of single nodes; it takes longer."
    ),
    "sum_pass.Term.take: 0 as 1 in divisor.numerator < 0": "No divisor is 0.",
    "sum_pass.Plan._constant: np.zeros((), numpy_dtype(self.dtype)) by ones": (
        "What is written with it is dropped, for the attempt has failed."
    ),
    "terms._reused: not free or None not in places without not free": "Nothing is taken of none; it takes longer.",
    "terms._reused: k not in kept and n == 1 without n == 1": (
        "An axis that is dropped is of length 1, where no type says so by a check, which makes it one in all types."
    ),
    "outward.applied: op.fn(*operands) if type(op) is Elementwise else op(*operands): always the second": (
        "Operands of one rank, or of none, and of the dtypes of a loop are what the function makes the op of."
    ),
    "outward._through_expand: sorted(axes) without sorted": (
        "CPython gives so few negative numbers of a set in ascending order, which nothing promises."
    ),
    "axes._cuts: 1 as 0 in k + 1": "An axis of length 1 is an axis below or none: either holds the same elements.",
    "axes._products: 1 as 2 in len(shape) + 1": "The whole shape stands there twice; nobody looks so far.",
    "factors._beside: len(a.factors) + len(b.factors) as Sub": (
        "It says how many factors are looked at, and more are not wrong: reading ends at as many besides."
    ),
    "factors._is_safe: number >= 1 as Gt": "1 is in range, and a factor of 1 goes by a rule of its own.",
    "factors._pays: 1 as 0 in m != 1": "It says what is less work, not what is right.",
    "axes.without: g > k as GtE": "Nobody asks where an axis stands that is gone.",
    "factors._is_safe: False as True in return False (2)": (
        "NaN and infinities leave a sum only in a mode that may hide NaN, and those that they leave make no others."
    ),
    "factors._of_factor: 1 as 2 in _unless_empty(right, z, of_x, 1)": "The sum of nothing, 0, is divided by it.",
    "axes._single: Squeeze(tuple((without(k, rest) for k in single)))(y) if single else y: always the first": (
        "A squeeze of no axes gives what it is given."
    ),
    "factors._in_turn: 1 as 2 in Written(made, 1)": SIGN_OF_POWER,
    "factors._in_turn: 1 as 2 in -1": SIGN_OF_POWER,
    "reading._read_add: 1 as 2 in -1 (2)": SIGN_OF_POWER,
    "reading._read_function: 1 as 2 in Written(v, 1)": SIGN_OF_POWER,
    "reading._repeated: n > 0 as GtE": NEVER_ZERO,
    "cast._bits: 8 as 7 in numpy_dtype(dtype).itemsize * 8": ORDERS,
    "cast._bits: 1 as 2 in 0 if is_unsigned(dtype) else 1": ORDERS,
    "log1mexp_from_log1p: replace, where: log1p: negative: exp: minimum: -0.5 as 0.5": (
        "Where the bounded formula is chosen x is below both bounds, and it is not looked at elsewhere."
    ),
    "logarithms._log1p_of_minus_exp: greater(x, -LN2) by greater_equal": ALIKE,
    "log1mexp_from_log1p: replace, where: greater as greater_equal": ALIKE,
    "log1mexp_from_log1p: replace, where: add: log: expm1: minimum: 1 as 2": BOUND,
    "log_of_expm1: replace, where: greater as greater_equal": ALIKE,
    "log_of_expm1: replace, where: greater: 1 as 2": ALIKE,
    "log_of_expm1: replace, where: log: expm1: minimum: 2 as 3": BOUND,
    "log_of_expm1: replace, where: add: log1p: negative: exp: negative: maximum: 0.5 as -0.5": (
        "Where the bounded formula is chosen x is above both bounds, and it is not looked at elsewhere."
    ),
    "logaddexp_from_maximum: match, add: softplus: negative: absolute: subtract: operands swapped": EXCHANGED,
    "zeros._ends_of_operands: inputs[1].data > 0 as GtE": "An infinity times 0 is NaN, and no gate is closed by it.",
    "logarithms._log1p_of_minus_exp: 1 as 2 in minimum(-x, 1)": BOUND,
    "logarithms._log1p_of_minus_exp: -0.5 without its sign": (
        "Where the bounded formula is chosen x is below both bounds, and it is not looked at elsewhere."
    ),
    "logarithms._log_of_expm1: greater(x, 1) by greater_equal": ALIKE,
    "logarithms._log_of_expm1: 1 as 2 in greater(x, 1)": ALIKE,
    "logarithms._log_of_expm1: 2 as 3 in minimum(x, 2)": BOUND,
    "logarithms._log_of_expm1: 2 as 1 in minimum(x, 2)": BOUND,
    "logarithms._log_of_power: 0 as 1 in value < 0": "No number between 0 and 1 is odd.",
    "logarithms._log_of_power: value < 0 as LtE": NEVER_ZERO,
    "meetings._exp_and_expm1: 1 as 2 in -1": "Of the sign of a product is asked only whether it is above 0.",
    "meetings._place: stage is None or _may_close(moved, [f for f in behind if first.stage < f.stage <= last.stage])"
    " without stage is None": "What has no stage has that of neither, and no place.",
    "partial.grows: cancelled <= q as Lt": "The product of what cancels is 1, which is made in any case.",
    "products._meeting_factors: JOINED[node.op](*reversed(parts)) or product_of(y)"
    " without JOINED[node.op](*reversed(parts))": (
        "Reading the product anew finds the factors that its operands have, one level less deep, and takes longer."
    ),
}

MOVED = (
    "Products in another order overflow elsewhere, where an infinity may meet a 0 or another, and add up factors of an"
    " infinity before they meet it: the class promises nothing else of these."
)

OVERFLOWING: dict[str, str] = {  # rewrites that are held to what they promise of finite numbers far from overflow
    "matmul_in_order": MOVED,
    "matmul_of_repeated": MOVED,
    "sum_of_matmul": MOVED,
}
