"""`Request`: an expression, and how it is to be compiled and called; a function is made of one.

It never changes. Copies of a function, what is restored of a pickle and the traceable form are functions of other
records, made of this one by `dataclasses.replace`.
"""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING, Any, Final, TypeVar, final

from tg.errors import ShapeError
from tg.functions.arguments import pairs_of, swaps
from tg.functions.binding import Binding
from tg.functions.compile import Setting
from tg.functions.fixed import Fixed
from tg.functions.retyped import retyped, stand_in
from tg.functions.shared import claim_of, natives, snapshots
from tg.graph.dims import tied
from tg.graph.traversal import substitute
from tg.ops.elementwise.cast import cast_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tg.functions.backends import BackendChoice
    from tg.functions.compile import Program
    from tg.functions.nesting import Nesting
    from tg.functions.shared import Shared, Value
    from tg.graph.nodes import Variable
    from tg.turns import Claim
    from tg.variables.structure import Structure

    Ones = tuple[tuple[int, int], ...]

T = TypeVar("T")

SHOWN: Final = 8  # how many inputs a note about a failed call lists


@final
@dataclasses.dataclass(frozen=True)
class Options:
    """Options of one function, as `tg.function` and the configuration say them, checked."""

    choice: BackendChoice
    mode: str = "default"
    exclude: frozenset[str] = frozenset()  # names of rules, passes and classes that are not applied
    nan_guard: bool = False
    name: str = "function"
    native: bool = False  # whether results stay the backend's own arrays
    compile: str = "now"
    limit: int = 1  # patterns of lengths that are 1 which are compiled
    checkpointing: str | int = "none"

    @property
    def is_watched(self) -> bool:
        """Whether each call is looked at, its inputs afterwards too."""
        return self.nan_guard or self.mode == "debug"


