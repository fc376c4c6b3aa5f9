"""The short ways through a call: Python made for one function's inputs, and what shared variables add to an entry.

The first takes exactly typed NumPy arrays whose lengths are not 1, runs the main program and gives back the outputs;
whatever is unusual (other types, names, defaults, failure) goes the general way, which starts the call anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.functions.shared import COMMIT
from tg.link.entry import Signature
from tg.link.linker import Executable
from tg.variables.structure import LEAF, Structure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.functions.compile import Program
    from tg.functions.make import Function
    from tg.functions.shared import Value
    from tg.types.tensor_type import TensorType

CHAINED: Final = 4  # programs whose entries are tried one after the other


def make_caller(
    types: Sequence[TensorType],
    executable: Executable,
    general: Callable[..., Any],
    result: str,
    build: Callable[..., Any],
    native: bool,
) -> Callable[..., Any]:
    """The function that `Function.__call__` is.

    Args:
        general: what is called with the arguments where the short way does not do.
        result: "one" for a single output, "list" for a list of them, anything else for what `build` makes.
    """
    names = [f"a{k}" for k in range(len(types))]
    scope: dict[str, Any] = {
        "__name__": __name__,  # its frames are tg's: the user's line is above them
        "ndarray": np.ndarray,
        "general": general,
        "run": executable.run,
        "build": build,
        "to_numpy": executable.to_numpy,
    }
    lines = [
        "def call(*args, **kwargs):",
        f"    if kwargs or len(args) != {len(types)}:",
        "        return general(*args, **kwargs)",
    ]
    if names:
        lines.append(f"    {', '.join(names)}, = args")
        lines.append(f"    if not ({' and '.join(_test(k, t, scope) for k, t in enumerate(types))}):")
        lines.append("        return general(*args, **kwargs)")
    lines += [
        "    try:",
        "        outputs, status = run(args)",
        "    except Exception:",
        "        status = True",  # called anew outside this block, so that errors are not chained
        "    if status:",
        "        return general(*args, **kwargs)",
        f"    return {_result(result, native or type(executable).to_numpy is Executable.to_numpy)}",
    ]
    exec(compile("\n".join(lines), "<tg call>", "exec"), scope)
    return scope["call"]  # type: ignore[no-any-return]


def _test(k: int, t: TensorType, scope: dict[str, Any]) -> str:
    """The condition that argument k is an array of type t, in native byte order, with no unknown length 1."""
    scope[f"d{k}"] = t.numpy_dtype
    tests = [f"type(a{k}) is ndarray", f"a{k}.dtype is d{k}", f"a{k}.ndim == {t.ndim}"]
    tests += [f"a{k}.shape[{axis}] {'!= 1' if n is None else f'== {n}'}" for axis, n in enumerate(t.shape)]
    return " and ".join(tests)


def _result(result: str, as_they_are: bool) -> str:
    if result == "one":
        return "outputs[0]" if as_they_are else "to_numpy(outputs[0])"
    items = "outputs" if as_they_are else "[to_numpy(v) for v in outputs]"
    return f"list({items})" if result == "list" else f"build(iter({items}))"


def chained(programs: Sequence[Program], signature: Signature) -> Callable[..., Any] | None:
    """The entries of programs, each called with what those before it decline; None where there are none.

    One program is for one pattern of lengths that are 1.
    """
    call = signature.general
    for program in reversed(programs[:CHAINED]):
        call = program.executable.entry(Signature(call, signature.structure)) or call
    return None if call is signature.general else call


def with_shared(f: Function, programs: Sequence[Program]) -> Callable[..., Any] | None:
    """The way of a function that reads or updates shared variables through entries; None where there is none."""
    program, sources = programs[0], f._sources
    executable, backend = program.executable, program.backend
    declined: Any = object()
    general, count = f._general, len(f._results) - len(f._targets)
    structure = Structure((list, None, (LEAF,) * len(f._results))) if f._targets else f._build
    entry = chained(programs, Signature(lambda *args: declined, structure))
    if entry is None:
        return None

    def natives(held: Sequence[Value]) -> list[Any]:
        try:
            return [v._natives[backend] for v in held]
        except KeyError:
            return [v.native(backend, executable) for v in held]

    def read(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            return general(*args, **kwargs)
        with COMMIT:
            held = [s._value for s in sources]
        found = entry(*args, *natives(held))
        return general(*args) if found is declined else found

    def update(*args: Any, **kwargs: Any) -> Any:
        def run(held: list[Value]) -> tuple[list[Any], list[Value]]:
            found = declined if kwargs else entry(*args, *natives(held))
            if found is declined:
                return f._run(f._arguments(args, kwargs), held)
            return found[:count], f._fresh(found, program)

        return f._build(iter(f._between_locks(run)))

    return update if f._targets else read
