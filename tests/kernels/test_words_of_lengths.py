"""The words that lengths are put together of, as both printers write them, at hostile numbers against Python's."""

import itertools

import numpy as np
import pytest

from tests.kernels.printed import Case, in_c, in_llvm, run
from tests.kernels.words import WORDS
from tg.types.dtypes import numpy_dtype
from tg_c.lengths import FORMS, FUNCTIONS
from tg_native.kernels.lanes import Lanes
from tg_numba import lengths as llvm_lengths

INTEGERS = [
    0,
    1,
    -1,
    2,
    -2,
    3,
    7,
    -7,
    2**31,
    2**48,
    -(2**48),
    2**62,
    -(2**62),
    2**62 + 1,
    2**63 - 1,
    -(2**63),
    5 - 2**63,
]
FLOATS = [0.0, 1.5, -3.0, 2.0**40, 2.0**61, 2.0**62, -(2.0**62), 2.0**63, -(2.0**63), 1e300, -1e300, np.inf, np.nan]
VALUES = {"int64": INTEGERS, "float64": FLOATS, "bool": [False, True]}


def by_c(word):
    def write(*operands):
        body = operands[0].body
        body.prelude.need("lengths", FUNCTIONS)
        return Lanes(body, WORDS[word][1], f"({FORMS[word].format(*(x.text for x in operands))})")

    return write


def by_llvm(word):
    def write(*operands):
        body = operands[0].body
        return Lanes(body, WORDS[word][1], llvm_lengths.derived(body, word, *(x.text for x in operands)))

    return write


def test_both_printers_have_these_words_and_no_other():
    assert set(WORDS) == set(FORMS) == set(llvm_lengths.FORMS)


@pytest.mark.parametrize(("printer", "compiled"), [(by_c, in_c), (by_llvm, in_llvm)], ids=["c", "llvm"])
def test_a_word_means_what_it_says(printer, compiled):
    cases = [Case(printer(word), dtypes, result) for word, (dtypes, result, _) in WORDS.items()]
    for function, case, (word, (dtypes, result, meant)) in zip(
        compiled(cases, single=True), cases, WORDS.items(), strict=True
    ):
        given = [*itertools.product(*(VALUES[d] for d in dtypes))]
        arrays = [np.array(column, numpy_dtype(d)) for column, d in zip(zip(*given, strict=True), dtypes, strict=True)]
        wanted = np.array([meant(*one) for one in given], numpy_dtype(result))
        np.testing.assert_array_equal(run(function, case, arrays), wanted, err_msg=word)
