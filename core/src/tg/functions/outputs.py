"""Checks of a program's outputs: dtype, rank and known lengths, looked at in every call that goes through Python.

Entries of native code make their outputs themselves, as declared; what rules have made is believed until here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.errors import PluginError, message
from tg.functions.compile import REFERENCE, provided, rule_source
from tg.link.blame import described, mistake
from tg.link.linker import node_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.functions.compile import Program
    from tg.link.linker import Executable
    from tg.types.tensor_type import TensorType

HINT = 'mode="debug" looks at what each rule gives, and names the first that is wrong'


def check_outputs(program: Program, outputs: Sequence[Any], values: Sequence[Any]) -> None:
    """Raise if a NumPy array that a call is about to give is not what its type says.

    Args:
        outputs: in the backend's form, of which the values were made.
    Raises:
        PluginError: its dtype, its rank or a known length is another.
    """
    for k, (v, t) in enumerate(zip(values, program.graph.output_types, strict=False)):
        if v.dtype != t.numpy_dtype or v.ndim != t.ndim or not _has_lengths(v, t):
            raise wrong_output(program, k, mistake(outputs[k], t) or f"{v.dtype}{list(v.shape)}")


def check_native(program: Program, outputs: Sequence[Any], first: int = 0) -> None:
    """Raise if an output that stays in the backend's form is not what its type says, as far as that can be seen.

    Args:
        first: the outputs before it are not looked at.

    Raises:
        PluginError: its dtype, its rank or a known length is another.
    """
    types = program.graph.output_types
    for k in range(first, len(types)):
        fault = mistake(outputs[k], types[k])
        if fault is not None:
            raise wrong_output(program, k, fault)


def wrong_output(program: Program, k: int, fault: str) -> PluginError:
    """The error of an output that is not what its type says: the op that made it, its plugin, the user's line."""
    graph, number = program.graph, program.graph.outputs[k]
    maker = next((n for n, node in enumerate(graph.nodes) if number in node.outputs), None)
    rows: list[tuple[str, str]] = []
    if maker is not None:
        rows += node_lines(graph, maker)
        op = graph.nodes[maker].op
        source = rule_source(program.backend, op.rule_key)
        if source is not None:
            rows.append(("plugin", source[0]))
        elif program.backend == REFERENCE:
            rows.append(("computed by", described(type(op).perform)))
        else:
            rows += provided(program.backend)
    text = f"output {k} of backend {program.backend!r}: found {fault}, needed {graph.types[number]}"
    return PluginError(message(text, *rows, hint=HINT))


def _has_lengths(array: Any, t: TensorType) -> bool:
    return all(n is None or n == m for n, m in zip(t.static.shape, array.shape, strict=True))


def output_test(name: str, t: TensorType, dtype: str) -> str:
    """The condition, as Python text, that an array is what a type says; `dtype` names the dtype that it is to have."""
    lengths = t.static.shape
    tests = [f"({name}.dtype is {dtype} or {name}.dtype == {dtype})"]
    if None not in lengths:
        tests.append(f"{name}.shape == {lengths}")
    else:
        tests.append(f"{name}.ndim == {t.ndim}")
        tests += [f"{name}.shape[{axis}] == {n}" for axis, n in enumerate(lengths) if n is not None]
    return " and ".join(tests)


def native_dtype(executable: Executable, t: TensorType) -> Any:
    """The dtype that a backend's own arrays of a type have; None where they do not tell, as NumPy's would."""
    try:
        array = executable.to_native(np.zeros((0,) * t.ndim, t.numpy_dtype))
        return array.dtype if array.ndim == t.ndim and array.shape == (0,) * t.ndim else None
    except Exception:  # noqa: BLE001 (a stranger's arrays: what they cannot tell is not looked at)
        return None
