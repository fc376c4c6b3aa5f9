"""Einstein's summation: products over named axes, two operands at a time, each pair a matrix product."""

from __future__ import annotations

import itertools
import string
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.errors import InputError, ShapeError, message
from tg.ops.contraction import MatMul
from tg.ops.diagonal import diagonal
from tg.ops.elementwise.arithmetic import multiply
from tg.ops.elementwise.cast import cast_variable
from tg.ops.family import Family
from tg.ops.reduction import reduce_sum
from tg.ops.shape import Squeeze, expand_dims_at, reshape, transpose, with_lengths
from tg.types.lengths import product
from tg.variables.conversion import as_variable, promoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.types.lengths import Length

    Term = tuple[Variable, tuple[str, ...]]  # an operand and the labels of its axes

TYPICAL: Final = 32  # what an unknown length counts when the order of the products is chosen


def einsum(subscripts: str, *operands: Any, optimize: Any = True) -> Variable:
    """The sums of products that subscripts say: "ij,jk->ik" is the matrix product.

    A letter that is not in the result is summed over; a letter that occurs twice in one operand takes its diagonal.
    Without an arrow the result has the letters that occur once, in alphabetical order. "..." stands for leading axes
    that broadcast.

    Args:
        optimize: whether to choose the order of the products by their cost; else they are taken from the left.
    Raises:
        InputError: subscripts that cannot be read, or not one term for each operand.
        ShapeError: an operand has another rank than its term, or lengths of one letter differ.
    Example:
        >>> import numpy as np, tg
        >>> x = tg.matrix("x")
        >>> tg.einsum("ij,kj->ik", x, x).eval({x: np.eye(2)})
        array([[1., 0.],
               [0., 1.]])
    Source:
        numpy.einsum
    """
    if not operands:
        raise InputError(message("einsum: found no operands, needed at least one"))
    variables, dtype = promoted([as_variable(v) for v in operands])
    terms, result = _read(subscripts, [cast_variable(v, dtype) for v in variables])
    _need_one_length_each(terms)
    terms = _with_one_length_each(terms)
    terms = [_without_ones(_on_diagonals(term), terms) for term in terms]
    for pair in _order(terms, result) if optimize else [(0, 1)] * (len(terms) - 1):
        chosen = [terms[k] for k in sorted(pair)]
        terms = [term for k, term in enumerate(terms) if k not in pair]
        letters = {*result, *itertools.chain.from_iterable(labels for _, labels in terms)}
        terms.append(
            _contracted(
                _summed(chosen[0], letters | set(chosen[1][1])),
                _summed(chosen[1], letters | set(chosen[0][1])),
                letters,
            )
        )
    return _arranged(_summed(terms[0], set(result)), result)


