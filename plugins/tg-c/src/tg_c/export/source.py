"""`NAME.c`: the base unit with the functions of the header; files for the units of levels; the table of BLAS."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tg_c.export import errors
from tg_c.export.errors import VALUES
from tg_native.calls.blas import CBLAS, FORTRAN

if TYPE_CHECKING:
    from tg_c.export.interface import Field
    from tg_c.export.library import Library
    from tg_c.export.units import Text

CHECKED: Final = """\
#ifndef __GNUC__
#error "@name.c needs gcc, clang, or a compiler that knows their vectors"
#endif
#ifndef @NAME_FLAGS
#error "compile with the flags above and -D@NAME_FLAGS, which says so: CMakeLists.txt does"
#endif
#if defined __FAST_MATH__ || (defined __FINITE_MATH_ONLY__ && __FINITE_MATH_ONLY__)
#error "-ffast-math and -ffinite-math-only change results, NaN and infinities above all"
#endif
#if defined __FLT_EVAL_METHOD__ && __FLT_EVAL_METHOD__ != 0
#error "float and double have to be computed in their own precision: -mfpmath=sse on 32-bit x86"
#endif
"""
DETECTION: Final = """\
#if defined __x86_64__
#include <cpuid.h>
/* The level of instructions of the processor and of the system, which saves their registers: 2, 3 or 4. */
static int @name_detected(void) {
  unsigned a, b, c, d, low, high;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return 2;
  const unsigned v3 = 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29; /* FMA, MOVBE, OSXSAVE, AVX, F16C */
  if ((c & v3) != v3) return 2;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & 6) != 6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 2;
  const unsigned bits = b, avx2 = 1u << 3 | 1u << 5 | 1u << 8; /* BMI1, AVX2, BMI2 */
  if ((bits & avx2) != avx2 || !__get_cpuid(0x80000001, &a, &b, &c, &d) || !(c & 1u << 5)) return 2; /* LZCNT */
  const unsigned avx512 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31; /* F, DQ, CD, BW, VL */
  return (bits & avx512) == avx512 && (low & 0xe6) == 0xe6 ? 4 : 3;
}
int @name_level(void) {
  static int level; /* asked of the processor once; whoever asks first, the answer is the same */
  int now = __atomic_load_n(&level, __ATOMIC_RELAXED);
  if (!now) {
    now = @name_detected();
    __atomic_store_n(&level, now, __ATOMIC_RELAXED);
  }
  return now;
}
#else
int @name_level(void) { return 0; }
#endif
"""


QUIET: Final = """\
/* The unit leaves it to compilers to drop what it does not need, and to see that each number is set before it is read:
   gcc does not see it of those that the first round of a loop sets. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-label"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-variable"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
"""
LOUD: Final = "\n#pragma GCC diagnostic pop\n"


def flags_comment(library: Library, text: Text) -> str:
    """The flags of a unit as a comment."""
    gcc = f"\n   and by gcc: {' '.join(text.only_gcc)}" if text.only_gcc else ""
    march = "\n   and on x86-64: -march=x86-64-v2, or what has more"
    return f"/* {library.name}: {library.origin}.\n\n   Flags: -std=gnu11 {' '.join(text.flags)}{gcc}{march} */\n"


def source(library: Library) -> str:
    """The library: its base unit, and the functions of the header."""
    names = {"run": "tg_run", "frame": "tg_frame"}
    unit = adapted(library, library.base.text, names, is_own=True)
    head = flags_comment(library, library.base) + library.filled(CHECKED) + f'#include "{library.name}.h"\n\n'
    body = [
        library.filled(DETECTION) if library.levels else "",
        _declarations(library),
        errors.functions(library.name, library.checks, library.own_checks),
        _weights(library),
        _counts(library),
        _arena(library),
        _run(library),
    ]
    return head + _once("") + unit + LOUD + "\n/* --- the library --- */\n\n" + "\n".join(filter(None, body))


def level_source(library: Library, level: str, text: Text) -> str:
    """The unit of a level in a file of its own."""
    names = {word: symbol(library.name, word, level) for word in ("run", "frame")}
    unit = adapted(library, text.text, names, is_own=False)
    head = flags_comment(library, text).replace("x86-64-v2, or what has more", level)
    missing = "AVX512VL" if level.endswith("4") else "AVX2"
    guard = f'#ifdef __x86_64__\n#ifndef __{missing}__\n#error "compile with -march={level}"\n#endif\n'
    return head + library.filled(CHECKED) + guard + _once(level) + unit + LOUD + "#else\ntypedef int none;\n#endif\n"


def symbol(name: str, word: str, level: str) -> str:
    """The name of an entry of the unit of a level."""
    return f"{name}_{word}_{level.rpartition('-')[2]}"


