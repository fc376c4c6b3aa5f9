"""Types and structures as JSON: lengths with names, lists, tuples and dicts."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

from tg.errors import FileError, InputError, message
from tg.types.atoms import Derived, NamedLength
from tg.types.dtypes import DTYPES
from tg.types.lengths import LONGEST, OPERATIONS, Length, add, multiply, of_atom, product
from tg.types.tensor_type import TensorType
from tg.variables.registered import Registered
from tg.variables.structure import LEAF, Structure, has_keys

if TYPE_CHECKING:
    from tg.types.atoms import Atom

DEEPEST: Final = 64  # structures in structures, and lengths in lengths
MOST_TERMS: Final = 64
MOST_AXES: Final = 32


def type_json(kind: TensorType) -> Any:
    """A type: its dtype, and lengths that are numbers, null, or made of names."""
    return {"dtype": kind.dtype, "shape": [_length_json(n) for n in kind.shape]}


def _length_json(n: int | Length | None) -> Any:
    if type(n) is not Length:
        return n
    return [[factor, [_atom_json(atom) for atom in monomial]] for monomial, factor in n.terms.items()]


def _atom_json(atom: Atom) -> Any:
    if type(atom) is NamedLength:
        return atom.name
    assert type(atom) is Derived
    return [atom.kind, _length_json(atom.lhs), _length_json(atom.rhs)]


def type_of(value: Any, where: str) -> TensorType:
    """The type that JSON says.

    Raises:
        FileError: it says none.
    """
    value = fields(value, {"dtype": str, "shape": list}, where)
    if value["dtype"] not in DTYPES or len(value["shape"]) > MOST_AXES:
        raise refusal(where, f"found {value['dtype'][:40]!r} with {len(value['shape'])} axes, needed a type")
    return TensorType(value["dtype"], [_length_of(n, where, 0) if n is not None else None for n in value["shape"]])


def _length_of(value: Any, where: str, depth: int) -> int | Length:
    if type(value) is int and -LONGEST <= value <= LONGEST and (depth or value >= 0):
        return value
    if not isinstance(value, list) or len(value) > MOST_TERMS or depth > DEEPEST:
        raise refusal(where, f"found the length {str(value)[:40]}, needed a number, null or terms")
    total: int | Length = 0
    for term in value:
        if not (isinstance(term, list) and len(term) == 2 and type(term[0]) is int and isinstance(term[1], list)):
            raise refusal(where, f"found the term {str(term)[:40]}, needed a factor and what it multiplies")
        if len(term[1]) > MOST_TERMS or abs(term[0]) > LONGEST:
            raise refusal(where, f"found a term of {len(term[1])} factors, needed fewer")
        total = add(total, multiply(term[0], product(tuple(_atom_of(atom, where, depth + 1) for atom in term[1]))))
    return total


def _atom_of(value: Any, where: str, depth: int) -> int | Length:
    if isinstance(value, str) and value.isidentifier() and len(value) <= 200:
        return of_atom(NamedLength(value))
    if not (isinstance(value, list) and len(value) == 3 and value[0] in OPERATIONS):
        raise refusal(where, f"found {str(value)[:40]}, needed the name of a length, or an operation on two")
    kind, lhs, rhs = value
    result: int | Length = OPERATIONS[kind](_length_of(lhs, where, depth), _length_of(rhs, where, depth))
    return result


def structure_json(structure: Structure) -> Any:
    """A structure: "*" for a leaf, null, or an object with the kind, the keys and the parts.

    Users' classes become dicts of their fields, and tuples where their parts have no names.

    Raises:
        InputError: a key of a dict is neither a string nor a number.
    """
    return _key_json(structure.key)


def _key_json(key: Any) -> Any:
    if key is None or key == LEAF:
        return key
    kind, names, parts = key
    inner = [_key_json(part) for part in parts]
    if names is None:
        return {"kind": "list" if kind is list else "tuple", "parts": inner}
    if isinstance(kind, Registered):
        names = tuple(name.strip(".[]'\"") for name in names)
    for name in names:
        if type(name) not in (str, int):
            text = f"save: found the key {name!r} in a structure, needed strings or numbers"
            raise InputError(message(text))
    is_ordered = has_keys(kind) and kind is not dict and isinstance(kind, type) and issubclass(kind, OrderedDict)
    return {"kind": "OrderedDict" if is_ordered else "dict", "keys": list(names), "parts": inner}


KINDS: Final[dict[str, type]] = {"list": list, "tuple": tuple, "dict": dict, "OrderedDict": OrderedDict}


def structure_of(value: Any, where: str) -> Structure:
    """The structure that JSON says.

    Raises:
        FileError: it says none.
    """
    return Structure(_key_of(value, where, 0))


def _key_of(value: Any, where: str, depth: int) -> Any:
    if value is None or value == LEAF:
        return value
    if depth > DEEPEST or not isinstance(value, dict):
        raise refusal(where, f"found the structure {str(value)[:40]}, needed parts, at most {DEEPEST} deep")
    kind, parts = value.get("kind"), value.get("parts")
    if not isinstance(kind, str) or kind not in KINDS or not isinstance(parts, list):
        raise refusal(where, f"found a structure of kind {str(kind)[:40]!r}, needed one of {', '.join(KINDS)}")
    inner = tuple(_key_of(part, where, depth + 1) for part in parts)
    if kind in ("list", "tuple"):
        return (KINDS[kind], None, inner)
    keys = value.get("keys")
    if not isinstance(keys, list) or not all(type(k) in (str, int) for k in keys):
        raise refusal(where, "found keys that are neither strings nor numbers")
    if len(keys) != len(parts) or len(set(keys)) != len(keys):
        raise refusal(where, f"found {len(keys)} keys for {len(parts)} parts, needed one each")
    return (KINDS[kind], tuple(keys), inner)


def fields(value: Any, kinds: dict[str, Any], where: str) -> dict[str, Any]:
    """An object with fields of these classes; others are passed over.

    Raises:
        FileError: it is none, or lacks one.
    """
    if not isinstance(value, dict):
        raise refusal(where, f"found {str(value)[:40]}, needed an object")
    for name, kind in kinds.items():
        item = value.get(name)
        if not isinstance(item, kind) or (isinstance(item, bool) and kind is int):
            shown = kind.__name__ if isinstance(kind, type) else str(kind)
            raise refusal(where, f"{name}: found {str(item)[:40]}, needed {shown}")
    return value


def refusal(where: str, fact: str) -> FileError:
    """The error about a place in a file."""
    return FileError(message(f"load: {where}: {fact}"))
