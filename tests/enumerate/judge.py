"""Whether a value may stand for another, by the class of what replaced it: NumPy shows a difference, mpmath decides.

A replacement that is not exact must be the same in exact arithmetic, up to the rounding of constants and what the
formula makes of it; must not lose more digits than rounding explains, unless a number has left its dtype's range on
the way; and must not hide a NaN, nor make one where nothing is infinite.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import mpmath as mp
import numpy as np
from mpmath import mpc, mpf

from tests.enumerate.numbers import DIGITS, MORE_DIGITS, UNKNOWN, is_infinite, is_nan
from tests.enumerate.truth import NotKnown, Truth
from tests.fuzz.noise import Rounding
from tg.functions.debug.promises import bits, broken
from tg.functions.debug.rounding import RUNS, is_inexact, limits, noisy, wide
from tg.functions.debug.values import Region, Values, gap, out_of_range, regions, spread, tainted
from tg.graph.traversal import sorted_applies
from tg.rewrite.phases import DROPS_ERROR, EXACT, NAN_UNSAFE, SIGNED_ZERO

MULTIPLE = 24.0  # times the spread of a few runs with other roundings
ULPS = 4.0  # that nobody asks about
EDGE = 60  # values at the edge of a region
MORE_RUNS = 40  # before anything is said against a value: what is turned over by one rounding in ten shows then
DIGITS_OF_DOUBT = (MORE_DIGITS, *(MORE_DIGITS + k for k in (1, 7, 20, 51)), 2 * MORE_DIGITS)
TURNED = 64.0  # times the spread of a few runs: what more of them only widen stays far below
HIDDEN, LOST, NEW = "a NaN is hidden", "an infinity is lost", "a NaN is new"
TURNS = 8  # times that signs of zeros are drawn
SHARE = 0.75  # of a range: scales that move bring no value nearer to its end than the rest (`scalars.is_in_range`)
SUMS = frozenset({"add", "subtract"})
FACTORS = frozenset({"Solve", "Inv", "SolveTriangular", "LU", "Cholesky"})
ADDING = frozenset({"Reduce", "MatMul", "SumTo", "Accumulate"})
MASKS = frozenset({"gate", "where"})


class Doubt(NamedTuple):
    """An element at which a value stands wrongly for another."""

    what: str
    place: tuple
    before: object
    after: object
    truth: object
    truth_after: object

    def __str__(self):
        at = f" at {list(self.place)}" if self.place else ""
        exactly = f"exactly {shown(self.truth)}, rewritten {shown(self.truth_after)}"
        return f"{self.what}{at}: {self.after!r} for {self.before!r}; {exactly}"


def shown(t):
    if isinstance(t, mpf):
        return mp.nstr(t, 20)
    return mp.nstr(t, 12) if isinstance(t, mpc) else repr(t)


class Data:
    """The arrays of one trial, and what is known of all values for them.

    `tame` ones are far from the ends of the range; where an array is infinite only exact replacements promise anything.
    """

    def __init__(self, name, inputs, arrays, *, tame=False, infinite=False):
        self.name, self.inputs, self.arrays = name, inputs, arrays
        self.tame, self.infinite = tame, infinite
        self.values = Values(inputs, arrays)
        self._truths = {}

    def truth(self, v, digits=DIGITS, *, folds=True):
        """The exact value of a variable; None where nothing is known."""
        try:
            return self._truth(digits, folds=folds).of(v)
        except NotKnown:
            return None

    def is_short_of_digits(self, v):
        """Whether a number on the way to a variable needs more digits than there are to be seen beside another."""
        return self._truth(MORE_DIGITS, folds=False).swallows(v)

    def _truth(self, digits, *, folds):
        found = self._truths.get((digits, folds))
        if found is None:
            found = self._truths[digits, folds] = Truth(self.inputs, self.arrays, digits, folds=folds)
        return found


def examined(kind, v, w, data, *, whole=False) -> Doubt | None:
    """Where a value stands wrongly for another after replacements of a class; None where it does not.

    Of a `whole` program, not of one replacement in it, more may follow from an overflow that a replacement may bring:
    the sine of an infinity is NaN.
    """
    u, r = np.asarray(data.values.of(v)), np.asarray(data.values.of(w))
    if u.dtype != r.dtype or u.shape != r.shape:
        return Doubt("another type", (), f"{u.dtype}{list(u.shape)}", f"{r.dtype}{list(r.shape)}", None, None)
    wrong = bits(u, r)
    if v.apply is not None and type(v.apply.op).__name__ in ("Solve", "Inv") and v.index == 1:
        wrong &= differs_in_failing(v, u, r, data)
    if not wrong.any():
        return None
    if kind in (EXACT, DROPS_ERROR, SIGNED_ZERO):
        found = broken(kind, (v,), (w,), data.values)
        if found is None or (kind == SIGNED_ZERO and follow_from_zeros(v, w, u, r, wrong, data).all()):
            return None
        if u.dtype.kind != "c":
            t, t2 = data.truth(v), data.truth(w)
            pair = (None if x is None else x[found.place] for x in (t, t2))
            return Doubt(f"{found.what}, {kind}", found.place, found.before, found.after, *pair)
    if is_inexact(u) and data.infinite:
        return None
    judge = functools.partial(inexact, whole=whole) if is_inexact(u) else discrete
    found = judge(kind, v, w, u, r, wrong, data)
    if found is None or kind in (EXACT, DROPS_ERROR, SIGNED_ZERO):
        return found
    return judge(kind, v, w, u, r, wrong & ~follow_from_zeros(v, w, u, r, wrong, data), data)


def follow_from_zeros(v, w, u, r, wrong, data):
    """Which elements, of those that differ, depend on the signs of zeros: 1 / 0.0 > 0 and what is made of it.

    With other signs what was written must be, but for rounding, what replaces it.
    """
    old, _ = regions((v,), (w,))
    rng = np.random.default_rng(0)
    follow = ~wrong
    for chance in (1.0, *[0.5] * TURNS):
        turned = data.values.again(
            old, [v], lambda node, operands, results, c=chance: [with_turned_zeros(y, rng, c) for y in results]
        )
        other = np.asarray(turned[0])
        follow |= ~same(u, other) & resembles(other, r)
    return follow


def same(x, y):
    """Where two arrays are equal, or both NaN."""
    return (gap(x, y) == 0) if is_inexact(x) else x == y


def resembles(x, y):
    """Where two arrays are equal but for rounding."""
    if not is_inexact(x):
        return x == y
    with np.errstate(all="ignore"):
        return (gap(x, y) <= np.sqrt(limits(x.dtype).eps) * np.abs(wide(x))) | same(x, y)


def with_turned_zeros(y, rng, chance):
    """An array some of whose zeros have the other sign."""
    y = np.asarray(y)
    if not is_inexact(y) or y.dtype.kind == "c":
        return y
    return np.where((y == 0) & (rng.random(y.shape) < chance), -y, y).astype(y.dtype)


def differs_in_failing(v, u, r, data):
    """Where one of two infos of systems or inverses says that a matrix is singular, which the other should say too.

    Which pivot is 0 depends on how rows are exchanged. Rounding decides whether a pivot is 0 of a matrix that is
    singular: the oracle's word counts, where it knows one; and elimination may meet a 0 before it meets a NaN.
    """
    matrix, exact = np.asarray(data.values.of(v.apply.inputs[0])), data.truth(v)
    if exact is None:
        return np.zeros(u.shape, bool)
    is_wrong = np.vectorize(lambda one, info: one is not UNKNOWN and (one == 0) != (info == 0), [bool])(exact, r)
    return ((u == 0) != (r == 0)) & is_wrong & ((r != 0) | ~np.isnan(matrix).any((-2, -1)))


def discrete(kind, v, w, u, r, wrong, data):
    """An integer or truth value that differs: whether rounding may turn it over."""
    t, t2 = data.truth(v), data.truth(w)
    old, new = regions((v,), (w,))
    rng = np.random.default_rng(0)
    noise = lambda node, operands, results: noisy(node.op, operands, results, rng)  # noqa: E731
    for _ in range(2 * RUNS):
        wrong = wrong & (np.asarray(data.values.again(old, [v], noise)[0]) == u)
        wrong = wrong & ((np.asarray(data.values.again(new, [w], noise)[0]) == r) | (kind == EXACT))
    if wrong.any() and kind not in (EXACT, DROPS_ERROR, SIGNED_ZERO):  # overflow may have been moved
        wrong = wrong & ~(infinities(data.values, old, v) | out_of_range(data.values, old, v))
        if not data.tame:  # or underflow be new, as of numbers (`_Judge.verdict`)
            wrong = wrong & ~out_of_range(data.values, new, w)
    for place in map(tuple, np.argwhere(wrong).tolist()):
        finest = data.truth(v, MORE_DIGITS) if t is not None else None  # 1 - (1 - x) is 0 in few digits
        want = None if finest is None or finest[place] is UNKNOWN else finest[place]
        if want is not None and want == r[place]:
            continue
        return Doubt(f"another value, {kind}", place, u[place], r[place], want, None if t2 is None else t2[place])
    return None


def inexact(kind, v, w, u, r, wrong, data, *, whole):
    info = limits(u.dtype)
    with np.errstate(all="ignore"):
        x, y = wide(u), wide(r)
        size = np.maximum(np.abs(x), np.abs(y))
        near = np.isfinite(size) & (np.abs(x - y) <= ULPS * np.maximum(info.eps * size, info.least))
        wrong = wrong & ~near & ~(x == y)
    if not wrong.any():
        return None
    judge = _Judge(kind, v, w, u, r, data, whole)
    for place in map(tuple, np.argwhere(wrong).tolist()):
        found = judge.doubt(place)
        if found is not None:
            return found
    return None


class _Judge:
    """The evidence about one pair of values, each piece found when it is asked for."""

    def __init__(self, kind, v, w, u, r, data, whole):
        self.kind, self.v, self.w, self.u, self.r, self.data, self.whole = kind, v, w, u, r, data, whole
        self.info = limits(u.dtype)
        self._spread = self._turned = self._numbers = self._left = self._new_left = self._infinite = None

    def doubt(self, place):
        found = self._doubt(place)
        if found is None or self.kind == EXACT:
            return found
        if self.has_no_value(place) or self.is_turned(place):
            return None
        if found.what.startswith(NEW) and not self.has_digits(place) and self.is_nan_by_rounding(place):
            return None
        return found

    def is_turned(self, place):
        """Whether rounding brings a value as far as its replacement is, now and then or in another order.

        That is another order of adding, or that what has several uses is computed for each of them: where d owes all
        that it is to rounding, y * d - z * d is 0 for equal y and z only if both d are rounded alike.
        """
        size = self.turned(place)
        return bool(size > TURNED * self._spread[place] and gap(self.u, self.r)[place] <= MULTIPLE * size)

    def has_digits(self, place):
        """Whether rounding leaves a value as large as it is, by its first digit at least."""
        return bool(self.turned(place) < np.abs(wide(np.asarray(self.u[place])))) or self.turned(place) == 0

    def is_nan_by_rounding(self, place):
        """Whether the replacement's NaN is a number when what the replacement is made of is rounded otherwise.

        So is 0 / 0 of a difference that happens to be 0; not that of a factor 0, and not a quotient of infinities.
        """
        if self._numbers is None:
            self.allowed(place, mpf(1))
            self._numbers = numbers(self.data.values, widened(self.new, self.w), self.w, MORE_RUNS)
        return bool(self._numbers[place])

    def turned(self, place):
        """How far rounding brings a value, now and then or in another order."""
        if self._turned is None:
            self.allowed(place, mpf(1))
            self._turned = moved(self.data.values, self.old, self.v, self.u, MORE_RUNS)
            self._turned = np.maximum(self._turned, used_apart(self.data.values, self.old, self.v, self.u))
            self._turned = np.maximum(self._turned, added_otherwise(self.data.values, self.old, self.v, self.u))
        return self._turned[place]

    def has_no_value(self, place):
        """Whether other digits say something else: what is shown is their rounding, as of 1 / log(1)."""
        first, *others = (self.data.truth(self.v, digits, folds=False) for digits in DIGITS_OF_DOUBT)
        return first is None or any(t is None or far_apart(first[place], t[place]) for t in others)

    def _doubt(self, place):
        for digits in (DIGITS, MORE_DIGITS):
            for folds in (True, False):
                t, t2 = self.data.truth(self.v, digits, folds=folds), self.data.truth(self.w, digits, folds=folds)
                if t is None or t2 is None or t[place] is UNKNOWN or t2[place] is UNKNOWN:
                    return None
                with mp.workdps(digits):
                    what = self.verdict(place, t[place], t2[place])
                if what is None:
                    return None
                if digits == DIGITS and folds:
                    first = (t[place], t2[place])
        if what in (HIDDEN, LOST) and self.data.is_short_of_digits(self.v):
            return None
        return Doubt(f"{what}, {self.kind}", place, self.u[place], self.r[place], *first)

    def allowed(self, place, size):
        """How far a number may be from another of this size."""
        if self._spread is None:
            old, self.new = regions((self.v,), (self.w,))
            self.old = widened(old, self.v)
            self._spread = moved(self.data.values, self.old, self.v, self.u, RUNS)
            lost = ~np.isfinite(wide(self.u))  # of an infinity no rounding is seen, but in what replaces it
            if lost.any() and self.kind != EXACT:
                other = moved(self.data.values, self.new, self.w, self.r, RUNS)
                self._spread = np.where(lost, np.maximum(self._spread, other), self._spread)
        info = self.info
        slack = self._spread[place]
        if not np.isfinite(slack):
            return None
        return mpf(MULTIPLE * float(slack)) + 16 * mpf(info.eps) * abs(size) + 8 * mpf(info.least)

    def left_range(self, place, *, new=False):
        """Whether a number on the way has left the range of its dtype."""
        if self._left is None:
            self.allowed(place, mpf(1))
            self._left = out_of_range(self.data.values, self.old, self.v)
            self._new_left = out_of_range(self.data.values, self.new, self.w)
        return bool((self._new_left if new else self._left)[place])

    def is_infinite(self, place):
        """Whether an operand, or a number on the way of what was written, is infinite: less is promised there."""
        if self._infinite is None:
            self.allowed(place, mpf(1))
            self._infinite = infinities(self.data.values, self.old, self.v)
        return bool(self._infinite[place])

    def is_made_of_infinite(self, place):
        """Whether an operand, or a number on the way to the value, is infinite."""
        self.allowed(place, mpf(1))
        return bool(infinities(self.data.values, self.old, self.v, itself=False)[place])

    def began_infinite(self, place):
        """Whether anything that a number is made of, back to the inputs, is infinite: a share of exp(-inf), say."""
        applies = tuple(node for node, _ in sorted_applies([self.v]))
        region = Region(applies, tuple(self.data.inputs))
        return bool(infinities(self.data.values, region, self.v, hides=self.whole)[place])

    @property
    def sum_overflows(self):
        """Whether a sum, or product, of the replacement is infinite though its terms are not: a 0 is not among them."""
        found = []

        def note(node, operands, results):
            if type(node.op).__name__ in ADDING:
                terms = [np.isfinite(wide(x)) for x in map(np.asarray, operands) if is_inexact(x)]
                sums = [np.isfinite(wide(y)) for y in map(np.asarray, results) if is_inexact(y)]
                if type(node.op).__name__ == "Reduce":  # sum by sum
                    terms = [t.all(axis=node.op.axes) for t in terms]
                    found.extend((t & ~s).any() for t, s in zip(terms, sums, strict=True))
                else:
                    found.append(all(t.all() for t in terms) and not all(s.all() for s in sums))
            return results

        self.data.values.again(self.new, [self.w], note)
        return any(found)

    @property
    def factors_overflow(self):
        """Whether numbers meet a factorisation, or leave it, of which products on its way overflow or underflow."""
        found = []

        def note(node, operands, results):
            if type(node.op).__name__ in FACTORS:
                sizes = [np.abs(wide(x)) for x in map(np.asarray, (*operands, *results)) if is_inexact(x)]
                high, low = float(largest(self.u.dtype)) ** 0.4, float(self.info.tiny) ** 0.4
                found.extend(bool(((x > high) | ((x != 0) & (x < low))).any()) for x in sizes)
            return results

        self.data.values.again(self.new, [self.w], note)
        return any(found)

    @property
    def has_subnormals(self):
        """Whether what the replacement is made of has numbers with fewer digits than the others."""
        found = [wide(x) for x in map(np.asarray, self.data.values.of_all(self.new.leaves)) if is_inexact(x)]
        return any(((x != 0) & (np.abs(x) < self.info.tiny)).any() for x in found)

    def shows_infinite(self, place):
        """Whether an infinity, or a NaN, reaches the value that no gate, and no choice, keeps out of it."""
        self.allowed(place, mpf(1))
        return bool(infinities(self.data.values, self.old, self.v, hides=True)[place])

    def verdict(self, place, t, t2):
        u, r = self.u[place], self.r[place]
        u_nan, r_nan = bool(np.isnan(wide(np.asarray(u)))), bool(np.isnan(wide(np.asarray(r))))
        if u_nan and self.kind == NAN_UNSAFE:
            return None  # by whatever it hides the NaN
        if is_nan(t):
            hides = u_nan and not r_nan and not is_nan(t2)
            return HIDDEN if hides and not (self.is_infinite(place) or self.began_infinite(place)) else None
        if is_infinite(t):
            u_infinite = bool(np.isinf(wide(np.asarray(u))))
            same = is_infinite(t2) and (t > 0) == (t2 > 0)
            return LOST if u_infinite and not same and not self.is_made_of_infinite(place) else None
        got, was = number(r), number(u)
        if isinstance(t, mpf) and abs(t) > largest(self.u.dtype) and r == np.inf * np.sign(float(mp.sign(t))):
            return None  # what the number is in its dtype, however badly conditioned the way there
        size = self.allowed(place, abs(t))
        if size is None:
            return None
        if got is not None and abs(got - t) <= size:
            return None
        if is_nan(t2) or is_infinite(t2):
            fine = was is not None and abs(was - t) <= size and not self.shows_infinite(place)
            return "not the same in exact arithmetic" if fine else None
        if abs(t - t2) > size:  # of a whole program also where a share of what is infinite, NaN, decides a comparison
            return None if self.whole and self.began_infinite(place) else "not the same in exact arithmetic"
        if r_nan:
            left = self.left_range(place)
            if self.sum_overflows or (self.whole and not self.data.tame):
                left = left or self.left_range(place, new=True)
            return None if u_nan or was is None or left or self.factors_overflow else NEW
        if was is None or self.left_range(place) or (not self.data.tame and self.left_range(place, new=True)):
            return None
        if got is None:
            return "overflows" if self.data.tame and abs(t) < largest(self.u.dtype) ** SHARE else None
        if not self.data.tame and self.has_subnormals:
            return None  # products of these have few digits in whatever order
        has_digits = 2 * abs(was - t) < abs(t) or t == 0
        return "loses digits" if has_digits and abs(got - t) > 4 * abs(was - t) + size else None


def widened(region, root):
    """A region with the sums at its edge: what is 0 of terms that are not owes their size to rounding."""
    stops = {id(v): v for v in region.leaves}
    queue = [v for v in region.leaves if v is not root]
    for v in queue:
        if (
            id(v) in stops
            and v.apply is not None
            and getattr(getattr(v.apply.op, "fn", None), "name", "") in SUMS
            and len(stops) < EDGE
        ):
            del stops[id(v)]
            new = [u for u in v.apply.inputs if id(u) not in stops]
            stops.update((id(u), u) for u in new)
            queue.extend(new)
    if root.apply is None or id(root) in stops:
        return region
    applies = tuple(node for node, _ in sorted_applies([root], boundary=list(stops.values())))
    return Region(applies, tuple(stops.values()))


def infinities(values, region, root, *, itself=True, hides=False):
    """Where a value is made of an infinite one inside a region or at its edge, or is one `itself`.

    Args:
        hides: what a gate or a choice keeps out of its result does not count.
    """
    flags = {}

    def infinite(x):
        x = np.asarray(x)
        return np.isinf(wide(x)) if is_inexact(x) else np.zeros(x.shape, bool)

    for v in region.leaves:
        if (found := infinite(values.of(v))).any():
            flags[v_key(v)] = found

    def note(node, operands, results):
        given = [flags.get(v_key(u)) for u in node.inputs]
        if hides:
            given = chosen(node, operands, given)
        for k, y in enumerate(results):
            flags[id(node), k] = tainted(node.op, operands, given, k, np.asarray(y))
            if itself or node is not root.apply:
                flags[id(node), k] = flags[id(node), k] | infinite(y)
        return results

    values.again(region, [root], note)
    found = flags.get(v_key(root))
    return np.zeros(np.shape(values.of(root)), bool) if found is None else found


def chosen(node, operands, flags):
    """The flags of operands where they are chosen: behind a gate where its cotangent is not 0, by a condition."""
    name = getattr(getattr(node.op, "fn", None), "name", "")
    if name not in MASKS:
        return flags
    first = np.asarray(operands[0]) != 0
    open_to = (None, first) if name == "gate" else (None, first, ~first)
    return [f if f is None or m is None else f & m for f, m in zip(flags, open_to, strict=True)]


def v_key(v):
    return (id(v.apply), v.index) if v.apply is not None else (id(v), 0)


def far_apart(a, b):
    """Whether a number is another one, or none, when it is computed in other digits."""
    if isinstance(a, mpf) and isinstance(b, mpf):
        return abs(a - b) > mpf(2) ** -40 * max(abs(a), abs(b))
    return isinstance(a, mpf) != isinstance(b, mpf) or is_nan(a) != is_nan(b)


def moved(values, region, v, base, runs):
    """How far a value is moved when every operation of a region has operands and results rounded anew."""
    (size,) = spread(values, region, (v,), runs)
    for other in rounded_otherwise(values, region, v, runs):
        size = np.maximum(size, gap(base, other) if other.shape == base.shape else np.inf)
    return size


def numbers(values, region, v, runs):
    """Where a value is a finite number in one run or another of those that `moved` makes."""
    found = np.zeros(np.shape(values.of(v)), bool)
    for other in rounded_otherwise(values, region, v, runs):
        found |= np.isfinite(wide(other)) if other.shape == found.shape else False
    return found


def rounded_otherwise(values, region, v, runs):
    """A value in some runs in which every operation of a region has operands and results rounded anew."""
    rng = np.random.default_rng(0)
    noise = Rounding(rng)

    def again(node, operands, results):
        operands = noise.operands(node.op, operands)
        try:
            found = node.op.perform(*operands)
        except Exception:  # noqa: BLE001 (a check on the way would have failed)
            found = results
        return [noise.result(node.op, operands, y) for y in found]

    for _ in range(runs):
        with np.errstate(all="ignore"):
            other = np.asarray(values.again(region, [v], again)[0])
        yield other


def used_apart(values, region, v, base):
    """How far a value is moved when each use of what is inside a region takes it as one run has rounded it, or another.

    Rewriting need not compute what has two uses once: operands that are rounded anew at each use say so of one
    rounding, and not of what a sum is whose terms have cancelled.
    """
    rng = np.random.default_rng(0)
    noise = Rounding(rng)
    before, made = {}, {}

    def again(node, operands, results):
        given = [
            before[v_key(u)] if v_key(u) in before and rng.integers(2) else x
            for u, x in zip(node.inputs, operands, strict=True)
        ]
        given = noise.operands(node.op, given)
        try:
            found = node.op.perform(*given)
        except Exception:  # noqa: BLE001 (a check on the way would have failed)
            found = results
        found = [noise.result(node.op, given, y) for y in found]
        made.update({(id(node), k): y for k, y in enumerate(found)})
        return found

    size = np.zeros(base.shape)
    with np.errstate(all="ignore"):
        for _ in range(MORE_RUNS):
            other = np.asarray(values.again(region, [v], again)[0])
            size = np.maximum(size, gap(base, other) if other.shape == base.shape else np.inf)
            before, made = made, {}
    return size


def added_otherwise(values, region, v, base):
    """How far a value is moved when sums are added from their other ends, each product rounded before it is added."""

    def again(node, operands, results):
        op = node.op
        try:
            if type(op).__name__ == "MatMul" and all(x.ndim > 1 for x in operands):
                x, y = operands
                products = x[..., :, ::-1, None] * y[..., None, ::-1, :]
                return [np.add.accumulate(products, axis=-2)[..., -1, :]]
            if type(op).__name__ == "Reduce":
                return op.perform(np.flip(operands[0], op.axes))
        except Exception:  # noqa: BLE001 (nothing to add)
            return results
        return results

    other = np.asarray(values.again(region, [v], again)[0])
    return gap(base, other) if other.shape == base.shape else np.full(base.shape, np.inf)


def largest(dtype):
    from tests.fuzz.noise import limits as of

    return mpf(of(dtype).largest)


def number(x):
    """A finite element as a number, else None."""
    z = wide(np.asarray(x))
    if not np.isfinite(z):
        return None
    return mpc(complex(z)) if z.dtype.kind == "c" else mpf(float(z))


__all__ = ["Data", "Doubt", "examined", "gap"]
