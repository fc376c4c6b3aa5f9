"""`main.c`: runs the library on its golden inputs, and compares what it gives with the golden outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg_c.text import literal
from tg_native.kernels.dtypes import PARTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tg_c.export.interface import Field
    from tg_c.export.library import Library

    Array = np.ndarray[Any, Any]

LITERAL: Final = 64  # numbers up to which an array is written as people read it
WORDS: Final = 12  # to a line
TEXT: Final = """\
/* Runs @name on golden inputs: 0 if it gives the golden outputs, which the function had given before it was written. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "@name.h"
#include "@name_golden.h"

static int wrong;

#if defined GOLDEN_HALF || defined GOLDEN_BFLOAT
static double half(uint16_t bits) {
  const int power = bits >> 10 & 31, fraction = bits & 1023;
  const double size = power == 31 ? (fraction ? NAN : INFINITY)
                      : power   ? ldexp(1024 + fraction, power - 25)
                                : ldexp(fraction, -24);
  return bits >> 15 ? -size : size;
}
static double bfloat(uint16_t bits) {
  const uint32_t word = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &word, sizeof value);
  return value;
}
#endif

/* Number k of an array of a dtype. */
static double number(const void *array, const char *dtype, int64_t k) {
  if (!strcmp(dtype, "float64") || !strcmp(dtype, "complex128")) return ((const double *)array)[k];
  if (!strcmp(dtype, "float32") || !strcmp(dtype, "complex64")) return ((const float *)array)[k];
#if defined GOLDEN_HALF || defined GOLDEN_BFLOAT
  if (!strcmp(dtype, "float16")) return half(((const uint16_t *)array)[k]);
  if (!strcmp(dtype, "bfloat16")) return bfloat(((const uint16_t *)array)[k]);
#endif
  return NAN;
}

/* Compares numbers: relative to the largest, and integers bit by bit. */
static void compare(const char *name, const char *dtype, const void *got, const void *wanted, int64_t count,
                    int64_t size, double tolerance) {
  double largest = 0;
  if (tolerance == 0) {
    if (memcmp(got, wanted, (size_t)(count * size))) wrong++, printf("@name: %s differs\\n", name);
    return;
  }
  for (int64_t k = 0; k < count; k++) {
    const double one = fabs(number(wanted, dtype, k));
    if (one < INFINITY && one > largest) largest = one;
  }
  for (int64_t k = 0; k < count; k++) {
    const double a = number(got, dtype, k), b = number(wanted, dtype, k);
    if (a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= tolerance * largest) continue;
    wrong++;
    printf("@name: %s[%lld]: found %.17g, needed %.17g\\n", name, (long long)k, a, b);
    return;
  }
}

