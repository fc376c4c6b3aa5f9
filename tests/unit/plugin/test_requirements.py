import pytest

from tg.plugin import distributions
from tg.plugin.requirements import unmet


@pytest.fixture
def jax(monkeypatch):
    monkeypatch.setattr(distributions, "version", {"jax": "0.10.2+cpu"}.get)


HOLD = ("jax", "jax>=0.5", "jax >= 0.9, < 1", "jax[cuda]>=0.10.2", "jax==0.10.2", "jax!=0.9", "jax>0.10.1; os_name")
FAIL = ("jax>=0.11", "jax<0.10", "jax==0.10", "jax!=0.10.2", "jax>0.10.2", "jax>=0.5,<=0.9.9")


@pytest.mark.parametrize("requirement", HOLD)
@pytest.mark.usefixtures("jax")
def test_a_requirement_that_the_installed_release_meets_holds(requirement):
    assert unmet((requirement,)) == ()


@pytest.mark.parametrize("requirement", FAIL)
@pytest.mark.usefixtures("jax")
def test_a_requirement_that_the_installed_release_does_not_meet_is_told_with_the_release(requirement):
    assert unmet((requirement,)) == ((requirement, "0.10.2+cpu"),)


@pytest.mark.usefixtures("jax")
def test_a_distribution_that_is_not_installed_meets_nothing():
    assert unmet(("jax", "minelib>=2")) == (("minelib>=2", None),)


@pytest.mark.parametrize("requirement", ["jax~=0.3", "jax===nightly", "jax>=0.99rc1", "jax @ file:///x"])
@pytest.mark.usefixtures("jax")
def test_a_specifier_that_is_not_understood_is_no_reason_to_refuse(requirement):
    assert unmet((requirement,)) == ()
