"""`tg.explain`: how a function, or an expression, is rewritten, as an `Explanation`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.configuration import current
from tg.errors import InputError, message
from tg.functions.backends import choose
from tg.functions.compile import Setting
from tg.functions.compiled import Function
from tg.functions.excluded import excluded
from tg.functions.explanation import Explanation
from tg.functions.jit import Jitted
from tg.functions.retyped import retyped, stand_in
from tg.functions.structure import flatten, need_variables
from tg.graph.nodes import Variable
from tg.graph.traversal import inputs_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from tg.configuration import Mode
    from tg.functions.backends import BackendChoice


def explain(
    value: Any,
    outputs: Any = None,
    *,
    backend: str | BackendChoice | None = None,
    mode: Mode | None = None,
    exclude: str | Collection[str] | None = None,
) -> Explanation:
    """Explain the rewriting of a compiled function or an expression: node by node, with the user's lines and reasons.

    Args:
        value: a function of `tg.function`; or the inputs, with `outputs` the expression; or the expression alone.
        outputs: a variable, or a nesting of them.
        backend, mode, exclude: as in `tg.function`; those of a function are its own.
    Raises:
        InputError: neither a function nor variables; options given with a function.
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> print(tg.explain(tg.log(1 + x), backend="perform").nodes[1].steps[0].why)
        log(1 + x) has lost every digit of x once |x| < eps.
    """
    if isinstance(value, Function):
        if (outputs, backend, mode, exclude) != (None,) * 4:
            raise InputError(message("explain: found options with a function, needed the function alone"))
        return value.explain()
    if isinstance(value, Jitted):
        raise InputError(
            message(
                f"explain: found {value!r}, needed one compiled function", hint="tg.explain(f.lower(…)) takes one call"
            )
        )
    config = current()
    choice = choose(backend, config.backend)
    expression = value if outputs is None else outputs
    need_variables("explain", expression)
    leaves, _ = flatten(expression)
    inputs = inputs_of(leaves) if outputs is None else [value] if isinstance(value, Variable) else list(value)
    names = excluded(config.exclude if exclude is None else exclude, choice.name)
    if choice.dtypes:
        variables = [stand_in(v, choice.dtypes) for v in inputs]
        inputs, leaves = variables, retyped(inputs, variables, leaves, choice.dtypes)
    return Explanation(inputs, leaves, (), Setting(choice, mode or config.mode, names, "expression"))
