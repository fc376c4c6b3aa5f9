"""The tokens of a text, read one at a time, and the error that points at one."""

from __future__ import annotations

import re
from typing import Final

from tg.errors import TextError, message

EXCERPT: Final = 60  # characters of the line shown on each side of an error

_SPACE: Final = re.compile(r"(?:\s+|#[^\n]*)*")
_TOKEN: Final = re.compile(
    r"(?P<value>%\w+)"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<number>-?(?:0x[0-9a-fA-F]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|-inf\b)"
    r'|(?P<string>"(?:[^"\\\n]|\\[^\n])*")'
    r"|(?P<graph>@\w+)"
    r"|(?P<mark>[()\[\]{},:=?])"
)


class Tokens:
    """A position in a text: the token there, its kind, and where it starts."""

    __slots__ = ("at", "kind", "source", "text", "_next")

    def __init__(self, source: str) -> None:
        self.source = source
        self.kind, self.text, self.at, self._next = "start", "", 0, 0
        self.advance()

    def advance(self) -> str:
        """Go to the next token; the text of the one left behind is returned."""
        left = self.text
        space = _SPACE.match(self.source, self._next)
        self.at = space.end() if space is not None else self._next
        match = _TOKEN.match(self.source, self.at)
        if match is not None:
            self.kind, self.text, self._next = str(match.lastgroup), match[0], match.end()
        elif self.at < len(self.source):
            unfinished = self.source[self.at] == '"'
            self.kind, self.text = "", "a string without its end" if unfinished else repr(self.source[self.at])
            raise self.failure("a token", quote=False)
        else:
            self.kind, self.text, self._next = "end", "", self.at
        return left

    def accept(self, text: str) -> bool:
        """Step over the token if it is this one."""
        if self.text != text:
            return False
        self.advance()
        return True

    def expect(self, text: str) -> None:
        """Step over the token, which must be this one."""
        if self.text != text:
            raise self.failure(f"'{text}'")
        self.advance()

    def take(self, kind: str, needed: str) -> str:
        """Step over the token, which must be of a kind, and return it."""
        if self.kind != kind:
            raise self.failure(needed)
        return self.advance()

    def failure(self, needed: str, *, quote: bool = True, hint: str | None = None) -> TextError:
        """The error for the token at hand, saying what the place needs."""
        actual = "the end of the text" if self.kind == "end" else f"'{self.text}'" if quote else self.text
        return self.refusal(self.at, f"found {actual}, needed {needed}", hint)

    def refusal(self, at: int, fact: str, hint: str | None = None) -> TextError:
        """The error about the place `at`, showing the line and where in it."""
        start = self.source.rfind("\n", 0, at) + 1
        end = self.source.find("\n", at)
        line = self.source.count("\n", 0, at) + 1
        first = max(start, at - EXCERPT)
        shown = self.source[first : end if end >= 0 else len(self.source)][: 2 * EXCERPT].replace("\t", " ")
        caret = " " * (at - first) + "^"
        indent = min(len(shown) - len(shown.lstrip()), at - first)
        summary = f"text: line {line}, column {at - start + 1}: {fact}"
        return TextError(message(summary, (str(line), shown[indent:]), ("", caret[indent:]), hint=hint))
