"""Programs as dask's graphs: tasks are made once for each combination of shapes and dtypes, and computed at each call.

To make them takes twenty times as long as to compute those of small arrays. They are not fused: dask would put those
of a fused task in order again at every call, which takes longer than what fusing saves.
"""

from functools import partial
from itertools import product

import dask
import dask.array as da
import numpy as np
from dask._task_spec import DataNode, convert_legacy_graph, cull
from dask.array.core import normalize_chunks, slices_from_chunks
from dask.core import flatten
from dask.highlevelgraph import HighLevelGraph

from tg_dask.arrays import to_numpy

MOST = 64  # combinations of shapes and dtypes that are kept


class Recorded:
    """The tasks of a function for inputs of certain shapes and dtypes."""

    def __init__(self, function, types, chunks):
        inputs = [_unknown(f"input-{k}", *one, chunks) for k, one in enumerate(types)]
        outputs = function(*inputs)
        self.places = [(key, k, place) for k, x in enumerate(inputs) for key, place in _places(x)]
        self.keys = [out.__dask_keys__() for out in outputs]
        self.joined = [out.__dask_postcompute__() for out in outputs]
        graph = HighLevelGraph.merge(*(out.__dask_graph__() for out in outputs))
        self.tasks = cull(convert_legacy_graph(dict(graph)), set(flatten(self.keys)))

    def __call__(self, arrays):
        """The outputs, each in memory of its own."""
        given = {key: DataNode(key, arrays[k][place]) for key, k, place in self.places}
        found = dask.get({**self.tasks, **given}, self.keys)
        return [np.array(join(chunks, *more)) for chunks, (join, more) in zip(found, self.joined, strict=True)]


def record(function, unit):
    """A function of NumPy arrays that computes what a function of lazy arrays gives."""
    programs, chunks = {}, unit.options.chunks or "auto"

    def run(*given):
        count = int(bool(given) and isinstance(given[0], tuple))  # of the constants, the same at every call
        arrays = [*map(to_numpy, given[count:])]
        types = tuple((a.shape, a.dtype) for a in arrays)
        program = programs.get(types)
        if program is None:
            if len(programs) >= MOST:
                programs.clear()
            program = programs[types] = Recorded(partial(function, *given[:count]), types, chunks)
        return program(arrays)

    return run


def _unknown(name, shape, dtype, chunks):
    """A lazy array whose chunks are given at each call."""
    lengths = normalize_chunks(chunks, shape, dtype=dtype)
    layer = {key: DataNode(key, None) for key in product([name], *(range(len(each)) for each in lengths))}
    return da.Array(HighLevelGraph({name: layer}, {name: set()}), name, lengths, dtype=dtype)


def _places(x):
    """The keys of a lazy array's chunks, each with its place."""
    return zip(flatten(x.__dask_keys__()), slices_from_chunks(x.chunks), strict=True)
