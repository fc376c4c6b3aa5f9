"""What parts of a loop that threads share scatter into: each into an array of its own, added up in their order after.

Such memory is for small arrays alone, which take little to add up: a loop that scatters into a larger one has one part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise.arithmetic import add
from tg.types.dtypes import is_float
from tg_c.division import most_parts
from tg_c.text import literal
from tg_native.kernels.dtypes import WORDS
from tg_native.plan.values import Scalar, count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg_c.division import Division
    from tg_c.kernel import Kernel
    from tg_c.site import Site
    from tg_native.fusion.loop import Result
    from tg_native.plan.values import Array

MOST: Final = 1024  # elements of an array for each part: of so few, memory for all is at hand


def may_share(site: Site, results: Iterable[Result]) -> bool:
    """Whether what is scattered may be added up afterwards."""
    into = [r for r in results if r.into is not None]
    return all(r.fn is add and is_float(site.inputs[r.into].dtype) for r in into if r.into is not None)


def with_one(site: Site, division: Division, targets: Sequence[Array]) -> Division | None:
    """The division, in one part where an array is too large; None if that is known now."""
    sizes = [count(y.shape) for y in targets]
    if any(type(n) is int and n > MOST for n in sizes):
        return None
    small = " && ".join(f"{site.length(n)} <= {MOST}" for n in sizes)
    return division._replace(parts=site.local("int64", f"{small} ? {division.parts} : 1"))


def share_of(site: Site, kernel: Kernel, target: Array, alone: str) -> tuple[str, Array]:
    """The pointer to what a part scatters into, a local, and the memory for all parts.

    Args:
        alone: the condition that there is one part, which scatters into the array itself.
    """
    memory = site.temporary(target.dtype, (most_parts(site), MOST))
    y, own, kind = kernel.write(target), kernel.write(memory), WORDS[target.dtype]
    name = f"share{y}"
    kernel.line(f"{kind} *const {name} = {alone} ? {y} : {own} + part * {MOST};")
    zero = literal(-0.0, target.dtype)  # to which each sum, of negative zeros too, is added as it is
    kernel.line(f"if (!({alone}))")
    kernel.loop_to("i", kernel.length(count(target.shape)), f"{name}[i] = {zero};")
    return name, memory


def joined(site: Site, memory: Array, parts: str, target: Array) -> Kernel:
    """The loop nest that adds what each of so many parts has scattered to the array, in the order of the parts."""
    kernel = site.kernel()
    part, y, n = kernel.read(memory), kernel.write(target), kernel.value(Scalar("int64", parts))
    kernel.line(f"if ({n} == 1) return;")
    kernel.loop_between("k", "0", n)
    kernel.loop_to("i", kernel.length(count(target.shape)), f"{y}[i] += {part}[k * {MOST} + i];")
    kernel.close()
    return kernel
