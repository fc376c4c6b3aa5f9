"""Choosing a backend: by name, with options, or the first in line that can run a program.

"auto" asks by compiling: a backend that lacks an op, a dtype or something else for a program raises NoRuleError, and
the next in line is asked, the reference at last. So it costs nothing where the first choice runs the program, and a
backend that is not asked is not imported.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, final

from tg import plugin
from tg.errors import InputError, NoRuleError, OptionError, message
from tg.graph.op import Op
from tg.plugin.options import general_options
from tg.plugin.records import General
from tg.plugin.registry import AUTO, FALLBACK
from tg.types.dtypes import FLOATS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tg.display.table import Table
    from tg.graph.frozen import FrozenGraph
    from tg.plugin.records import Backend, BackendStatus

PassedOver = tuple[tuple[str, str], ...]

NONE_SET: Final = General()


@dataclasses.dataclass(frozen=True)
class BackendChoice:
    """A backend, its own options and the general ones, all of them valid; make one with `tg.backend`.

    A choice of "auto" has in `auto` the options that were given with it, and in `passed_over` the backends before this
    one in line, each with the reason; it is pickled as "auto", and chosen anew where it is restored.
    """

    name: str
    options: Any
    general: General = NONE_SET
    auto: tuple[tuple[str, Any], ...] | None = None  # None: the backend was named
    passed_over: PassedOver = dataclasses.field(default=(), compare=False)

    @property
    def dtypes(self) -> Mapping[str, str]:
        """The dtypes that others take the places of where a program is re-typed."""
        dtype = self.general.dtype
        return {} if dtype in (None, "float64") else {"float64": dtype, "complex128": "complex64"}

    def __reduce__(self) -> tuple[object, ...]:
        if self.auto is None:
            return BackendChoice, (self.name, self.options, self.general)
        return functools.partial(backend, AUTO, **dict(self.auto)), ()


def backend(name: str, **options: Any) -> BackendChoice:
    """A backend with options, to be given to `tg.function`; "auto" is the first in line that has such options.

    Raises:
        BackendUnavailable: not known, not installed, or broken.
        OptionError: an option the backend does not have, or a value it cannot have.
    Example:
        >>> import tg
        >>> tg.backend("perform").name
        'perform'
    """
    registry = plugin.registry()
    if name == AUTO:
        return _first_of(registry.candidates(), options, ())
    record = registry.backend(name)
    general, own = _valid(record, options)
    return BackendChoice(record.name, own, general)


def _valid(record: Backend, options: Mapping[str, Any]) -> tuple[General, Any]:
    """The general options among these, and the backend's own.

    Raises:
        OptionError: an option that neither has, or a value it cannot have.
    """
    general, own = general_options(record, options)
    if general.dtype is not None and record.dtypes and general.dtype not in record.dtypes:
        text = f"backend {record.name!r}: option dtype: found {general.dtype!r}, which it does not have"
        raise OptionError(message(text, ("dtypes", ", ".join(name for name in FLOATS if name in record.dtypes))))
    return general, plugin.validate_options(record, own, plugin.registry().backends_with_option)


def _first_of(names: Sequence[str], options: Mapping[str, Any], passed_over: PassedOver) -> BackendChoice:
    """The first of these backends that has the options and can be used.

    Raises:
        OptionError: none has them; that of the first.
    """
    registry, refused = plugin.registry(), []
    for name in names:
        obstacle: str | None
        try:
            general, own = _valid(registry.backend(name), options)
            obstacle = registry.obstacle(name)
            if obstacle is None:
                return BackendChoice(name, own, general, tuple(options.items()), passed_over)
        except OptionError as error:
            refused.append(error)
            obstacle = _fact(name, error)
        passed_over = (*passed_over, (name, obstacle))
    raise refused[0]  # there is one: core's own has no obstacle, and is last


class Rewritten(Protocol):
    """An outcome of an attempt that has the rewritten program."""

    @property
    def graph(self) -> FrozenGraph: ...


R = TypeVar("R", bound=Rewritten)


def in_line(choice: BackendChoice, attempt: Callable[[BackendChoice], R]) -> tuple[R, BackendChoice]:
    """The program of an attempt at compiling, and the choice for which it is: "auto" goes on to the next in line.

    Raises:
        NoRuleError: a backend that was named lacks something, or each in line; that of the first.
    """
    first = choice
    while True:
        try:
            program = attempt(choice)
            if choice.passed_over and choice.name == FALLBACK:
                _need_performed(program.graph)
            return program, choice
        except NoRuleError as error:
            if choice.auto is None:
                raise
            # at the end of the line the first is named, for an error that says who else has a rule
            choice = _after(choice, error) or dataclasses.replace(first, auto=None)


def _after(choice: BackendChoice, error: NoRuleError) -> BackendChoice | None:
    """The next in line for a program that a choice cannot run; None where there is none."""
    names = plugin.registry().candidates()
    if choice.auto is None or choice.name not in names[:-1]:
        return None
    rest = names[-1:] if error.is_python else names[names.index(choice.name) + 1 :]
    try:
        return _first_of(rest, dict(choice.auto), (*choice.passed_over, (choice.name, _fact(choice.name, error))))
    except OptionError:
        return None


def _need_performed(graph: FrozenGraph) -> None:
    """Refuse ops that the reference does not run either, before anybody calls the function."""
    for node in graph.nodes:
        if type(node.op).perform is Op.perform and not node.op.has_expansion:
            raise NoRuleError(message(f"backend {FALLBACK!r} has no rule for {node.op.spelled}"))
        for inner in node.op.inner_graphs():
            _need_performed(inner)


def _fact(name: str, error: Exception) -> str:
    """The message of an error of a backend, in a line that begins with its name."""
    text = str(error).partition("\n")[0]
    return text.removeprefix(f"backend {name!r}").lstrip(": ")


def choose(choice: object, default: str) -> BackendChoice:
    """The choice that an argument `backend=` means; None is the configured default.

    Raises:
        InputError: neither a name nor a choice.
    """
    if choice is None:
        choice = default
    if isinstance(choice, BackendChoice):
        return choice
    if isinstance(choice, str):
        return backend(choice)
    raise InputError(message(f"backend: found {choice!r}, needed a name or tg.backend(name, …)"))


MODES: Final = {  # of PyTensor
    "FAST_RUN": 'mode="default"',
    "FAST_COMPILE": 'mode="off"',
    "DEBUG_MODE": 'mode="debug"',
    "DebugMode": 'mode="debug"',
    "NanGuardMode": "nan_guard=True",
}


def mode_hint(mode: object) -> str | None:
    """A hint for somebody who gives as a mode the name of a backend, or of one of PyTensor's modes."""
    if not isinstance(mode, str):
        return None
    names = {name for one in plugin.registry().backends() for name in (one.name, *one.aliases)}
    name = {"pytorch": "torch", "cvm": "c", "vm": "c"}.get(mode.lower(), mode.lower())
    return MODES.get(mode) or (f'backend="{name}" is an option of its own' if name in names else None)