int main(int count, char **arguments) {
@body
}
"""


def main_file(library: Library) -> str:
    """The program."""
    one, name, upper = library.interface, library.name, library.name.upper()
    lines = ["(void)count, (void)arguments;"] if not library.has_file else []
    fail = f'return printf("{name}: %s\\n", {name}_error_text(code)), 1'
    if library.has_file:
        lines += [
            f"{name}_weights weights;",
            f'int code = {name}_open(&weights, count > 1 ? arguments[1] : "{name}.safetensors");',
            f"if (code != {upper}_OK) {fail};",
        ]
    else:
        lines.append("int code;")
    arguments = []
    if one.is_free:
        values = ", ".join(f".{word} = GOLDEN_LENGTH_{word}" for word in one.lengths)
        lines.append(f"const {name}_lengths lengths = {{{values}}};")
        arguments.append("&lengths")
    arguments += ["&weights"] if library.has_file else []
    if one.state:
        held = ", &weights" if library.has_file else ""
        lines += [f"static {name}_state state;", f"{name}_init(&state{held});"]
        arguments.append("&state")
    if one.inputs:
        rows = [f".{f.word} = {'*' if f.is_value else ''}golden_in_{f.word}" for f in one.inputs]
        lines += [f"const {name}_inputs inputs = {{", *(f"  {row}," for row in rows), "};"]
        arguments.append("&inputs")
    if one.outputs:
        for k, f in enumerate(one.outputs):
            lines.append(f"static {f.element} out{k}[sizeof golden_out_{f.word} / sizeof *golden_out_{f.word}];")
        rows = [f"  .{f.word} = out{k}," for k, f in enumerate(one.outputs)]
        lines += [f"const {name}_outputs outputs = {{", *rows, "};"]
        arguments.append("&outputs")
    lines += [
        f"const int64_t size = {name}_arena_bytes({'&lengths' if one.is_free else ''});",
        "void *const arena = malloc(size > 0 ? (size_t)size : 1);",
        "int64_t values[16] = {0};",
        f"code = {name}_run({', '.join((*arguments, 'arena', 'size', 'values'))});",
        "free(arena);",
        f"if (code != {upper}_OK) {{",
        "  char text[256];",
        f"  {name}_error_with_values(code, values, text, sizeof text);",
        f'  return printf("{name}: %s\\n", text), 1;',
        "}",
    ]
    for k, f in enumerate(one.outputs):
        lines.append(_compared(f, f"out{k}", f"golden_out_{f.word}"))
    for f in one.state:
        place = f"&state.{f.word}" if f.is_value else f"state.{f.word}"
        lines.append(_compared(f, place, f"golden_new_{f.word}"))
    lines += [f"{name}_close(&weights);"] if library.has_file else []
    lines += [f'printf("{name}: %s\\n", wrong ? "differs from the golden values" : "gives the golden values");']
    lines += ["return wrong != 0;"]
    return TEXT.replace("@name", name).replace("@body", "\n".join("  " + line for line in lines))


def _compared(f: Field, got: str, wanted: str) -> str:
    size = f"sizeof *{wanted}"
    count = f"GOLDEN_COUNT({wanted})" if f.length != "0" else "0"
    return f'compare("{f.name}", "{f.dtype}", {got}, {wanted}, {count}, {size}, GOLDEN_{f.dtype.upper()});'


def data_file(
    library: Library,
    lengths: Mapping[str, int],
    inputs: Sequence[Array],
    outputs: Sequence[Array],
    state: Sequence[Array],
    tolerance: Callable[[str], float],
) -> str:
    """The golden values as C."""
    one, name = library.interface, library.name
    dtypes = dict.fromkeys(f.dtype for f in (*one.outputs, *one.state))
    lines = [f"/* Golden values of {name}. */", "#include <stdint.h>", ""]
    lines += [f"#define GOLDEN_LENGTH_{word} {n}" for word, n in lengths.items()]
    lines += ["#define GOLDEN_COUNT(array) (int64_t)(sizeof array / sizeof *array)"]
    lines += [f"#define GOLDEN_{dtype.upper()} {tolerance(dtype):.3g}" for dtype in dtypes]
    lines += [f"#define GOLDEN_{kind}" for kind, d in (("HALF", "float16"), ("BFLOAT", "bfloat16")) if d in dtypes]
    groups = (("in", one.inputs, inputs), ("out", one.outputs, outputs), ("new", one.state, state))
    for kind, fields, arrays in groups:
        lines += [_array(f"golden_{kind}_{f.word}", f, a) for f, a in zip(fields, arrays, strict=True)]
    return "\n".join([*lines, ""])


def _array(name: str, field: Field, array: Array) -> str:
    """An array as C: numbers as people read them, or, where there are many, the bits of each."""
    flat, dtype = np.ascontiguousarray(array).ravel(), PARTS.get(field.dtype, field.dtype)
    flat = flat.view(np.uint16) if field.element == "uint16_t" else flat.view(dtype) if field.parts == 2 else flat
    if not flat.size:
        return f"static const {field.element} {name}[1] = {{0}};"
    if dtype in ("float32", "float64") and flat.size > LITERAL:
        texts = [_hexadecimal(float(v), dtype) for v in flat]
    elif dtype in ("float32", "float64"):
        texts = [literal(v, dtype) for v in flat]
    else:
        texts = [_integer(int(v), field.element) for v in flat]
    rows = [", ".join(texts[k : k + WORDS]) for k in range(0, len(texts), WORDS)]
    return f"static const {field.element} {name}[{flat.size}] = {{\n  {(',' + chr(10) + '  ').join(rows)},\n}};"


def _hexadecimal(value: float, dtype: str) -> str:
    if not np.isfinite(value):
        return literal(np.float32(value) if dtype == "float32" else value, dtype)
    return value.hex().replace("0000000p", "p") + ("f" if dtype == "float32" else "")


def _integer(value: int, element: str) -> str:
    if element == "uint64_t":
        return f"{value}u"
    if element == "int64_t":
        return "INT64_MIN" if value == -(2**63) else str(value)
    return "INT32_MIN" if element == "int32_t" and value == -(2**31) else str(value)