def adapted(library: Library, text: str, names: dict[str, str], *, is_own: bool) -> str:
    """A unit with entries under names of its own, and with the table of BLAS under the library's."""
    hidden = '__attribute__((visibility("hidden"))) '
    for word, name in names.items():
        text = re.sub(rf"^i64 tg_{word}\(", f"{'static ' if is_own else hidden}i64 {name}(", text, flags=re.MULTILINE)
    return re.sub(r"\btg_blas\b(?!_)", f"{library.name}_blas", text) if library.base.slots else text


def _once(level: str) -> str:
    """Declaration of constant tables. gcc 12 folds 512-bit loads from those that it can read: see `tg_c.text`."""
    kind = "static __attribute__((used))" if level.endswith("4") else "static const"
    return f"#define TG_ONCE {kind}\n{QUIET}"


def _declarations(library: Library) -> str:
    lines = []
    for level, _ in library.levels:
        run, frame = (symbol(library.name, word, level) for word in ("run", "frame"))
        lines.append(f"i64 {run}(const void *const *, const i64 *, void *const *, i64 *);")
        lines += [f"i64 {frame}(const i64 *);"] if library.has_arena else []
    guarded = ["#ifdef __x86_64__", *lines, "#endif"] if lines else []
    if library.is_inside and library.blob is not None:
        words = (len(library.blob.data) + 7) // 8
        hidden = '__attribute__((visibility("hidden")))'
        guarded.append(f"{hidden} extern const uint64_t {library.name}_weights_words[{words}];")
    return "\n".join([*guarded, ""])


def _weights(library: Library) -> str:
    one, name, blob = library.interface, library.name, library.blob
    lines = []
    if library.has_file and blob is not None:
        lines += [
            f"int {name}_check(const {name}_weights *weights) {{",
            "  uint64_t mark = 0xcbf29ce484222325u;",
            f"  if (!weights->bytes || weights->size != {name.upper()}_WEIGHTS_BYTES) return {name.upper()}_WEIGHTS;",
            f"  for (int k = 0; k < {blob.header}; k++) mark = (mark ^ weights->bytes[k]) * 0x100000001b3u;",
            f"  return mark == 0x{blob.mark:x}u ? {name.upper()}_OK : {name.upper()}_WEIGHTS;",
            "}",
            "",
        ]
    if one.state:
        weights = f", const {name}_weights *weights" if library.has_file else ""
        lines.append(f"void {name}_init({name}_state *state{weights}) {{")
        for f in one.state:
            size = f"sizeof state->{f.word}" if f.length != "0" else "0"
            lines.append(f"  __builtin_memcpy(&state->{f.word}, {_bytes(library, f'state.{f.name}')}, {size});")
        lines += ["}", ""]
    return "\n".join(lines)


def _bytes(library: Library, key: str) -> str:
    """The place of an array of the weights, as text."""
    assert library.blob is not None
    place = library.blob.places[key]
    return f"(const char *){library.name}_weights_words + {place}" if library.is_inside else f"weights->bytes + {place}"


def _counts(library: Library) -> str:
    one = library.interface
    free = set(one.lengths)
    lines = []
    texts = [n for dims in one.dims for n in dims] + [n for f in one.outputs for n in f.shape]
    if any(f"{one.name}_floor(" in text for text in texts):
        lines += [
            f"static int64_t {one.name}_floor(int64_t a, int64_t b) {{",
            "  return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));",
            "}",
            "",
        ]
    for f in one.outputs:
        if f.is_free:
            count = _of_lengths(f.length, free)
            lines += [f"int64_t {one.name}_count_{f.word}({library.lengths}) {{", f"  return {count};", "}", ""]
    return "\n".join(lines)


def _of_lengths(text: str, free: set[str]) -> str:
    """Text in which free lengths are those of a call."""
    return re.sub(r"[A-Za-z_]\w*", lambda m: f"lengths->{m[0]}" if m[0] in free else m[0], text)


