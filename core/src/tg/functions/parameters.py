"""The `inspect.signature` of a compiled function: its inputs by name, and their defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    import inspect

    from tg.functions.compiled import Function


@final
class Parameters:
    """The attribute `__signature__` of functions; their class has none, so that it has its own signature."""

    def __get__(self, f: Function | None, owner: type | None = None) -> inspect.Signature:
        """The signature: of the inputs where their names and defaults make one in Python, else of any arguments."""
        from inspect import Parameter, Signature

        if f is None:
            raise AttributeError("__signature__")
        request, kind = f.request, Parameter.POSITIONAL_OR_KEYWORD
        defaults = request.defaults
        try:
            names = [v.name or "-" for v in request.inputs] if request.nesting is None else ["-"]
            return Signature(
                [Parameter(n, kind, default=defaults.get(k, Parameter.empty)) for k, n in enumerate(names)]
            )
        except ValueError:
            kinds = {"args": Parameter.VAR_POSITIONAL, "kwargs": Parameter.VAR_KEYWORD}
            return Signature([Parameter(name, kind) for name, kind in kinds.items()])
