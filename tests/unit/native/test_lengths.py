"""Lengths in the function of a graph, written in Python with the arithmetic of int64, against Python's integers."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tg.graph.frozen import ValueSlot
from tg.types import lengths
from tg.types.atoms import AxisLength, ScalarValue
from tg.types.lengths import LONGEST, Length, of_atom
from tg.types.substitution import evaluate
from tg_native.graphs.failure import Failure
from tg_native.graphs.lengths import Lengths
from tg_native.plan.values import Scalar

COUNT = 3  # arrays of one axis; behind them as many scalars
AXES = [of_atom(AxisLength(ValueSlot(k), -1)) for k in range(COUNT)]
SCALARS = [of_atom(ScalarValue(ValueSlot(COUNT + k))) for k in range(COUNT)]


def wrapped(n):
    """What int64 keeps of a number."""
    return (n + 2**63) % 2**64 - 2**63


def floor(a, b):
    return wrapped(a // b) if b else 0


SCOPE = {
    "wrapped": wrapped,
    "floor": floor,
    "remainder": lambda a, b: wrapped(a - b * floor(a, b)) if b else 0,
    "near": lambda n, rounded: abs(n) <= LONGEST and abs(rounded - float(n)) < 2**62,
}
FORMS = {
    "+": "wrapped({} + {})",
    "*": "wrapped({} * {})",
    "//": "floor({}, {})",
    "%": "remainder({}, {})",
    "min": "min({}, {})",
    "max": "max({}, {})",
    "broadcast": "({1} if {0} == 1 else {0})",
    "==": "({} == {})",
    ">=": "({} >= {})",
    "is a length": f"({{}} <= {LONGEST})",
    "is near": "near({}, {})",
    "float": "float({})",
    "float +": "({} + {})",
    "float *": "({} * {})",
}


class PythonLengths(Lengths):
    """Lengths in a function of Python that returns the code of a failure, else 0 and a length."""

    def __init__(self):
        super().__init__()
        self.values = {COUNT + k: Scalar("int64", f"s{k}") for k in range(COUNT)}
        for k, n in enumerate(AXES):
            self.give_lengths([n], k, [f"a{k}"])
        self.lines = []

    def expression(self, word, *operands):
        return FORMS[word].format(*operands)

    def literal(self, value, dtype):
        return repr(float(value) if dtype == "float64" else wrapped(value))

    def number(self, scalar):
        return scalar.text

    def named_length(self, text, count):
        self.lines.append(f"n{count} = {text}")
        return f"n{count}"

    def leave_unless(self, condition, code):
        self.lines.append(f"if not {condition}: return {code}, None")

    def leave_if_uncounted(self, item, lengths, *, empty_only):
        raise NotImplementedError

    def run(self, result, numbers):
        names = [*(f"a{k}" for k in range(COUNT)), *(f"s{k}" for k in range(COUNT))]
        body = "\n".join(f"    {line}" for line in (*self.lines, f"return 0, {result}"))
        scope = dict(SCOPE)
        exec(f"def call({', '.join(names)}):\n{body}", scope)
        return scope["call"](*numbers)


def exact(length, numbers):
    """The length by Python's integers."""

    def own(atom):
        if type(atom) is AxisLength:
            return numbers[atom.owner.number]
        return numbers[atom.owner.number] if type(atom) is ScalarValue else None

    return evaluate(length, own)


def parts(length):
    """The polynomials in a length, itself among them."""
    found, stack = [], [length]
    while stack:
        top = stack.pop()
        found.append(top)
        if type(top) is Length:
            stack += [side for m in top.terms for a in m for side in (getattr(a, "lhs", 0), getattr(a, "rhs", 0))]
    return found


def combined(sides):
    words = (lengths.add, lengths.subtract, lengths.multiply, lengths.minimum, lengths.maximum)
    divided = st.tuples(st.sampled_from([lengths.floor_divide, lengths.remainder]), sides, st.integers(1, 9))
    return st.one_of(st.tuples(st.sampled_from(words), sides, sides), divided).map(lambda x: x[0](*x[1:]))


LEAVES = st.one_of(st.sampled_from([*AXES, *SCALARS]), st.integers(-7, 7), st.sampled_from([2**31, -(2**40)]))


def has_numbers_of_int64(length):
    """Whether no number in it is one that a program cannot have."""
    numbers = [n for part in parts(length) for n in (part.terms.values() if type(part) is Length else (part,))]
    return type(length) is Length and all(abs(n) < LONGEST for n in numbers)


LENGTHS = st.recursive(LEAVES, combined, max_leaves=8).filter(has_numbers_of_int64)
HUGE = st.one_of(st.integers(0, 9), st.integers(0, 2**48))
ANY = st.one_of(st.integers(-9, 9), st.integers(-(2**63), 2**63 - 1))
NUMBERS = st.tuples(*[HUGE] * COUNT, *[ANY] * COUNT)


@given(LENGTHS, NUMBERS)
def test_a_length_is_what_int64_makes_of_it(length, numbers):
    small = [wrapped(n) % 1000 for n in numbers]
    written = PythonLengths()
    assert written.run(written.length(length), small) == (0, wrapped(exact(length, small)))


@settings(max_examples=400)
@given(LENGTHS, NUMBERS)
@example(AXES[0] * AXES[1] * AXES[2], (2**48, 2**48, 2**48, 0, 0, 0))
@example(SCALARS[0] * SCALARS[1], (0, 0, 0, 2**32, 2**32, 0))
@example(SCALARS[0] + 1, (0, 0, 0, 2**63 - 1, 0, 0))
@example(lengths.minimum(AXES[0], 2**80), (1, 0, 0, 0, 0, 0))
@example(lengths.minimum(AXES[0] + AXES[1], AXES[0] + 2**80), (1, 2, 0, 0, 0, 0))
@example((SCALARS[0] * SCALARS[1]) // 7, (0, 0, 0, 2**40, 2**40, 0))
def test_no_function_goes_on_with_what_is_no_length(length, numbers):
    written = PythonLengths()
    written.natural(length)
    code, found = written.run(written.length(length), numbers)
    true = exact(length, numbers)
    if code == 0:
        assert found == true
        assert 0 <= true <= LONGEST
    else:
        assert code == Failure.NEGATIVE
        assert true < 0 or any(abs(exact(part, numbers)) >= LONGEST for part in parts(length))


@given(st.sampled_from(AXES + SCALARS), st.sampled_from(AXES + SCALARS), NUMBERS)
def test_lengths_that_must_be_equal_are_compared_once(a, b, numbers):
    written = PythonLengths()
    written.same(a, b)
    written.same(a, b)
    assert sum("==" in line for line in written.lines) == (a is not b)
    code, _ = written.run("None", numbers)
    assert (code == 0) is (exact(a, numbers) == exact(b, numbers))


def test_an_operation_of_lengths_is_written_once_however_many_are_made_of_it():
    written = PythonLengths()
    half = lengths.floor_divide(AXES[0] + 1, 2)
    quarter = lengths.floor_divide(half + 1, 2)
    for length in (half * quarter, 2 * quarter + lengths.minimum(half, 3 * quarter), lengths.maximum(quarter, half)):
        written.length(length)
    assert "\n".join(written.lines).count("floor(") == 2
