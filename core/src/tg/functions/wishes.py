"""The options of `tg.function`, for type checkers: the results of a call have the structure of the outputs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import numpy as np

from tg.graph.nodes import Variable

if TYPE_CHECKING:
    from tg.configuration import Checkpointing, Compile, Mode
    from tg.functions.backends import BackendChoice
    from tg.functions.shared import Shared
    from tg.types.choices import UnusedInput

K = TypeVar("K")
V = TypeVar("V", bound=Variable)
Array = np.ndarray[Any, Any]
Inputs = Sequence[Any] | Variable | None


class Wishes(TypedDict, total=False):
    """All options but `output`, which decides the type of results."""

    backend: str | BackendChoice | None
    updates: Mapping[Shared, Any] | None
    givens: Mapping[Variable, Any] | None
    defaults: Mapping[Variable, Any] | None
    mode: Mode | None
    exclude: str | Collection[str] | None
    nan_guard: bool | None
    name: str | None
    on_unused_input: UnusedInput
    compile: Compile | None
    donate: Sequence[Variable] | Variable
    inference: bool
    checkpointing: Checkpointing | int | None
