"""Promotion is NumPy 2's: every function on every pair of dtypes and Python scalars, as NumPy itself has it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tg
from tg.types.dtypes import DTYPES
from tg.variables.conversion import promote

NUMPY_DTYPES = tuple(d for d in DTYPES if d != "bfloat16")
SCALARS = (True, 1, 1.0, 1j)
OPERANDS = (*NUMPY_DTYPES, *SCALARS)

UNARY = """
negative positive absolute sign square sqrt cbrt reciprocal exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin
arccos arctan sinh cosh tanh arcsinh arccosh arctanh floor ceil trunc rint round isnan isinf isfinite signbit
logical_not bitwise_invert deg2rad rad2deg real imag conjugate angle nan_to_num fix
"""
BINARY = """
add subtract multiply divide floor_divide remainder power maximum minimum fmax fmin hypot copysign nextafter arctan2
logaddexp heaviside equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor
bitwise_and bitwise_or bitwise_xor left_shift right_shift isclose
"""
OPERATORS = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
    "//": lambda x, y: x // y,
    "%": lambda x, y: x % y,
    "**": lambda x, y: x**y,
    "&": lambda x, y: x & y,
    "|": lambda x, y: x | y,
    "^": lambda x, y: x ^ y,
    "<<": lambda x, y: x << y,
    ">>": lambda x, y: x >> y,
    "==": lambda x, y: x == y,
    "<": lambda x, y: x < y,
}


def array(operand):
    return np.ones(1, operand) if isinstance(operand, str) else operand


def variable(operand):
    return tg.tensor(dtype=operand, shape=(1,)) if isinstance(operand, str) else operand


def dtype_or_refusal(function, operands):
    """The result's dtype, or TypeError where the function refuses the operands."""
    try:
        with np.errstate(all="ignore"):
            found = function(*operands)
    except TypeError:
        return TypeError
    return np.asarray(found).dtype.name if not isinstance(found, tg.Variable) else found.type.dtype


def differences(ours, theirs, combinations):
    """The operands for which tg and NumPy differ."""
    pairs = (
        (c, dtype_or_refusal(ours, map(variable, c)), dtype_or_refusal(theirs, map(array, c))) for c in combinations
    )
    return [one for one in pairs if one[1] != one[2]]


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("name", UNARY.split())
def test_a_function_of_one_operand_has_the_dtype_of_numpy(name):
    operands = (
        OPERANDS if name not in ("real", "imag") else NUMPY_DTYPES
    )  # of a Python scalar NumPy gives its attribute
    assert differences(getattr(tg, name), getattr(np, name), [(a,) for a in operands]) == []


@pytest.mark.parametrize("name", BINARY.split())
def test_a_function_of_two_operands_has_the_dtype_of_numpy(name):
    pairs = itertools.product(OPERANDS, repeat=2)
    assert differences(getattr(tg, name), getattr(np, name), pairs) == []


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_has_the_dtype_of_numpy(name):
    pairs = [(a, b) for a, b in itertools.product(OPERANDS, repeat=2) if isinstance(a, str) or isinstance(b, str)]
    assert differences(OPERATORS[name], OPERATORS[name], pairs) == []


def test_a_choice_has_the_dtype_of_numpy():
    pairs = list(itertools.product(OPERANDS, repeat=2))
    condition, mask = tg.tensor(dtype="bool", shape=(1,)), np.array([True])
    assert differences(lambda x, y: tg.where(condition, x, y), lambda x, y: np.where(mask, x, y), pairs) == []


def test_clip_has_the_dtype_of_numpy():
    pairs = [(a, b) for a, b in itertools.product(OPERANDS, repeat=2) if isinstance(a, str)]
    assert differences(lambda x, y: tg.clip(x, y, y), lambda x, y: np.clip(x, y, y), pairs) == []


BFLOAT16 = {
    **dict.fromkeys(("bool", "int8", "uint8", "bfloat16"), "bfloat16"),
    **dict.fromkeys(("int16", "uint16", "float16", "float32"), "float32"),
    **dict.fromkeys(("int32", "uint32", "int64", "uint64", "float64"), "float64"),
    "complex64": "complex64",
    "complex128": "complex128",
}


@pytest.mark.parametrize("dtype", DTYPES)
def test_bfloat16_promotes_by_the_written_table(dtype):
    x, y = tg.tensor(dtype="bfloat16"), tg.tensor(dtype=dtype)
    expected = BFLOAT16[dtype]
    assert promote("bfloat16", dtype) == expected
    for function in (tg.add, tg.multiply, tg.subtract, tg.divide, tg.maximum, tg.power):
        assert function(x, y).type.dtype == expected
        assert function(y, x).type.dtype == expected
    assert tg.where(True, x, y).type.dtype == expected
    assert tg.equal(x, y).type.dtype == "bool"


@pytest.mark.parametrize(
    ("scalar", "dtype"), [(True, "bfloat16"), (1, "bfloat16"), (1.0, "bfloat16"), (1j, "complex64")]
)
def test_python_scalars_are_weak_beside_bfloat16(scalar, dtype):
    x = tg.tensor(dtype="bfloat16")
    assert [(x + scalar).type.dtype, (scalar * x).type.dtype, tg.maximum(x, scalar).type.dtype] == [dtype] * 3


@pytest.mark.parametrize("dtype", [d for d in NUMPY_DTYPES if "int" in d])
@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "floor_divide", "bitwise_and", "power", "left_shift"])
def test_an_integer_that_the_dtype_cannot_hold_is_refused(name, dtype):
    limits = np.iinfo(dtype)
    for number in (limits.max + 1, limits.min - 1, 2**70):
        with pytest.raises(OverflowError):
            getattr(np, name)(np.ones(1, dtype), number)
        with pytest.raises(OverflowError):
            getattr(tg, name)(tg.tensor(dtype=dtype), number)
    for number in (limits.max, limits.min):
        assert getattr(tg, name)(tg.tensor(dtype=dtype), number).type.dtype == dtype


def test_python_numbers_alone_are_int64_and_float64():
    assert tg.power(2, 7).eval() == 128
    assert tg.add(1, 2).type.dtype == "int64"
    assert tg.add(1, 2.5).type.dtype == "float64"


SPECIAL = ("kv", "kve", "jv", "iv", "ive", "gammainc", "gammaincc", "betainc", "hyp2f1", "stdtr", "owens_t")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", SPECIAL)
def test_a_python_number_before_an_array_takes_its_dtype_in_functions_of_loops(name, dtype):
    record = getattr(tg, name)
    reference = getattr(pytest.importorskip("scipy.special"), name)
    x = np.full(2, 0.5, dtype)
    for place in range(record.arity):
        operands = [2.0 if k != place else x for k in range(record.arity)]
        variables = [2.0 if k != place else tg.tensor(dtype=dtype, shape=(2,)) for k in range(record.arity)]
        expected = reference(*[o if o is x else np.asarray(o, dtype) for o in operands])
        assert record(*variables).dtype == dtype
        if dtype != "float16":  # of which SciPy's are float32
            assert expected.dtype == dtype
