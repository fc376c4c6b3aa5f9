"""Common parts of optimizers: parameters beside their gradients, the state kept for each, and the resulting updates.

An optimizer is a function that takes a loss and a structure of shared variables and returns updates for `tg.function`:
the parameters' new values, and those of its own shared variables, which it makes. Of halves all is kept and computed in
float32, and the new value rounded once: in float16 the square of a gradient of 1e-4 and an eps of 1e-8 are both 0.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

from tg.errors import DtypeError, InputError, ShapeError, message
from tg.functions.arguments import own_updates
from tg.functions.shared import Shared, shared
from tg.gradient.api import grad
from tg.graph.nodes import Variable
from tg.ops.elementwise.cast import cast, cast_variable, widened
from tg.types.dtypes import is_float
from tg.variables.conversion import as_variable
from tg.variables.structure import flatten, hint_of, paths, repeated_over, short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tg.variables.structure import Structure

Updates = dict[Shared, Variable]
AVERAGES: Final = ("b1", "b2", "decay", "rho", "beta", "adam_b1", "adam_b2")  # factors of moving averages, below 1


class Parameter(NamedTuple):
    """A parameter, its gradient (of halves in float32), and whether its weight decays."""

    variable: Shared
    gradient: Variable
    decays: bool
    name: str

    @property
    def value(self) -> Variable:
        """The value before the step, in the dtype of the gradient."""
        return widened(self.variable)

    def in_its_dtype(self, value: Any) -> Variable:
        """A scalar that does not widen the gradient."""
        return cast_variable(as_variable(value), self.gradient.type.dtype)


@final
class Descent:
    """One run of an optimizer: for each parameter what is kept of it, and what each becomes.

    The updates have those that the loss brings itself, of running statistics and streams of random numbers.
    """

    def __init__(self, what: str, loss: Any, params: Any, mask: Any = None, gradients: Any = None) -> None:
        self.what = what
        self.updates: Updates = {} if loss is None else own_updates([as_variable(loss)], [])  # of layers with a state
        self.parameters = _parameters(what, loss, params, mask, gradients, self.updates)
        self._steps: Shared | None = None

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self.parameters)

    @property
    def steps(self) -> Shared:
        """Number of steps made before this one: a scalar that this step adds 1 to."""
        if self._steps is None:
            self._steps = shared(np.int64(0), f"{self.what}: steps", shape=())
            self.updates[self._steps] = self._steps + 1
        return self._steps

    @property
    def number(self) -> Variable:
        """Number of this step, from 1 on, as a float64 scalar."""
        return cast(self.steps + 1, "float64")

    def rate(self, learning_rate: Any) -> Variable:
        """The learning rate of this step.

        Raises:
            InputError: it is neither a number, a scalar nor a schedule.
        """
        is_schedule = callable(learning_rate) and not isinstance(learning_rate, Variable)
        return scalar(self.what, "learning_rate", learning_rate(self.steps) if is_schedule else learning_rate)

    def state(self, p: Parameter, role: str, fill: float = 0.0) -> Shared:
        """A shared variable of the parameter's shape, at first `fill`; the optimizer says what it becomes."""
        v = p.variable
        start = np.full(v.snapshot.shape, fill, p.gradient.type.dtype)
        return shared(start, f"{self.what}: {role} of {p.name}", shape=v.type.shape)

    def average(self, p: Parameter, role: str, x: Variable, factor: float, start: float = 0.0) -> Variable:
        """A moving average of the parameter's shape, this step's part in it."""
        before = self.state(p, role, start)
        self.updates[before] = factor * before + (1 - factor) * x
        return self.updates[before]

    def move(self, p: Parameter, rate: Variable, direction: Variable) -> None:
        """The parameter goes against a direction."""
        self.updates[p.variable] = cast_variable(p.value - p.in_its_dtype(rate) * direction, p.variable.type.dtype)


def state(updates: Updates) -> dict[str, Shared]:
    """All that updates move, by name: parameters, and what optimizers keep; `tg.nn.save` writes it, `tg.nn.load` reads.

    Example:
        >>> import tg
        >>> w = tg.shared([4.0, -2.0], "w")
        >>> list(tg.optimize.state(tg.optimize.adam(tg.sum(w**2), w)))
        ['adam: mean of w', 'adam: square of w', 'adam: steps', 'w']
    """
    by_name: dict[str, Shared] = {}
    for k, v in enumerate(updates_in("state", updates)):
        name = v.name or f"variable {k}"
        by_name[name if name not in by_name else f"{name} ({k})"] = v
    return by_name


def updates_in(what: str, value: Any) -> Updates:
    """Updates, of which it is made sure that they are.

    Raises:
        InputError: they are no dict of shared variables.
    """
    if not isinstance(value, Mapping) or not all(isinstance(v, Shared) for v in value):
        text = f"{what}: updates: found {short(value)}, needed a dict of shared variables"
        raise InputError(message(text, hint="optimizers give updates: tg.optimize.sgd(loss, params)"))
    return value  # type: ignore[return-value]


