"""The parser of the command line, the list of commands, and the nearest ones where none has a name."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final, NoReturn

from tg.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

GROUPS: Final = (
    ("start", ("demo", "doctor", "backends", "coverage", "bench")),
    ("programs of a script", ("check", "explain", "view")),
    ("files", ("info", "cache")),
    ("plugins", ("conformance", "new-backend", "new-op")),
    ("the command line", ("help", "completion")),
)
"""The order of commands for people; one that is in no group comes at the end of the first."""

SYNONYMS: Final = {
    "list": "backends",
    "status": "doctor",
    "version": "doctor",
    "test": "conformance",
    "clean": "cache",
    "clear": "cache",
    "inspect": "info",
    "show": "info",
    "why": "explain",
    "run": "check",
    "example": "demo",
}
"""Commands under the names of others' tools."""


class Parser(argparse.ArgumentParser):
    """The parser of `tg`, and of each command: a command that is not known gets those that resemble it."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does it, once the command is looked at: its own message lists all there are."""
        commands = choices(self)
        words = [word for word in args or () if not word.startswith("-")]
        if commands and words and words[0] not in commands:
            self.error(unknown(words[0], commands))
        return super().parse_known_args(args, namespace)

    def error(self, text: str) -> NoReturn:
        """End with status 2 behind one message."""
        self.exit(2, f"{self.prog}: {text}\n" if "\n" in text else f"{self.format_usage()}{self.prog}: {text}\n")


def choices(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The commands of a parser by name."""
    actions = (one for one in parser._actions if isinstance(one, argparse._SubParsersAction))
    return next((dict(one.choices) for one in actions), {})


def helps(parser: argparse.ArgumentParser) -> dict[str, str]:
    """The line of each command."""
    actions = (one for one in parser._actions if isinstance(one, argparse._SubParsersAction))
    return {one.dest: one.help or "" for action in actions for one in action._choices_actions}


def unknown(word: str, commands: Iterable[str]) -> str:
    """The message of a command that there is none of."""
    names = list(commands)
    near = [SYNONYMS[word]] if word in SYNONYMS else nearest(word, names, 3)
    near = [name for name in near if name in names]
    hint = f"tg {' or tg '.join(near)}" if near else "tg help lists the commands"
    return f"found {word!r}, needed a command\n  hint: {hint}"


def overview(parser: argparse.ArgumentParser, version: str) -> str:
    """The commands in groups, each with its line."""
    lines = helps(parser)
    grouped = {name for _, names in GROUPS for name in names}
    rows = [f"tg {version} compiles array programs.", ""]
    for k, (title, names) in enumerate(GROUPS):
        rest = [name for name in lines if name not in grouped] if k == 0 else []
        rows.append(title)
        rows += [f"  tg {name:<12} {lines[name]}" for name in (*names, *rest) if name in lines]
    return "\n".join([*rows, "", "tg COMMAND --help tells the options of one."])


def completed(parser: argparse.ArgumentParser) -> dict[str, Sequence[str]]:
    """The words that may follow each command: its options, and what its arguments may be."""
    words: dict[str, Sequence[str]] = {}
    for name, command in choices(parser).items():
        options = [text for action in command._actions for text in action.option_strings if text.startswith("--")]
        positional = (action for action in command._actions if not action.option_strings)
        words[name] = [*options, *(str(one) for action in positional for one in action.choices or ())]
    return words
