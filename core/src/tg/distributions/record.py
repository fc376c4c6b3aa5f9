"""The record of a distribution, and what is asked of it.

A record has formulas for parameters that are what they have to be and values inside of the support. What holds of all
stands here: values outside have the density 0, a parameter that is not what it has to be makes NaN, and discrete
distributions have steps.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.display.html import element, fold, page
from tg.display.table import Table
from tg.distributions.parameters import NEEDED
from tg.distributions.search import beside, first_count
from tg.errors import DtypeError, InputError, NoRuleError, message
from tg.ops.control import stop_gradient
from tg.ops.elementwise.arithmetic import maximum, minimum, sqrt
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, not_equal, where
from tg.ops.elementwise.exponential import exp, log, log1p
from tg.ops.elementwise.rounding import floor
from tg.ops.elementwise.special.normal import ndtri
from tg.ops.reduction import sum as sum_of
from tg.ops.shape import expand_dims
from tg.types.dtypes import is_float, is_inexact
from tg.variables.conversion import as_variable, promoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.distributions.parameters import Parameter
    from tg.distributions.support import Support
    from tg.graph.nodes import Variable

WIDER: Final = {"float16": "float32", "bfloat16": "float32"}


@final
@dataclass(frozen=True)
class Formulas:
    """The formulas of a distribution: functions of a value or a probability and the parameters, or of these alone.

    Args:
        log_density: the logarithm of the density, or of the probability of a number.
        cdf, sf: the probability of what is at most x, and of what is above it.
        logcdf, logsf: their logarithms, where those of the former would lose digits.
        ppf, isf: the inverses of `cdf` and `sf`.
        entropy, mean, variance: of the parameters.
    """

    log_density: Callable[..., Any]
    cdf: Callable[..., Any] | None = None
    sf: Callable[..., Any] | None = None
    logcdf: Callable[..., Any] | None = None
    logsf: Callable[..., Any] | None = None
    ppf: Callable[..., Any] | None = None
    isf: Callable[..., Any] | None = None
    entropy: Callable[..., Any] | None = None
    mean: Callable[..., Any] | None = None
    variance: Callable[..., Any] | None = None


@final
@dataclass(frozen=True, repr=False, eq=False)
class Distribution:
    """A distribution of named parameters, each of which is given at the call or before: `normal(0, 2).logpdf(x)`.

    A parameter that is not what it has to be makes NaN. Values and parameters broadcast; the result has their floating
    dtype, float64 for integers.

    Args:
        name: that in `tg.distributions`.
        doc: what it is, in a sentence.
        parameters: in the order in which they are given.
        support: where its numbers are.
        formulas: what is known of it.
        valid: what has to be between parameters.
        sampler: the name of what draws of it in `tg.random`.
        given: parameters that are.
    Example:
        >>> import tg
        >>> float(tg.distributions.normal.cdf(1.0).eval())
        0.8413447460685429
        >>> prior = tg.distributions.gamma(2.5, scale=2.0)
        >>> float(prior.mean().eval())
        5.0
    """

    name: str
    doc: str
    parameters: tuple[Parameter, ...]
    support: Support
    formulas: Formulas
    valid: Callable[..., Any] | None
    sampler: str
    given: tuple[tuple[str, Any], ...] = ()

    def __call__(self, *args: Any, **named: Any) -> Distribution:
        """The distribution of these parameters.

        Raises:
            InputError: a parameter that it does not have, or has already.
        """
        return dataclasses.replace(self, given=tuple(self._merged(args, named).items()))

    def __reduce__(self) -> tuple[Any, ...]:
        """One of `tg.distributions` by its name, for its formulas are functions without names."""
        own = getattr(importlib.import_module("tg.distributions"), self.name, None)
        if isinstance(own, Distribution) and own.formulas is self.formulas:
            return _named, (self.name, self.given)
        return Distribution, tuple(getattr(self, field.name) for field in dataclasses.fields(self))

    def __repr__(self) -> str:
        have = dict(self.given)
        shown = ", ".join(f"{p.name}={have[p.name]}" if p.name in have else str(p) for p in self.parameters)
        return f"tg.distributions.{self.name}({shown})"

    def _repr_html_(self) -> str:
        have = dict(self.given)
        rows = [
            (p.name, have.get(p.name, "" if p.default is NEEDED else p.default), p.constraint.text)
            for p in self.parameters
        ]
        formulas = [
            field.name for field in dataclasses.fields(Formulas) if getattr(self.formulas, field.name) is not None
        ]
        table = Table.of(("parameter", "value", "needed"), rows).html()
        facts = element(
            "small", f"of {self.support.text}; draws by tg.random.{self.sampler}; formulas: {', '.join(formulas)}"
        )
        return page(fold(element("span", element("b", self.name), f"  {self.doc}"), table, facts, is_open=True))

    def logpdf(self, x: Any, /, *args: Any, **named: Any) -> Variable:
        """The logarithm of the density, -inf outside of the support."""
        return self._log_density("logpdf", x, args, named)

    def pdf(self, x: Any, /, *args: Any, **named: Any) -> Variable:
        """The density."""
        return exp(self._log_density("pdf", x, args, named))

    def logpmf(self, x: Any, /, *args: Any, **named: Any) -> Variable:
        """The logarithm of the probability of x, -inf where it has none."""
        return self._log_density("logpmf", x, args, named)

    def pmf(self, x: Any, /, *args: Any, **named: Any) -> Variable:
        """The probability of x."""
        return exp(self._log_density("pmf", x, args, named))

    def cdf(self, x: Any, /, *args: Any, **named: Any) -> Variable:
        """The probability of a number of at most x."""
        return self._cumulative("cdf", x, args, named, 0.0, 1.0)

    def sf(self, x: Any, /, *args: Any, **named: Any) -> Variable:
        """The probability of a number above x, 1 - cdf, as exact where it is small."""
        return self._cumulative("sf", x, args, named, 1.0, 0.0)

    def logcdf(self, x: Any, /, *args: Any, **named: Any) -> Variable:
        """The logarithm of `cdf`."""
        if self.formulas.logcdf is None:
            return _log_of_smaller(self.cdf(x, *args, **named), self.sf(x, *args, **named))
        return self._cumulative("logcdf", x, args, named, -np.inf, 0.0)

    def logsf(self, x: Any, /, *args: Any, **named: Any) -> Variable:
        """The logarithm of `sf`."""
        if self.formulas.logsf is None:
            return _log_of_smaller(self.sf(x, *args, **named), self.cdf(x, *args, **named))
        return self._cumulative("logsf", x, args, named, 0.0, -np.inf)

    def ppf(self, q: Any, /, *args: Any, **named: Any) -> Variable:
        """The number of which `cdf` is q: of discrete ones the smallest of which it is at least q."""
        return self._quantile("ppf", q, args, named)

    def isf(self, q: Any, /, *args: Any, **named: Any) -> Variable:
        """The number of which `sf` is q: of discrete ones the smallest of which it is at most q."""
        return self._quantile("isf", q, args, named)

    def entropy(self, *args: Any, **named: Any) -> Variable:
        """The mean of -log_density, in nats."""
        return self._of_parameters("entropy", args, named, 0)

    def mean(self, *args: Any, **named: Any) -> Variable:
        """The mean; inf or NaN where there is none."""
        return self._of_parameters("mean", args, named, self.support.rank)

    def variance(self, *args: Any, **named: Any) -> Variable:
        """The variance; inf or NaN where there is none."""
        return self._of_parameters("variance", args, named, self.support.rank)

    def std(self, *args: Any, **named: Any) -> Variable:
        """The standard deviation."""
        return sqrt(self.variance(*args, **named))

    def sample(self, key: Any, /, *args: Any, shape: Any = None, dtype: Any = None, **named: Any) -> Variable:
        """Draws of a key: what `tg.random` has under the same name."""
        import tg

        options = {name: v for name, v in (("shape", shape), ("dtype", dtype)) if v is not None}
        draw = getattr(tg.random, self.sampler)
        return draw(key, **self._values(args, named), **options)  # type: ignore[no-any-return]

    def has(self, name: str) -> bool:
        """Whether one of the methods is known of this distribution, by its name."""
        formulas = self.formulas
        if name.endswith(("pdf", "pmf")):
            return name.endswith("pmf") is self.support.whole
        if name in ("cdf", "sf", "logcdf", "logsf"):
            return formulas.cdf is not None
        if name in ("ppf", "isf"):
            return formulas.ppf is not None or (formulas.cdf is not None and self.support.whole)
        return getattr(formulas, "variance" if name == "std" else name, None) is not None or name == "sample"

    def _need(self, name: str) -> None:
        if self.has(name):
            return
        if name.endswith(("pdf", "pmf")):
            other = name.replace("pdf", "pmf") if self.support.whole else name.replace("pmf", "pdf")
            text = f"{self.name}: {name}: found a {'discrete' if self.support.whole else 'continuous'} distribution"
            raise NoRuleError(message(text, hint=f"tg.distributions.{self.name}.{other} exists"))
        raise NoRuleError(message(f"{self.name}: {name}: found no formula that is exact"))

    def _merged(self, args: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
        """The parameters that are given, now or before, by name."""
        had = dict(self.given)
        open_names = [p.name for p in self.parameters if p.name not in had]
        expected = ", ".join(map(str, self.parameters))
        if len(args) > len(open_names):
            raise InputError(message(f"{self.name}: found {len(args)} parameters, needed {expected or 'none'}"))
        values = dict(zip(open_names, args, strict=False))
        for name in named:
            if name not in open_names or name in values:
                again = "again" if name in values or name in had else "which it does not have"
                raise InputError(message(f"{self.name}: found the parameter {name}, {again}, needed {expected}"))
        values |= had | named
        return {p.name: values[p.name] for p in self.parameters if p.name in values}

    def _values(self, args: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
        """All parameters by name."""
        by_name = self._merged(args, named)
        values = {p.name: by_name.get(p.name, p.default) for p in self.parameters}
        for name, value in values.items():
            if value is NEEDED:
                expected = ", ".join(map(str, self.parameters))
                raise InputError(message(f"{self.name}: {name}: found nothing, needed {expected}"))
        return values

    def _operands(
        self, what: str, first: tuple[Any, ...], args: Sequence[Any], named: dict[str, Any]
    ) -> tuple[list[Variable], str]:
        """A value and the parameters in the floating dtype that is computed in, and that of the result."""
        self._need(what)
        values = [*first, *self._values(args, named).values()]
        operands, dtype = promoted(values)
        if not is_inexact(dtype):
            dtype = "float64"
        if not is_float(dtype):
            raise DtypeError(message(f"{self.name}: {what}: found {dtype}, needed real numbers"))
        return [cast_variable(v, WIDER.get(dtype, dtype)) for v in operands], dtype

    def _met(self, parameters: list[Variable], *, whole: bool) -> Variable | None:
        """Whether the parameters are what they have to be; None where they may be anything.

        Args:
            whole: whether NaN is looked for in those that may be anything.
        """
        parts = [
            p.constraint.is_met(v)
            for p, v in zip(self.parameters, parameters, strict=True)
            if whole or p.constraint.holds is not None
        ]
        if self.valid is not None:
            parts.append(self.valid(*parameters))
        return functools.reduce(operator.and_, parts) if parts else None

    def _checked(self, value: Variable, parameters: list[Variable], dtype: str) -> Variable:
        """A value, NaN where a parameter is not what it has to be."""
        met = self._met(parameters, whole=False)
        return cast_variable(value if met is None else where(met, value, np.nan), dtype)

    def _log_density(self, what: str, x: Any, args: Sequence[Any], named: dict[str, Any]) -> Variable:
        (value, *parameters), dtype = self._operands(what, (x,), args, named)
        outside = self.support.outside(value, parameters)
        if outside is not None and not self.support.rank and not self.support.whole:
            value = where(outside, self.support.inner(parameters), value)
        density = self.formulas.log_density(value, *parameters)
        if outside is not None:
            density = where(outside, -np.inf, density)
        return self._checked(density, parameters, dtype)

    def _cumulative(
        self, what: str, x: Any, args: Sequence[Any], named: dict[str, Any], first: float, last: float
    ) -> Variable:
        """A function of a value that is constant beyond both ends of the support.

        At an end that the support has it is the formula, whose derivative is the density there; of what is beyond, a
        formula gets another number, since derivatives of what is not chosen may be NaN.
        """
        (value, *parameters), dtype = self._operands(what, (x,), args, named)
        if self.support.whole:
            value = floor(value)
        low, high = self.support.ends(parameters)
        if self.support.whole:
            inside = maximum(minimum(value, high), low)  # sums end in the support
            y = self._formula(what)(inside, *parameters)
            y = where(value >= high, last, y)
            y = where(value < low, first, y)
        elif self.support.is_all:
            y = self._formula(what)(value, *parameters)
        else:
            below, above = self.support.beyond_ends(value, parameters)
            inside = where(below | above, self.support.inner(parameters), value)
            y = self._formula(what)(inside, *parameters)
            y = where(below, first, where(above, last, y))
        return self._checked(y, parameters, dtype)

    def _quantile(self, what: str, q: Any, args: Sequence[Any], named: dict[str, Any]) -> Variable:
        """The inverse of a function of a value: the ends of the support for 0 and 1, NaN beyond these."""
        (p, *parameters), dtype = self._operands(what, (q,), args, named)
        low, high = self.support.ends(parameters)
        steps = self.support.whole
        quantile = stop_gradient(self._counted(what, p, parameters)) if steps else self._formula(what)(p, *parameters)
        before = low - 1 if self.support.whole else low  # where nothing is below, as SciPy has it
        at_0, at_1 = (before, high) if what == "ppf" else (high, before)
        # where the formula is right at an end, so are its derivatives
        quantile = where(equal(p, 0) & not_equal(quantile, at_0), at_0, quantile)
        quantile = where(equal(p, 1) & not_equal(quantile, at_1), at_1, quantile)
        beyond = np.nan * (p + self._summed(parameters)) if steps else np.nan
        return self._checked(where((p >= 0) & (p <= 1), quantile, beyond), parameters, dtype)

    def _summed(self, parameters: list[Variable]) -> Variable:
        """The sum of parameters: what depends on it where it is not taken has the derivative 0, as steps have."""
        ranks = [p.constraint.rank for p in self.parameters]
        flat = (sum_of(v, tuple(range(-k, 0))) if k else v for v, k in zip(parameters, ranks, strict=True))
        return functools.reduce(operator.add, flat)

    def _formula(self, what: str) -> Callable[..., Any]:
        """A formula by its name; of the upper side where there is none by that of the lower one."""
        formulas: Any = self.formulas
        formula = getattr(formulas, what)
        if formula is None and what == "sf":
            return lambda x, *parameters: 1 - formulas.cdf(x, *parameters)
        if formula is None and what == "isf":
            return lambda q, *parameters: formulas.ppf(1 - q, *parameters)
        return formula  # type: ignore[no-any-return]

    def _counted(self, what: str, p: Variable, parameters: list[Variable]) -> Variable:
        """The smallest integer of which `cdf` is at least p, or `sf` at most."""
        low, high = self.support.ends(parameters)
        is_lower = what == "ppf"
        side = self._formula("cdf" if is_lower else "sf")

        def reached(k: Variable) -> Variable:
            probability = side(k, *parameters)
            return (k >= high) | (probability >= p if is_lower else probability <= p)  # type: ignore[no-any-return]

        if getattr(self.formulas, what) is not None:
            return beside(reached, self._formula(what)(p, *parameters), low)
        z = ndtri(p) if is_lower else -ndtri(p)
        near = self._formula("mean")(*parameters) + sqrt(self._formula("variance")(*parameters)) * z
        going = (p > 0) & (p < 1)
        met = self._met(parameters, whole=False)
        return first_count(reached, near, low, high, going if met is None else going & met)

    def _of_parameters(self, what: str, args: Sequence[Any], named: dict[str, Any], rank: int) -> Variable:
        parameters, dtype = self._operands(what, (), args, named)
        y = as_variable(getattr(self.formulas, what)(*parameters))
        met = self._met(parameters, whole=True)
        if met is None:
            return cast_variable(y, dtype)
        axes = tuple(range(-rank, 0))
        return cast_variable(where(expand_dims(met, axes) if rank else met, y, np.nan), dtype)


def _log_of_smaller(p: Variable, q: Variable) -> Variable:
    """log(p) for q = 1 - p, of the one that is exact."""
    return where(p < 0.5, log(p), log1p(-q))


def distribution(
    name: str,
    doc: str,
    parameters: Sequence[Parameter],
    support: Support,
    log_density: Callable[..., Any],
    *,
    valid: Callable[..., Any] | None = None,
    sampler: str | None = None,
    **formulas: Callable[..., Any],
) -> Distribution:
    """The record of a distribution; `formulas` are named as in `Formulas`."""
    record = Formulas(log_density, **formulas)
    return Distribution(name, doc, tuple(parameters), support, record, valid, sampler or name)


def _named(name: str, parameters: tuple[tuple[str, Any], ...]) -> Distribution:
    own: Distribution = getattr(importlib.import_module("tg.distributions"), name)
    return dataclasses.replace(own, given=parameters)
