"""What the runner of the tests promises: tests of one group are run by one worker, and a run has its own cache."""

import os

import pytest

from tests.conftest import sample


@pytest.mark.xdist_group("a group")
def test_groups_reach_the_scheduler(request):
    """Without them each worker would do all the work that the items of a batch share."""
    if "PYTEST_XDIST_WORKER" not in os.environ or request.config.getoption("loadgroup") is not True:
        pytest.skip("nothing is distributed by groups")
    assert request.node.nodeid.endswith("@a group")


def test_compiled_code_goes_to_a_folder_of_the_run():
    assert "tg-cache-of-tests-" in os.environ["TG_CACHE_DIR"]


@pytest.mark.parametrize("count", [1, 3, 4, 5, 41])
@pytest.mark.parametrize("share", [1, 4, 20])
def test_turns_have_each_parameter_between_them_and_none_is_empty(count, share):
    turns = [sample(range(count), share, turn) for turn in range(share)]
    assert all(turns)
    assert set().union(*turns) == set(range(count))
    if count >= share:
        assert sum(map(len, turns)) == count
