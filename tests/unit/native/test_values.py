"""Where values lie: strides in C order, and axes that are gone over as one, of lengths that are known at run time."""

from tg.types.atoms import AxisLength
from tg.types.lengths import multiply, of_atom, times
from tg.types.substitution import evaluate
from tg_native.plan.values import TERMS, Array, collapsed, count, row_major

OWNER = object()
LENGTHS = tuple(of_atom(AxisLength(OWNER, k - 24)) - 1 for k in range(24))


def value(length):
    """What a length is where axis k has k % 3 + 2 elements."""
    return evaluate(length, lambda atom: (atom.axis + 24) % 3 + 2 if type(atom) is AxisLength else None)


def test_strides_have_few_terms_on_any_number_of_axes():
    strides = row_major(LENGTHS)
    assert all(type(s) is int or len(s.terms) <= TERMS for s in strides)
    step = 1
    for n, s in zip(reversed(LENGTHS), reversed(strides), strict=True):
        assert value(s) == step
        step *= value(n)
    assert value(count(LENGTHS)) == step


def test_axes_of_many_terms_that_lie_in_order_are_one():
    strides = row_major(LENGTHS)
    space = collapsed(LENGTHS, [strides, strides])
    assert space.strides == ((1,), (1,))
    assert value(space.shape[0]) == value(count(LENGTHS))
    assert Array("float64", "x", LENGTHS, strides).is_contiguous
    pairs = collapsed((*LENGTHS, 2), [(*(multiply(2, s) for s in strides), 1)])
    assert pairs.strides == ((1,),)


def test_products_that_are_kept_are_equal_where_their_factors_are():
    a, b = LENGTHS[0] * LENGTHS[1], LENGTHS[2] * LENGTHS[3]
    kept = times(a, b, TERMS)
    assert kept.atom is not None
    assert kept == times(b, a, TERMS)
    assert times(2 * a, 3 * b, TERMS) == 6 * kept
    assert times(a, 3, TERMS) == 3 * a
    assert value(kept) == value(a) * value(b)
