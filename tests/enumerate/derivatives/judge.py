"""Derivatives of a program by every mode of tg, at hard points, against the hull of their limits."""

from __future__ import annotations

import itertools
import math
import warnings
from collections import Counter
from typing import NamedTuple

import numpy as np

import tg
from tests.enumerate.derivatives import oracle
from tg.ops.elementwise.exponential import log1mexp

RELATIVE = 1e-8  # of the entry
BETWEEN = 0.25  # of the hull of the directions: the hull of all is larger
NOTHING = 1e-13  # beside an entry that is exactly 0, where terms of size 1 cancel
ZERO = 1e-30  # of what cancels
FLOOR = 1e-13  # of the largest entry of the gradient, or of the Hessian
LARGEST = 1e290  # beyond, and below its inverse, results may leave the range of numbers


class Program(NamedTuple):
    """A scalar formula of named inputs, and points at which its derivatives are looked at.

    `leaks` says that NaN can come from a branch that is not taken alone, and is wrong.
    """

    family: str
    text: str
    inputs: tuple  # of names and shapes
    points: tuple  # of flat tuples of all inputs' elements
    leaks: bool = False


class Fault(NamedTuple):
    """One kind of fault of one program at one point."""

    kind: str
    mode: str
    program: Program
    point: tuple
    count: int
    detail: str


FUNCTIONS = {
    name: getattr(tg, name)
    for name in oracle.FUNCTIONS
    if hasattr(tg, name) and name not in {"constant", "inf", "take", "scan", "stack"}
} | {
    **{name: getattr(tg.linalg, name) for name in ("det", "inv", "eigvalsh", "svdvals", "cholesky", "expm", "solve")},
    "slogdet": lambda a: tuple(tg.linalg.slogdet(a)),
    "eigh": lambda a: tuple(tg.linalg.eigh(a)),
    "svd": lambda a: tuple(tg.linalg.svd(a, full_matrices=False)),
    "log1mexp": log1mexp,
    "stack": tg.stack,
    "scan": tg.scan,
    "take": lambda x, k: x[k],
    "inf": math.inf,
    "constant": lambda values: tg.constant(np.array(values, float)),
}


def built(program, *, lengths=True):
    """The program's variables and its value."""
    variables = [
        tg.tensor(name, "float64", shape=shape if lengths else (None,) * len(shape)) for name, shape in program.inputs
    ]
    names = {name: v for (name, _), v in zip(program.inputs, variables, strict=True)}
    y = tg.as_variable(eval(program.text, {"__builtins__": {}, **FUNCTIONS, **names}))
    return variables, y


class Derivatives:
    """Compiled derivatives of a program, first and second order, by every mode."""

    def __init__(self, program, backend):
        self.program = program
        self.sizes = [int(np.prod(shape, dtype=int)) for _, shape in program.inputs]
        self.shapes = [shape for _, shape in program.inputs]
        xs, y = built(program)
        us, vs = ([tg.tensor(f"{n}_{k}", "float64", shape=s) for k, s in enumerate(self.shapes)] for n in "uv")
        zero = {"disconnected": "zero"}
        g = tg.grad(y, xs, **zero)
        j = tg.jvp(y, xs, vs, **zero)
        self.rows = {
            "grad of grad": tg.vjp(g, xs, us, **zero),
            "jvp of grad": tg.jvp(g, xs, us, **zero),
            "grad of jvp": tg.grad(tg.jvp(y, xs, us, **zero), xs, **zero),
        }
        self.blocks = {
            f"{direction} jacobian of grad": [tg.jacobian(a, xs, direction=direction, **zero) for a in g]
            for direction in ("reverse", "forward")
        }
        twice = tg.jvp(j, xs, us, **zero)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            options = {"backend": backend, "on_unused_input": "ignore"}
            self.once = tg.function(
                xs, [y, *g, *(block for m in self.blocks.values() for row in m for block in row)], **options
            )
            self.along = tg.function([*xs, *us], [v for m in self.rows.values() for v in m], **options)
            self.forward = tg.function([*xs, *vs], j, **options)
            self.twice = tg.function([*xs, *us, *vs], twice, **options)

    def split(self, flat):
        parts = np.split(np.asarray(flat, float), np.cumsum(self.sizes)[:-1])
        return [p.reshape(s) for p, s in zip(parts, self.shapes, strict=True)]

    def at(self, point):
        """The value, gradients and Hessians by the name of their mode; what is not computed is None."""
        n, k = len(point), len(self.sizes)
        x = self.split(point)
        units = [self.split(row) for row in np.eye(n)]
        y, *rest = map(np.asarray, self.once(*x))
        gradients = {"grad": np.concatenate([a.ravel() for a in rest[:k]])}
        gradients["jvp"] = np.array([float(self.forward(*x, *v)) for v in units])
        hessians, begin = {}, k
        for name in self.blocks:
            rows = []
            for i in range(k):
                blocks = rest[begin : begin + k]
                begin += k
                rows.append(np.concatenate([b.reshape(self.sizes[i], -1) for b in blocks], 1))
            hessians[name] = np.concatenate(rows)
        by_row = [list(map(np.asarray, self.along(*x, *u))) for u in units]
        for m, name in enumerate(self.rows):
            hessians[name] = np.array([np.concatenate([a.ravel() for a in r[m * k : m * k + k]]) for r in by_row])
        pairs = {place for i, j in oracle.pairs_of(n) for place in ((i, j), (j, i))}
        twice: list = [[None] * n for _ in range(n)]
        for i, j in pairs:
            twice[i][j] = float(self.twice(*x, *units[i], *units[j]))
        hessians["jvp of jvp"] = twice
        return float(y), gradients, hessians