@final
@dataclasses.dataclass(frozen=True, eq=False)
class Request:
    """Expression of one function, its variables and options.

    The results are first what a call gives, then the new values of the targets, one each. `defaults` and `donated` name
    inputs by their places; a nesting says in which structures calls give them.
    """

    inputs: tuple[Variable, ...]
    sources: tuple[Shared, ...]
    results: Sequence[Variable]
    targets: tuple[Shared, ...]
    structure: Structure
    options: Options
    defaults: Mapping[int, Any] = dataclasses.field(default_factory=dict)
    donated: frozenset[int] = frozenset()
    nesting: Nesting | None = None
    stand_ins: tuple[Variable, ...] = ()  # for the sources in the results, where these are re-typed
    written: Request | None = None  # the same before it was re-typed, of which copies are made
    places: Mapping[int, Variable] = dataclasses.field(default_factory=dict)  # of its variables, by id: those of this
    report: Any = None  # of what has made this of another, for people

    # all else follows
    live: tuple[Shared, ...] = dataclasses.field(init=False)  # the sources that may have another value in each call
    fixed: Fixed | None = dataclasses.field(init=False)  # the others, which come behind them
    variables: tuple[Variable, ...] = dataclasses.field(init=False)  # of its programs: inputs, then those of sources
    count: int = dataclasses.field(init=False)  # of results that a call gives
    binding: Binding = dataclasses.field(init=False)
    open: Ones = dataclasses.field(init=False)  # axes whose lengths are unknown: a variable's place, and a number
    ties: Mapping[tuple[int, int], Ones] = dataclasses.field(init=False)  # axes of one length
    claim: Claim = dataclasses.field(init=False)  # of what stores the new values

    def __post_init__(self) -> None:
        live, fixed = (tuple(s for s in self.sources if s.is_fixed is which) for which in (False, True))
        variables = (*self.inputs, *(self.stand_ins or (*live, *fixed)))
        axes = [(k, axis, n) for k, v in enumerate(variables) for axis, n in enumerate(v.type.shape)]
        derived = {
            "live": live,
            "fixed": Fixed(fixed, self.options.choice.dtypes) if fixed else None,
            "sources": (*live, *fixed),
            "variables": variables,
            "count": len(self.results) - len(self.targets),
            "binding": Binding(self.options.name, self.inputs, self.defaults, self.nesting),
            "open": tuple((k, axis) for k, axis, n in axes if n is None),
            "ties": tied(variables),
            "claim": claim_of(self.targets),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @property
    def reusable(self) -> Ones:
        """The results and variables, in pairs, that may share memory: new values with old, outputs with donated arrays.

        There are none where each call is watched, which looks at its inputs afterwards.
        """
        if self.options.is_watched:
            return ()
        return (*self.updates, *((k, j) for j in sorted(self.donated) for k in range(self.count)))

    @property
    def updates(self) -> Ones:
        """The results that are new values, each with the variable that has the old one."""
        places = {id(s): j for j, s in enumerate(self.sources, len(self.inputs))}
        return tuple((k, places[id(t)]) for k, t in enumerate(self.targets, self.count) if id(t) in places)

    def setting(self, choice: BackendChoice) -> Setting:
        """The options of compilations for a backend."""
        options = self.options
        names = options.mode, options.exclude, options.name
        return Setting(choice, *names, self.reusable, self.updates, self.fixed, options.checkpointing)

    def operands(self, program: Program, values: Sequence[Any], held: Sequence[Value]) -> list[Any]:
        """The arrays that a call gives a program: for the inputs, and as the backend has them for the live sources."""
        live = held[: len(self.live)]
        return [*values, *natives(live, program.form, len(values))]

    @property
    def retyped(self) -> Request:
        """The same with dtypes replaced as the option `dtype` of its backend says."""
        dtypes = self.options.choice.dtypes
        if not dtypes:
            return self
        variables = [stand_in(v, dtypes) for v in self.variables]
        places: dict[int, Variable] = {}
        results = retyped(self.variables, variables, self.results, dtypes, places)
        kinds = [dtypes.get(t.type.dtype, t.type.dtype) for t in self.targets]
        results[self.count :] = map(cast_variable, results[self.count :], kinds)
        count = len(self.inputs)
        inputs = tuple(variables[:count])
        defaults = {k: v.astype(inputs[k].type.numpy_dtype) for k, v in self.defaults.items()}
        return dataclasses.replace(
            self,
            inputs=inputs,
            results=tuple(results),
            defaults=defaults,
            stand_ins=tuple(variables[count:]),
            written=self,
            places=places,
        )

    def copied(self, swap: Any, choice: BackendChoice, name: str) -> Request:
        """The same for a backend, under a name, with shared variables exchanged, as sources and as targets.

        Raises:
            InputError: what is exchanged is not shared, not of this request, or of another dtype or rank.
        """
        if self.written is not None:
            return self.written.copied(swap, choice, name)
        pairs = swaps(pairs_of(swap, "copy: swap"), (*self.live, *self.targets))
        copy = dataclasses.replace(
            self,
            sources=tuple(pairs.get(id(s), s) for s in self.sources),
            results=tuple(substitute(self.results, pairs)),
            targets=tuple(pairs.get(id(t), t) for t in self.targets),
            options=dataclasses.replace(self.options, choice=choice, name=name),
        )
        return copy.retyped

    def arrays(self, held: Sequence[Value]) -> list[Any]:
        """The values of the sources as arrays of NumPy, as the programs have them."""
        if not self.stand_ins:
            return [v.numpy for v in held]
        return [v.numpy.astype(s.type.numpy_dtype, copy=False) for v, s in zip(held, self.stand_ins, strict=True)]

    def leaves(self, args: Sequence[Any]) -> Sequence[Any]:
        """The arguments of a call by position, those in structures leaf by leaf."""
        return args if self.nesting is None else self.nesting.leaves(self.options.name, args)

    def taken(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Any], list[Value]]:
        """The arrays of a call, in order of the inputs, and the values that the sources have now.

        Raises:
            InputError: an argument is missing, given twice, of no input or in another structure.
            DtypeError, ShapeError: one does not fit its input.
        """
        return self.binding(self.leaves(args), kwargs), snapshots(self.sources)

    def ones(self, values: Sequence[Any], held: Sequence[Any]) -> Ones:
        """The unknown lengths that are 1 in a call, of arrays for inputs and values of sources; no symbol is."""
        count = len(values)
        lengths = [((values[k] if k < count else held[k - count]).shape[axis]) for k, axis in self.open]
        return tuple([place for place, n in zip(self.open, lengths, strict=True) if n.__class__ is int and n == 1])

    def likely_ones(self) -> Ones:
        """The pattern to compile at once: shared variables as they are now, no length of an input being 1."""
        count = len(self.inputs)
        ones = [(k, axis) for k, axis in self.open if k >= count and self.sources[k - count].snapshot.shape[axis] == 1]
        alike = {other for place in ones for other in self.ties.get(place, (place,))}
        return tuple(place for place in self.open if place in alike)

    def fitting(self, attempt: Callable[[Ones], T]) -> tuple[T, bool]:
        """Outcome of an attempt for the likely pattern, and True; for another, and False, where shapes fit only there.

        Raises:
            ShapeError: there is no pattern in which they fit.
        """
        try:
            return attempt(self.likely_ones()), True
        except ShapeError:
            for ones in (self.open, *(self.ties.get(place, (place,)) for place in self.open)):
                with contextlib.suppress(ShapeError):
                    return attempt(ones), False
            raise

    def described(self, values: Sequence[Any], held: Sequence[Any]) -> str:
        """The inputs and shared variables of a call, each with its dtype and its lengths."""
        pairs = list(zip(self.variables, (*values, *held), strict=True))
        texts = [f"{v.name or '_'}: {v.type.dtype}{list(value.shape)}" for v, value in pairs[:SHOWN]]
        return ", ".join([*texts, "…"] if len(pairs) > SHOWN else texts) or "no arguments"