def _read(subscripts: str, operands: list[Variable]) -> tuple[list[Term], tuple[str, ...]]:
    """The labels of every operand's axes, and of the result's; leading axes that "..." stands for get digits."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(operands):
        raise InputError(message(f"einsum: {subscripts!r}: found {len(parts)} terms for {len(operands)} operands"))
    allowed = set(string.ascii_letters)
    for part in (*parts, right):
        if set(part.replace("...", "", 1)) - allowed:
            raise InputError(message(f"einsum: {subscripts!r}: found the term {part!r}, needed letters and '...'"))
    terms = []
    for part, v in zip(parts, operands, strict=True):
        letters = part.replace("...", "", 1)
        extra = v.type.ndim - len(letters)
        if extra < 0 or (extra and "..." not in part):
            raise ShapeError(message(f"einsum: {subscripts!r}: the term {part!r} does not fit {v.type}"))
        terms.append((v, tuple(_labels(part, extra))))
    most = max((label for _, labels in terms for label in labels if label.isdigit()), default="", key=int)
    leading = [str(k) for k in range(int(most), -1, -1)] if most else []
    if arrow and leading and "..." not in right:
        raise InputError(message(f"einsum: {subscripts!r}: the result needs '...' as the terms have"))
    if arrow:
        result = _expanded(right, leading)
    else:
        letters = left.replace("...", "").replace(",", "")
        result = [*leading, *sorted(c for c in set(letters) if letters.count(c) == 1)]
    all_labels = {label for _, labels in terms for label in labels}
    if len(set(result)) != len(result) or not set(result) <= all_labels:
        raise InputError(message(f"einsum: {subscripts!r}: the result repeats a letter, or has one that no term has"))
    return terms, tuple(result)


def _labels(part: str, extra: int) -> list[str]:
    return _expanded(part, [str(k) for k in range(extra - 1, -1, -1)])


def _expanded(part: str, leading: list[str]) -> list[str]:
    """The letters of a term, "..." replaced."""
    before, dots, after = part.partition("...")
    return [*before, *(leading if dots else []), *after]


def _need_one_length_each(terms: Sequence[Term]) -> None:
    lengths: dict[str, int] = {}
    for v, labels in terms:
        for n, label in zip(v.type.shape, labels, strict=True):
            if not isinstance(n, int) or (n == 1 and label.isdigit()):
                continue
            if lengths.setdefault(label, n) != n:
                raise ShapeError(message(f"einsum: lengths of {label!r} differ: found {lengths[label]} and {n}"))


def _with_one_length_each(terms: Sequence[Term]) -> list[Term]:
    """The terms, of which it is made sure that a letter has one length, that of its first axis."""
    first: dict[str, int | Length] = {}
    results = []
    for v, labels in terms:
        pairs = [(k - len(labels), n, c) for k, (n, c) in enumerate(zip(v.shape, labels, strict=True))]
        needed = {k: first.setdefault(c, n) for k, n, c in pairs if not c.isdigit()}
        results.append((with_lengths(v, needed, "einsum"), labels))
    return results


def _on_diagonals(term: Term) -> Term:
    """A term in which no label repeats."""
    v, labels = term
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            v = diagonal(v, 0, first, second)
            labels = (*(c for k, c in enumerate(labels) if k not in (first, second)), label)
    return v, labels


def _without_ones(term: Term, others: Sequence[Term]) -> Term:
    """A term without leading axes of length 1 that another operand has longer."""
    v, labels = term
    longer = {c for u, names in others for n, c in zip(u.type.shape, names, strict=True) if n != 1}
    gone = tuple(k for k, c in enumerate(labels) if c.isdigit() and c in longer and v.type.shape[k] == 1)
    if not gone:
        return term
    axes = tuple(k - v.type.ndim for k in gone)
    return Squeeze(axes)(v), tuple(c for k, c in enumerate(labels) if k not in gone)


def _order(terms: Sequence[Term], result: tuple[str, ...]) -> list[tuple[int, ...]]:
    """The pairs to multiply one after another, as NumPy chooses them for lengths that are known or typical."""
    if len(terms) < 3:
        return [(0, 1)] * (len(terms) - 1)
    names = sorted({c for _, labels in terms for c in labels})
    letter = dict(zip(names, string.ascii_letters, strict=False))
    sizes = {
        c: max(n, 1) for v, labels in terms for n, c in zip(v.type.shape, labels, strict=True) if isinstance(n, int)
    }
    text = ",".join("".join(letter[c] for c in labels) for _, labels in terms)
    dummies = [np.broadcast_to(0.0, [sizes.get(c, TYPICAL) for c in labels]) for _, labels in terms]
    path, _ = np.einsum_path(f"{text}->{''.join(letter[c] for c in result)}", *dummies, optimize=("greedy", 2**60))
    pairs = [tuple(pair) for pair in path[1:]]
    return pairs if all(len(pair) == 2 for pair in pairs) else [(0, 1)] * (len(terms) - 1)


def _summed(term: Term, letters: set[str]) -> Term:
    """A term summed over the labels that nothing else has."""
    v, labels = term
    axes = tuple(k - len(labels) for k, c in enumerate(labels) if c not in letters)
    return (reduce_sum(v, axes), tuple(c for c in labels if c in letters)) if axes else term


def _contracted(first: Term, second: Term, letters: set[str]) -> Term:
    """The product of two terms, summed over the labels that both have and nothing else needs."""
    (x, a), (y, b) = first, second
    both = [c for c in a if c in b]
    shared, batch = [c for c in both if c not in letters], [c for c in both if c in letters]
    left, right = [c for c in a if c not in b], [c for c in b if c not in a]
    if not shared:
        labels = (*batch, *left, *right)
        return multiply(_arranged(first, labels), _arranged(second, labels)), labels
    x, y = _arranged(first, (*batch, *left, *shared)), _arranged(second, (*batch, *shared, *right))
    i, j = x.shape[len(batch) : len(batch) + len(left)], y.shape[len(both) :]
    inner = [v.shape[n : n + len(shared)] for v, n in ((x, len(batch) + len(left)), (y, len(batch)))]
    z = MatMul()(
        reshape(x, (*x.shape[: len(batch)], product(tuple(i)), product(tuple(inner[0])))),
        reshape(y, (*y.shape[: len(batch)], product(tuple(inner[1])), product(tuple(j)))),
    )
    return reshape(z, (*z.shape[: len(batch)], *i, *j)), (*batch, *left, *right)


def _arranged(term: Term, labels: Sequence[str]) -> Variable:
    """A term's axes in the order of labels, with length 1 where it has none."""
    v, own = term
    present = [c for c in labels if c in own]
    v = transpose(v, [own.index(c) for c in present])
    missing = tuple(k - len(labels) for k, c in enumerate(labels) if c not in own)
    return expand_dims_at(v, missing) if missing else v


FAMILY = Family("einsum", functions=(einsum,))
