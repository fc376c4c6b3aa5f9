"""`NAME.h`: structs with a field for each array, and the functions that a program calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg_c.export import errors
from tg_c.export.errors import VALUES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg_c.export.interface import Field
    from tg_c.export.library import Library


def header(library: Library) -> str:
    """The header, which C and C++ include."""
    one, name, upper = library.interface, library.name, library.name.upper()
    parts = [
        f"/* {name}: {library.origin}.",
        "",
        "   Arrays are contiguous, in C order, aligned as their elements are. Any number of threads may call at once,",
        "   each with an arena of its own. Nothing is allocated: a call has the arena and the stack.",
        "*/",
        f"#ifndef {upper}_H",
        f"#define {upper}_H",
        "",
        "#include <stdint.h>",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        f"#ifndef {upper}_API",
        "#ifdef __GNUC__",
        f'#define {upper}_API __attribute__((visibility("default")))',
        "#else",
        f"#define {upper}_API",
        "#endif",
        "#endif",
        "",
        errors.enumerated(name),
        "",
    ]
    if one.is_free:
        rows = [f"  int64_t {word};" for word in one.lengths]
        parts += ["/* The lengths that a call says. */", *_struct(f"{name}_lengths", rows)]
    if one.inputs:
        rows = _rows(one.inputs, is_input=True)
        parts += ["/* What a call is given. Arrays are only read. */", *_struct(f"{name}_inputs", rows)]
    if one.outputs:
        parts += ["/* Where results go. */", *_struct(f"{name}_outputs", _rows(one.outputs))]
    if one.state:
        rows = [f"  {f.element} {_declared(f)}; /* {f.described} */" for f in one.state]
        parts += ["/* What calls update, and the caller holds. */", *_struct(f"{name}_state", rows)]
    if library.has_file:
        parts += [
            f"#define {upper}_WEIGHTS_BYTES {len(library.blob.data)}LL" if library.blob is not None else "",
            "/* The bytes of the file of weights, at a multiple of 64, and how many there are. */",
            *_struct(f"{name}_weights", ["  const unsigned char *bytes;", "  int64_t size;"]),
        ]
    return "\n".join([*parts, *_functions(library), "#ifdef __cplusplus", "}", "#endif", "#endif", ""])


def _functions(library: Library) -> list[str]:
    one, name, upper = library.interface, library.name, library.name.upper()
    api = f"{upper}_API"
    lines = []
    if library.has_file:
        lines += [
            f"/* Map a file of weights, and see that it is that of this library: {upper}_OK, or another code. */",
            f"{api} int {name}_open({name}_weights *weights, const char *path);",
            f"{api} void {name}_close({name}_weights *weights);",
            "/* The same for bytes that are in memory. */",
            f"{api} int {name}_check(const {name}_weights *weights);",
            "",
        ]
    if one.state:
        weights = f", const {name}_weights *weights" if library.has_file else ""
        lines += ["/* What the state begins as. */", f"{api} void {name}_init({name}_state *state{weights});", ""]
    lines += [
        f"/* Bytes of the arena that {name}_run needs; -1 where they cannot be counted. */",
        f"{api} int64_t {name}_arena_bytes({library.lengths});",
        "",
    ]
    counted = [f for f in one.outputs if f.is_free]
    for f in counted:
        lines.append(f"/* Number of elements of {f.name}. */")
        lines.append(f"{api} int64_t {name}_count_{f.word}({library.lengths});")
    updates = " Unless it is, outputs mean nothing" + (", and the state is as it was." if one.state else ".")
    lines += [
        *([""] if counted else []),
        f"/* Run the program: {upper}_OK, or another code.{updates}",
        f"   values: 0, or where {VALUES} numbers go that tell more of an error. */",
        *_wrapped(f"{api} int {name}_run(", library.parameters),
        "",
        "/* The text of a code, in which {0} stands for the first value, and so on. */",
        f"{api} const char *{name}_error_text(int code);",
        "/* The text with its values, cut to fit; its length. */",
        f"{api} int {name}_error_with_values(int code, const int64_t *values, char *text, int64_t size);",
        "",
    ]
    if library.levels:
        lines += [
            "/* The level of x86-64's instructions that calls use: 2, 3 or 4; 0 on other machines. */",
            f"{api} int {name}_level(void);",
            "",
        ]
    return lines


def _wrapped(head: str, parameters: Sequence[str]) -> list[str]:
    """A declaration, its parameters on lines of their own where one is too short."""
    whole = f"{head}{', '.join(parameters)});"
    if len(whole) <= 120:
        return [whole]
    return [head, *(f"    {text}," for text in parameters[:-1]), f"    {parameters[-1]});"]


def _struct(name: str, rows: Iterable[str]) -> list[str]:
    return [f"typedef struct {name} {{", *rows, f"}} {name};", ""]


def _rows(fields: Iterable[Field], *, is_input: bool = False) -> list[str]:
    rows = []
    for f in fields:
        const = "const " if is_input else ""
        form = f.word if is_input and f.is_value else f"*{f.word}"
        rows.append(f"  {const if form != f.word else ''}{f.element} {form}; /* {f.described} */")
    return rows


def _declared(field: Field) -> str:
    """A field with its room in a struct; one without elements has room for one."""
    return field.word if field.is_value else f"{field.word}[{field.length if field.length != '0' else 1}]"
