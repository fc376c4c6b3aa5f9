"""`tg.tree`: functions over nested lists, tuples, dicts and users' classes, under the names of `jax.tree`.

Dataclasses, classes of attrs and pydantic, and those registered with `jax.tree_util`, with optree's global namespace or
by `tg.tree.register` nest; a field with the metadata `{"static": True}` is no part of them. None is a structure without
leaves, as it is there; modules of `tg.nn` are leaves: `tg.nn.params(model)` is a dict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import tg
from tg.errors import InputError, message
from tg.graph.nodes import Variable
from tg.keywords import explain
from tg.variables import registered
from tg.variables import structure as structures
from tg.variables.conversion import NO_ARRAY
from tg.variables.dlpack import as_numpy, namespace, to_library
from tg.variables.foreign import array_hint
from tg.variables.structure import Structure, short
from tg.words import unknown_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Kind = TypeVar("Kind")

__all__ = ["flatten", "leaves", "map", "map_with_path", "paths", "register", "structure", "to", "unflatten"]


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


def register(
    kind: type[Kind],
    flatten: Callable[[Kind], tuple[Iterable[Any], Any]] | None = None,
    unflatten: Callable[[Any, tuple[Any, ...]], Kind] | None = None,
) -> type[Kind]:
    """Let values of a class nest, as inputs and results of functions, carries of loops and arguments of gradients.

    Args:
        kind: the class, which comes back: as a decorator it is the only argument.
        flatten: the parts of a value, and what else it holds, which is hashable; by default the method `tree_flatten`.
        unflatten: a value of what else it holds, and its parts; by default the class method `tree_unflatten`.
    Raises:
        InputError: the class is tg's, Python's or NumPy's, a list, tuple or dict, or has no such functions.
    Example:
        >>> import tg
        >>> class Line:
        ...     def __init__(self, slope, offset):
        ...         self.slope, self.offset = slope, offset
        >>> Line = tg.tree.register(Line, lambda v: ((v.slope, v.offset), None), lambda _, parts: Line(*parts))
        >>> tg.tree.leaves(Line(2.0, [1.0, 0.5]))
        [2.0, 1.0, 0.5]
    Source:
        jax.tree_util.register_pytree_node.
    """
    registered.register(kind, flatten, unflatten)
    return kind


def to(value: Any, library: Any, *, copy: bool | None = None) -> Any:
    """The arrays and shared variables of a structure as arrays of a library, in the same nesting.

    An array stays where it is if the library can read it there: NumPy's and PyTorch's share memory, JAX's where it lies
    at a multiple of 64 bytes, MLX copies. Values of shared variables are copied: nobody else may write into them.

    Args:
        library: "numpy", "torch", "jax", "mlx" or another that has `from_dlpack`, by name or as the module.
        copy: True copies arrays as well, False nothing: what has the memory of a shared variable is only read then.
    Raises:
        InputError: no such library; a leaf is no array; copy=False, and the library would copy.
    Example:
        >>> import tg
        >>> model = tg.nn.randomized(tg.nn.Dense(3, 2), tg.random.key(0))
        >>> tensors = tg.tree.to(tg.nn.params(model), "torch")
        >>> {path: tuple(t.shape) for path, t in tensors.items()}
        {'weight': (2, 3), 'bias': (2,)}
    """
    target = namespace(library)
    return map_with_path(lambda path, leaf: _moved(path, leaf, target, copy), value)


def _moved(path: str, leaf: Any, library: Any, copy: bool | None) -> Any:
    if isinstance(leaf, Variable) and hasattr(leaf, "snapshot"):
        return to_library(leaf.snapshot.numpy, library, copy=copy is not False)
    text = f"to: {path or 'the value'}: found {short(leaf)}, needed an array"
    if isinstance(leaf, Variable) or not hasattr(leaf, "dtype"):
        hint = "tg.nn.params(model) has the weights of a module" if callable(leaf) else None
        raise InputError(message(text, hint=hint))
    try:
        array = as_numpy(leaf)
    except NO_ARRAY as error:
        raise InputError(message(text, hint=array_hint(leaf))) from error
    return to_library(array, library, copy=copy)


explain(globals(), __all__)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        text = name if name.startswith("__") else unknown_in(__name__, __all__, name, dir(tg))
        raise AttributeError(text, name=name)
