"""Determinants, inverses and solutions of small matrices, each computed as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg.ops.linalg.linear_systems import Solve
from tg.ops.linalg.solving import Det
from tg_native.matrices import unrolled
from tg_native.matrices.elements import number, numbers

if TYPE_CHECKING:
    from tg_native.fusion.registers import InRegisters
    from tg_native.graphs.site import Site
    from tg_native.plan.values import Value


def in_registers(op: InRegisters, site: Site) -> list[Value] | Value:
    """The results for each matrix of a batch."""
    arrays = [site.contiguous(v) for v in site.inputs]
    n = arrays[0].shape[-1]
    assert type(n) is int
    site.same(arrays[0].shape[-2], n)
    results = [numbers(site, k) for k in range(len(site.types))]
    batch = unrolled.Batch(site, arrays[0].dtype, arrays[0].shape[:-2])
    places = [batch.kernel.read(v) for v in arrays]
    targets = [batch.kernel.write(array) for array, _ in results]

    def write() -> None:
        if isinstance(op.op, Det):
            batch.store(unrolled.determinant(batch.load_matrix(places[0], n, n)), targets[0], 1, 0)
            return
        if isinstance(op.op, Solve):
            m = arrays[1].shape[-1]
            assert type(m) is int
            b = batch.load_matrix(places[1], n, m)
        else:
            one, zero = (number(batch.body, value, arrays[0].dtype) for value in (1, 0))
            b = [[one if i == j else zero for j in range(n)] for i in range(n)]
        if isinstance(op.op, Solve) and op.op.positive:
            x, info = unrolled.solved_by_cholesky(batch.load_triangle(places[0], n), b)
        else:
            x, info = unrolled.solved(batch.load_matrix(places[0], n, n), b)
        batch.store_matrix(x, targets[0])
        batch.store(info, targets[1], 1, 0)

    batch.write(write)
    outputs = [make() for _, make in results]
    return outputs if len(outputs) > 1 else outputs[0]
