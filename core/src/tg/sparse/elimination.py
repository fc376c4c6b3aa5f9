"""Elimination of a symmetric pattern: an order in which little fills in, its tree, and the places that fill in.

Rows that have the same neighbours are eliminated together, and an eliminated row stands as an element: the set of its
neighbours, which are joined from then on. So no edge is ever added, and memory does not grow.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, final

import numpy as np

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]


def order_of_least_degree(indices: Array, pointers: Array) -> Array:
    """The rows of a symmetric pattern in the order of approximate minimum degree, those with most neighbours last.

    Source:
        Amestoy, Davis and Duff, SIAM J. Matrix Anal. Appl. 17 (1996), 886
    """
    counts = np.diff(pointers)
    dense = counts > max(16.0, 10 * np.sqrt(len(counts)))  # of which each elimination would change the neighbours
    if dense.any():
        inside = ~(dense[indices] | np.repeat(dense, counts))
        indices, pointers = indices[inside], np.concatenate([[0], np.cumsum(inside)])[pointers]
    graph = _Quotient(indices, pointers)
    heap = [(degree, v) for v, degree in enumerate(graph.degree)]
    heapq.heapify(heap)
    while heap:
        degree, v = heapq.heappop(heap)
        if graph.weight[v] and degree == graph.degree[v]:  # else the entry has been replaced
            for u in graph.eliminate(v):
                heapq.heappush(heap, (graph.degree[u], u))
    order = np.array(graph.order, np.int64)
    return np.concatenate([order[~dense[order]], np.flatnonzero(dense)])


@final
class _Quotient:
    """The rows that are left, the elements that stand for those that are gone, and which touch which."""

    def __init__(self, indices: Array, pointers: Array) -> None:
        n = len(pointers) - 1
        places, begins = indices.tolist(), pointers.tolist()
        self.near = [set(places[begins[v] : begins[v + 1]]) - {v} for v in range(n)]
        self.elements: list[set[int]] = [set() for _ in range(n)]
        self.reach: dict[int, set[int]] = {}
        self.size: dict[int, int] = {}
        """Number of rows that an element joins."""
        self.weight = [1] * n
        """How many rows a row stands for; 0 for one that is gone or that another stands for."""
        self.rows = [[v] for v in range(n)]
        self.degree = [len(near) for near in self.near]
        self.order: list[int] = []

    def eliminate(self, p: int) -> set[int]:
        """Make an element of a row, and give the rows that it joins, whose degrees are new."""
        near, weight, elements = self.near, self.weight, self.elements
        taken = elements[p]
        front = near[p].union(*map(self.reach.__getitem__, taken)) - {p}
        self._leave(p)
        for e in taken:
            del self.reach[e]
        outside = self._outside(front, taken)
        for e in [e for e, count in outside.items() if not count]:  # it joins nothing but what p joins
            del self.reach[e]
        total = sum(map(weight.__getitem__, front))
        alike: dict[tuple[int, ...], list[int]] = {}
        whole = frozenset(front)
        for u in whole:
            others = elements[u] = {e for e in elements[u] if outside[e]}
            beside = near[u] = near[u] - whole
            beside.discard(p)
            if not others and not beside:  # nothing fills in that p has not filled
                front.discard(u)
                total -= weight[u]
                self._leave(u)
                continue
            key = (len(others), len(beside), sum(others), sum(beside))
            alike.setdefault(key, []).append(u)
        for group in alike.values():
            if len(group) > 1:
                self._merge(group, front)
        for u in front:
            others = elements[u]
            degree = total - weight[u] + sum(map(outside.__getitem__, others))
            self.degree[u] = degree + sum(map(weight.__getitem__, near[u]))
            others.add(p)
        self.reach[p], self.size[p] = front, total
        return front

    def _leave(self, v: int) -> None:
        self.order += self.rows[v]
        self.weight[v] = 0

    def _outside(self, front: set[int], taken: set[int]) -> dict[int, int]:
        """For each element that touches a front the number of its rows outside; those that the front takes go."""
        outside: dict[int, int] = {}
        for u in front:
            others = self.elements[u]
            others -= taken
            weight = self.weight[u]
            for e in others:
                outside[e] = outside.get(e, self.size[e]) - weight
        return outside

    def _merge(self, group: list[int], front: set[int]) -> None:
        """Let one row stand for those that have the same neighbours."""
        near, elements = self.near, self.elements
        while group:
            u, *others = group
            group = []
            for v in others:
                if near[u] != near[v] or elements[u] != elements[v]:
                    group.append(v)
                    continue
                self.weight[u] += self.weight[v]
                self.rows[u] += self.rows[v]
                self.weight[v] = 0
                for x in near[v]:
                    near[x].discard(v)
                for e in elements[v]:
                    self.reach[e].discard(v)
                front.discard(v)


def filled(indices: Array, pointers: Array, order: Array) -> tuple[Array, Array, Array]:
    """The places of the factor of a symmetric pattern, in an order that fills in as much with each tree in a row.

    Args:
        order: the row that is eliminated first, and so on.
    Returns:
        The order, in which the columns that a column depends on stand directly before it; rows of the elements, column
        by column, ascending from the diagonal; where columns begin.
    Source:
        Elimination trees: Liu, SIAM J. Matrix Anal. Appl. 11 (1990), 134
    """
    n = len(order)
    if not n:
        return order, np.zeros(0, np.int64), np.zeros(1, np.int64)
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    places, begins = rank[indices].tolist(), pointers.tolist()
    parents, children = [n] * n, [list[int]() for _ in range(n + 1)]
    below: list[set[int] | None] = [None] * n
    columns: list[Array] = []
    for j, v in enumerate(order.tolist()):
        rows = {i for i in places[begins[v] : begins[v + 1]] if i > j}
        for k in children[j]:
            rows |= below[k]  # type: ignore[arg-type]
            below[k] = None
        rows.discard(j)
        if rows:
            parents[j] = min(rows)
        children[parents[j]].append(j)
        below[j] = rows
        columns.append(np.fromiter(rows, np.int64, len(rows)))
    places_of = _postordered(children)
    counts = np.array([1 + len(rows) for rows in columns])
    of = np.repeat(np.arange(n), counts - 1)
    column, row = places_of[of], places_of[np.concatenate(columns)]
    every = np.sort(np.concatenate([column * n + row, np.arange(n) * (n + 1)]))
    moved = np.empty(n, np.int64)
    moved[places_of] = order
    by_column = np.empty(n, np.int64)
    by_column[places_of] = counts
    return moved, every % n, np.concatenate([[0], np.cumsum(by_column)])


def _postordered(children: list[list[int]]) -> Array:
    """The new number of each node of trees, children before their parent; the last node is the root of all."""
    n = len(children) - 1
    numbers, count = np.empty(n, np.int64), n
    stack = list(children[n])
    while stack:  # parents from the end, then what belongs to the last child
        v = stack.pop()
        count -= 1
        numbers[v] = count
        stack += children[v]
    return numbers
