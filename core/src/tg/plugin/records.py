"""The records that plugins hand to core, and those in which core answers what is installed.

All are frozen. A plugin returns them from its hooks, core merges them: nothing is registered by importing a module.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from tg.cache.entries import limit
from tg.errors import PluginError, message
from tg.plugin.fields import option

if TYPE_CHECKING:
    from pathlib import Path

    from tg.cache.entries import Cache

HOOK_API = 1
"""The version of the hooks, part of the names of the entry-point groups: `tg.backends.1`, `tg.extensions.1`."""

Shapes = Literal["static", "dynamic"]
Compiles = Literal["fast", "slowly"]
Category = Literal["never", "upstream", "todo"]
Half = Literal["bfloat16", "float16"]
Precision = Literal["highest", "bfloat16x3", "bfloat16"]
State = Literal["available", "not installed", "broken", "wrong API", "forbidden"]
Rule = Callable[..., object]

CATEGORIES = ("never", "upstream", "todo")
SHAPES = ("static", "dynamic")
COMPILES = ("fast", "slowly")


@dataclass(frozen=True, slots=True)
class RuleProtocol:
    """The way a backend calls its rules: tables for one protocol cannot serve another.

    Kind `array` is core's: an elementwise function maps to `f(*arrays) -> array`, an op class to
    `rule(op, *arrays) -> array | tuple`. Kind `source` is the backend's own: `rule(op, ctx) -> fragment`.
    """

    kind: str
    version: int

    def __str__(self) -> str:
        return f"{self.kind} {self.version}"


ARRAY = RuleProtocol("array", 2)
"""Core's own protocol, as `docs/protocol.md` has it."""


@dataclass(frozen=True, slots=True)
class General:
    """The options that core itself honours, so that they mean the same on every backend."""

    dtype: Literal["float16", "bfloat16", "float32", "float64"] | None = option(
        None, "the dtype in place of float64 in programs, whose complex128 is complex64 then; None: all stays"
    )
    amp: Half | None = option(None, "mixed precision: the dtype of float32 contractions, their operands and results")
    precision: Precision = option(
        "highest", "the algorithm of float32 contractions, whose operands and results are float32"
    )
    memory: int | None = option(
        None, "bytes that results and temporaries of a call may take: a call that needs more is refused before it runs"
    )


GENERAL = tuple(one.name for one in dataclasses.fields(General))
"""The names of the general options, which no backend may give to options of its own."""


KEYWORDS = ("f", "path", "format", "name", "example")
"""The arguments of `tg.export`, which no exporter may have as options of its own."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a backend that has none."""


@dataclass(frozen=True, slots=True)
class Backend:
    """Name, needs and abilities of a backend; making one imports no framework.

    Raises:
        PluginError: a field has a value that core could not use later.
    Example:
        >>> from tg.plugin import Backend, RuleProtocol
        >>> Backend("mine", distribution="tg-mine", rules=RuleProtocol("array", 2), linker="tg_mine:LINKER").shapes
        'dynamic'
    """

    name: str
    _: KW_ONLY
    distribution: str
    rules: RuleProtocol
    linker: str  # "module:ATTRIBUTE", imported when the first function is compiled
    requires: tuple[str, ...] = ()  # "minelib>=2", by the metadata of what is installed; plugins of tg are its own code
    dtypes: frozenset[str] = frozenset()
    shapes: Shapes = "dynamic"  # "static": a run-time size is a constant of the compiled function
    raises: bool = False  # a rule may raise while running; otherwise failing checks come back as a status
    options: type = Options  # a frozen dataclass, every field an `option`
    refuses: Mapping[str, str] = field(
        default_factory=dict, hash=False
    )  # options users ask for, and why there are none
    aliases: tuple[str, ...] = ()
    devices: tuple[str, ...] = ("cpu",)
    priority: int = 0  # backend="auto" takes the highest that can run a program; one below 0 is never taken
    gaps: str | None = None  # "module:GAPS", a tuple of Gap
    compiles: Compiles = "fast"  # how much of the quick tier of conformance there is time for
    facts: str | None = None  # "module:FUNCTION": without arguments gives {name: text}, for `tg doctor`
    cache: str | None = None  # "module:CACHE", a DiskCache
    conformance_level: int = 1  # what it was certified for: cases of a higher level are advisory
    is_double: bool = False  # stands for a backend in tests: commands show it to those who ask for it

    def __post_init__(self) -> None:
        self._need(
            all(map(_is_name, (self.name, *self.aliases))), "name and aliases", "lower-case words without spaces"
        )
        self._need(_is_address(self.linker), "linker", "'module:ATTRIBUTE'")
        for name in ("gaps", "facts", "cache"):
            address = getattr(self, name)
            self._need(address is None or _is_address(address), name, "'module:ATTRIBUTE' or None")
        self._need(self.shapes in SHAPES, "shapes", "'static' or 'dynamic'")
        self._need(self.compiles in COMPILES, "compiles", "'fast' or 'slowly'")
        self._need(_is_frozen(self.options), "options", "a frozen dataclass")
        own = {one.name for one in dataclasses.fields(self.options)}
        self._need(own.isdisjoint(GENERAL), "options", f"none of those that core has: {', '.join(GENERAL)}")
        self._need(own.isdisjoint(self.refuses), "refuses", "none of its options")
        object.__setattr__(self, "refuses", MappingProxyType(dict(self.refuses)))
        level = self.conformance_level
        self._need(type(level) is int and level >= 1, "conformance_level", "an int of at least 1")

    def _need(self, holds: object, field: str, needed: str) -> None:
        if not holds:
            value = (self.name, self.aliases) if field == "name and aliases" else getattr(self, field)
            raise PluginError(message(f"backend {self.name!r}: {field}: found {value!r}, needed {needed}"))


