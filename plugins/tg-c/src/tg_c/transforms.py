"""The loops of `numpy.fft` (`tg_native.calls.transforms`) for compiled units, which get their table by a function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from tg_c.routine import Routine
from tg_native.calls.transforms import LETTERS, TABLE
from tg_native.loops.transforms import Transforms

if TYPE_CHECKING:
    from tg_c.program import Unit
    from tg_native.kernels.index import Pointer
    from tg_native.loops.kernel import Kernel

DECLARATIONS: Final = f"""\
TG_ONCE void *tg_transforms[{len(TABLE)}];
__attribute__((weak)) void tg_bind_transforms(void *const *table) {{
  for (int i = 0; i < {len(TABLE)}; i++) tg_transforms[i] = table[i];
}}
static void tg_transform(int slot, const void *x, const void *factor, void *y, const i64 *counts, const i64 *steps) {{
  const void *places[3] = {{ x, factor, y }};
  ((void (*)(const void **, const i64 *, const i64 *, void *))tg_transforms[slot])(places, counts, steps,
                                                                                   tg_transforms[slot + 1]);
}}
"""


@final
class CTransforms(Transforms):
    """Calls of the loops for a real dtype."""

    def __init__(self, unit: Unit, dtype: str) -> None:
        self.unit, self.dtype = unit, dtype

    def call(
        self,
        kernel: Kernel,
        name: str,
        places: tuple[Pointer, Pointer, Pointer],
        counts: Pointer,
        steps: Pointer,
        memory: Pointer | None,
    ) -> None:
        body = kernel.body
        assert isinstance(body, Routine)
        self.unit.prelude.need("transforms", DECLARATIONS)
        arguments = ", ".join(str(place.text) for place in (*places, counts, steps))
        body.line(f"tg_transform({TABLE.index(LETTERS[self.dtype] + name)}, {arguments});")