def _arena(library: Library) -> str:
    one, name = library.interface, library.name
    free = set(one.lengths)
    dims = [_of_lengths(n, free) for row in one.dims for n in row] or ["0"]
    held = sum((int(f.length) * _item(f) + 63) // 64 * 64 for f in library.moved)
    lines = [
        f"static i64 {name}_frame({'const i64 *dims' if library.has_arena else 'void'}) {{",
        *[
            f"  if ({name}_level() >= {level[-1]}) return {symbol(name, 'frame', level)}(dims);"
            for level, _ in _dispatched(library, library.has_arena)
        ],
    ]
    if _dispatched(library, library.has_arena):
        lines = [lines[0], "#ifdef __x86_64__", *lines[1:], "#endif"]
    lines += [f"  return {'tg_frame(dims)' if library.has_arena else '0'};", "}"]
    declared = f"const i64 dims[] = {{{', '.join(dims)}}};"
    lines += [
        f"static void {name}_dims({_dims_parameters(library)}) {{",
        f"  {declared}",
        "  __builtin_memcpy(into, dims, sizeof dims);",
        "}",
        f"int64_t {name}_arena_bytes({library.lengths}) {{",
        f"  i64 dims[{len(dims)}];",
        f"  {name}_dims({'lengths, ' if one.is_free else ''}dims);",
        *(
            ["  for (int k = 0; k < (int)(sizeof dims / sizeof *dims); k++)", "    if (dims[k] < 0) return -1;"]
            * bool(free)
        ),
        f"  const i64 frame = {name}_frame({'dims' if library.has_arena else ''});",
        "  if (frame < 0 || frame > 1LL << 59) return -1;",
        "  return frame ? frame + 63 : 0; /* wherever it begins */"
        if not held
        else f"  return frame + {held + 63}; /* wherever it begins */",
        "}",
        "",
    ]
    return "\n".join(lines)


def _dims_parameters(library: Library) -> str:
    return f"const {library.name}_lengths *lengths, i64 *into" if library.interface.is_free else "i64 *into"


def _dispatched(library: Library, condition: bool = True) -> list[tuple[str, Text]]:
    return list(reversed(library.levels)) if condition else []


def _item(field: Field) -> int:
    return {"float": 4, "double": 8}.get(field.element) or int(re.sub(r"\D", "", field.element)) // 8


def _run(library: Library) -> str:
    one, name, upper = library.interface, library.name, library.name.upper()
    pointers = [f"&inputs->{f.word}" if f.is_value else f"inputs->{f.word}" for f in one.inputs]
    pointers += [f"&state->{f.word}" for f in one.state]
    pointers += [_bytes(library, f.name) for f in one.weights]
    pointers += ["&memory"] if library.has_arena else []
    pointers += [_bytes(library, f"constant.{k}") for k in range(len(library.base.arguments))]
    results, at = [f"outputs->{f.word}" for f in one.outputs], 0
    moves = []
    moved = library.moved
    for f in one.state:
        if f not in moved:
            results.append(f"&state->{f.word}")
            continue
        size = int(f.length) * _item(f)
        results.append(f"start + {at}")
        moves.append(f"  __builtin_memcpy(&state->{f.word}, start + {at}, {size});")
        at += (size + 63) // 64 * 64
    calls = [
        f"  if ({name}_level() >= {level[-1]}) code = {symbol(name, 'run', level)}(pointers, dims, results, status);"
        "\n  else"
        for level, _ in _dispatched(library)
    ]
    count = sum(map(len, one.dims)) or 1
    lines = [
        f"int {name}_run({', '.join(library.parameters)}) {{",
        f"  i64 dims[{count}], status[{VALUES + 1}] = {{0}}, code;",
        f"  const int64_t need = {name}_arena_bytes({'lengths' if one.is_free else ''});",
        f"  if (need < 0) return {upper}_NEGATIVE;",
        f"  if (arena_bytes < need) return {upper}_ARENA;",
        "  char *const start = (char *)(((__UINTPTR_TYPE__)arena + 63) & ~(__UINTPTR_TYPE__)63);",
        *([f"  tg_arena memory = {{start + {at}}};"] if library.has_arena else []),
        *(["  (void)start;"] if not library.has_arena and not at else []),
        *(["  (void)weights;"] if library.has_file and not (one.weights or library.base.arguments) else []),
        f"  {name}_dims({'lengths, ' if one.is_free else ''}dims);",
        f"  const void *const pointers[] = {{{', '.join(pointers) or '0'}}};",
        f"  void *const results[] = {{{', '.join(results) or '0'}}};",
        *(["#ifdef __x86_64__", *calls, "#endif"] if calls else []),
        "  code = tg_run(pointers, dims, results, status);",
        f"  for (int k = 0; values && k < {VALUES}; k++) values[k] = status[k];",
        *([f"  if (code == {upper}_OK) {{", *("  " + move for move in moves), "  }"] if moves else []),
        "  return (int)code;",
        "}",
        "",
    ]
    return "\n".join(lines)


# --- BLAS ------------------------------------------------------------------------------------------------------------


def bind_file(library: Library) -> str:
    """The table of BLAS and LAPACK, by Fortran's interface, which OpenBLAS, MKL and Accelerate have alike."""
    table = (*CBLAS, *FORTRAN)
    slots = library.base.slots
    name = library.name
    rows = [f"  [{k}] = (void *){table[k - 1]}_," for k in slots]
    declared = "\n".join(f"void {table[k - 1]}_(void);" for k in slots)
    size = len(table) + 2
    return (
        f"/* The BLAS of {name}: functions by Fortran's interface with 32-bit integers, as OpenBLAS, MKL (lp64) and\n"
        f"   Accelerate have it. */\n{declared}\n"
        f'__attribute__((visibility("hidden"))) extern void *const {name}_blas[{size}];\n'
        f"void *const {name}_blas[{size}] = {{\n  [0] = (void *)2,\n" + "\n".join(rows) + "\n};\n"
    )
