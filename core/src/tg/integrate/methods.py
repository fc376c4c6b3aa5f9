"""Explicit Runge-Kutta methods as tables, and a step by any of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.nodes import Variable

    Rates = Callable[[Variable, Sequence[Variable]], list[Variable]]

Row = tuple[float, ...]


class Method(NamedTuple):
    """An explicit method: y + h * sum(weights * slopes), slope i being the rate at t + h * times[i].

    With `difference` it is a pair, whose steps are as long as the error allows: the slope at the end of a step is then
    the first one of the next step, and stands last among those that `difference` and `dense` weigh.
    """

    name: str
    order: int
    """Of the error: with steps of half the length it is 2**order times smaller."""
    times: Row
    stages: tuple[Row, ...]
    weights: Row
    difference: Row = ()
    """Weights of the slopes in the estimate of a step's error."""
    estimate: int = 0
    """The order of the method that the estimate compares with."""
    dense: tuple[Row, ...] = ()
    """Of each slope the coefficients of theta, theta**2, ... in the state at t + theta * h."""


EULER: Final = Method("euler", 1, (0.0,), ((),), (1.0,))
MIDPOINT: Final = Method("midpoint", 2, (0.0, 1 / 2), ((), (1 / 2,)), (0.0, 1.0))
HEUN: Final = Method("heun", 2, (0.0, 1.0), ((), (1.0,)), (1 / 2, 1 / 2))
RK4: Final = Method(
    "rk4",
    4,
    (0.0, 1 / 2, 1 / 2, 1.0),
    ((), (1 / 2,), (0.0, 1 / 2), (0.0, 0.0, 1.0)),
    (1 / 6, 1 / 3, 1 / 3, 1 / 6),
)

# P. Bogacki, L. F. Shampine, "A 3(2) pair of Runge-Kutta formulas", Appl. Math. Lett. 2 (1989), 321.
RK23: Final = Method(
    "RK23",
    3,
    (0.0, 1 / 2, 3 / 4),
    ((), (1 / 2,), (0.0, 3 / 4)),
    (2 / 9, 1 / 3, 4 / 9),
    (5 / 72, -1 / 12, -1 / 9, 1 / 8),
    2,
    ((1.0, -4 / 3, 5 / 9), (0.0, 1.0, -2 / 3), (0.0, 4 / 3, -8 / 9), (0.0, -1.0, 1.0)),
)

# J. R. Dormand, P. J. Prince, J. Comp. Appl. Math. 6 (1980), 19; the polynomial: L. F. Shampine, "Some practical
# Runge-Kutta formulas", Math. Comp. 46 (1986), 135.
RK45: Final = Method(
    "RK45",
    5,
    (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0),
    (
        (),
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    ),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    (-71 / 57600, 0.0, 71 / 16695, -71 / 1920, 17253 / 339200, -22 / 525, 1 / 40),
    4,
    (
        (1.0, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432),
        (0.0, 0.0, 0.0, 0.0),
        (0.0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799),
        (0.0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072),
        (0.0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632),
        (0.0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844),
        (0.0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423),
    ),
)

METHODS: Final[dict[str, Method]] = {
    "euler": EULER,
    "midpoint": MIDPOINT,
    "heun": HEUN,
    "rk4": RK4,
    "RK23": RK23,
    "bosh3": RK23,
    "RK45": RK45,
    "dopri5": RK45,
}
"""The methods by their names: SciPy's, and those that diffrax and torchdiffeq have for the pairs."""


def weighed(weights: Sequence[float], slopes: Sequence[Sequence[Variable]], k: int) -> Variable:
    """The sum of slopes by their weights, of leaf k of the state."""
    total: Variable | None = None
    for w, slope in zip(weights, slopes, strict=False):
        if w:
            term = slope[k] if w == 1 else slope[k] * w
            total = term if total is None else total + term
    assert total is not None
    return total


def moved(
    y: Sequence[Variable], h: Variable, weights: Sequence[float], slopes: Sequence[Sequence[Variable]]
) -> list[Variable]:
    """The state y + h * sum(weights * slopes)."""
    return [v + weighed(weights, slopes, k) * as_length(h, v) for k, v in enumerate(y)]


def as_length(h: Variable, like: Variable) -> Variable:
    """A length of time in the dtype of a leaf."""
    return h if h.type.dtype == like.type.dtype else h.astype(like.type.dtype)


def step(
    method: Method, rates: Rates, t: Variable, y: Sequence[Variable], first: list[Variable], h: Variable
) -> tuple[list[Variable], list[list[Variable]]]:
    """The state after a step of length h, and its slopes, of which the first is given."""
    slopes = [first]
    for time, row in zip(method.times[1:], method.stages[1:], strict=True):
        slopes.append(rates(t + h * time, moved(y, h, row, slopes)))
    return moved(y, h, method.weights, slopes), slopes


def polynomial(method: Method, slopes: Sequence[Sequence[Variable]], count: int) -> list[list[Variable]]:
    """Of each leaf the coefficients of theta, theta**2, ... of a step's polynomial, but for the factor h."""
    columns = [tuple(row[power] for row in method.dense) for power in range(len(method.dense[0]))]
    return [[weighed(column, slopes, k) for column in columns] for k in range(count)]


def at(
    y: Sequence[Variable], h: Variable, theta: Variable, coefficients: Sequence[Sequence[Variable]]
) -> list[Variable]:
    """The state at the fraction theta of a step from y."""
    values = []
    for v, (first, *others) in zip(y, coefficients, strict=True):
        power = part = as_length(theta, v)
        total = first * power
        for c in others:
            power = power * part
            total = total + c * power
        values.append(v + total * as_length(h, v))
    return values
