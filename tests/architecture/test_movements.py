"""Rules look through movements by `tg.rules.shape.moved` alone, which gives no value without its index map."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

from tg.rules.shape.moved import Moved

RULES = Path(__file__).parents[2] / "core/src/tg/rules"
TABLES = {"MOVEMENTS", "MOVED", "KINDS"}
MOVEMENTS = {"BroadcastTo", "ExpandDims", "Reshape", "Squeeze", "Transpose"}
OWN = {  # files that name movements where they ask for the op of a value, and why
    "shape/moved.py": "the type itself",
    "shape/terms.py": "how each movement arranges axes: what index maps are made of",
    "shape/movements.py": "movements of movements are the subject",
    "shape/outward.py": "movements of elementwise functions are the subject",
    "shape/repeating.py": "broadcasts of movements, and elementwise functions of broadcasts, are the subject",
    "indexing/slices.py": "asks whether there is a table of `through` for the op",
    "indexing/reads.py": "the axes that a squeeze drops from a slice stand in what is read",
    "indexing/masks.py": "of a repeated scalar every element is the scalar, wherever it stands",
    "nn/convolution.py": "each axis is followed through the movements: those of windows, groups and outer channels",
    "loops/sums.py": "a frozen body has numbers and no variables; the added axes are compared",
    "elementwise/exponential/zeros.py": "whether any element may be infinite, wherever it stands",
    "elementwise/arithmetic/gates.py": "whether any element may be infinite or NaN, wherever it stands",
}
GIVES = {  # what `Moved` gives out, and what that says of the index map
    "of": "makes one",
    "then": "keeps the map",
    "together": "keeps the map, which is that of all",
    "is_of": "a truth value",
    "is_moved": "a truth value",
    "added": "the map's",
    "source": "the map's",
    "made_by": "an op, which has no elements",
    "is_alike_along": "a truth value",
    "every": "a fact that holds under any map: never a variable",
    "with_axes": "the map is that of these axes added",
    "beside": "the map is that of a kept reduction, repeated or not",
    "transposed": "the map exchanges the last two axes",
    "in_order": "the map keeps C order",
    "single": "there is one element",
    "here": "moved as the map says",
    "again": "moved as the map says",
    "unrepeated": "arranged as the map says, but for repetition",
    "repeated": "arranged as the map says, repeated otherwise",
    "along": "arranged as the map says, without some axes",
    "read": "handed to a function together with the map",
}


def files():
    return sorted(str(path.relative_to(RULES)) for path in RULES.rglob("*.py"))


def names_in(node):
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def questions(tree):
    """Lines that ask whether an op is a movement: made_by(v, X), type(op) is X, type(op) in (X, ...), isinstance."""
    movements = set(MOVEMENTS)
    for node in tree.body:  # and constants of the file that hold some; a table of functions by op walks nowhere itself
        if isinstance(node, ast.ImportFrom):
            movements |= {one.asname or one.name for one in node.names if one.name in TABLES}
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None or isinstance(node.value, ast.Dict):
            continue
        if names_in(node.value) & movements:
            movements |= set().union(*map(names_in, getattr(node, "targets", None) or [node.target]))
    for node in ast.walk(tree):
        asked = []
        if isinstance(node, ast.Compare):
            asked = [c for c in node.comparators if not isinstance(c, ast.Call)]
        elif (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("made_by", "isinstance")
        ):
            asked = node.args[1:]
        if any(names_in(one) & movements for one in asked):
            yield node.lineno


@pytest.mark.parametrize("path", files())
def test_no_rule_asks_for_a_movement_by_hand(path):
    lines = list(questions(ast.parse((RULES / path).read_text())))
    assert not lines or path in OWN, f"{path}: lines {lines}: look through movements with `Moved`"
    assert lines or path not in OWN, f"{path} asks for no movement any more: it leaves OWN"


def test_walks_by_hand_are_seen():
    lines = (
        "VIEWS = (ExpandDims, Squeeze)",
        "if made_by(v, ExpandDims): v = v.inputs[0]",
        "if type(v.apply.op) is BroadcastTo: v = v.inputs[0]",
        "while type(v.apply.op) in VIEWS: v = v.inputs[0]",
        "is_shape = isinstance(v.apply.op, Reshape | Transpose)",
        "is_other = made_by(v, Reduce) and type(v.apply.op) in (Reduce, Sort)",
    )
    text = "\n".join(lines)
    assert sorted(questions(ast.parse(text))) == [2, 3, 4, 5]


@pytest.mark.parametrize("path", sorted(RULES.rglob("*.py")), ids=lambda p: str(p.relative_to(RULES)))
def test_what_moved_holds_is_not_read_past_it(path):
    if path.name == "moved.py":
        return
    fields = {*Moved.__slots__, "_nodes"}
    read = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Attribute) and n.attr in fields]
    assert not [n.lineno for n in read if not (isinstance(n.value, ast.Name) and n.value.id == "self")]


def test_moved_gives_no_value_without_a_statement_about_its_map():
    public = {name for name in vars(Moved) if not name.startswith("_")}
    assert public == GIVES.keys()
    special = {name for name in vars(Moved) if name.startswith("__")} - set(vars(object)) - {"__annotations__"}
    assert not special & {"__iter__", "__getitem__", "__call__", "__len__"}  # it cannot be unpacked
    assert not [
        name for name, member in inspect.getmembers(Moved) if inspect.ismemberdescriptor(member) and name[0] != "_"
    ]
