"""`Part`: a funcified graph inside of a program that the backend's library traces, or runs with arrays of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from tg.link.blame import program_error
from tg.link.inspection import check_types

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.link.funcified import Funcified
    from tg.link.funcify import FuncifyLinker
    from tg.link.linker import Request


@final
class Part:
    """The function of a graph for traces: its rules are called anew in each, and looked at where sizes are new."""

    def __init__(
        self,
        function: Funcified,
        constants: Sequence[Any],
        linker: FuncifyLinker,
        request: Request,
        steps: Callable[..., Callable[..., tuple[Any, ...]]],
    ) -> None:
        """Keep what each trace needs; `steps` puts the checks that shapes decide in front of the function."""
        self._function, self._constants, self._linker, self._request = function, constants, linker, request
        self._steps = steps
        self._looked_at: set[tuple[Any, ...]] = set()

    def __call__(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """The outputs; whoever traces has entered the linker's scope.

        Raises:
            ShapeError: a check fails that shapes decide.
        """
        host = self._function.host
        sizes = () if host is None else host.function(*arrays)
        function = self._function.device
        if sizes not in self._looked_at:
            function = self._function.inspected(check_types(self._request))
        try:
            outputs = self._steps(sizes, function)(tuple(map(self._linker.lifted, self._constants)), *arrays)
        except Exception as error:  # noqa: BLE001 (raised again, named)
            raise program_error(error, self._function.lines, self._request)  # noqa: B904
        self._looked_at.add(sizes)
        return outputs
