import itertools
import operator

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tg.errors import LengthError, ShapeError
from tg.types import lengths, magnitudes, requirements
from tg.types.atoms import AxisLength, Derived, ScalarValue, words
from tg.types.lengths import (
    Length,
    add,
    floor_divide,
    is_natural,
    maximum,
    minimum,
    multiply,
    of_atom,
    product,
    remainder,
    same,
    subtract,
    whole_quotient,
)
from tg.types.requirements import Requirements, broadcast, is_not_one, require_same
from tg.types.substitution import atoms, evaluate, substitute

SERIALS = itertools.count()


class Owner:
    def __init__(self, name):
        self.name = name
        self.serial = next(SERIALS)


OWNERS = [Owner(name) for name in "nmkj"]
ATOMS = [AxisLength(OWNERS[0], -1), AxisLength(OWNERS[0], -2), AxisLength(OWNERS[1], -1), ScalarValue(OWNERS[3])]
N, M, K, V = map(of_atom, ATOMS)
FIXED = [AxisLength(Owner(name), -1, not_one=True) for name in "pqrs"]  # counted as different from 1
P, Q, R, S = map(of_atom, FIXED)


# A random expression: an int, the number of an atom, or an operation on two expressions. It is computed with lengths,
# which are then evaluated, and with Python ints at once.
RING = {"+": (add, operator.add), "-": (subtract, operator.sub), "*": (multiply, operator.mul)}
OTHERS = {
    "//": (floor_divide, lambda a, b: a // b if b else 0),
    "%": (remainder, lambda a, b: a % b if b else 0),
    "min": (minimum, min),
    "max": (maximum, max),
}


def expressions(operations):
    leaves = st.integers(-4, 9) | st.sampled_from(ATOMS)
    return st.recursive(leaves, lambda e: st.tuples(st.sampled_from(sorted(operations)), e, e), max_leaves=12)


ring_expressions = expressions(RING)
all_expressions = expressions(RING | OTHERS)
naturals = st.integers(0, 8)
values = st.tuples(naturals, naturals, naturals, st.integers(-8, 8)).map(lambda v: dict(zip(ATOMS, v, strict=True)))


def symbolic(e):
    if isinstance(e, tuple):
        name, a, b = e
        return (RING | OTHERS)[name][0](symbolic(a), symbolic(b))
    return e if isinstance(e, int) else of_atom(e)


def direct(e, at):
    if isinstance(e, tuple):
        name, a, b = e
        return (RING | OTHERS)[name][1](direct(a, at), direct(b, at))
    return e if isinstance(e, int) else at[e]


def divisors_are_positive(e, at):
    if not isinstance(e, tuple):
        return True
    name, a, b = e
    sound = divisors_are_positive(a, at) and divisors_are_positive(b, at)
    return sound and (name not in ("//", "%") or direct(b, at) > 0)


# --- the value of an expression ---------------------------------------------------------------------------------------


@given(all_expressions, values)
def test_a_length_evaluates_as_python_ints_do(e, at):
    assume(divisors_are_positive(e, at))
    assert evaluate(symbolic(e), at.get) == direct(e, at)


@given(ring_expressions, values)
def test_evaluation_at_numbers_gives_a_python_int(e, at):
    assert type(evaluate(symbolic(e), at.get)) is int


@given(all_expressions, values)
def test_substituting_some_atoms_and_then_the_rest_is_evaluating(e, at):
    assume(divisors_are_positive(e, at))
    first = {ATOMS[0]: at[ATOMS[0]], ATOMS[3]: at[ATOMS[3]]}
    assert evaluate(substitute(symbolic(e), first), at.get) == direct(e, at)


@given(all_expressions, values)
def test_a_length_that_is_said_to_be_natural_is_never_negative(e, at):
    assume(divisors_are_positive(e, at))
    if is_natural(symbolic(e)):
        assert direct(e, at) >= 0


@given(all_expressions, values)
def test_lengths_that_are_the_same_have_equal_values_and_hashes(e, at):
    a, b = symbolic(e), symbolic(e)
    assert same(a, b)
    assert hash(a) == hash(b)


# --- polynomials ------------------------------------------------------------------------------------------------------


@given(ring_expressions, ring_expressions, ring_expressions)
def test_polynomials_are_a_commutative_ring(e, f, g):
    a, b, c = symbolic(e), symbolic(f), symbolic(g)
    assert same(add(a, b), add(b, a))
    assert same(multiply(a, b), multiply(b, a))
    assert same(add(add(a, b), c), add(a, add(b, c)))
    assert same(multiply(multiply(a, b), c), multiply(a, multiply(b, c)))
    assert same(multiply(a, add(b, c)), add(multiply(a, b), multiply(a, c)))
    assert same(subtract(a, a), 0)
    assert same(multiply(a, 0), 0)
    assert same(multiply(a, 1), a)
    assert same(add(a, 0), a)


@given(ring_expressions, ring_expressions, values)
def test_polynomials_with_equal_values_everywhere_are_found_equal(e, f, at):
    a, b = symbolic(e), symbolic(f)
    difference = subtract(multiply(add(a, b), subtract(a, b)), subtract(multiply(a, a), multiply(b, b)))
    assert type(difference) is int
    assert difference == 0


@given(ring_expressions, st.integers(1, 6))
def test_dividing_a_multiple_is_exact(e, n):
    a = symbolic(e)
    assert same(floor_divide(multiply(a, n), n), a)
    assert same(remainder(multiply(a, n), n), 0)
    assert same(whole_quotient(multiply(a, multiply(N, M)), multiply(N, M)), a)


def test_the_lengths_of_two_axes_of_one_value_multiply_in_any_order():
    assert N * M == M * N
    assert hash(ATOMS[0]) != hash(ATOMS[1])  # although hash(-1) == hash(-2)
    assert (N // -1) * (N // -2) == (N // -2) * (N // -1)


def test_what_is_no_polynomial_becomes_an_atom():
    assert isinstance((N // 2).atom, Derived)
    assert isinstance((N % 2).atom, Derived)
    assert isinstance(minimum(N, M).atom, Derived)
    assert isinstance((5 // N).atom, Derived)
    assert (N + 1).atom is None
    assert N.atom is ATOMS[0]


def test_division_by_zero_is_zero_as_for_arrays():
    assert floor_divide(3, 0) == 0
    assert remainder(3, 0) == 0
    assert evaluate(3 // N, {ATOMS[0]: 0}.get) == 0
    assert evaluate(N % M, dict.fromkeys(ATOMS, 0).get) == 0


def test_min_and_max_are_decided_where_the_sign_of_the_difference_is_known():
    assert minimum(N, N + 1) is N
    assert maximum(N, N + M) == N + M
    assert maximum(0, N) is N
    assert minimum(0, N) == 0
    assert not same(maximum(0, V), V)  # the value of a scalar may be negative
    assert not same(maximum(1, N), N)


def test_a_max_with_a_natural_length_is_natural():
    assert is_natural(maximum(0, V))
    assert is_natural(maximum(N, V))
    assert not is_natural(minimum(N, V))
    assert not is_natural(V)
    assert not is_natural(N - 1)


def test_the_product_of_lengths_is_the_size():
    assert product(()) == 1
    assert product((2, N, 3)) == 6 * N
    assert product((0, N)) == 0


@given(all_expressions)
def test_the_atoms_of_a_length_are_basic(e):
    assert all(not isinstance(a, Derived) for a in atoms(symbolic(e)))


def test_an_int_and_none_have_no_atoms():
    assert list(atoms(3)) == list(atoms(None)) == []


# --- behaving as an int -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", [operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod])
def test_operators_take_ints_on_both_sides(operation):
    at = {ATOMS[0]: 5}.get
    assert evaluate(operation(N, 3), at) == operation(5, 3)
    assert evaluate(operation(13, N), at) == operation(13, 5)
    assert evaluate(-N, at) == -5


@pytest.mark.parametrize("other", ["a", None, {}])
def test_operators_refuse_what_is_no_number(other):
    with pytest.raises(TypeError):
        N + other
    with pytest.raises((TypeError, LengthError)):  # a string asks for its value
        other * N


@pytest.mark.parametrize(
    "ask", [int, bool, range, operator.index, lambda n: n < 3, lambda n: n == 3, lambda n: n != M, lambda n: [0] * n]
)
def test_what_is_not_known_before_the_program_runs_is_an_error_that_says_so(ask):
    with pytest.raises(LengthError, match="not known until the program runs"):
        ask(N)


def test_what_is_provable_is_answered():
    assert N + 1 - N == 1
    assert of_atom(AxisLength(OWNERS[0], -1)) == N
    assert N + 1 != N
    assert not N == N - 2  # noqa: SIM201 (the operator under test)
    assert N != "n"


def test_a_length_reads_as_the_polynomial_it_is():
    assert repr(N) == "n.shape[-1]"
    assert repr(2 * N - 3) == "2*n.shape[-1] - 3"
    assert repr(V // 2) == "(j // 2)"
    assert repr(maximum(V, 0)) == "max(j, 0)"


# --- agreement --------------------------------------------------------------------------------------------------------


@given(st.integers(0, 4), st.integers(0, 4))
def test_known_lengths_broadcast_as_numpy_does(a, b):
    try:
        expected = np.broadcast_shapes((a,), (b,))[0]
    except ValueError:
        with pytest.raises(ShapeError, match=f"add: axis -1: lengths do not broadcast: {a} and {b}"):
            broadcast(a, b, lambda: "add: axis -1")
    else:
        assert broadcast(a, b) == expected


def test_a_length_of_one_gives_way():
    assert broadcast(1, N) is N
    assert broadcast(N, 1) is N
    assert broadcast(N, N) is N


def test_a_length_that_may_be_one_gives_way_to_a_known_one_and_requires_nothing():
    with Requirements() as needs:
        assert broadcast(3, N) == 3
        assert broadcast(N, 3) == 3
    assert needs.found == []


def test_two_lengths_that_may_be_one_broadcast_to_an_atom_that_is_the_larger():
    with Requirements() as needs:
        found = broadcast(N, K)
    assert needs.found == []
    assert not is_not_one(found)
    for n, k in [(1, 4), (4, 1), (4, 4), (1, 1), (0, 1), (1, 0)]:
        assert evaluate(found, {ATOMS[0]: n, ATOMS[2]: k}.get) == np.broadcast_shapes((n,), (k,))[0]


def test_lengths_that_are_not_one_must_agree_to_broadcast():
    with Requirements() as needs:
        assert broadcast(P, Q, lambda: "add: axis -1") is P
        assert broadcast(P, 3) == 3
    assert [(a, b) for a, b, *_ in needs.found] == [(P, Q), (3, P)]
    assert needs.found[0][2] == "add: axis -1"


def test_what_is_not_one():
    assert is_not_one(0)
    assert not is_not_one(1)
    assert not is_not_one(N)
    assert is_not_one(P)
    assert is_not_one(P + Q)
    assert not is_not_one(P + N)
    assert is_not_one(V)  # a length that depends on data never broadcasts


def test_require_same_returns_the_more_precise_length():
    assert require_same(3, 3) == 3
    assert require_same(None, N) is N
    assert require_same(3, None) == 3
    assert require_same(N, 3) == 3
    assert require_same(3, N) == 3


@pytest.mark.parametrize(("a", "b"), [(3, 4), (N, N + 1), (2 * N + 3, 2 * N)])
def test_require_same_refuses_lengths_that_are_known_to_differ(a, b):
    with pytest.raises(ShapeError, match="lengths differ"):
        require_same(a, b)


# --- requirements -----------------------------------------------------------------------------------------------------


def test_a_requirement_is_recorded_once_whatever_the_order():
    with Requirements() as needs:
        require_same(P, Q, lambda: "first")
        require_same(Q, P, lambda: "second")
        require_same(P + 1, Q + 1)
    assert [what for _, _, what, _ in needs.found] == ["first"]


def test_what_follows_from_requirements_is_not_recorded_again():
    with Requirements() as needs:
        require_same(P, Q)
        require_same(Q, R)
        require_same(R, P)
        require_same(2 * P, R + Q)
    assert len(needs.found) == 2


def test_a_requirement_on_an_int_makes_the_atom_that_int():
    with Requirements() as needs:
        require_same(P, 3)
        assert needs.resolve(2 * P + 1) == 7
        assert broadcast(needs.resolve(P), 1) == 3


def test_a_requirement_that_contradicts_another_stays_a_requirement():
    with Requirements() as needs:
        require_same(P, 3)
        require_same(P, 4)
    assert len(needs.found) == 2


def test_an_atom_is_never_replaced_by_an_expression_that_holds_it():
    with Requirements() as needs:
        require_same(P, maximum(P, Q))
        require_same(Q, P * Q)
        assert isinstance(needs.resolve(P * Q), Length)


def test_inner_requirements_do_not_reach_the_outer_ones():
    with Requirements() as outer:
        with Requirements() as inner:
            require_same(P, Q)
        require_same(P, R)
    assert [(a, b) for a, b, *_ in inner.found] == [(P, Q)]
    assert [(a, b) for a, b, *_ in outer.found] == [(P, R)]


def test_without_requirements_in_force_nothing_is_recorded():
    assert require_same(P, Q) is Q
    assert getattr(requirements._LOCAL, "sink", None) is None


@given(st.permutations(range(12)))
@example(list(range(11, -1, -1)))
@example(list(range(12)))
def test_a_chain_of_equalities_of_any_length_resolves_to_one(order):
    chain = [of_atom(AxisLength(Owner(f"c{k}"), -1, not_one=True)) for k in range(13)]
    with Requirements() as needs:
        for k in order:
            require_same(chain[k], chain[k + 1])
        found = [needs.resolve(n) for n in chain]
    assert all(same(found[0], n) for n in found)


# --- what is found equal, and what is found natural -------------------------------------------------------------------


def test_multiples_are_divided_exactly_and_what_is_left_is_reduced():
    assert same((3 * N + 5) // 2, N + 2 + (N + 1) // 2)
    assert same((2 * N + 1) // 2, N)
    assert same((3 * N - 1) % 2, (N + 1) % 2)
    assert same((N // 2) // 3, N // 6)
    assert (N % 3) // 4 == 0
    assert same((N % 6) % 3, N % 3)
    assert same((N % 3) % 3, N % 3)


def test_quotient_and_remainder_make_the_whole():
    assert same(N // 3 * 3 + N % 3, N)
    assert same(2 * ((N + 4) // 3 * 3) + 2 * ((N + 4) % 3), 2 * N + 8)
    assert not same(N // M * M + N % M, N)  # M may be 0


def test_a_polynomial_is_divided_by_another_that_divides_it():
    assert same(floor_divide((N + 1) * M, N + 1), M)
    assert same(whole_quotient((N + M) * (N - M), N + M), N - M)
    assert isinstance(floor_divide(N * M, N).atom, Derived)  # N may be 0
    assert isinstance(((N + 1) // (M + 1)).atom, Derived)
    assert remainder((N + 1) * M, N + 1) == 0


def test_what_both_sides_have_stands_outside_of_min_and_max():
    assert same(minimum(N + 1, M + 1), minimum(N, M) + 1)
    assert same(maximum(N + K, M + K), maximum(N, M) + K)
    assert same(maximum(2 + N, M + 3), maximum(N, M + 1) + 2)


def test_parts_of_a_length_cut_anywhere_are_natural_and_add_up():
    for cut in (minimum(3, N), maximum(0, N - 2), maximum(0, minimum(V, N)), minimum(maximum(V, 0), N)):
        assert is_natural(cut)
        assert is_natural(N - cut)
        assert same(cut + maximum(0, N - cut), N)
        assert same(minimum(cut, N), cut)


def test_the_least_and_the_largest_absorb_one_another():
    assert same(minimum(minimum(N, M), N), minimum(N, M))
    assert same(maximum(minimum(N, M), N), N)
    assert same(minimum(maximum(N, M), M), M)


def test_a_largest_is_a_sum_less_the_smallest_and_is_written_as_one():
    assert same(maximum(0, N - 1), N - minimum(N, 1))
    assert same(maximum(N, M) + minimum(N, M), N + M)
    assert repr(maximum(0, N - 1)) == "max(0, n.shape[-1] - 1)"
    assert repr(2 * maximum(0, N - 1) + 1) == "1 + 2*max(0, n.shape[-1] - 1)"
    assert repr(maximum(K, N)) == "max(m.shape[-1], n.shape[-1])"


def test_the_least_of_several_leaves_out_what_is_never_less():
    first, last = minimum(1, N), maximum(0, N - 1)
    assert same(maximum(0, last - first), maximum(0, N - 2))
    assert same(minimum(N, 3 * minimum(2, N)), minimum(N, 6))
    assert same(minimum(minimum(N, M), minimum(M, N)), minimum(N, M))
    assert same(minimum(minimum(N, 3), 5), minimum(N, 3))


def test_parts_of_a_division_are_natural():
    assert is_natural(N - N // 2)
    assert is_natural(N - 2 * (N // 2))
    assert is_natural(N - N % 3)
    assert is_natural(2 - N % 3)
    assert not is_natural(N - 2 * (N // M))
    assert not is_natural(1 - N % 3)


def test_looking_for_a_sign_comes_to_an_end():
    total = 0
    for k in range(20):
        total = total + minimum(maximum(V + k, N - k), M + 2 * k) - maximum(minimum(V - k, M), K + k)
    assert not is_natural(total)


# --- operations within operations -------------------------------------------------------------------------------------


def doubled(n, m, times):
    """A length in which what the step before made stands twice, so many times over."""
    for k in range(times):
        n = (n * n + m) // (k + 7)
    return n


def test_what_stands_in_a_length_many_times_is_looked_at_once():
    n = doubled(N, M, 60)  # 2**60 words
    assert words(n) > 2**60
    numbers = {ATOMS[0]: 5, ATOMS[1]: 3}
    assert evaluate(n, numbers.get) == doubled(5, 3, 60)
    assert set(atoms(n)) == {ATOMS[0], ATOMS[1]}
    assert substitute(n, {ATOMS[3]: 1}) is n
    assert substitute(n, numbers) == doubled(5, 3, 60)
    assert not magnitudes.is_exact(n)
    assert magnitudes.magnitude(n) == np.inf
    assert len(repr(n)) < 2_000


def test_a_length_of_many_words_is_no_answer_to_what_an_atom_is_equal_to():
    later = of_atom(AxisLength(Owner("later"), -1))
    latest = of_atom(AxisLength(Owner("latest"), -1))
    with Requirements() as needs:
        require_same(later, doubled(N, M, 3))
        require_same(latest, doubled(N, M, 10))
        assert same(needs.resolve(later + 1), doubled(N, M, 3) + 1)
        assert same(needs.resolve(latest + 1), latest + 1)
    assert lengths.is_large(doubled(N, M, 10))


def test_what_broadcasts_stands_once_in_whatever_order():
    found = broadcast(broadcast(N, M), broadcast(M, K))
    assert same(found, broadcast(broadcast(K, N), broadcast(M, N)))
    assert not same(found, broadcast(N, M))
    assert same(broadcast(found, broadcast(K, M)), found)
    assert same(broadcast(M, found), found)
    assert words(found) == 3
    assert evaluate(found, {ATOMS[0]: 1, ATOMS[1]: 5, ATOMS[2]: 1}.get) == 5
