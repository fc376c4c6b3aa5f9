"""Steps of a loop that threads share, each a call of the function of a graph: a C function of some of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from tg_c.division import BEGIN
from tg_native.graphs.failure import STATUS, STATUS_STEP
from tg_native.kernels.dtypes import WORDS

if TYPE_CHECKING:
    from tg_native.graphs.steps import Stepped, Steps

FAILED: Final = f"""\
/* The code of the first part that failed, whose status is copied; 0 if none did. */
static i64 tg_failed(const i64 *found, i64 parts, i64 *status) {{
  for (i64 part = 0; part < parts; part++, found += {STATUS}) {{
    if (!found[0]) continue;
    for (i64 k = 0; status && k < {STATUS}; k++) status[k] = found[k];
    return found[0];
  }}
  return 0;
}}"""


@final
class SharedSteps:
    """The function of some steps, and what it is called with before where it notes what happened.

    There it has one word that says that a thread was interrupted, and a status for each part. A part ends at the first
    of its steps that fails; others go on, for an earlier one may fail, and is the one to tell of.
    """

    def __init__(self, steps: Steps, function: str, name: str) -> None:
        self.steps, self.function, self.name = steps, function, name
        self.parameters, self.arguments = ["const void *const *data"], ["data"]
        arguments = [text for each in steps.slices for text in self._slice(each)]
        arguments += [self._held(dtype, text) for dtype, text in steps.held]
        arguments += [self._place(each, "") for each in steps.traces]
        self.given = arguments
        self.parameters += ["i64 steps", "i64 *found"]
        self.arguments.append(steps.length)

    def words(self, parts: int) -> int:
        """Number of words for so many parts."""
        return 1 + STATUS * parts

    def _argument(self, kind: str, text: str) -> str:
        name = f"a{len(self.parameters)}"
        self.parameters.append(f"{kind}{name}")
        self.arguments.append(text)
        return name

    def _held(self, dtype: str, text: str) -> str:
        return self._argument(f"{WORDS[dtype]} " if dtype else "const void *", text)

    def _place(self, each: Stepped, const: str) -> str:
        start, size = self._argument(f"{const}{WORDS[each.dtype]} *", each.pointer), self._argument("i64 ", each.size)
        return f"{start} + place * {size}"

    def _slice(self, each: Stepped) -> list[str]:
        if each.is_scalar:
            return [f"{self._argument(f'const {WORDS[each.dtype]} *', each.pointer)}[place]"]
        return [self._place(each, "const "), *(self._held(*one) for one in each.lengths)]

    def text(self) -> str:
        """The function."""
        place = "steps - 1 - step" if self.steps.reverse else "step"
        has_status = bool(self.steps.body.checks)
        arguments = ", ".join(("data", *self.given, "mine + 1" if has_status else "0"))
        return f"""\
static __attribute__((noinline)) void {self.name}({", ".join((*self.parameters, BEGIN))}) {{
  i64 asked[1] = {{0}}, *const mine = found + 1 + part * {STATUS};
  for (i64 first = lo; first < hi; first += {self.steps.looks}) {{
    const i64 end = hi - first < {self.steps.looks} ? hi : first + {self.steps.looks};
    for (i64 step = first; step < end; step++) {{
      const i64 place = {place}, code = {self.function}({arguments});
      if (code) {{
        mine[0] = code, mine[{STATUS_STEP}] = place;
        return;
      }}
    }}
    if (end < hi && tg_left(found, asked)) return;
  }}
}}"""
