"""A program for one combination of shapes: a graph of ggml, its memory, and its runs."""

from __future__ import annotations

import collections
import ctypes
import threading
import weakref
from typing import TYPE_CHECKING, Any, Final, final

import ggml as g
import numpy as np

from tg_ggml.tensors import KINDS, TRACING, Tensor, constant, extents, packed
from tg_ggml.weights import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg_ggml import Options
    from tg_ggml.weights import Use, Weight

    Array = np.ndarray[Any, Any]

LEAST: Final = 4096  # tensors that a graph has room for
PER_NODE: Final = 64  # tensors of ggml for a node of tg: groups of convolutions and transposes take the most
SUCCESS: Final = 0


@final
class Trace:
    """The graph of ggml of a function of arrays for one combination of shapes.

    Attributes:
        ctx: ggml's context, in which rules make tensors.
        options: the backend's.
        uses: the weights that products, convolutions and tables read, each as it was quantised or why it was not.
        arena: bytes of the values of a call.
    """

    def __init__(
        self, function: Callable[..., Any], options: Options, operands: Sequence[Any], bound: frozenset[int], nodes: int
    ) -> None:
        """A trace for arrays of these shapes; those at the places in `bound` are constants."""
        self.options = options
        self.uses: list[Use] = []
        self.weights: list[Weight] = []
        self.callbacks: list[Any] = []
        self.error: BaseException | None = None
        self._lock = threading.Lock()
        room = LEAST + PER_NODE * nodes
        size = room * int(g.ggml_tensor_overhead()) + int(g.ggml_graph_overhead_custom(room, False))
        self.ctx = g.ggml_init(g.ggml_init_params(mem_size=size, mem_buffer=None, no_alloc=True))
        self._backend = g.ggml_backend_cpu_init()
        g.ggml_backend_cpu_set_n_threads(self._backend, options.threads)
        self._memory = g.ggml_gallocr_new(g.ggml_backend_get_default_buffer_type(self._backend))
        weakref.finalize(self, _free, self.ctx, self._backend, self._memory)
        self._build(function, operands, bound, room)

    def _build(self, function: Callable[..., Any], operands: Sequence[Any], bound: frozenset[int], room: int) -> None:
        self.inputs: list[Tensor] = []
        arguments: list[Any] = []
        for k, one in enumerate(operands):
            if k in bound:
                arguments.append(constant(one))
            elif isinstance(one, tuple):  # large constants, in one argument
                arguments.append(tuple(Tensor(a.shape, a.dtype.name, data=a) for a in one))
            else:
                arguments.append(self._input(one))
        stack = TRACING.__dict__.setdefault("stack", [])
        stack.append(self)
        try:
            outputs = function(*arguments)
            self.outputs: list[Tensor] = [*outputs]
            nodes = [y.node if y.data is None and y.size else None for y in self.outputs]
        finally:
            stack.pop()
        self.graph = g.ggml_new_graph_custom(self.ctx, room, False)
        for node in nodes:
            if node is not None:
                g.ggml_set_output(node)
                if node.contents.view_src:  # whose memory it is: another reader would give it back
                    g.ggml_set_output(node.contents.view_src)
                g.ggml_build_forward_expand(self.graph, node)
        if not g.ggml_gallocr_alloc_graph(self._memory, self.graph):
            raise MemoryError("backend 'ggml': no memory for the values of a program")
        self.arena = int(g.ggml_gallocr_get_buffer_size(self._memory, 0))

    def _input(self, array: Array) -> Tensor:
        node = self.new(array.shape, array.dtype.name)
        g.ggml_set_input(node)
        tensor = Tensor(array.shape, array.dtype.name, node=node)
        self.inputs.append(tensor)
        return tensor

    def new(self, shape: Sequence[int], dtype: str) -> Any:
        """A tensor without memory."""
        return g.ggml_new_tensor_4d(self.ctx, KINDS[dtype], *extents(packed(shape)))

    def constant(self, array: Array) -> Any:
        """An array in memory of its own, which the graph leaves as it is."""
        weight = plain(array)
        self.weights.append(weight)
        return weight.node

    def run(self, arrays: Sequence[Array]) -> list[Array]:
        """The outputs, each in memory of its own.

        Raises:
            RuntimeError: ggml could not compute the graph.
        """
        with self._lock:
            for tensor, array in zip(self.inputs, arrays, strict=True):
                node = tensor.node
                if node.contents.data and array.size:
                    source = np.ascontiguousarray(array)
                    g.ggml_backend_tensor_set(node, source.ctypes.data_as(ctypes.c_void_p), 0, source.nbytes)
            self.error = None
            status = g.ggml_backend_graph_compute(self._backend, self.graph)
            if self.error is not None:
                raise self.error
            if status != SUCCESS:
                raise RuntimeError(f"backend 'ggml': found status {status} of a graph, needed {SUCCESS}")
            return [*map(_read, self.outputs)]

    def counts(self) -> dict[str, int]:
        """The number of operations of the graph by name, of ggml's own and of the host's."""
        names: collections.Counter[str] = collections.Counter()
        for k in range(g.ggml_graph_n_nodes(self.graph)):
            node = g.ggml_graph_node(self.graph, k)
            names[g.ggml_op_desc(node).decode()] += 1
        return dict(names)


def _read(tensor: Tensor) -> Array:
    if tensor.data is not None:
        return np.array(tensor.data)
    array = np.empty(tensor.shape, tensor.dtype)
    if array.size:
        g.ggml_backend_tensor_get(tensor.node, array.ctypes.data_as(ctypes.c_void_p), 0, array.nbytes)
    return array


def _free(ctx: Any, backend: Any, memory: Any) -> None:
    g.ggml_gallocr_free(memory)
    g.ggml_backend_free(backend)
    g.ggml_free(ctx)
