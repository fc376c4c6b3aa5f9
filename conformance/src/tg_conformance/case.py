"""From cases to items: each case with the dtypes, layouts and kinds of static shape that the tier asks for.

An item has a stable id.
"""

from __future__ import annotations

import functools
import zlib
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from tg import plugin
from tg.graph.op import Op
from tg.ops.elementwise.record import ElementwiseFunction
from tg.plugin.case import OTHER_SHAPE, Case, Layout, differentiable
from tg.types.dtypes import DTYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tg.plugin import Backend

Tier = Literal["sparse", "quick", "full"]
Kind = Literal["value", "grad", "error", "script"]

TIERS: Final = ("sparse", "quick", "full")
ROUNDS: Final[dict[Tier, int]] = {"sparse": 0, "quick": 2, "full": 2}  # calls of each thread, by the tier asked for
BATCH: Final = 48  # programs that are compiled as one function
GRADIENT_DTYPES: Final = ("float32", "float64")  # in others a derivative has too few digits to judge
GRADIENT_LAYOUTS: Final[tuple[Layout, ...]] = ("C", "strided", "reversed")


class Item(NamedTuple):
    """One thing to be tested on a backend; all but `case` is plain data."""

    case: Case
    kind: Kind
    dtype: str | None
    layout: Layout
    static: bool

    @property
    def id(self) -> str:
        """The stable name, such as `elementwise/exponential:log1p[float32,strided,unknown]`."""
        what = case_name(self.case) + (".grad" if self.kind == "grad" else "")
        return f"{what}[{','.join((self.dtypes, self.layout, 'known' if self.static else 'unknown'))}]"

    @property
    def dtypes(self) -> str:
        """The dtype it varies over, else those of its inputs."""
        if self.dtype is not None:
            return self.dtype
        return "+".join(dict.fromkeys(i.dtype or "" for i in self.case.inputs)) or "none"

    @property
    def shape_class(self) -> str:
        """Items of one class can be compiled together: with ordinary shapes, empty ones, lengths of 1, or scalars."""
        return self.layout if self.layout in OTHER_SHAPE else "main"

    @property
    def has_two_shapes(self) -> bool:
        """Whether the second call has other lengths: what a backend with static shapes compiles twice."""
        drawn = (i for i in self.case.inputs if not callable(i.values))
        return not self.static and any(isinstance(n, str) for i in drawn for n in i.shape)

    @property
    def program(self) -> tuple[object, ...]:
        """The key that items of one expression share."""
        return (id(self.case), self.kind, self.dtype, self.static, self.shape_class)


def case_name(case: Case) -> str:
    """The family and the name of a case."""
    return f"{case.family or 'extension'}:{case.name or subject_name(case.subject)}"


def subject_name(subject: Any) -> str:
    """The name of an elementwise function, of an op with its fields, or of a Python function."""
    if isinstance(subject, ElementwiseFunction):
        return subject.name
    if isinstance(subject, Op):
        return repr(subject)
    return str(getattr(subject, "__name__", subject))


@functools.cache
def all_cases() -> tuple[Case, ...]:
    """The kit's cases, then those that extensions give."""
    from tg_conformance.cases import CASES

    return (*CASES, *(case for case in plugin.registry().cases() if isinstance(case, Case)))


def tier_as_run(backend: Backend, tier: Tier) -> Tier:
    """The tier of a backend's cases: for one that compiles slowly the quick tier has those of the sparse one."""
    return "sparse" if tier == "quick" and backend.compiles != "fast" else tier


def items(backend: Backend, tier: Tier) -> list[Item]:
    """The items to test on a backend, in the order of the cases."""
    as_run = tier_as_run(backend, tier)
    tests = [item for case in all_cases() for item in variants(case, as_run) if can_run(item, backend)]
    ids = [item.id for item in tests]
    assert len(set(ids)) == len(ids), sorted({i for i in ids if ids.count(i) > 1})
    return tests


