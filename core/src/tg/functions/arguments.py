"""Arguments of `tg.function`, before anything is compiled: inputs, updates, givens, defaults and donations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tg.callers import warn
from tg.errors import DtypeError, InputError, InputWarning, ShapeError, message, nearest
from tg.functions.convert import to_array
from tg.functions.shared import Shared
from tg.graph.nodes import Constant, Variable
from tg.graph.traversal import inputs_of, leaves_and, sorted_applies, substitute
from tg.ops.elementwise.cast import cast_variable
from tg.ops.inner import whole_of
from tg.ops.sized_ops import SpecifyShape
from tg.ops.updating import Updating
from tg.types.dtypes import can_cast_safely
from tg.variables.conversion import as_variable
from tg.variables.structure import short

if TYPE_CHECKING:
    from collections.abc import Sequence


def check_inputs(inputs: Sequence[Any], places: Sequence[str]) -> None:
    """Raise for inputs that cannot be ones.

    Args:
        places: how each is called.
    Raises:
        InputError: no variable, one that has a value or is computed, or one that is listed twice.
    """
    positions: dict[int, int] = {}
    for k, v in enumerate(inputs):
        place = places[k]
        if not isinstance(v, Variable):
            raise InputError(message(f"function: input {place}: found {short(v)}, needed a variable"))
        if isinstance(v, Constant | Shared) or v.apply is not None:
            hint = "givens={x: expression} replaces a variable by an expression"
            raise InputError(message(f"function: input {place}: found {v!r}, needed an input variable", hint=hint))
        if id(v) in positions:
            first = places[positions[id(v)]]
            raise InputError(message(f"function: inputs {first} and {place} are the same variable {v!r}"))
        positions[id(v)] = k


def pairs_of(mapping: Any, what: str) -> list[tuple[Any, Any]]:
    """The pairs of a mapping or of a sequence of pairs.

    Raises:
        InputError: neither.
    """
    pairs = list(mapping.items()) if isinstance(mapping, Mapping) else mapping
    if not isinstance(pairs, list | tuple) or not all(isinstance(p, list | tuple) and len(p) == 2 for p in pairs):
        hint = f"{what}={{variable: value}}"
        raise InputError(message(f"{what}: found {mapping!r}, needed a mapping from variables", hint=hint))
    return [(key, value) for key, value in pairs]


def updates_of(updates: Mapping[Shared, Any], what: str = "function") -> tuple[list[Shared], list[Variable]]:
    """The shared variables that are updated, and their new values; `what` is the function that errors name.

    Raises:
        InputError: what is updated is not shared.
        DtypeError: the cast to its dtype would lose values.
        ShapeError: another rank, or another length where one is fixed.
    """
    targets, values = [], []
    for target, value in pairs_of(updates, "updates"):
        if not isinstance(whole_of(target), Shared):
            hint = (
                "the variable itself is the key, not its name"
                if isinstance(target, str)
                else "tg.shared(value) makes one"
            )
            raise InputError(message(f"{what}: updates: found {target!r}, needed a shared variable", hint=hint))
        v = as_variable(value)
        if v.type.dtype != target.type.dtype and not can_cast_safely(v.type.dtype, target.type.dtype):
            text = f"{what}: update of {target!r}: found {v.type}, needed {target.type.dtype}"
            raise DtypeError(message(text, hint=f"tg.cast(value, {target.type.dtype!r}) converts on purpose"))
        v = cast_variable(v, target.type.dtype)
        pairs = zip(v.type.shape, target.type.shape, strict=False)
        if v.type.ndim != target.type.ndim or any(None not in (a, b) and a != b for a, b in pairs):
            hint = "a shared variable keeps its rank, and the lengths given to tg.shared as shape="
            text = f"{what}: update of {target!r}: found {v.type}, needed {target.type}"
            raise ShapeError(message(text, hint=hint))
        targets.append(target)
        values.append(v)
    return targets, values


def own_updates(results: Sequence[Variable], targets: Sequence[Shared]) -> dict[Shared, Variable]:
    """The updates that shared variables below the results bring, and those said by `with_updates`, but those given.

    Of several of one variable each is made of what the one before gives.

    Raises:
        InputError: what `with_updates` stored in is a shared variable no more.
    """
    visited = {id(s) for s in targets}
    updates: dict[Shared, Variable] = {}
    said: set[tuple[int, int]] = set()  # the gradient of an expression has copies of it
    below = list(results)
    while below:
        leaves, updating = leaves_and(below, Updating)
        below = []
        for s in leaves:
            if isinstance(s, Shared) and id(s) not in visited and s.default_update is not None:
                visited.add(id(s))
                updates[s] = s.default_update
                below.append(s.default_update)
        for node in updating:
            x, target, value = node.inputs
            if not isinstance(target, Shared):
                text = f"function: found an update of {target!r}, needed a shared variable"
                raise InputError(message(text, hint="givens= may not replace what with_updates stores in"))
            assert isinstance(node.op, Updating)
            key = (id(target), node.op.number)
            if key in said:
                continue
            said.add(key)
            if target in updates:
                nodes = [
                    (n, vs) for n, vs in sorted_applies([x]) if type(n.op) is not SpecifyShape
                ]  # which says the same
                shown = [v for _, results in nodes for v in results if v is not None]
                value = substitute([value], {id(target): updates[target]}, shown)[
                    0
                ]  # x is made of what was there before
            if target in updates or id(target) not in visited:
                visited.add(id(target))
                updates[target] = value
    return updates


def givens_of(givens: Mapping[Variable, Any]) -> dict[int, Variable]:
    """The replacements of variables, by their ids.

    Raises:
        InputError: what is replaced is no variable, or by another dtype or rank.
    """
    replacements = {}
    for v, value in pairs_of(givens, "givens"):
        if not isinstance(v, Variable):
            raise InputError(message(f"function: givens: found {v!r}, needed a variable to replace"))
        new = as_variable(value)
        if new.type.dtype != v.type.dtype or new.type.ndim != v.type.ndim:
            raise InputError(message(f"function: givens: found {new.type} for {v!r}, needed its dtype and rank"))
        replacements[id(v)] = new
    return replacements


def sources_of(
    inputs: Sequence[Variable], results: Sequence[Variable], on_unused: str, places: Sequence[str]
) -> list[Shared]:
    """The shared variables below the results.

    Raises:
        InputError: another leaf is not among the inputs, or an input is not used and that is not accepted.
    """
    input_ids = {id(v) for v in inputs}
    used = inputs_of(results)
    for v in used:
        if id(v) not in input_ids and not isinstance(v, Shared):
            hint = "list it among the inputs, or make it with tg.shared, which has a value"
            where = [("created at", f"{v.loc}:  {v.loc.source}")] if v.loc is not None else []
            twin = next((u for u in inputs if u.name is not None and u.name == v.name), None)
            if twin is not None:
                where.append(("input", f"{twin!r}" + (f", created at {twin.loc}" if twin.loc is not None else "")))
                hint = f"the input {v.name!r} is another variable: make one, and use it in both places"
            raise InputError(message(f"function: {v!r} is used but is not among the inputs", *where, hint=hint))
    present = {id(v) for v in used}
    for k, v in enumerate(inputs):
        if id(v) not in present and on_unused != "ignore":
            text = f"function: input {places[k]}, {v!r}, is not used by the outputs"
            if on_unused == "raise":
                raise InputError(message(text, hint='on_unused_input="ignore" accepts it'))
            warn(text, InputWarning)
    return [v for v in used if isinstance(v, Shared) and id(v) not in input_ids]


def defaults_of(defaults: Mapping[Variable, Any], inputs: Sequence[Variable]) -> dict[int, Any]:
    """The values of inputs that calls may leave out, by their places.

    Raises:
        InputError: a default for what is not an input.
    """
    places = {id(v): k for k, v in enumerate(inputs)}
    values = {}
    for v, value in pairs_of(defaults, "defaults"):
        if id(v) not in places:
            raise InputError(message(f"function: defaults: found {v!r}, needed one of the input variables"))
        values[places[id(v)]] = to_array(value, v.type, label(v, places[id(v)])).copy()
    return values


def input_named(name: str, outputs: Sequence[Variable]) -> Variable:
    """The one input of expressions that has a name.

    Raises:
        InputError: there is none, or there are several.
    """
    inputs = [v for v in inputs_of(outputs) if not isinstance(v, Shared)]
    matches = [v for v in inputs if v.name == name]
    if len(matches) != 1:
        near = nearest(name, [v.name for v in inputs if v.name])
        hint = "eval({variable: value}) goes by variables" if matches or not near else f"{near[0]} exists"
        lines = (("inputs", ", ".join(map(repr, inputs)) or "none"),)
        raise InputError(message(f"eval: found {len(matches)} inputs named {name!r}, needed one", *lines, hint=hint))
    return matches[0]


def donated_places(donate: Sequence[Variable] | Variable, inputs: Sequence[Variable]) -> frozenset[int]:
    """The places of the inputs that calls may overwrite.

    Raises:
        InputError: what is donated is not an input.
    """
    places = {id(v): k for k, v in enumerate(inputs)}
    variables = [donate] if isinstance(donate, Variable) else donate
    for v in variables:
        if id(v) not in places:
            raise InputError(message(f"function: donate: found {v!r}, needed one of the input variables"))
    return frozenset(places[id(v)] for v in variables)


def label(v: Variable, k: int | str) -> str:
    """The name of an input in messages: its own, or that of its place."""
    return f"input {v.name!r}" if v.name else f"input {k}"


def swaps(pairs: Sequence[tuple[Any, Any]], own: Sequence[Shared]) -> dict[int, Shared]:
    """The shared variables to exchange, by id."""
    own_ids = {id(s) for s in own}
    replacements: dict[int, Shared] = {}
    for old, new in pairs:
        if id(old) not in own_ids:
            raise InputError(message(f"copy: swap: found {old!r}, needed a shared variable of the function"))
        if not isinstance(new, Shared) or (new.type.dtype, new.type.ndim) != (old.type.dtype, old.type.ndim):
            kind = f"{old.type.dtype} with {old.type.ndim} axes"
            raise InputError(message(f"copy: swap: found {new!r} for {old!r}, needed a shared variable, {kind}"))
        replacements[id(old)] = new
    return replacements