def scalar(what: str, name: str, value: Any) -> Variable:
    """A number or a scalar variable of an optimizer, as a variable.

    Raises:
        InputError: it is something else, or no finite number.
    """
    is_plain = is_number(value)
    if is_plain and not math.isfinite(value):
        raise InputError(message(f"{what}: {name}: found {value!r}, needed a finite number"))
    v = as_variable(value) if is_plain or isinstance(value, Variable | np.ndarray) else None
    if v is None or v.type.ndim != 0 or not (is_plain or is_float(v.type.dtype)):
        hint = "a schedule is a function of the step, such as tg.optimize.cosine_decay_schedule(0.1, 1000)"
        text = f"{what}: {name}: found {short(value)}, needed a number or a real scalar variable"
        raise InputError(message(text, hint=hint if name == "learning_rate" else None))
    return v


def bounded(what: str, **factors: float) -> None:
    """Refuse factors of moving averages that are not below 1, and others that are negative or no numbers.

    Raises:
        InputError: one is outside its bounds.
    """
    for name, value in factors.items():
        is_average = name in AVERAGES
        if not is_number(value) or not (0 <= value < (1 if is_average else math.inf)):
            needed = "a number of at least 0 and below 1" if is_average else "a finite number that is not negative"
            raise InputError(message(f"{what}: {name}: found {short(value)}, needed {needed}"))


def is_number(value: object) -> bool:
    """Whether it is a real number, and no truth value."""
    return not isinstance(value, bool) and isinstance(value, numbers.Real)


def parameters_of(what: str, params: Any) -> tuple[list[Shared], list[str], Structure]:
    """The shared variables of a structure, what each is called, and the structure.

    Raises:
        InputError: there are none, or something else stands in it.
        DtypeError: one is not real and floating.
    """
    leaves, structure = flatten(params)
    names = [
        getattr(v, "name", None) or path or "the parameter" for v, path in zip(leaves, paths(structure), strict=True)
    ]
    if not leaves:
        raise InputError(message(f"{what}: params: found none"))
    for v, name in zip(leaves, names, strict=True):
        if not isinstance(v, Shared):
            hint = hint_of(v, "tg.shared(value) makes one; of a function of inputs, tg.grad gives the gradients")
            text = f"{what}: params: {name}: found {short(v)}, needed a shared variable"
            raise InputError(message(text, hint=hint))
        if not is_float(v.type.dtype):
            raise DtypeError(message(f"{what}: params: {name}: found {v.type}, needed real floating numbers"))
    return leaves, names, structure


def gradients_of(what: str, loss: Any, params: Any, gradient_tree: Any = None) -> list[Variable]:
    """The gradient by each parameter: of a scalar loss, or as they are given, nested like the parameters.

    Raises:
        InputError: there are both or neither, or what is given is not nested like the parameters.
        ShapeError: a gradient has not the shape of its parameter.
        DtypeError: a gradient is none of floating numbers.
    """
    leaves, names, structure = parameters_of(what, params)
    if (loss is None) == (gradient_tree is None):
        fault = "neither a loss nor gradients" if loss is None else "a loss and gradients"
        raise InputError(message(f"{what}: found {fault}, needed one of them"))
    if gradient_tree is None:
        return list(grad(loss, leaves))
    gradients = [as_variable(g) for g in structure.leaves_of(gradient_tree, f"{what}: gradients")]
    for v, g, name in zip(leaves, gradients, names, strict=True):
        pairs = zip(g.type.shape, v.type.shape, strict=False)
        if g.type.ndim != v.type.ndim or any(None not in (a, b) and a != b for a, b in pairs):
            raise ShapeError(message(f"{what}: gradient of {name}: found {g.type}, needed the shape of {v.type}"))
        if not is_float(g.type.dtype):
            raise DtypeError(message(f"{what}: gradient of {name}: found {g.type}, needed floating numbers"))
    return [cast_variable(g, v.type.dtype) for v, g in zip(leaves, gradients, strict=True)]


def _parameters(what: str, loss: Any, params: Any, mask: Any, gradients: Any, stored: Updates) -> list[Parameter]:
    """Each parameter once, in the structure's order: a variable that stands in two places has one gradient.

    Raises:
        InputError: the mask is not nested like the parameters, or has something else than bools; what computes the loss
            stores a parameter itself.
    """
    leaves, names, _ = parameters_of(what, params)
    for v, name in zip(leaves, names, strict=True):
        if v in stored:
            hint = "tg.nn.params(model) has what is learnt, tg.nn.state(model) what the model updates itself"
            raise InputError(message(f"{what}: params: {name} is updated by what computes the loss", hint=hint))
    slopes = [widened(g) for g in gradients_of(what, loss, params, gradients)]
    if callable(mask):
        decays = [mask(v) for v in leaves]
    else:
        decays = [True] * len(leaves) if mask is None else repeated_over(params, mask, _is_bool, f"{what}: mask")
    for name, one in zip(names, decays, strict=True):
        if not _is_bool(one):
            raise InputError(message(f"{what}: mask: {name}: found {short(one)}, needed True or False"))
    by_id: dict[int, Parameter] = {}
    for parts in zip(leaves, slopes, decays, names, strict=True):
        by_id.setdefault(id(parts[0]), Parameter(*parts))
    return list(by_id.values())


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)
