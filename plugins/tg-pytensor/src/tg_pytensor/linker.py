"""Functions of PyTensor that run on tg: regions of a graph become one op each, and PyTensor runs what is left."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from pytensor.configdefaults import config
from pytensor.graph.basic import Apply, Constant
from pytensor.graph.destroyhandler import DestroyHandler
from pytensor.graph.op import Op
from pytensor.link.vm import VMLinker
from pytensor.scalar.basic import ScalarType
from pytensor.tensor.type import TensorType

import tg
from tg.backend import message
from tg_pytensor.conversion import placeholder
from tg_pytensor.places import located, place_of
from tg_pytensor.regions import SLICES, Partition, partition
from tg_pytensor.registry import convert
from tg_pytensor.report import Entry, Report, Tried, name_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytensor.graph.basic import Variable

# What PyTensor would do in place, by BLAS or in loops of several functions, tg does by itself.
EXCLUDED = ("inplace", "fusion", "BlasOpt", "cxx_only", "local_careduce_fusion", "scan_save_mem_prealloc")


class Region(Op):
    """A part of a graph, computed by one function of tg."""

    def __init__(self, function: tg.Function, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        self.function, self.types = function, tuple(outputs)
        self.inputs = tuple(inputs)

    def make_node(self, *inputs: Variable) -> Apply:
        """A node of fresh outputs."""
        return Apply(self, list(inputs), [t() for t in self.types])

    def perform(self, node: Apply, inputs: Sequence[Any], outputs: Sequence[list[Any]]) -> None:
        """Call the function: what it returns are new arrays."""
        for cell, t, y in zip(outputs, self.types, self.function(*inputs), strict=True):
            cell[0] = y[()] if isinstance(t, ScalarType) else y

    def make_thunk(self, node: Any, storage_map: Any, compute_map: Any, no_recycling: Any, impl: Any = None) -> Any:
        """`perform` for these cells, with as little of Python between as there can be."""
        cells = [storage_map[v] for v in node.inputs]
        function = self.function
        outputs = [storage_map[v] for v in node.outputs]
        done = [compute_map[v] for v in node.outputs] if compute_map is not None else []
        scalars = [cell for cell, t in zip(outputs, self.types, strict=True) if isinstance(t, ScalarType)]

        def thunk() -> None:
            for cell, y in zip(outputs, function(*[cell[0] for cell in cells]), strict=True):
                cell[0] = y
            for cell in scalars:
                cell[0] = cell[0][()]
            for cell in done:
                cell[0] = True

        thunk.inputs, thunk.outputs, thunk.lazy = cells, outputs, False  # type: ignore[attr-defined]
        return thunk

    def __str__(self) -> str:
        return f"tg[{self.function.backend}]"


class TgLinker(VMLinker):
    """PyTensor's linker of a virtual machine, for which what tg converts is one node, or a few.

    Args:
        backend: as `tg.function` takes it; "auto" is the fastest that is installed and can run a region.
        fallback: "pytensor" leaves with PyTensor what does not convert; "raise" refuses it.
    """

    incompatible_rewrites: tuple[str, ...] = EXCLUDED
    fgraph: Any
    no_recycling: Any
    updated_vars: dict[Any, Any]

    def __init__(
        self, backend: str = "auto", fallback: str = "pytensor", allow_gc: bool | None = None, **options: Any
    ) -> None:
        python = backend == "perform"
        super().__init__(allow_gc, **{"use_cloop": bool(config.cxx) and not python, **options})
        self.incompatible_rewrites = tuple({*self.incompatible_rewrites, *EXCLUDED})
        self.backend, self.fallback = backend, fallback

    def accept(self, fgraph: Any, no_recycling: Any = None, profile: Any = None) -> TgLinker:
        """The linker of a graph: this one, unless it has another."""
        linker = self if self.fgraph is None or self.fgraph is fgraph else copy.copy(self)
        linker.fgraph, linker.no_recycling, linker.profile = fgraph, no_recycling or [], profile
        linker.updated_vars = {}
        return linker

    def make_all(
        self, profiler: Any = None, input_storage: Any = None, output_storage: Any = None, storage_map: Any = None
    ) -> Any:
        """Link the graph of regions: PyTensor sees its own where it asks for nodes and storage.

        Raises:
            BackendUnavailable: the backend is not known, not installed or broken.
        """
        tg.backend(self.backend)  # what is not installed is no reason to leave a graph with PyTensor
        whole, recycled, updated = self.fgraph, self.no_recycling, self.updated_vars
        self.made = parts, _ = self._partitioned(whole)
        names = parts.names
        storage = None if storage_map is None else {names[v]: s for v, s in storage_map.items() if v in names}
        self.fgraph, self.no_recycling = parts.graph, [names[v] for v in recycled if v in names]
        self.updated_vars = {names[v]: names[new] for v, new in updated.items()}
        try:
            vm, inputs, outputs, thunks, order = super().make_all(profiler, input_storage, output_storage, storage)
        finally:
            self.fgraph, self.no_recycling, self.updated_vars = whole, recycled, updated
        for container, v in zip((*inputs, *outputs), (*whole.inputs, *whole.outputs), strict=True):
            container.name = v.name
        if hasattr(vm, "position_of_error"):  # the one in C, whose errors are made by PyTensor from these
            vm.nodes = [parts.origins.get(node, node) for node in order]
            cells = vm.storage_map
            vm.storage_map = {v: cells[u] for v, u in names.items() if u in cells}
        return vm, inputs, outputs, thunks, order

    def report(self) -> Report:
        """Report on the nodes of the graph that was linked."""
        parts, left = self.made
        regions = {node.op for node in parts.graph.apply_nodes if isinstance(node.op, Region)}
        entries = [Entry(name_of(n), n, place_of(n), reason=left.get(n, "")) for n in self.fgraph.toposort()]
        return Report("function", entries, sorted(region.function.backend for region in regions))

    def _partitioned(self, fgraph: Any) -> tuple[Partition, dict[Apply, str]]:
        """The graph of regions, and why nodes are in none: made again without those at which it has failed."""
        left = {node: reason for node in fgraph.apply_nodes if (reason := self._obstacle(node)) is not None}
        while True:
            attempt = self._attempted(fgraph, left)
            if isinstance(attempt, Partition):
                return attempt, {node: left.get(node, "in a branch that may not be taken") for node in attempt.left}
            self._refuse(attempt)
            left |= {node: str(error) for node, error in attempt.items()}

    def _refuse(self, failed: dict[Apply, Exception]) -> None:
        if self.fallback == "raise" and failed:
            raise next(iter(failed.values()))

    def _obstacle(self, node: Apply) -> str | None:
        """Why a node is left with PyTensor before anybody has tried it."""
        name = type(node.op).__name__
        others = [v.type for v in (*node.inputs, *node.outputs) if not (is_array(v) or is_made_slice(v))]
        reason = None
        if convert.rule(node.op) is None:
            reason = f"no rule for {name}"
        elif others:
            reason = f"has {others[0]}, no array"
        elif node.op.destroy_map:
            reason = "works in place"
        elif name in ("FromFunctionOp", "Print"):
            reason = "is a function of Python"
        elif name == "IfElse" and any(None in getattr(v.type, "shape", ()) for v in node.inputs[1:]):
            reason = "its branches may have different lengths"
        if reason is not None and self.fallback == "raise":
            with located(node):
                raise tg.NoRuleError(f"tg_pytensor: {node.op}: {reason}, needed all of the graph")
        return reason

    def _attempted(self, fgraph: Any, left: dict[Apply, str]) -> Partition | dict[Apply, Exception]:
        failed: dict[Apply, Exception] = {}
        parts = partition(
            fgraph, set(left), lambda inputs, outputs, nodes: self._region(inputs, outputs, nodes, failed)
        )
        if parts is None:
            return failed
        if any(node.op.destroy_map for node in parts.graph.apply_nodes):
            parts.graph.attach_feature(DestroyHandler())
        return parts

    def _region(
        self,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        nodes: dict[Apply, Apply],
        failed: dict[Apply, Exception],
    ) -> Region | None:
        """The op of a part of a graph; the nodes that did not convert are told."""
        tried = Tried({v: placeholder(v) for v in inputs})
        results = [tried[v] for v in outputs]
        failed.update({nodes[node]: error for node, error in tried.failed.items()})
        if failed:
            return None
        operands = [tried[v] for v in inputs]
        try:
            function = compiled(operands, results, self.backend, self.fallback)
            need_any_length(function, operands)
        except (tg.BackendUnavailable, tg.OptionError):
            raise
        except Exception as error:  # noqa: BLE001  what is wrong with these nodes, PyTensor says when they run
            failed.update(dict.fromkeys(nodes.values(), error))
            return None
        return Region(function, [v.type for v in inputs], [v.type for v in outputs])


def is_array(v: Variable) -> bool:
    """Whether a variable has an array or a scalar, or is known."""
    return isinstance(v, Constant) or type(v.type) in (TensorType, ScalarType)


def is_made_slice(v: Variable) -> bool:
    """Whether a variable is a slice of which the parts are at hand."""
    return v.owner is not None and type(v.owner.op).__name__ in SLICES


def need_any_length(function: tg.Function, inputs: Sequence[tg.Variable]) -> None:
    """Refuse a function whose shapes fit only where an open length is 1: PyTensor may well run its nodes for others.

    Raises:
        ShapeError: it is one.
    """
    for x, t in zip(inputs, function.graph.input_types, strict=True):
        if any(open_ is None and n == 1 for open_, n in zip(x.type.shape, t.shape, strict=True)):
            raise tg.ShapeError(message(f"region: found a program for {t} alone, needed one for {x.type}"))


def compiled(inputs: Sequence[Any], outputs: Sequence[Any], backend: str, fallback: str) -> tg.Function:
    """A function on a backend, or on the reference where the backend lacks something."""
    try:
        return tg.function(inputs, list(outputs), backend=backend, on_unused_input="ignore")
    except tg.NoRuleError:
        if fallback == "raise":
            raise
        return tg.function(inputs, list(outputs), backend="perform", on_unused_input="ignore")
