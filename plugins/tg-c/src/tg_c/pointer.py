"""The unit of a program for callers that are not Python: behind an entry that knows all lengths."""

from __future__ import annotations

import ctypes
import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.backend import MachineCode
from tg_c import compiler
from tg_c.compiler import Flags
from tg_native.graphs.failure import STATUS
from tg_native.plan.shapes import follows_from_inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.backend import FrozenGraph
    from tg_c.unit import Unit

# The data: what to call, how many inputs a call gives, how many pointers follow, these, and all lengths.
TEXT: Final = f"""\
typedef long long i64;
typedef i64 (*program)(const void *const *, const i64 *, void *const *, i64 *);
i64 tg_call(const void *const *inputs, void *const *outputs, const void *data) {{
  const i64 *const word = data;
  const i64 given = word[1], more = word[2];
  const void *all[given + more + 1];
  i64 status[{STATUS}];
  for (i64 k = 0; k < given; k++) all[k] = inputs[k];
  for (i64 k = 0; k < more; k++) all[given + k] = (const void *)word[3 + k];
  return ((program)word[0])(all, word + 3 + more, outputs, status);
}}
i64 tg_density(unsigned long long n, const double *x, double *gradient, double *value, const void *data) {{
  const i64 *const word = data;
  const void *const inputs[] = {{x}};
  void *const outputs[] = {{value, gradient}};
  if ((i64)n != word[3 + word[2]]) return -1;
  if (tg_call(inputs, outputs, data)) return 1;
  double zeros = 0;
  for (i64 k = 0; k < (i64)n; k++) zeros += gradient[k] * 0;
  return zeros != 0 ? 3 : *value * 0 != 0 ? 4 : 0;
}}
"""


@functools.cache
def _library() -> ctypes.CDLL:
    return compiler.opened(ctypes.CDLL, TEXT, Flags(level=1))


def of_unit(
    graph: FrozenGraph,
    unit: Unit,
    shapes: Sequence[tuple[int, ...]],
    behind: Sequence[np.ndarray[Any, Any]],
    results: Sequence[tuple[int, ...]],
) -> MachineCode:
    """The entries of a unit.

    Args:
        shapes: of the inputs that a call gives.
        behind: the inputs behind these, and what the unit is given besides.
        results: the shapes of the outputs.
    """
    held = behind[: graph.arity - len(shapes)]
    planned = [s for s, k in zip(results, graph.outputs, strict=True) if not follows_from_inputs(graph, k)]
    lengths = [n for shape in (*shapes, *(a.shape for a in held), *planned) for n in shape]
    addresses = [a.ctypes.data for a in behind]
    words = [unit.address("tg_run"), len(shapes), len(behind), *addresses, *lengths]
    data, library = np.array(words, np.int64), _library()
    call, density = (ctypes.cast(getattr(library, f"tg_{name}"), ctypes.c_void_p) for name in ("call", "density"))
    return MachineCode(call.value or 0, density.value or 0, data.ctypes.data, (unit, behind, data, library))
