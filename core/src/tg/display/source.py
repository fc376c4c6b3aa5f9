"""`Source`: generated code, a string that notebooks show with colours."""

from __future__ import annotations

import re
from typing import Final, final

from tg.display.html import Markup, element, escaped, fold, joined, page

SHOWN: Final = 400  # lines of code that a notebook shows
WORDS: Final = (
    "alloca|bool|br|break|call|case|char|class|const|continue|def|define|double|elif|else|float|for|from|getelementptr|"
    "goto|graph|icmp|if|import|in|inline|int|int64_t|is|lambda|load|long|not|null|phi|restrict|ret|return|select|static|"
    "store|struct|switch|typedef|uint64_t|unsigned|void|volatile|while|with|None|True|False|check"
)
TOKEN: Final = re.compile(
    r"(?P<c>/\*.*?\*/|//[^\n]*|(?<![^\s])\#[^\n]*|(?m:^\s*;[^\n]*))"
    r"|(?P<s>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
    rf"|(?P<k>(?<![\w%.@])(?:{WORDS})(?!\w))"
    r"|(?P<n>(?<![\w%.@])\d[\w.]*(?:(?<=[eEpP])[+-]\d+)?)",
    re.DOTALL,
)
"""Comments, texts, words and numbers of C, LLVM's language, Python and the texts of programs."""


def highlighted(text: str) -> Markup:
    """Code with its comments, texts, words of the language and numbers marked."""
    parts: list[Markup] = []
    end = 0
    for token in TOKEN.finditer(text):
        parts += [escaped(text[end : token.start()]), element("span", token[0], class_=token.lastgroup)]
        end = token.end()
    return joined([*parts, escaped(text[end:])])


@final
class Source(str):
    """The text of a generated program: a `str` in all else, which notebooks show with colours.

    Example:
        >>> from tg.display.source import Source
        >>> Source("return 1;") == "return 1;"
        True
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        lines = self.splitlines()
        rest = [element("small", f"… {len(lines) - SHOWN} lines more")] if len(lines) > SHOWN else []
        code = element("pre", highlighted("\n".join(lines[:SHOWN])))
        return page(fold(f"generated code, {len(lines)} lines", code, *rest, is_open=True))