def hull(limits):
    """The interval of the limits, whether there is none, and the doubt of its ends."""
    ends = [m.value for m in limits if m.kind == "limit"]
    grows = [m.value for m in limits if m.kind == "grows"]
    low = -math.inf if any(s < 0 for s in grows) else min(ends, default=math.inf)
    high = math.inf if any(s > 0 for s in grows) else max(ends, default=-math.inf)
    return low, high, max((m.doubt for m in limits), default=0.0)


class Scale(NamedTuple):
    """The largest entry, and the size of what may cancel in an entry that is 0."""

    largest: float
    cancelled: float


def rounding(low, high, scale, doubt=0.0):
    """What rounding may add to an entry: relative to the largest one, or to what cancels if it may be 0."""
    size = max(abs(low), abs(high))
    if size <= doubt or size == 0:
        return FLOOR * scale.cancelled + NOTHING
    return FLOOR * (scale.cancelled if size <= ZERO * scale.cancelled else scale.largest) + 1 / LARGEST


def verdict(number, limits, scale):
    """How a derivative stands to its limits; None where they do not tell.

    "right", "wrong", "nan" and "infinite" where there is a limit, and "digits": right beside what cancels, wrong beside
    the entry itself.
    """
    limits = [m for m in limits if m.kind != "undefined"]
    if not limits or any(m.kind == "slow" for m in limits):
        return None
    low, high, doubt = hull(limits)
    doubt += BETWEEN * (high - low) if math.isfinite(high - low) else 0.0
    has_limit = any(m.kind == "limit" for m in limits)
    grows = any(m.kind == "grows" for m in limits)
    if math.isnan(number):
        return "right" if grows or not has_limit else "nan"
    if math.isinf(number):
        return "right" if (high if number > 0 else -low) > LARGEST else "infinite"
    if not has_limit:
        return "wrong"
    allowed = RELATIVE * max((abs(v) for v in (low, high) if math.isfinite(v)), default=0.0) + doubt
    allowed += rounding(low, high, scale)
    if low - allowed <= number <= high + allowed:
        return "right"
    allowed += FLOOR * scale.cancelled
    return "digits" if low - allowed <= number <= high + allowed else "wrong"


def scale_of(entries):
    sizes = [abs(m.value) for limits in entries for m in limits if m.kind == "limit"]
    return max((s for s in sizes if math.isfinite(s)), default=0.0)


KEPT: dict = {}  # limits by program and point; a run may read them from a file, and write them


class Seen:
    """Counts of a run, and its faults."""

    def __init__(self):
        self.counts: dict[str, Counter] = {}
        self.faults: list[Fault] = []

    def count(self, family, what, number=1):
        self.counts.setdefault(family, Counter())[what] += number

    def add(self, other):
        for family, counts in other.counts.items():
            self.counts.setdefault(family, Counter()).update(counts)
        self.faults += other.faults

    def total(self, what):
        return sum(c[what] for c in self.counts.values())

    def note(self, kind, mode, program, point, count, detail):
        self.count(program.family, kind, count)
        self.faults.append(Fault(kind, mode, program, point, count, detail))


def agree(a, b, scale, limits):
    """Whether two modes give one number, or neither a finite one."""
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or math.isinf(b):
        return (math.isnan(a) and math.isnan(b)) or a == b or not (math.isfinite(a) or math.isfinite(b))
    low, high, doubt = hull([m for m in limits if m.kind != "undefined"])
    allowed = 10 * (FLOOR * scale.cancelled + rounding(low, high, scale, doubt) + doubt)
    return abs(a - b) <= RELATIVE * max(abs(a), abs(b)) + allowed


