"""Arrays: NumPy's outside of programs, dask's within, which are graphs of tasks and no values yet."""

from uuid import uuid4

import dask
import dask.array as da
import numpy as np
from dask._task_spec import Task, TaskRef
from dask.highlevelgraph import HighLevelGraph

# in the caller's thread, where `np.errstate` holds; to fuse tasks that are computed once takes longer than it saves
ONCE = {"scheduler": "synchronous", "optimize_graph": False}


def to_native(array, context):
    """A copy of a NumPy array, in chunks."""
    return da.from_array(np.array(array), chunks=context, name=False)


def to_numpy(array):
    """What an array comes to."""
    return np.asarray(array.compute(**ONCE) if isinstance(array, da.Array) else array)


def argument(value, context):
    """An input as a lazy array; it is read before the call returns, so there is no need of a copy."""
    return value if isinstance(value, da.Array) else da.from_array(np.asarray(value), chunks=context, name=False)


def copy(array):
    """A lazy array is never written, and each output comes to memory of its own."""
    return array


def ready(outputs):
    """What all outputs come to, in one computation: what they have in common is computed once."""
    return [*map(np.array, dask.compute(*outputs, **ONCE))]


def whole(function, shape, dtype, *operands):
    """A lazy array that a function of NumPy arrays makes of its operands, each put together from its chunks."""
    operands = [x.rechunk(x.shape) for x in operands]
    name = f"whole-{uuid4().hex}"
    key = (name, *(0 for _ in shape))
    task = Task(key, function, *(TaskRef((x.name, *(0 for _ in x.shape))) for x in operands))
    graph = HighLevelGraph.from_collections(name, {key: task}, operands)
    return da.Array(graph, name, tuple((n,) for n in shape), dtype=dtype)
