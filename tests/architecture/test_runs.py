"""What the runner of the tests promises: tests of one group are run by one worker, and a run has its own cache."""

import os

import pytest


@pytest.mark.xdist_group("a group")
def test_groups_reach_the_scheduler(request):
    """Without them each worker would do all the work that the items of a batch share."""
    if "PYTEST_XDIST_WORKER" not in os.environ or request.config.getoption("loadgroup") is not True:
        pytest.skip("nothing is distributed by groups")
    assert request.node.nodeid.endswith("@a group")


def test_compiled_code_goes_to_a_folder_of_the_run():
    assert "tg-cache-of-tests-" in os.environ["TG_CACHE_DIR"]
