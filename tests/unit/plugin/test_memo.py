from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tg.plugin.memo import Memo


def test_threads_that_ask_at_once_all_get_the_answer_published_first():
    memo, barrier = Memo(), Barrier(8)

    def ask(_):
        barrier.wait()
        return memo.get(("question",), object)

    with ThreadPoolExecutor(8) as pool:
        answers = set(pool.map(ask, range(8)))
    assert len(answers) == 1


def test_a_question_may_be_asked_while_another_is_answered():
    memo = Memo()
    assert memo.get(("outer",), lambda: memo.get(("inner",), lambda: 1) + 1) == 2


def test_what_working_out_raises_is_not_an_answer():
    memo = Memo()
    with pytest.raises(ZeroDivisionError):
        memo.get(("question",), lambda: 1 // 0)
    assert memo.get(("question",), lambda: 3) == 3


def test_none_is_an_answer():
    memo = Memo()
    memo.get(("question",), lambda: None)
    assert memo.get(("question",), lambda: 1) is None