def witnesses(backend: Backend, tier: Tier) -> list[Item]:
    """The items that gaps are held to: the tier's; where it has one dtype of each case, then all."""
    tests = items(backend, tier)
    if tier_as_run(backend, tier) == "sparse":
        tests += [item for case in all_cases() for item in variants(case, "quick") if can_run(item, backend)]
    return tests


def can_run(item: Item, backend: Backend) -> bool:
    """Whether the backend claims every dtype of the item."""
    if not backend.dtypes:
        return True
    used = {i.dtype or item.dtype for i in item.case.inputs} | (item.case.needs & set(DTYPES))
    return used <= backend.dtypes


def variants(case: Case, tier: Tier) -> Iterator[Item]:
    """The items of a case."""
    for dtype in _dtypes(case, tier):
        if case.raises is not None or case.script:
            yield Item(case, "error" if case.raises else "script", dtype, "C", case.static[-1])
            continue
        yield from (Item(case, "value", dtype, *pair) for pair in _pairs(case, case.layouts, dtype, tier))
        if (
            case.gradient
            and dtype in (None, *GRADIENT_DTYPES)
            and any(differentiable(i, i.dtype or dtype or "") for i in case.inputs)
        ):
            layouts = [k for k in GRADIENT_LAYOUTS if k in case.layouts] or list(case.layouts[:1])
            pairs = _pairs(case, layouts, dtype, tier, of_gradient=True)
            yield from (Item(case, "grad", dtype, *pair) for pair in pairs)


def _dtypes(case: Case, tier: Tier) -> tuple[str | None, ...]:
    """The dtypes of a case; in the sparse tier one, which differs from case to case."""
    if tier != "sparse" or not case.dtypes:
        return case.dtypes or (None,)
    return (case.dtypes[zlib.crc32(case_name(case).encode()) % len(case.dtypes)],)


def _pairs(
    case: Case, layouts: Iterable[Layout], dtype: str | None, tier: Tier, *, of_gradient: bool = False
) -> list[tuple[Layout, bool]]:
    """The pairs of layout and static shape: all, or a few layouts, so that a case's dtypes together have every one."""
    candidates = list(layouts)
    if all(i.shape == () for i in case.inputs):
        candidates = candidates[:1]
    if any(not isinstance(i.values, str) and not callable(i.values) for i in case.inputs):
        candidates = [layout for layout in candidates if layout != "broadcast"]  # it would change the values
    if tier == "full":
        return [(layout, static) for layout in candidates for static in case.static]
    turn = zlib.crc32(f"{case_name(case)}|{dtype}".encode())
    static = case.static[(turn // 64) % len(case.static)]
    if tier == "sparse":
        return [(candidates[turn % len(candidates)], static)]
    dtypes: list[str | None] = [d for d in case.dtypes if not of_gradient or d in GRADIENT_DTYPES]
    share = max(2, -(-len(candidates) // max(1, len(dtypes))))
    first = zlib.crc32(case_name(case).encode()) + share * (dtypes.index(dtype) if dtype in dtypes else 0)
    return [(candidates[(first + k) % len(candidates)], static) for k in range(min(share, len(candidates)))]


def batches(tests: Iterable[Item]) -> list[list[Item]]:
    """The items in groups that are compiled together; each program's items stay together."""
    programs: dict[tuple[object, ...], list[Item]] = {}
    for item in tests:
        programs.setdefault(item.program, []).append(item)
    groups: dict[tuple[object, ...], list[list[Item]]] = {}
    for members in programs.values():
        first = members[0]
        alone = first.kind if first.kind in ("error", "script") else ""
        groups.setdefault((first.shape_class, alone, first.kind, first.has_two_shapes), []).append(members)
    return [
        [item for members in group[start : start + BATCH] for item in members]
        for group in groups.values()
        for start in range(0, len(group), BATCH)
    ]
