"""The rules by which ops of PyTensor become tg's, kept by the ops' classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


class Rule(NamedTuple):
    """Conversion rule of the nodes of an op.

    Of a plain rule, `rule(op, node, *operands)` gives the results for operands that have been converted. One that is
    `whole` is `rule(conversion, node)`, for which those operands have been converted that `needs` says: all, or the
    first ones. A rule that is `batched` takes leading axes as the op without `Blockwise` around it does not.
    """

    write: Callable[..., Any]
    whole: bool = False
    needs: int | None = None
    batched: bool = False


class Registry:
    """Rules by class: a class is found for those derived from it, too.

    tg's own rules are kept by the names of PyTensor's and PyMC's classes: these move between modules from one release
    to the next. A class of anybody else's, and one of sparse matrices, may have such a name and is not found by it.
    """

    def __init__(self) -> None:
        self._rules: dict[type | str | None, Rule] = {}

    def register(
        self, *ops: type | str, whole: bool = False, needs: int | None = None, batched: bool = False
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Make a function the rule of some classes of ops.

        Args:
            ops: classes, or the names of PyTensor's or PyMC's.
            whole: the function is given the conversion and the node.
            needs: how many of a node's inputs are converted before a whole rule is asked; all by default.
            batched: the function takes operands with leading axes, of which one that is 1 stands for any length.
        Example:
            >>> @convert.register(MyOp)
            ... def _(op, node, x, y):
            ...     return tg.exp(x) + y
        """

        def registered(write: Callable[..., Any]) -> Callable[..., Any]:
            for op in ops:
                self._rules[op] = Rule(write, whole, needs, batched)
            return write

        return registered

    def add(self, rules: Mapping[str, Callable[..., Any]], *, whole: bool = False, batched: bool = False) -> None:
        """Make functions the rules of classes that are given by their names."""
        for op, write in rules.items():
            self.register(op, whole=whole, batched=batched)(write)

    def rule(self, op: object) -> Rule | None:
        """The rule of an op's class, or of the nearest class that it is derived from."""
        for cls in type(op).__mro__:
            entry = self._rules.get(cls) or (self._rules.get(cls.__name__) if is_own(cls) else None)
            if entry is not None:
                return entry
        return None

    def __getitem__(self, op: type | str) -> Rule:
        return self._rules[op]

    def __iter__(self) -> Iterator[str]:
        """The names of the classes that tg's own rules are for."""
        return iter(sorted(key for key in self._rules if isinstance(key, str)))


def is_own(op: type) -> bool:
    """Whether a class is PyTensor's or PyMC's, and not of sparse matrices."""
    home, *rest = op.__module__.split(".")
    return home in ("pytensor", "pymc") and rest[:1] != ["sparse"]


convert = Registry()
