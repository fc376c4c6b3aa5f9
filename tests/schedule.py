"""Which worker of pytest-xdist runs which tests: whole files, and whole groups where tests are marked as one.

`--dist loadgroup` by itself gives single tests to whichever worker is free. Then both import everything and fill the
caches of every module, and the scheduler, which looks at all that was ever given at every test that ends, takes as long
as a twentieth of the tests. Work is given in the order of collection: what is marked to begin first does, and
conformance, which has the smallest parts, is last, so that no worker waits long for the other.
"""

from xdist.scheduler import LoadGroupScheduling


class Scheduler(LoadGroupScheduling):
    """Gives files and groups to workers, in the order in which they are collected.

    With `--whole` some files take minutes: their tests go one by one, each with all its parameters. Of the sparse tier
    of conformance what a usual run has of a backend is one group, but for the reference.
    """

    def __init__(self, config, log=None, *, is_sparse=False):
        super().__init__(config, log)
        self.is_whole = config.getoption("whole")
        self.is_sparse = is_sparse
        config.option.loadscopereorder = False  # by numbers of tests: files of few long ones would be last

    def _split_scope(self, nodeid):
        group, (first, *others) = super()._split_scope(nodeid), nodeid.split("::")
        if first == "conformance" and self.is_sparse and others[0] != "perform":
            return others[0]  # a share of its cases takes as long as its process does to import a library
        if group != nodeid:
            return group
        return nodeid.partition("[")[0] if self.is_whole else first

    def remove_node(self, node):
        """A test that ended its worker is told once, and is not run again: it would end the next one."""
        work = self.assigned_work[node]
        crashed = next((name for unit in work.values() for name, done in unit.items() if not done), None)
        if crashed is not None:
            scope = self._split_scope(crashed)
            work[scope][crashed] = True
            if all(work[scope].values()):
                del work[scope]
        super().remove_node(node)
        return crashed

    def mark_test_complete(self, node, item_index, duration=0):
        """What is done leaves the list that is gone through at the end of every test."""
        super().mark_test_complete(node, item_index, duration)
        given = self.assigned_work[node]
        scope = self._split_scope(self.registered_collections[node][item_index])
        if all(given[scope].values()):
            del given[scope]