def release_memory() -> int:
    """Give the system the memory that backends keep between calls for results to come; how many bytes it was.

    Memory of arrays that are alive is not touched, and what is compiled stays: the next calls take new memory.

    Example:
        >>> import tg
        >>> tg.release_memory() >= 0
        True
    Source:
        torch.cuda.empty_cache
    """
    return sum(linker.release_memory() for linker in plugin.registry().linkers() if hasattr(linker, "release_memory"))


@final
class Backends(tuple["BackendStatus", ...]):
    """The backends that are known here, by name; `print` it for a table."""

    __slots__ = ()

    def _table(self) -> Table:
        from tg.display.table import Table

        rows = [(s.name, s.version or "", s.state, ", ".join(s.devices), s.remedy or s.reason) for s in self]
        return Table.of(("backend", "version", "state", "devices", "what would mend it"), rows)

    def __str__(self) -> str:
        return self._table().text()

    def __repr__(self) -> str:
        return f"<{len(self)} backends: {', '.join(status.name for status in self)}>"

    def _repr_html_(self) -> str:
        from tg.display.html import page

        return page(self._table().html())


def backends() -> Backends:
    """Every backend known here: name, distribution, version, state, and what would mend one that is not available.

    Doubles, which stand for a backend in tests of the seam, are left out; `plugin.registry().backends()` has them.
    """
    return Backends(status for status in plugin.registry().backends() if not is_double(status))


def is_double(status: BackendStatus) -> bool:
    """Whether a backend only stands for one in tests."""
    return status.is_available and plugin.registry().backend(status.name).is_double
