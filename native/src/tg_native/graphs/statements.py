"""Statements of a printer for the function of a graph: its head, single statements, loops and calls."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any

from tg_native.graphs.lengths import Lengths
from tg_native.loops.kernel import MOST
from tg_native.loops.pointwise import copied
from tg_native.plan.values import Scalar

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Iterable, Mapping, Sequence

    from tg.graph.frozen import FrozenGraph, Node
    from tg.graph.nodes import Constant
    from tg.graph.op import Op
    from tg.types.lengths import Length
    from tg_native.graphs.site import Site
    from tg_native.graphs.steps import Steps
    from tg_native.loops.blas import Blas
    from tg_native.loops.function import Function
    from tg_native.loops.kernel import Kernel
    from tg_native.loops.lapack import Lapack
    from tg_native.loops.pointwise import ScalarProgram
    from tg_native.loops.repeats import Forms
    from tg_native.loops.transforms import Transforms
    from tg_native.plan.memory import Buffer, Memory
    from tg_native.plan.values import Array, Value


class Statements(Lengths):
    """The statements of a function in the making, in a language. Values are texts of it.

    `leaves` is what only lines contain that may leave the function; `overwrites` is whether outputs may be given the
    memory of inputs.
    """

    leaves: str
    overwrites: bool
    memory: Memory
    lines: list[str | None]  # None: one that was taken back

    @abc.abstractmethod
    def declare_input(self, k: int, axes: Sequence[int]) -> tuple[str, Sequence[str]]:
        """Declare the parameters for input k: what its pointer, or a scalar, is called, and its lengths along axes."""

    @abc.abstractmethod
    def declare_outputs(self) -> None:
        """Declare the parameters for outputs and status, and say in `outputs` what they are called."""

    @abc.abstractmethod
    def assembled(self) -> str:
        """The whole text, of `parameters` and `lines`."""

    @abc.abstractmethod
    def report_unless(self, condition: str, code: int, values: Sequence[Scalar]) -> None:
        """Leave the function with a code, and values as int64 for the caller, unless a condition holds."""

    def show_name(self, number: int) -> None:
        """Say in a comment what the user calls a value, where that is no part of what is compiled."""

    @abc.abstractmethod
    def site(self, node: Node) -> Site:
        """Site that the rule for a node is given."""

    # --- values ------------------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def table(self, number: int, constant: Constant) -> str:
        """The pointer to the elements of a constant, which follow one another."""

    def local(self, dtype: str, text: str, number: int | None = None) -> str:
        """Variable that holds an expression's value from now on; `number` is its number in the graph, if any."""
        return text

    @abc.abstractmethod
    def evaluated(
        self, program: ScalarProgram, operands: Sequence[Scalar], results: Mapping[int, int]
    ) -> Sequence[str]:
        """The outputs of a scalar program that is run once.

        Args:
            results: values of the graph that outputs are, by their numbers in the program.
        """

    @abc.abstractmethod
    def first(self, array: Array) -> str:
        """The first element of an array."""

    @abc.abstractmethod
    def moved(self, array: Array, offset: str) -> Array:
        """The array from an offset on."""

    def slot(self, array: Array, offset: int) -> Array:
        """The array from an offset on, where many others lie besides."""
        return self.moved(array, self.literal(offset, "int64"))

    @abc.abstractmethod
    def place(self, dtype: str, text: str) -> Array:
        """Memory of this call that holds one value."""

    @abc.abstractmethod
    def store(self, dtype: str, text: str, pointer: str) -> None:
        """Write an element."""

    @abc.abstractmethod
    def put(self, pointer: str, at: int, number: str) -> None:
        """Write an int64 into a table."""

    @abc.abstractmethod
    def got(self, pointer: str, at: int) -> str:
        """Read an int64 from a table."""

    @abc.abstractmethod
    def start(self, buffer: Buffer, dtype: str) -> str:
        """The pointer to memory of this call, for elements of a dtype."""

    # --- loops and calls ---------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def over_tiles(self, length: str, rows: int) -> contextlib.AbstractContextManager[tuple[str, str]]:
        """A loop over tiles of so many indices: gives the first index of each, and how many there are in it."""

    @abc.abstractmethod
    def steps(self, length: str) -> contextlib.AbstractContextManager[str]:
        """A loop over so many steps: gives the number of each, from 0."""

    @abc.abstractmethod
    def clock(self) -> str:
        """The pointer to memory for the second in which an interrupt was last looked for, which nothing else shares.

        A function outside is given it, so that what it holds is in no register.
        """

    @abc.abstractmethod
    def steps_in_parts(self, length: str, size: int, second: str) -> contextlib.AbstractContextManager[str]:
        """A loop over so many steps, as `steps`, which is left between parts of it as by `leave_if_interrupted`.

        Within a part nothing is asked: a condition in each step of few numbers takes up to as long as the step.
        """

    @abc.abstractmethod
    def leave_loop_unless(self, condition: str) -> None:
        """Leave the loop over steps unless a condition holds."""

    @abc.abstractmethod
    def leave_if_interrupted(self, step: str, second: str) -> None:
        """Leave the function in a step where an interrupt waits for the call to end.

        The clock is looked at in every 64th step, and Python asked when it shows another second than `second` holds, in
        threads that it knows.
        """

    @abc.abstractmethod
    def where(self, condition: str) -> contextlib.AbstractContextManager[None]:
        """Statements that run where a condition holds."""

    @abc.abstractmethod
    def holds(self, place: Array) -> str:
        """The condition that a bool in memory is true."""

    @abc.abstractmethod
    def alternating(self, number: str, even: Array, odd: Array) -> Array:
        """One of two arrays of one shape: the first for an even number, the other for an odd one."""

    @abc.abstractmethod
    def kernel(self, dtypes: Iterable[str] = (), vectors: int = 1, length: int | Length = MOST) -> Kernel:
        """A new loop over the lanes of some vectors, for elements of these dtypes; without dtypes, over single ones."""

    @abc.abstractmethod
    def run(self, kernel: Kernel) -> None:
        """Call a finished loop over lanes."""

    @property
    @abc.abstractmethod
    def forms(self) -> Forms:
        """The loops of the unit that are written."""

    def divide(self, kernel: Kernel, *arguments: Any) -> None:
        """Nothing that is not of a rule is shared by threads."""

    def share(
        self, kernel: Kernel, space: Sequence[int | Length], each: float, small: Sequence[int | Length], unit: int
    ) -> None:
        """Let threads share a loop, where the unit has several.

        Args:
            each: nanoseconds that one index of the space takes.
            small: numbers of elements of which none is known to be large, and none may be.
            unit: where parts begin, multiples of this; 0 if it is not said.
        """
        raise NotImplementedError  # units have one thread

    def share_steps(self, steps: Steps, status: str | None, each: float) -> None:
        """Make steps, which threads share if that is worth it, where the unit has several.

        Args:
            status: the pointer to where the status of the first step goes whose checks fail; None if there are none.
            each: nanoseconds that a step takes.
        """
        raise NotImplementedError  # units have one thread

    @abc.abstractmethod
    def blas(self, dtype: str) -> Blas | None:
        """Functions of BLAS for a dtype as they are called, None if there are none."""

    @abc.abstractmethod
    def lapack(self, dtype: str) -> Lapack | None:
        """Functions of LAPACK for a dtype as they are called, None if there are none."""

    @abc.abstractmethod
    def transforms(self, dtype: str) -> Transforms | None:
        """Fourier transforms of a real dtype as they are called, None if there are none."""

    @abc.abstractmethod
    def rule(self, op: Op) -> Any:
        """The rule for an op on elements in lanes."""

    def copy(self, source: Value, target: Array) -> None:
        """Copy elements into memory of the same shape, which does not overlap."""
        if isinstance(source, Scalar) and not target.shape:
            self.store(target.dtype, source.text, target.pointer)
        else:
            copied(self.copier(source, target), source, target)

    @abc.abstractmethod
    def copier(self, source: Value, target: Array) -> Function:
        """Function that writes and runs the loop of a copy."""

    @abc.abstractmethod
    def called(self, graph: FrozenGraph, arguments: Sequence[tuple[str, str]], status: str | None) -> str:
        """Call the function of an inner graph: the code that it gives.

        Args:
            arguments: the text of each, and before it its dtype, which a pointer has not: "".
            status: the pointer to where the values of a check go that fails; None if there are no checks.
        """

    @abc.abstractmethod
    def handed_over(self, dtype: str, size: str, place: str) -> str:
        """Take memory for the caller, and tell where it is at a place; the pointer to it."""