@dataclass(frozen=True, slots=True)
class Exporter:
    """A format that `tg.export` writes, and what writes it; making one imports no framework.

    The writer is called as `writer(program, path, options)`: with an `Exported`, a path at which nothing is yet, and an
    instance of `options`. It writes one file there, or a folder, which `tg.export` moves into place.

    Raises:
        PluginError: a field has a value that core could not use later.
    Example:
        >>> from tg.plugin import Exporter
        >>> Exporter("mine", distribution="tg-mine", writer="tg_mine.export:write").requires
        ()
    """

    format: str
    _: KW_ONLY
    distribution: str
    writer: str  # "module:FUNCTION", imported when a function is exported
    options: type = Options  # a frozen dataclass, every field an `option`: the keywords of `tg.export`
    requires: tuple[str, ...] = ()  # as of a backend

    def __post_init__(self) -> None:
        self._need(self.format.isidentifier() and self.format == self.format.lower(), "format", "a lower-case word")
        self._need(_is_address(self.writer), "writer", "'module:FUNCTION'")
        self._need(_is_frozen(self.options), "options", "a frozen dataclass")
        own = {one.name for one in dataclasses.fields(self.options)}
        self._need(own.isdisjoint(KEYWORDS), "options", f"none of the keywords of tg.export: {', '.join(KEYWORDS)}")

    def _need(self, holds: object, field: str, needed: str) -> None:
        if not holds:
            value = getattr(self, field)
            raise PluginError(message(f"exporter {self.format!r}: {field}: found {value!r}, needed {needed}"))


@dataclass(frozen=True, slots=True)
class DiskCache:
    """Files that a backend keeps on disk between processes, for `tg cache`."""

    directory: Callable[[], Path]
    entries: Callable[[], tuple[Path, ...]]
    size: Callable[[], int]  # bytes
    clear: Callable[[], int]  # removes everything, and says how many files went
    limit: Callable[[], int] | None = None  # bytes; what was unused for longest goes when there are more

    @classmethod
    def of(cls, cache: Cache) -> DiskCache:
        """Content of a cache of `tg.cache`."""
        return cls(cache.directory, cache.entries, cache.size, cache.clear, limit)


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """One plugin's rules for one backend: what computes each op class or elementwise function.

    A rule for what another plugin has a rule for too is an error, unless its key is in `replaces`. A rule that returns
    `NotImplemented` declines: the host's reference is computed if its key is in `hosted`, else the op's expansion, else
    `NoRuleError` is raised. `gaps` says of these rules what `Backend.gaps` says of a backend: what they do not take, or
    how far their answers may differ.
    """

    protocol: RuleProtocol
    table: Mapping[object, Rule]
    replaces: frozenset[object] = frozenset()
    gaps: tuple[Gap, ...] = ()
    hosted: frozenset[object] = frozenset()  # keys of ops that the host may compute, where programs run op by op

    def __post_init__(self) -> None:
        absent = sorted(key_name(key) for key in self.replaces if key not in self.table)
        if absent:
            raise PluginError(message(f"rules: replaces names {', '.join(absent)}, for which the table has no rule"))
        object.__setattr__(self, "table", MappingProxyType(dict(self.table)))