def judged_entries(seen, program, point, modes, limits, scale, order):
    """Compare entries by every mode with their limits and with one another."""
    wrong: dict[tuple[str, str], list[str]] = {}
    names = list(modes)
    worst: list[str] = []
    for place in limits:
        numbers = {}
        for name in names:
            number = modes[name][place[0]] if order == 1 else modes[name][place[0]][place[1]]
            if number is not None:
                numbers[name] = float(number)
        for name, number in numbers.items():
            answer = verdict(number, limits[place], scale)
            seen.count(program.family, "outputs")
            if answer is None:
                seen.count(program.family, "undecided")
            elif answer != "right":
                kind = "leak" if answer == "nan" and program.leaks else answer
                low, high, _ = hull([m for m in limits[place] if m.kind != "undefined"])
                within = f"{low:.6g}" if low == high else f"[{low:.6g}, {high:.6g}]"
                wrong.setdefault((kind, name), []).append(f"{list(place)} is {number:.6g}, not {within}")
        for a, b in itertools.combinations(numbers, 2):
            if not agree(numbers[a], numbers[b], scale, limits[place]):
                worst.append(f"{list(place)}: {a} {numbers[a]:.6g}, {b} {numbers[b]:.6g}")
                break
    for (kind, name), entries in wrong.items():
        seen.note(kind, name, program, point, len(entries), entries[0])
    if worst:
        seen.note("disagree", "", program, point, len(worst), worst[0])


def asymmetric(seen, program, point, hessians, limits, scale):
    for name, matrix in hessians.items():
        pairs = [(i, j) for i, j in limits if j < i and matrix[i][j] is not None and matrix[j][i] is not None]
        off = [(i, j) for i, j in pairs if not agree(float(matrix[i][j]), float(matrix[j][i]), scale, limits[i, j])]
        if off:
            i, j = off[0]
            text = f"[{i}, {j}] is {matrix[i][j]:.6g}, [{j}, {i}] is {matrix[j][i]:.6g}"
            seen.note("asymmetric", name, program, point, len(off), text)


def judge_point(seen, program, point, results):
    """Note what is wrong of the derivatives at a point; closer and with more digits, if something seems to be."""
    for more in (False, True):
        trial = Seen()
        judge_with(trial, program, point, limits_at(program, point, more), results)
        if not any(f.kind in {"wrong", "infinite", "digits"} for f in trial.faults):
            break
    seen.add(trial)


def limits_at(program, point, more):
    key = (program.text, program.inputs, point, more)
    if key not in KEPT:
        KEPT[key] = oracle.limits_at(program, point, more)
    return KEPT[key]


def near(a, b):
    return math.isfinite(a) and abs(a - b) <= 1e-7 * max(abs(b), 1e-3)


def judge_with(seen, program, point, limits, results):
    value, gradients, hessians = results
    if math.isnan(value):
        seen.count(program.family, "without a value")
        return
    if limits.value is not None and math.isfinite(limits.value) and not near(value, limits.value):
        if limits.exact is not None and near(limits.exact, limits.value):
            seen.note("value", "", program, point, 1, f"{value:.9g}, not {limits.value:.9g}")
        return
    n = len(point)
    first = {(i,): limits.first[i] for i in range(n)}
    second = {place: m for (i, j), m in limits.second.items() for place in {(i, j), (j, i)}}
    slope, bend = scale_of(first.values()), scale_of(second.values())
    width = max((abs(p) for p in point if math.isfinite(p)), default=1.0)
    cancelled = max(slope, abs(value) if math.isfinite(value) else 0.0)
    scales = Scale(slope, max(cancelled, bend * width)), Scale(bend, max(bend, cancelled / max(width, 1.0)))
    judged_entries(seen, program, point, gradients, first, scales[0], 1)
    judged_entries(seen, program, point, hessians, second, scales[1], 2)
    asymmetric(seen, program, point, hessians, second, scales[1])


def judge(seen, program, backend="perform"):
    """Compare a program at all its points."""
    try:
        derivatives = Derivatives(program, backend)
    except (tg.NotDifferentiable, tg.NoRuleError):
        seen.count(program.family, "refused")
        return
    except Exception as error:  # noqa: BLE001 (a fault of whatever kind)
        seen.note("raises", "", program, (), 1, f"{type(error).__name__}: {str(error).splitlines()[0]}")
        return
    seen.count(program.family, "programs")
    for point in program.points:
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results = derivatives.at(point)
        except tg.LinAlgError:
            seen.count(program.family, "refused")
            continue
        except Exception as error:  # noqa: BLE001
            seen.note("raises", "", program, point, 1, f"{type(error).__name__}: {str(error).splitlines()[0]}")
            continue
        judge_point(seen, program, point, results)
