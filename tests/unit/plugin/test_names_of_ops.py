"""Names of ops: those of all distributions here have one provider each."""

from tg import plugin


def test_no_two_ops_have_one_name():
    names = [op.__name__ for family in plugin.registry().families() for op in family.ops]
    assert len(names) > 100
    assert len(names) == len(set(names))
