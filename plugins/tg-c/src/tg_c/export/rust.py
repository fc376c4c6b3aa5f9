"""`NAME.rs`: the declarations of the header for Rust, which needs no crate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tg_c.export.interface import Field
    from tg_c.export.library import Library

TYPES: Final = {
    "float": "f32",
    "double": "f64",
    **{f"{s}int{b}_t": f"{s or 'i'}{b}" for s in ("", "u") for b in (8, 16, 32, 64)},
}


def declarations(library: Library) -> str:
    """The module: structs and functions as C has them."""
    one, name = library.interface, library.name
    lines = [
        f"//! {name}: {library.origin}. What each field and function is stands in {name}.h.",
        "#![allow(non_camel_case_types, dead_code)]",
        "use std::os::raw::{c_char, c_int, c_void};",
        "",
    ]
    if one.is_free:
        lines += _struct(f"{name}_lengths", [f"pub {word}: i64," for word in one.lengths])
    if one.inputs:
        lines += _struct(f"{name}_inputs", _rows(one.inputs, "*const"))
    if one.outputs:
        lines += _struct(f"{name}_outputs", _rows(one.outputs, "*mut"))
    if one.state:
        rows = [f"pub {f.word}: {TYPES[f.element] if f.is_value else _array(f)}," for f in one.state]
        lines += _struct(f"{name}_state", rows)
    if library.has_file:
        lines += _struct(f"{name}_weights", ["pub bytes: *const u8,", "pub size: i64,"])
    lines += ['extern "C" {']
    lengths = f"lengths: *const {name}_lengths" if one.is_free else ""
    if library.has_file:
        lines += [
            f"    pub fn {name}_open(weights: *mut {name}_weights, path: *const c_char) -> c_int;",
            f"    pub fn {name}_close(weights: *mut {name}_weights);",
            f"    pub fn {name}_check(weights: *const {name}_weights) -> c_int;",
        ]
    if one.state:
        weights = f", weights: *const {name}_weights" if library.has_file else ""
        lines.append(f"    pub fn {name}_init(state: *mut {name}_state{weights});")
    lines.append(f"    pub fn {name}_arena_bytes({lengths}) -> i64;")
    lines += [f"    pub fn {name}_count_{f.word}({lengths}) -> i64;" for f in one.outputs if f.is_free]
    parameters = ", ".join(
        (
            *([lengths] if one.is_free else []),
            *([f"weights: *const {name}_weights"] if library.has_file else []),
            *([f"state: *mut {name}_state"] if one.state else []),
            *([f"inputs: *const {name}_inputs"] if one.inputs else []),
            *([f"outputs: *const {name}_outputs"] if one.outputs else []),
            "arena: *mut c_void, arena_bytes: i64, values: *mut i64",
        )
    )
    lines += [
        f"    pub fn {name}_run({parameters}) -> c_int;",
        f"    pub fn {name}_error_text(code: c_int) -> *const c_char;",
        "}",
        "",
    ]
    return "\n".join(lines)


def _struct(name: str, rows: Iterable[str]) -> list[str]:
    return ["#[repr(C)]", f"pub struct {name} {{", *(f"    {row}" for row in rows), "}", ""]


def _rows(fields: Iterable[Field], pointer: str) -> list[str]:
    rows = []
    for f in fields:
        is_value = f.is_value and pointer == "*const"
        rows.append(f"pub {f.word}: {'' if is_value else pointer + ' '}{TYPES[f.element]}, // {f.described}")
    return rows


def _array(field: Field) -> str:
    return f"[{TYPES[field.element]}; {field.length if field.length != '0' else 1}]"
