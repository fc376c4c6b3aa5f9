"""The short way through a call where there is no compiled entry: Python made for one function's inputs.

It takes exactly typed numbers and NumPy arrays whose lengths are not 1, runs the main program and gives back the
outputs; whatever is unusual (other types, names, defaults, failure) goes the general way, which starts the call anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.functions.convert import are_bools
from tg.functions.outputs import native_dtype, output_test
from tg.types.lengths import LONGEST_GIVEN
from tg.variables.structure import LEAF

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tg.link.direct import Direct
    from tg.link.linker import Executable
    from tg.types.tensor_type import TensorType

NUMBERS: Final = {"float64": (float, np.float64), "int64": (int, np.int64)}
MOST: Final = 1 << 63  # integers of 64 bits are below


def make_caller(
    types: Sequence[TensorType],
    outputs: Sequence[TensorType],
    executable: Executable,
    general: Callable[..., Any],
    result: str,
    build: Callable[..., Any],
    native: bool,
) -> Callable[..., Any]:
    """The function that `Function.__call__` is.

    Args:
        outputs: their types: what is something else goes the general way too, which says so.
        general: what is called with the arguments where the short way does not do.
        result: "one" for a single output, "list" for a list of them, anything else for what `build` makes.
    """
    names = [f"a{k}" for k in range(len(types))]
    as_it_is = native or executable.gives_numpy
    direct = None if as_it_is else executable.direct
    scope: dict[str, Any] = {
        "__name__": __name__,  # its frames are tg's: the user's line is above them
        "ndarray": np.ndarray,
        "are_bools": are_bools,
        "general": general,
        "run": executable.run if as_it_is else executable.run_to_numpy,
        "build": build,
    }
    lines = [
        "def call(*args, **kwargs):",
        f"    if kwargs or len(args) != {len(types)}:",
        "        return general(*args, **kwargs)",
    ]
    if names:
        lines.append(f"    {', '.join(names)}, = args")
        lines += _of_numbers(types, scope)
        lines.append(f"    if not ({' and '.join(_test(k, t, scope) for k, t in enumerate(types))}):")
        lines.append("        return general(*args, **kwargs)")
    outs = [f"y{k}" for k in range(len(outputs))]
    tests = ["not status", *_output_tests(outputs, executable, scope, native=native)]
    lines += [
        "    try:",
        *(_of_run(outs) if direct is None else _of_direct(outs, outputs, direct, scope)),
        f"        fits = {' and '.join(tests)}",
        "    except Exception:",
        "        fits = False",  # called anew outside this block, so that errors are not chained
        "    if fits:",
        f"        return {_result(result, outs)}",
        "    return general(*args, **kwargs)",
    ]
    exec(compile("\n".join(lines), "<tg call>", "exec"), scope)
    return scope["call"]  # type: ignore[no-any-return]


def _of_numbers(types: Sequence[TensorType], scope: dict[str, Any]) -> list[str]:
    """Numbers, of Python or NumPy, become arrays where they are exactly of the type of their input."""
    taken = [k for k, t in enumerate(types) if t.ndim == 0 and t.dtype in NUMBERS]
    if not taken:
        return []
    lines = []
    for k in taken:
        python, wide = NUMBERS[types[k].dtype]
        scope |= {f"python{k}": python, f"wide{k}": wide, "array": np.array, "MOST": MOST}
        bound = f" and -MOST <= a{k} < MOST" if python is int else ""
        lines += [
            f"    if type(a{k}) is wide{k} or type(a{k}) is python{k}{bound}:",
            f"        a{k} = array(a{k}, d{k})",
        ]
    return [*lines, f"    args = ({', '.join(f'a{k}' for k in range(len(types)))},)"]


def _test(k: int, t: TensorType, scope: dict[str, Any]) -> str:
    """The condition that argument k is an array of type t, in native byte order, with no unknown length 1."""
    scope[f"d{k}"] = t.numpy_dtype
    tests = [f"type(a{k}) is ndarray", f"a{k}.dtype is d{k}", f"a{k}.ndim == {t.ndim}"]
    for axis, n in enumerate(t.shape):
        tests.append(f"1 != a{k}.shape[{axis}] <= {LONGEST_GIVEN}" if n is None else f"a{k}.shape[{axis}] == {n}")
    if t.dtype == "bool":
        tests.append(f"are_bools(a{k})")
    return " and ".join(tests)


def _output_tests(
    types: Sequence[TensorType], executable: Executable, scope: dict[str, Any], *, native: bool
) -> Iterator[str]:
    """The conditions that the outputs are what their types say, as far as they tell."""
    for k, t in enumerate(types):
        dtype = native_dtype(executable, t) if native else t.numpy_dtype
        if dtype is not None:
            scope[f"e{k}"] = dtype
            yield output_test(f"y{k}", t, f"e{k}")


def _of_run(outs: Sequence[str]) -> list[str]:
    """The outputs and the status as `run` gives them."""
    unpacking = f"        {''.join(f'{y}, ' for y in outs)}= outputs" if outs else "        pass"
    return ["        outputs, status = run(args)", unpacking]


def _of_direct(outs: Sequence[str], types: Sequence[TensorType], direct: Direct, scope: dict[str, Any]) -> list[str]:
    """The same by the parts of a call, in place: calls of functions are half of the time of a small program."""
    scope |= {name: getattr(direct, name) for name in ("program", "to_numpy", "view", "traced", "note")}
    names = [*outs, "status"] if direct.has_status else outs
    call = f"{''.join(f'{y}, ' for y in names) or '() '}= program(*args)"
    if direct.switch is None:
        lines = [f"        {call}"]
    else:
        scope["enter"], scope["leave"] = direct.switch
        lines = ["        before = enter()", "        try:", f"            {call}"]
        lines += ["        finally:", "            leave(before)"]
    lines += ["        if traced:", "            note()"]
    for y, t in zip(outs, types, strict=False):
        lines.append(f"        {y} = {f'to_numpy({y})' if t.ndim else f'view({y}).copy()'}")
    return [*lines, f"        status = {'view(status)[0]' if direct.has_status else '()'}"]


def _result(result: str, results: Sequence[str]) -> str:
    if result == "one":
        return results[0]
    items = f"[{', '.join(results)}]"
    return items if result == "list" else f"build(iter({items}))"


def shape_of(key: Any) -> str:
    """The kind of the outputs for the short way: "one", a "list", or "other"."""
    if key == LEAF:
        return "one"
    return "list" if key is not None and key[0] is list and all(part == LEAF for part in key[2]) else "other"
