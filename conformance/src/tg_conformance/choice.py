"""Options of a backend as words of a command line."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from tg.errors import OptionError, message
from tg.functions import backends

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tg.functions.backends import BackendChoice


def choice(backend: str, words: Iterable[str]) -> BackendChoice:
    """A backend with options that are given as `NAME=VALUE`; a value is a Python literal, or else text.

    Raises:
        OptionError: a word without `=`, an option that the backend does not have, or a value it cannot have.
    Example:
        >>> from tg_conformance.choice import choice
        >>> choice("perform", []).name
        'perform'
    """
    pairs = [word.partition("=") for word in words]
    wrong = next((name for name, equals, _ in pairs if not equals), None)
    if wrong is not None:
        raise OptionError(message(f"backend {backend!r}: found option {wrong!r}, needed NAME=VALUE"))
    return backends.backend(backend, **{name: _value(text) for name, _, text in pairs})


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