@dataclass(frozen=True, slots=True)
class NoRules:
    """A plugin's word, given by `tg_rules`, that ops of its own have no rule for a backend.

    It counts where no other plugin has a rule: such an op is a gap of the backend (category `todo`), which takes
    nothing from the backend's certificate.

    Example:
        >>> from tg.plugin import NoRules
        >>> NoRules((), reason="not written yet").reason
        'not written yet'
    """

    ops: tuple[object, ...]  # op classes and elementwise functions of the plugin's own families
    reason: str


@dataclass(frozen=True, slots=True)
class Gap:
    """Something a backend does not do: an exact case, what it raises, and whether that can ever change.

    `never`: the machine cannot; `upstream`: the framework does not yet; `todo`: the plugin does not yet.

    What raises is refused when it is compiled, at the user's line. What does not (`raises` None) is computed all the
    same, within `accuracy` units of the last place of the right answer, where the suite asks for fewer. Such a gap
    names an op, and the suite wants an answer that is off in each of its dtypes, and accuracy near the largest error.

    Raises:
        PluginError: fields that contradict each other.
    """

    op: object
    dtypes: frozenset[str] | None  # None: every dtype
    when: Callable[..., bool] | None  # a predicate on static properties; None: always
    category: Category
    raises: type[BaseException] | None  # None: it runs, and the answer differs from the reference
    reason: str
    accuracy: float | None = None  # of what runs, in units of the last place; `math.inf` where nothing can be said

    def __post_init__(self) -> None:
        if self.category not in CATEGORIES:
            raise self._wrong("category", repr(self.category), f"one of {', '.join(CATEGORIES)}")
        if (self.raises is None) != (self.accuracy is not None) and not isinstance(self.op, str):
            needed = "how far the answers may differ" if self.raises is None else "None where it raises"
            raise self._wrong("accuracy", repr(self.accuracy), needed)
        if self.op is None and self.raises is None:
            raise self._wrong("raises", "None", "an exception where no op is named: all answers would be excused")

    def _wrong(self, field: str, value: str, needed: str) -> PluginError:
        return PluginError(message(f"gap of {key_name(self.op)}: {field}: found {value}, needed {needed}"))


@dataclass(frozen=True, slots=True)
class Rewrites:
    """One plugin's rewrite rules and passes, each with a name and a phase of its own."""

    rules: tuple[object, ...] = ()
    passes: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault of something installed, remembered to be told to whoever asks for it."""

    distribution: str
    version: str | None
    state: State
    reason: str
    remedy: str | None = None  # a command, or what to change
    cause: BaseException | None = None

    def __str__(self) -> str:
        source = " ".join(filter(None, (self.distribution, self.version)))
        return message(f"{source}: {self.reason}", hint=self.remedy)


@dataclass(frozen=True, slots=True)
class BackendStatus:
    """One line of `tg backends`: a backend that is known, and what keeps it from being used."""

    name: str
    aliases: tuple[str, ...]
    distribution: str
    version: str | None
    state: State
    reason: str
    remedy: str | None
    engines: tuple[tuple[str, str | None], ...] = ()  # what the backend requires, with the version installed
    devices: tuple[str, ...] = ()
    dtypes: frozenset[str] = frozenset()
    certified: str = ""  # what its certificate says

    @property
    def is_available(self) -> bool:
        return self.state == "available"


def key_name(key: object) -> str:
    """The name of a rule table's key: an elementwise function's, an op's, else the class's."""
    names = (getattr(key, "name", None), getattr(key, "__name__", None))
    return next((name for name in names if isinstance(name, str)), str(key))


def _is_frozen(options: type) -> bool:
    return dataclasses.is_dataclass(options) and bool(vars(options)["__dataclass_params__"].frozen)


def _is_name(text: str) -> bool:
    return text.replace("-", "_").isidentifier() and text == text.lower() and text != "auto"


def _is_address(text: str) -> bool:
    module, colon, attribute = text.partition(":")
    return bool(colon) and all(part.isidentifier() for part in (*module.split("."), attribute))
