"""`tg.export(f, path, "stablehlo")`: a folder with the bytes of `jax.export`, and golden values beside them.

The program takes the inputs, then the state, and gives the results, then the new state; weights are constants in it.
Lengths that are not known are symbols.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax
import jax.export

if TYPE_CHECKING:
    from pathlib import Path

    from tg.backend import Exported
    from tg_jax import ExportOptions

PROGRAM: Final = "program.stablehlo"
GOLDEN: Final = "golden.npz"


def write(program: Exported, path: Path, options: ExportOptions) -> None:
    """Write a function that JAX loads without tg, by `jax.export.deserialize`.

    Raises:
        InputError: a length or a check that values decide; lengths that have to agree and have no common name.
    """
    count = len(program.inputs) + len(program.state)
    f = program.function("jax")
    traced, weights = f.traceable(on_error="nan" if options.on_error == "nan" else None), program.arrays
    held = weights[len(program.state) :]

    def run(*arrays: Any) -> Any:
        return traced(*arrays, *held)

    run.__name__ = program.name
    with jax.enable_x64(True):
        scope = jax.export.SymbolicScope()
        specs = [_spec(program, k, scope) for k in range(count)]
        data = jax.export.export(jax.jit(run), platforms=options.platforms or None)(*specs).serialize()
    path.mkdir()
    (path / PROGRAM).write_bytes(data)
    program.write_golden(path / GOLDEN)


def _spec(program: Exported, k: int, scope: Any) -> Any:
    """The type of an input, with symbols for lengths that are not known and not 1."""
    v = program.variables[k]
    lengths = []
    for axis, (n, length) in enumerate(zip(v.type.shape, v.lengths, strict=True)):
        text = str(length)
        if k >= len(program.inputs):
            lengths.append(str(program.arrays[k - len(program.inputs)].shape[axis]))
        elif n is not None or (k, axis) in program.ones:
            lengths.append(str(1 if n is None else n))
        else:
            lengths.append(text if text.isidentifier() else f"n{k}_{axis}")
    shape = jax.export.symbolic_shape(", ".join([*lengths, ""]), scope=scope) if lengths else ()
    return jax.ShapeDtypeStruct(shape, v.type.numpy_dtype)  # type: ignore[no-untyped-call]
