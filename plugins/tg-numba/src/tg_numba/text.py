"""Names in generated code."""

from __future__ import annotations

import re


def identifier(name: str, number: int) -> str:
    """What value `number` is called where it is shown, from the user's name for it: unique."""
    word = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")[:40]
    return f"{word}_{number}" if word else f"v{number}"
