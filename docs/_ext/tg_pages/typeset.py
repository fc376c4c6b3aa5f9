"""Partial derivatives of records in LaTeX, from the graphs that the records build."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import tg
from tg.graph.nodes import Constant
from tg.ops.elementwise.record import AtKink
from tg_pages.formula import operands_of, partial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.ops.elementwise.record import ElementwiseFunction

MOST = 24  # ops of an expression that could fit in a line
LONGEST = 420  # characters of LaTeX: about a line
SUM, PRODUCT, POWER = 1, 2, 4
SIGNS = {"add": ("+", SUM), "subtract": ("-", SUM), "multiply": (r"\,", PRODUCT)}
RELATIONS = {
    "less": "<", "less_equal": r"\leq", "greater": ">", "greater_equal": r"\geq", "equal": "=", "not_equal": r"\neq",
    "logical_and": r"\wedge", "logical_or": r"\vee",
}  # fmt: skip
OWN = {
    "sqrt": r"\sqrt{%s}", "exp": "e^{%s}", "absolute": r"\left|%s\right|", "square": r"{\left(%s\right)}^2",
    "conjugate": r"\overline{%s}", "reciprocal": r"\frac{1}{%s}", "gamma": r"\Gamma\left(%s\right)",
    "digamma": r"\psi\left(%s\right)",
    "log": r"\ln %s", "logical_not": r"\neg\left(%s\right)", "gammaln": r"\ln \left|\Gamma\left(%s\right)\right|",
    "i0": r"I_0\left(%s\right)", "i1": r"I_1\left(%s\right)", "j0": r"J_0\left(%s\right)", "j1": r"J_1\left(%s\right)",
    "cbrt": r"\sqrt[3]{%s}", "kink": "0%.0s",
}  # fmt: skip
CONSTANTS = {
    math.log(2): r"\ln 2", 2 * math.log(2): r"2 \ln 2", 1 / math.log(2): r"\frac{1}{\ln 2}",
    1 / math.log(10): r"\frac{1}{\ln 10}", 2 / math.sqrt(math.pi): r"\frac{2}{\sqrt{\pi}}",
    math.sqrt(math.pi) / 2: r"\frac{\sqrt{\pi}}{2}", math.sqrt(2 * math.pi): r"\sqrt{2 \pi}",
    math.sqrt(math.pi / 2): r"\sqrt{\frac{\pi}{2}}", math.sqrt(0.5): r"\frac{1}{\sqrt{2}}", 2 * math.pi: r"2 \pi",
    1 / math.sqrt(8 * math.pi): r"\frac{1}{2 \sqrt{2 \pi}}", 0.5: r"\frac{1}{2}",
}  # fmt: skip
"""Numbers that records hold, by the expressions that they are."""
COMMANDS = ("sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan")
HIDDEN = ("Cast", "ExpandDims", "AssertTrue", "asked_where", "at_kink", "past_kink", "asked_opposite")


def derivatives(fn: ElementwiseFunction) -> list[tuple[str, str]]:
    """The partial derivatives that exist and fit in a line, each with the name of its operand."""
    names = operands_of(fn)
    texts = [(name, partial_latex(fn, d)) for name, d in zip(names, fn.d or (), strict=False) if d is not None]
    return [(name, text) for name, text in texts if text is not None and len(text) <= LONGEST]


def partial_latex(fn: ElementwiseFunction, d: object) -> str | None:
    """One partial derivative for real operands; None where the function takes others only, or it is long."""
    parts = partial(fn, d)
    if parts is None:
        return None
    value, count = parts
    if count > MOST:
        return None
    if isinstance(value, AtKink):
        at, slope = (latex(v) for v in (value.at, value.slope))
        return rf"\begin{{cases}} 0 & {at} \\ {slope} & \text{{otherwise}} \end{{cases}}"
    text = latex(value)
    while isinstance(value, tg.Variable) and value.op is not None and value.op.name == "Cast":
        value = value.inputs[0]
    if isinstance(value, tg.Variable) and value.type.dtype == "bool":
        return rf"\begin{{cases}} 1 & {text} \\ 0 & \text{{otherwise}} \end{{cases}}"
    return text


def latex(value: object, binding: int = 0) -> str:
    """An expression, in parentheses where what is around it binds more tightly."""
    if not isinstance(value, tg.Variable):
        return number(value)
    if isinstance(value, Constant):
        return number(value.data.item())
    if value.op is None:
        return variable(value)
    return applied(value, binding)


def applied(value: Variable, binding: int) -> str:
    """An op on operands."""
    assert value.op is not None
    name, inputs = value.op.name, value.inputs
    if name in HIDDEN:
        return latex(inputs[0], binding)
    if name == "where":
        condition, yes, no = (latex(v) for v in inputs)
        if yes == no:
            return yes
        return rf"\begin{{cases}} {yes} & {condition} \\ {no} & \text{{otherwise}} \end{{cases}}"
    if name == "add" and (terms := [v for v in inputs if not is_kink(v)]) and len(terms) < 2:
        return latex(terms[0], binding)
    if name == "multiply" and inputs[0] is inputs[1]:
        return rf"{{{latex(inputs[0], POWER + 1)}}}^2"
    if name == "divide":
        over, under = (latex(v) for v in inputs)
        return rf"\frac{{{over}}}{{{under}}}"
    if name == "power":
        base, exponent = latex(inputs[0], POWER + 1), latex(inputs[1])
        return f"{{{base}}}^{{{exponent}}}"
    if name == "negative":
        return parenthesized(f"-{latex(inputs[0], PRODUCT)}", binding > SUM)
    if name in SIGNS:
        sign, own = SIGNS[name]
        lhs, rhs = (latex(v, own + k * (sign == "-")) for k, v in enumerate(inputs))
        return parenthesized(f"{lhs} {sign} {rhs}", own < binding)
    if name in RELATIONS:
        lhs, rhs = (latex(v, SUM) for v in inputs)
        return parenthesized(f"{lhs} {RELATIONS[name]} {rhs}", binding > 0 and name == "logical_or")
    if name in OWN:
        return OWN[name] % latex(inputs[0])
    return call(name, [latex(v) for v in inputs])


def is_kink(value: Variable) -> bool:
    """Whether a term is 0 by convention, once."""
    return value.op is not None and value.op.name == "kink"


def parenthesized(text: str, needed: bool) -> str:
    """Text in parentheses where they are needed."""
    return rf"\left({text}\right)" if needed else text


def call(name: str, arguments: Sequence[str]) -> str:
    """A function by its name."""
    shown = f"\\{name}" if name in COMMANDS else rf"\text{{{name}}}"
    return rf"{shown}\left({', '.join(arguments)}\right)"


def variable(v: Variable) -> str:
    """The name of a variable; one of several letters upright."""
    name = v.name or "?"
    return name if len(name) == 1 else rf"\mathrm{{{name}}}"


def number(value: object) -> str:
    """A constant."""
    if isinstance(value, bool):
        return r"\text{true}" if value else r"\text{false}"
    if isinstance(value, complex):
        return "i" if value == 1j else str(value)
    for constant, text in CONSTANTS.items():
        if isinstance(value, float) and math.isclose(abs(value), constant, rel_tol=1e-14):
            return text if value > 0 else f"-{text}"
    if isinstance(value, float) and math.isnan(value):
        return r"\text{NaN}"
    if isinstance(value, float) and math.isinf(value):
        return r"\infty" if value > 0 else r"-\infty"
    if isinstance(value, float) and "e" in (text := f"{value:g}"):
        digits, _, exponent = text.partition("e")
        return rf"{digits} \cdot 10^{{{int(exponent)}}}"
    return f"{value:g}" if isinstance(value, float | int) else str(value)
