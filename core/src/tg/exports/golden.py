"""Golden values: arrays for the inputs of a function, and what it gives for them, kept beside what is written of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.errors import InputError, message, nearest
from tg.exports.drawing import described, drawn
from tg.exports.ranges import ranges
from tg.functions.names import names_of_inputs, names_of_outputs, names_of_shared
from tg.functions.shared import snapshots
from tg.functions.watch import is_finite
from tg.types.dtypes import dtype_name
from tg.variables.structure import short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.functions.compile import Program
    from tg.functions.compiled import Function
    from tg.functions.limited import Limit
    from tg.functions.request import Request
    from tg.functions.shared import Value

    Array = np.ndarray[Any, Any]

EPSILON: Final = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52}


@final
@dataclass(frozen=True, eq=False)
class Golden:
    """Arrays by name: for the inputs, what the function gave, and the new values of the state that it updates."""

    inputs: Mapping[str, Array]
    outputs: Mapping[str, Array]
    state: Mapping[str, Array]


def golden(what: str, f: Function, example: Any = None) -> Golden:
    """The golden values of a function for an example, or for values that are drawn.

    Nothing is updated. Values are drawn with key 0 within the domains of elementwise functions that take an input, the
    facts that are assumed of it and the axes that it has places in; unknown lengths are small, and those of one name
    agree.

    Args:
        what: the function that errors name.
        example: values by name or in order, as a call takes them.
    Raises:
        InputError: an example that does not fit; a result that is not finite.
    """
    request = f.request
    f.wait()
    arrays, (outputs, state) = _of_example(what, f, example) if example is not None else _of_drawn(what, f)
    taken = names_of_inputs(request)
    return Golden(
        dict(zip(taken, arrays, strict=True)),
        dict(zip(names_of_outputs(request), outputs, strict=True)),
        dict(zip(names_of_shared(request.targets, taken), state, strict=True)),
    )


def outcome(f: Function, arrays: Sequence[Array], limit: Limit | None = None) -> tuple[list[Array], list[Array]]:
    """The results of a function for arrays, and the new values of its shared variables, which are not stored.

    Args:
        limit: of the bytes that the call may need.
    """
    request = f.request

    def run(program: Program, values: list[Array], held: list[Value]) -> list[Array]:
        executable = program.executable
        operands = request.operands(program, [v.copy() for v in values], held)
        if limit is not None:
            limit.check(program, operands)
        native, status = executable.run(operands)
        if status:
            raise program.descriptors[status[0] - 1].build(status[1:])
        return [np.array(executable.to_numpy(v)) for v in native]

    results = f.programs.run(list(arrays), snapshots(request.sources), run)
    return results[: request.count], results[request.count :]


def _of_example(what: str, f: Function, example: Any) -> tuple[list[Array], tuple[list[Array], list[Array]]]:
    arrays = [np.array(v) for v in _bound(what, f.request, example)]
    results = outcome(f, arrays)
    wrong = _not_finite(f.request, results)
    if wrong is not None:
        lines = _inputs(f.request, arrays)
        raise InputError(message(f"{what}: example: found {wrong}, needed finite values", *lines))
    return arrays, results


def _bound(what: str, request: Request, example: Any) -> list[Array]:
    """The arrays of an example."""
    if isinstance(example, list | tuple):
        return request.binding(request.leaves(example), {})
    if not isinstance(example, Mapping):
        text = f"{what}: example: found {short(example)}, needed values by name or in a list"
        raise InputError(message(text))
    names = names_of_inputs(request)
    values = []
    for key in example:
        if key not in names:
            like = nearest(str(key), names)
            lines = ("inputs", ", ".join(names) or "none")
            hint = f"{like[0]} exists" if like else None
            raise InputError(message(f"{what}: example: no input is named {key!r}", lines, hint=hint))
    for k, name in enumerate(names):
        if name not in example and k not in request.defaults:
            raise InputError(message(f"{what}: example: {name} is missing", ("inputs", ", ".join(names))))
        values.append(example[name] if name in example else request.defaults[k])
    return request.binding(values, {})


def _of_drawn(what: str, f: Function) -> tuple[list[Array], tuple[list[Array], list[Array]]]:
    request = f.request
    first: tuple[list[Array], str, Exception | None] | None = None
    for arrays in drawn(request):
        try:
            results = outcome(f, arrays)
        except Exception as error:  # noqa: BLE001 (checks raise classes of the user's)
            first = first or (arrays, f"{type(error).__name__}: {str(error).partition(chr(10))[0]}", error)
            continue
        wrong = _not_finite(request, results)
        if wrong is None:
            return arrays, results
        first = first or (arrays, wrong, None)
    assert first is not None
    arrays, fact, cause = first
    limits = ranges(request.inputs, request.results)
    pairs = zip(names_of_inputs(request), request.inputs, limits, arrays, strict=True)
    lines = [(name, described(v, limit, array)) for name, v, limit, array in pairs]
    hint = f"{what}(…, example={{{names_of_inputs(request)[0]!r}: …}}) gives values" if request.inputs else None
    text = f"{what}: {f.name}: found {fact}, for values that were drawn, needed finite values"
    raise InputError(message(text, *lines, hint=hint)) from cause


def _not_finite(request: Request, results: tuple[list[Array], list[Array]]) -> str | None:
    """The first result that has a NaN or an infinity."""
    names = [*names_of_outputs(request), *(f"the new {t.name or 'shared variable'}" for t in request.targets)]
    for name, array in zip(names, (*results[0], *results[1]), strict=True):
        if not is_finite(array):
            return f"a NaN or an infinity in {name}"
    return None


def _inputs(request: Request, arrays: Sequence[Array]) -> list[tuple[str, str]]:
    names = names_of_inputs(request)
    return [(name, f"{dtype_name(a.dtype)}{list(a.shape)}") for name, a in zip(names, arrays, strict=True)]


def tolerance(dtype: str) -> float:
    """The difference that is allowed of a golden value, relative to the largest of its array; 0 for integers.

    It is the dtype's epsilon to the power of 2/3 (4e-11 of float64, 2e-5 of float32): sums in another order are nearer,
    and another function is not.
    """
    of_parts = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    return EPSILON[of_parts] ** (2 / 3) if of_parts in EPSILON else 0.0
