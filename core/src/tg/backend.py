"""All that a plugin imports besides `tg`: hooks and records, linkers, rules and rewrites, ops, types.

    from tg.backend import Backend, FuncifyLinker, RuleProtocol, Rules, hookimpl, reduction, shape

Names are loaded when they are first used, so that an entry module imports little. What is here stays, and means the
same, for as long as `HOOK_API` does; every other module of tg may change with any release.

The module can be called: `tg.backend("jax", device="gpu:0")` is a backend with options, for users.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tg.hints import hinted

_NAMES = {
    # hooks, and the records that they return
    "tg.plugin.hookspecs": "hookimpl",
    "tg.plugin.records": "HOOK_API Backend DiskCache Exporter Gap NoRules Options Rewrites Rule RuleProtocol Rules",
    "tg.plugin.fields": "Settings option pairs",
    "tg.plugin.case": "Case Input any_dtype b1 bf16 f16 f32 f64 fixed i16 i32 i64 i8 u16 u32 u64 u8",
    # linkers
    "tg.link.funcify": "FuncifyLinker",
    "tg.link.hosted": "Hosted",
    "tg.link.linker": "Executable Linker MachineCode Request Status Traceable node_lines refusal",
    "tg.link.memory": "Plan plan",
    "tg.link.declines": "taken",
    "tg.link.unit": "Unit",
    "tg.link.steps": "Site",
    "tg.link.symbolic": "Symbols",
    "tg.link.stages": "Stages",
    "tg.link.timed": "Timed",
    "tg.link.colour": "colours takes_graphs",
    "tg.graph.interpret": "interpret",
    "tg.link.signature": "Signature",
    "tg.graph.timing": "Span annotate",
    "tg.turns": "Claim alone cover exclusive",
    "tg.callers": "claim warn",
    "tg.cache.entries": "Cache",
    "tg.cache.machine": "cpu",
    # functions that leave Python
    "tg.exports.exported": "Exported Lowered",
    "tg.exports.golden": "Golden",
    # programs
    "tg.graph.nodes": "Apply Constant Variable",
    "tg.graph.frozen": "FrozenGraph Node",
    "tg.graph.function_graph": "freeze",
    "tg.graph.view": "View",
    "tg.graph.op": "Op",
    "tg.graph.facts": "holds",
    "tg.types.tensor_type": "TensorType",
    "tg.types.mesh": "Mesh split_names",
    "tg.types.lengths": "LONGEST LONGEST_GIVEN Length",
    "tg.types.dtypes": "COMPLEX DTYPES FLOATS INTEGERS is_complex is_float is_inexact is_integer numpy_dtype",
    "tg.errors": "message",
    # reports
    "tg.display.table": "Table",
    "tg.display.html": "shown_html",
    # rewrites
    "tg.rewrite.rule": "Pass node_rule rule",
    "tg.rules.loops.dear": "STEPS_AHEAD",
    "tg.rules.loops.running": "RUNNING_RESULTS",
    "tg.rewrite.pattern": "is_made_by",
    "tg.rules.shape.moved": "Moved",
    "tg.rewrite.phases": "BACKEND CANONICALIZE EXPAND SPECIALIZE STABILIZE"
    " DROPS_ERROR EXACT NAN_UNSAFE REASSOCIATES SIGNED_ZERO",
    # ops of one's own
    "tg.ops.family": "Family",
    "tg.ops.elementwise.record": "Elementwise ElementwiseFunction binary ternary unary",
    "tg.ops.elementwise.dtype_loops": "floating real_floating",
    # what rules ask of ops
    "tg.graph.checks": "STATUS_LENGTH",
    "tg.ops.contraction": "MatMul",
    "tg.ops.control": "Call",
    "tg.ops.fourier": "Fourier InverseRealFourier RealFourier",
    "tg.ops.indexing": "Gather Nonzero Scatter Slice SliceUpdate WrapIndex window",
    "tg.ops.reduction": "Reduce identity",
    "tg.ops.reductions": "Reduction by_element",
    "tg.ops.shape": "AxisLength BroadcastTo ExpandDims Reshape Squeeze SumTo Transpose known_shape merge_sizes",
    "tg.ops.sharding": "Placement placements",
    "tg.ops.sorting": "ArgSort Sort",
    "tg.ops.sparse": "SparseProduct",
    "tg.ops.sparse_factors": "SparseCholesky SparseInverse SparseSolve",
    "tg.ops.linalg.cholesky": "Cholesky",
    "tg.ops.linalg.equations": "SolveStein SolveSylvester Sqrtm",
    "tg.ops.linalg.logarithms": "Logm",
    "tg.ops.linalg.lu": "LU",
    "tg.ops.linalg.qr": "QR",
    "tg.ops.linalg.schur": "Eig Eigvals Schur",
    "tg.ops.linalg.linear_systems": "Inv Solve",
    "tg.ops.linalg.solving": "Det SlogDet",
    "tg.ops.linalg.spectral": "SVD Eigh Eigvalsh Svdvals",
    "tg.ops.linalg.triangular": "SolveTriangular",
    "tg.ops.elementwise.arithmetic": "gate kink",
    "tg.ops.elementwise.cast": "Cast",
    # ops of core, family by family
    "tg.ops": "contraction control creation cumulative fourier indexing integer_products loops quantization reduction"
    " shape sharding softmax sorting sparse sparse_factors",
    "tg.ops.linalg": "cholesky lu qr schur solving spectral triangular",
    "tg.ops.nn": "attention convolution integer_convolution normalization pooling",
    "tg.ops.elementwise": "arithmetic bitwise cast comparison complex draws exponential random rounding"
    " special trigonometric",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = tuple(_HOMES)


class _Module(ModuleType):
    """A module that can be called."""

    def __call__(self, name: str, /, **options: Any) -> Any:
        """A backend with options, to be given to `tg.function`: see `tg.functions.backends.backend`."""
        from tg.functions.backends import backend

        return backend(name, **options)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module 'tg.backend' has no attribute {name!r}", name=name)
        module = importlib.import_module(home)
        value = getattr(module, name) if hasattr(module, name) else importlib.import_module(f"{home}.{name}")
        globals()[name] = hinted(value)
        return value


def __dir__() -> list[str]:
    return sorted(__all__)


sys.modules[__name__].__class__ = _Module
