"""Errors of a library as codes with texts: those of the program's own checks, and those of a call."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tg.backend import STATUS_LENGTH
from tg_native.graphs.failure import Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.backend import FrozenGraph

VALUES: Final = STATUS_LENGTH - 1  # int64 that tell more of an error
FAILURES: Final = {
    "NO_MEMORY": (int(Failure.MEMORY), "no memory for an intermediate result"),
    "NEGATIVE": (int(Failure.NEGATIVE), "a length is below 0, or an array longer than int64 counts"),
    "UNEQUAL": (int(Failure.UNEQUAL), "lengths that must be equal differ"),
    "BOUNDS": (int(Failure.BOUNDS), "positions are outside of an axis"),
    "EMPTY": (int(Failure.EMPTY), "an array without elements has axes that are too long"),
    "ARENA": (-16, "the arena is smaller than a call with these lengths needs"),
    "NO_FILE": (-17, "the file of weights cannot be read"),
    "WEIGHTS": (-18, "the weights are not those that the library was written with"),
}
"""Codes below 0, and their texts."""


class Text(NamedTuple):
    """Text of a check; where its first value numbers another, so many of them stand at `first`."""

    text: str
    first: int = 0
    inner: int = 0


def texts_of(graph: FrozenGraph) -> list[Text]:
    """The texts of the checks of a graph, then those of checks inside of loops and branches."""
    texts: list[Text] = []
    pending: list[tuple[int, Sequence[Any]]] = []

    def add(descriptors: Sequence[Any]) -> int:
        first = len(texts)
        for descriptor in descriptors:
            line = descriptor.text.replace("\n", " ")
            inside = "a check in a loop or a branch fails"
            texts.append(Text(f"{descriptor.error}: {line}" if line else inside))
            if descriptor.inner:
                pending.append((len(texts) - 1, descriptor.inner))
        return first

    add([check.descriptor for check in graph.checks])
    while pending:
        place, inner = pending.pop(0)
        texts[place] = texts[place]._replace(first=add(inner), inner=len(inner))
    return texts


def enumerated(name: str) -> str:
    """The codes as an enumeration of C."""
    prefix = name.upper()
    rows = [f"  {prefix}_OK = 0, /* above 0: a check of the program fails */"]
    rows += [f"  {prefix}_{word} = {code}, /* {text} */" for word, (code, text) in FAILURES.items()]
    return "\n".join((f"enum {name}_code {{", *rows, "};"))


def functions(name: str, texts: Sequence[Text], own: int) -> str:
    """The functions that give the text of a code.

    Args:
        own: how many checks the program has; the other texts are of checks inside of these.
    """
    cases = [f"    case {code}: return {_quoted(text)};" for code, text in FAILURES.values()]
    if not own:
        return _WITHOUT_CHECKS.replace("@name", name).replace("@cases", "\n".join(cases))
    ends = [0, *itertools.accumulate(len(t.text) + 1 for t in texts)]
    rows = [f"  {{{place}, {t.first}, {t.inner}}}," for place, t in zip(ends, texts, strict=False)]
    words = "\n".join(f'  {_quoted(t.text)[:-1]}\\0"' for t in texts)
    text = _FUNCTIONS.replace("@own", str(own)).replace("@name", name)
    return text.replace("@rows", "\n".join(rows)).replace("@words", words).replace("@cases", "\n".join(cases))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("??", "?\\?")
    return '"' + "".join(c if 32 <= ord(c) < 127 else "?" for c in escaped) + '"'


_WITHOUT_CHECKS: Final = """\
const char *@name_error_text(int code) {
  switch (code) {
    case 0: return "no error";
@cases
    default: return "no code of @name";
  }
}

int @name_error_with_values(int code, const int64_t *values, char *text, int64_t size) {
  const char *from = @name_error_text(code);
  int64_t at = 0;
  (void)values;
  while (*from && at + 1 < size) text[at++] = *from++;
  if (size > 0) text[at] = 0;
  return (int)at;
}
"""
_FUNCTIONS: Final = """\
static const char @name_texts[] = /* offsets into it are no pointers, which a loader would have to write */
@words;
static const struct { int text, first, count; } @name_checks[] = {
@rows
};

const char *@name_error_text(int code) {
  switch (code) {
    case 0: return "no error";
@cases
    default: return code > 0 && code <= @own ? @name_texts + @name_checks[code - 1].text : "no code of @name";
  }
}

int @name_error_with_values(int code, const int64_t *values, char *text, int64_t size) {
  const char *from = @name_error_text(code);
  int64_t at = 0;
  if (code > 0 && code <= @own && @name_checks[code - 1].count) { /* the first value numbers a check inside */
    int place = code - 1;
    for (int64_t number = *values++; @name_checks[place].count;) {
      const int inner = (int)(number % (@name_checks[place].count + 1));
      if (inner < 1) break;
      number /= @name_checks[place].count + 1;
      place = @name_checks[place].first + inner - 1;
      from = @name_texts + @name_checks[place].text;
    }
  }
  for (; *from && at + 1 < size; from++) {
    if (from[0] != '{' || from[1] < '0' || from[1] > '3' || from[2] != '}') {
      text[at++] = *from;
      continue;
    }
    char digits[24];
    int length = 0;
    const int64_t value = values[from[1] - '0'];
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do digits[length++] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0) digits[length++] = '-';
    while (length && at + 1 < size) text[at++] = digits[--length];
    from += 2;
  }
  if (size > 0) text[at] = 0;
  return (int)at;
}
"""
