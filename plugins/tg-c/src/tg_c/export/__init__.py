"""Functions as C libraries: `tg.export(f, "out", format="c")` writes a folder that CMake builds and tests."""

from __future__ import annotations

import importlib.metadata
from typing import TYPE_CHECKING, Any

import numpy as np

from tg_c.export import cpp, golden, header, project, rust, source, weights
from tg_c.export.errors import texts_of
from tg_c.export.interface import Interface
from tg_c.export.library import Library
from tg_c.export.units import BASE, LEVELS, unit

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tg.backend import Exported, Golden
    from tg_c import ExportOptions

__all__ = ["write"]


def write(program: Exported, path: Path, options: ExportOptions) -> None:
    """Write the library of a program into a folder.

    Raises:
        NoRuleError: the program needs a library that it is to do without, or values decide how much memory it needs.
        InputError: values decide how long a result is.
    """
    lowered = program.lowered("c", reuse=True, accuracy=options.accuracy)
    one = Interface(program, lowered.graph)
    has_blas, memory = options.blas != "none", options.memory
    base = unit(lowered, BASE, memory, has_blas=has_blas)
    levels = [(level, unit(lowered, level, memory, has_blas=has_blas)) for level in LEVELS if level in options.levels]
    arrays = _held(program, base.arguments)
    blob = weights.blob(arrays) if arrays else None
    choice = options.weights if options.weights != "auto" else "file" if _size(arrays) > weights.INSIDE else "inside"
    is_inside = blob is not None and choice == "inside"
    texts = texts_of(lowered.checked)
    origin = f"written by tg {importlib.metadata.version('tg-core')} from a function of {len(one.inputs)} inputs"
    levels = [pair for pair in levels if pair[0] != BASE]
    whole = Library(one, base, levels, texts, len(lowered.checked.checks), blob, is_inside, memory == "arena", origin)
    for file, text in _files(whole, options.blas, path.name, program.golden).items():
        path.mkdir(exist_ok=True)
        if isinstance(text, bytes):
            (path / file).write_bytes(text)
        else:
            (path / file).write_text(text, encoding="utf-8")


def _held(program: Exported, constants: tuple[Any, ...]) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays that a library has: what the state begins as, the weights, and large constants of the program."""
    arrays = {f"state.{s.name}": s.array for s in program.state}
    arrays |= {name: weight.array for name, weight in program.weights.items()}
    return arrays | weights.numbered(constants)


def _size(arrays: Mapping[str, np.ndarray[Any, Any]]) -> int:
    return sum(array.nbytes for array in arrays.values())


def _files(whole: Library, blas: str, folder: str, values: Golden) -> dict[str, str | bytes]:
    name, one, blob = whole.name, whole.interface, whole.blob
    inputs = [np.asarray(a) for a in values.inputs.values()]
    free = _lengths(one, inputs)
    outputs, state = ([np.asarray(a) for a in group.values()] for group in (values.outputs, values.state))
    files: dict[str, str | bytes] = {
        f"{name}.h": header.header(whole),
        f"{name}.c": source.source(whole),
        f"{name}.hpp": cpp.wrapper(whole),
        f"{name}.rs": rust.declarations(whole),
        "main.c": golden.main_file(whole),
        f"{name}_golden.h": golden.data_file(whole, free, inputs, outputs, state, _tolerance),
        "CMakeLists.txt": project.cmake_file(whole, blas, folder),
        f"{name}.pc.in": project.pkg_config_file(whole, blas),
    }
    for level, text in whole.levels:
        files[project.level_file(name, level)] = source.level_source(whole, level, text)
    if whole.base.slots:
        files[f"{name}_blas_{blas}.c"] = source.bind_file(whole)
    if blob is not None and whole.is_inside:
        files[f"{name}_weights.c"] = weights.as_c(name, blob.data)
    elif blob is not None:
        files[f"{name}.safetensors"] = blob.data
        files[f"{name}_file.c"] = weights.mapping(name)
    return files


def _lengths(one: Interface, inputs: list[np.ndarray[Any, Any]]) -> dict[str, int]:
    """The free lengths of the golden values."""
    free = dict.fromkeys(one.lengths, 0)
    for dims, array in zip(one.dims, inputs, strict=False):
        free.update((text, n) for text, n in zip(dims, array.shape, strict=True) if text in free)
    return free


def _tolerance(dtype: str) -> float:
    """Largest error of a golden value on another machine, relative to the largest of its array."""
    of_parts = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    return EPSILON[of_parts] ** (2 / 3) if of_parts in EPSILON else 0.0


EPSILON = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52}
