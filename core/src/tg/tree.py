"""`tg.tree`: functions over nested lists, tuples, dicts and dataclasses, under the names of `jax.tree`.

None is a structure without leaves, as it is there; modules of `tg.nn` are leaves: `tg.nn.params(model)` is a dict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.errors import InputError, message
from tg.variables import structure as structures
from tg.variables.structure import Structure, short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["flatten", "leaves", "map", "map_with_path", "paths", "structure", "unflatten"]


def flatten(value: Any) -> tuple[list[Any], Structure]:
    """The leaves in order, and what puts others in their places.

    Example:
        >>> import tg
        >>> leaves, nesting = tg.tree.flatten({"a": 1, "b": (2, 3)})
        >>> leaves, nesting
        ([1, 2, 3], {'a': *, 'b': (*, *)})
    """
    return structures.flatten(value)


def leaves(value: Any) -> list[Any]:
    """The leaves in order.

    Example:
        >>> import tg
        >>> tg.tree.leaves([1, None, {"b": 2}])
        [1, 2]
    """
    return structures.flatten(value)[0]


def structure(value: Any) -> Structure:
    """The nesting without the leaves; equal for values that are nested in the same way.

    Example:
        >>> import tg
        >>> tg.tree.structure([1, 2]) == tg.tree.structure(["x", "y"])
        True
    """
    return structures.flatten(value)[1]


def unflatten(nesting: Structure, values: Iterable[Any]) -> Any:
    """A value of a nesting, of its leaves in order.

    Raises:
        InputError: there are too few or too many leaves.
    Example:
        >>> import tg
        >>> tg.tree.unflatten(tg.tree.structure({"a": 0, "b": [0]}), [1, 2])
        {'a': 1, 'b': [2]}
    """
    if not isinstance(nesting, Structure):
        raise InputError(message(f"unflatten: found {short(nesting)}, needed what tg.tree.structure gives"))
    leaves, needed = list(values), len(structures.paths(nesting))
    if len(leaves) != needed:
        raise InputError(message(f"unflatten: found {len(leaves)} leaves, needed {needed}"))
    return nesting(iter(leaves))


def paths(value: Any) -> list[str]:
    """Place of each leaf, as Python writes it.

    Example:
        >>> import tg
        >>> tg.tree.paths({"rates": [0.1, 0.2]})
        ["['rates'][0]", "['rates'][1]"]
    """
    return structures.paths(structure(value))


def map(f: Callable[..., Any], value: Any, *others: Any) -> Any:
    """f of each leaf and those in its place in others, in the same nesting.

    Raises:
        InputError: another is nested in another way.
    Example:
        >>> import tg
        >>> tg.tree.map(lambda a, b: a + b, {"x": 1, "y": [2]}, {"x": 10, "y": [20]})
        {'x': 11, 'y': [22]}
    """
    own, nesting = structures.flatten(value)
    beside = [nesting.leaves_of(other, f"map: argument {k + 2}") for k, other in enumerate(others)]
    return nesting(iter([f(*each) for each in zip(own, *beside, strict=True)]))


def map_with_path(f: Callable[..., Any], value: Any, *others: Any) -> Any:
    """f of the path of each leaf, as `paths` writes it, the leaf and those in its place in others.

    Example:
        >>> import tg
        >>> tg.tree.map_with_path(lambda path, leaf: f"{path} = {leaf}", {"x": 1})
        {'x': "['x'] = 1"}
    """
    rest = iter(paths(value))
    return map(lambda *each: f(next(rest), *each), value, *others)
