"""`NAME.hpp`: a class for C++17 that holds the arena, the state and the results, and throws what goes wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tg_c.export.interface import Field
    from tg_c.export.library import Library


def wrapper(library: Library) -> str:
    """The C++ header."""
    one, name, upper = library.interface, library.name, library.name.upper()
    lines = [
        f"// {name}: {library.origin}.",
        f"#ifndef {upper}_HPP",
        f"#define {upper}_HPP",
        "",
        *(f"#include <{header}>" for header in ("complex", "cstdint", "memory", "stdexcept", "string", "vector")),
        "",
        f'#include "{name}.h"',
        "",
        f"namespace {name} {{",
        "",
        *([f"using lengths = {name}_lengths;"] if one.is_free else []),
        *([f"using inputs = {name}_inputs;"] if one.inputs else []),
        *([f"using state = {name}_state;"] if one.state else []),
        "",
        "// What a call gives: arrays in C order.",
        "struct outputs {",
        *(f"  {_kind(f)} {f.word}{'{}' if not f.shape else ''};  // {f.described}" for f in one.outputs),
        "};",
        "",
        "// A code that is not 0.",
        "class error : public std::runtime_error {",
        " public:",
        "  error(int code, const std::string &text) : std::runtime_error(text), code(code) {}",
        "  int code;",
        "};",
        "",
        "// The program, with an arena: one thread calls at a time, and another has another.",
        "class program {",
        " public:",
    ]
    if library.has_file:
        lines += [
            "  explicit program(const std::string &path) {",
            f"    need({name}_open(&weights_, path.c_str()));{_begun(library)}",
            "  }",
            f"  ~program() {{ {name}_close(&weights_); }}",
        ]
    elif one.state:
        lines.append(f"  program() {{{_begun(library)} }}")
    else:
        lines.append("  program() = default;")
    lines += ["  program(const program &) = delete;", "  program &operator=(const program &) = delete;", ""]
    parameters = [*(["const inputs &given"] if one.inputs else []), *(["const lengths &sizes"] if one.is_free else [])]
    sizes = "&sizes" if one.is_free else ""
    lines += [f"  outputs operator()({', '.join(parameters)}) {{", "    outputs results;"]
    for f in one.outputs:
        if f.shape:
            count = f"{name}_count_{f.word}({sizes})" if f.is_free else f.length
            lines.append(f"    results.{f.word}.resize({_counted(count, f)});")
    if one.outputs:
        lines.append(f"    const {name}_outputs places = {{{', '.join(map(_place, one.outputs))}}};")
    lines += [
        f"    const std::int64_t size = {name}_arena_bytes({sizes});",
        "    const std::size_t room = size > 0 ? static_cast<std::size_t>(size) : 0;",
        "    if (room > arena_.size()) arena_.resize(room);",
        "    std::int64_t values[16] = {};",
    ]
    arguments = [
        *(["&sizes"] if one.is_free else []),
        *(["&weights_"] if library.has_file else []),
        *(["state_.get()"] if one.state else []),
        *(["&given"] if one.inputs else []),
        *(["&places"] if one.outputs else []),
        "arena_.data()",
        "static_cast<std::int64_t>(arena_.size())",
        "values",
    ]
    lines += [f"    need({name}_run({', '.join(arguments)}), values);", "    return results;", "  }", ""]
    if one.state:
        lines += [f"  {name}_state &state() {{ return *state_; }}", ""]
    lines += [
        " private:",
        "  static void need(int code, const std::int64_t *values = nullptr) {",
        f"    if (code == {upper}_OK) return;",
        "    const std::int64_t none[16] = {};",
        "    char text[512];",
        f"    {name}_error_with_values(code, values ? values : none, text, sizeof text);",
        f'    throw error(code, std::string("{name}: ") + text);',
        "  }",
        *([f"  {name}_weights weights_{{}};"] if library.has_file else []),
        *([f"  std::unique_ptr<{name}_state> state_{{new {name}_state}};"] if one.state else []),
        "  std::vector<unsigned char> arena_;",
        "};",
        "",
        f"}}  // namespace {name}",
        "#endif",
        "",
    ]
    return "\n".join(lines)


def _begun(library: Library) -> str:
    if not library.interface.state:
        return ""
    return f" {library.name}_init(state_.get(){', &weights_' if library.has_file else ''});"


def _element(field: Field) -> str:
    if field.parts == 2:
        return f"std::complex<{field.element}>"
    return field.element if field.element in ("float", "double") else f"std::{field.element}"


def _kind(field: Field) -> str:
    return f"std::vector<{_element(field)}>" if field.shape else _element(field)


def _counted(count: str, field: Field) -> str:
    halves = f"({count}) / 2" if field.parts == 2 else count
    return f"static_cast<std::size_t>({halves})"


def _place(field: Field) -> str:
    place = f"results.{field.word}.data()" if field.shape else f"&results.{field.word}"
    return f"reinterpret_cast<{field.element} *>({place})" if field.parts == 2 else place
