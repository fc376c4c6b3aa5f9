"""`Function`: a compiled expression; its request, its programs and its calls are objects of their own."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any, Generic, final

from tg.functions.backends import choose
from tg.functions.calls import Calls
from tg.functions.parameters import Parameters
from tg.functions.programs import Programs
from tg.graph.timing import recorded
from tg.keywords import with_told_methods
from tg.members import missing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tg.display.source import Source
    from tg.functions.backends import BackendChoice
    from tg.functions.explanation import Explanation
    from tg.functions.nonfinite import NonFinite
    from tg.functions.pointers import Pointer
    from tg.functions.profile import Profile
    from tg.functions.report import CompileReport
    from tg.functions.request import Request
    from tg.functions.shared import Shared
    from tg.graph.frozen import FrozenGraph
    from tg.graph.nodes import Variable
    from tg.types.choices import OnTraced


if TYPE_CHECKING:
    from typing_extensions import TypeVar

    R_co = TypeVar("R_co", covariant=True, default=Any)
else:
    from typing import TypeVar

    R_co = TypeVar("R_co", covariant=True)


@final
@with_told_methods
class Function(Generic[R_co]):
    """A compiled expression; call it with arrays, by position or by name, from any number of threads.

    `request` is what it was made of, `programs` what runs it: a program for each pattern of lengths that are 1.
    """

    # What a call of the function calls stands in a slot: nothing of Python is between the caller and a compiled entry.
    __slots__ = ("__call__", "__dict__", "__weakref__")
    __call__: Callable[..., R_co]
    __signature__ = Parameters()

    def __init__(self, request: Request, like: Programs | None = None) -> None:
        """Compile it, unless `like` has the program: a function that differs from it in shared variables alone."""
        self.request, self.programs = request, Programs(request, like)
        self._calls = Calls(request, self.programs, functools.partial(setattr, self, "__call__"))

    @property
    def name(self) -> str:
        """Its name in texts, generated code and errors."""
        return self.request.options.name

    @property
    def __name__(self) -> str:
        """The name again, by which schedulers and profilers call a function."""
        return self.name

    @property
    def inputs(self) -> list[Any]:
        """The variables it is called with, in the structure that `tg.function` was given them in."""
        inputs, nesting = self.request.inputs, self.request.nesting
        return list(inputs) if nesting is None else nesting.together(inputs)

    @property
    def backend(self) -> str:
        """The backend's name; other patterns of lengths that are 1 may be on another, if "auto" chose it."""
        return self.programs.choice.name

    @property
    def compiles(self) -> int:
        """The number of compiler runs: one for each specialisation, and for new shapes where a backend needs it."""
        return self.programs.compiles

    @property
    def report(self) -> Any:
        """The report of `tg.quantized` on a function that it has made, and on copies; None for others."""
        return self.request.report

    @property
    def graph(self) -> FrozenGraph:
        """The rewritten graph of the main specialisation."""
        return self.programs.main.graph

    @property
    def compiled(self) -> bool:
        """Whether native code answers: always so unless `compile="background"`."""
        return self.programs.is_ready

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until native code answers, at most so many seconds; whether it does.

        Raises:
            Exception: what compiling in the background raised.
        """
        return self.programs.wait(timeout)

    @property
    def shared(self) -> dict[str, Shared]:
        """The shared variables by name: those that it reads, and those that it updates.

        Of several of one name all but the first have a number behind it.

        Example:
            >>> import tg
            >>> x, w = tg.vector("x"), tg.shared([1.0, 2.0], "w")
            >>> tg.function([x], x * w).shared
            {'w': <shared w : float64[?]>}
        """
        from tg.functions.names import names_of_shared

        request = self.request
        variables = list({id(s): s for s in (*request.sources, *request.targets)}.values())
        return dict(zip(names_of_shared(variables, ()), variables, strict=True))

    def compile_report(self) -> CompileReport:
        """The time from `tg.function` to what runs, split up: phases, passes, the backend's compiler, caches."""
        from tg.functions.report import report

        return report(self.programs)

    def profile(self, *args: Any, calls: int = 10, **kwargs: Any) -> Profile:
        """The time of a call, split up: checks and conversion, each loop or node with the user's line, the outputs.

        The program is made once more, so that it takes the time of its parts; nothing is updated. What native code is
        in the making is waited for.

        Args:
            calls: how many calls are timed, after one that is not.
        Raises:
            InputError: as for a call.
        """
        from tg.functions.profile import profile

        return profile(self, args, kwargs, calls)

    def pointer(self, *args: Any, **kwargs: Any) -> Pointer:
        """The function for arguments like these as a C function, which runs without Python: for samplers and solvers.

        It is called once with them: their shapes, and the values of shared variables now, are what it is made for.

        Raises:
            InputError: the backend writes no machine code (C and Numba do), or the function updates shared variables;
                as for a call.
        """
        from tg.functions.pointers import pointer

        return pointer(self.request, self.programs, self._calls, args, kwargs)

    def traceable(self, *, on_error: OnTraced | None = None) -> Callable[..., Any]:
        """The function for programs of JAX or PyTorch: it takes and gives their arrays, also where these are traced.

        It can be called in what `jax.jit`, `jax.vmap` and `jax.lax.scan` trace; in PyTorch under autograd, and in
        `torch.func`, `torch.compile` and `torch.export`. Its derivative is tg's own, as `tg.grad` gives it: for PyTorch
        in both modes and at every order, for JAX in reverse mode, and second derivatives are JAX's, of that. Shared
        variables have the values that they have now. Arguments go by position or by name, results come in the structure
        of this function's; checks that shapes decide raise where it is traced.

        Args:
            on_error: what becomes of checks that values decide, which a program that is traced cannot raise: None
                refuses a function that has any, "nan" makes all results NaN where one fails.
        Dtypes:
            as for a call; in JAX results of 64 bits need `jax_enable_x64`, which what is inside does without.
        Raises:
            InputError: the backend has no such programs (JAX and PyTorch have), the function updates shared variables,
                is looked at by `nan_guard` or `mode="debug"`, has checks that values decide, or a value of an argument
                decides a length; as for a call.
            OptionError: another `on_error`.
            NotDifferentiable: by the library's transformations, where tg knows no derivative, or JAX would not know
                what `tg.stop_gradient` and its like say of a second one.
        Example:
            >>> import jax
            >>> import tg
            >>> x = tg.vector("x", dtype="float32")
            >>> f = tg.function([x], tg.sum(x * x), backend="jax").traceable()
            >>> jax.jit(jax.grad(f))(jax.numpy.arange(3.0)).tolist()
            [0.0, 2.0, 4.0]
        """
        from tg.functions.traceable import traceable

        return traceable(self, on_error)

    def explain(self) -> Explanation:
        """The rewriting of the main specialisation: node by node, with the user's lines and the reasons."""
        from tg.functions.explanation import Explanation

        pattern, setting = self.programs.pattern, self.programs.setting
        return Explanation(self.request.variables, self.request.results, pattern, setting)

    def why(self, variable: Variable) -> str:
        """The fate of a variable of the expression: the replacements on its way to what is computed, if anything.

        Raises:
            InputError: not a variable.
        """
        return self.explain().why(self.request.places.get(id(variable), variable))

    def source(self, *, full: bool = False) -> Source:
        """The generated code of the main specialisation, with the user's lines; waited for if it is in the making.

        Args:
            full: with declarations, mathematics and all else that does not depend on the program.
        """
        from tg.display.source import Source

        self.wait()
        executable = self.programs.main.executable
        return Source(executable.full_source() if full else executable.source())

    @recorded("copy")
    def copy(
        self,
        *,
        swap: Mapping[Shared, Shared] | None = None,
        backend: str | BackendChoice | None = None,
        name: str | None = None,
    ) -> Function:
        """The same function compiled anew, with shared variables exchanged, and on another backend if one is given.

        Args:
            swap: for shared variables of this function those that take their places, as sources and as targets.
        Raises:
            InputError: what is exchanged is not shared, not of this function, or of another dtype or rank.
        """
        choice = self.programs.choice if backend is None else choose(backend, self.backend)
        return Function(self.request.copied({} if swap is None else swap, choice, self.name if name is None else name))

    @recorded("inference")
    def inference(self) -> Function:
        """The same function, for the values that the shared variables which it does not update have now.

        What depends on them alone is computed once, when a program is compiled: batch norms with running statistics
        go into the weights of the convolutions and products before them, weights are laid out as the backend wants
        them. Results are the same to rounding. Values that are stored later in the variables change nothing, and
        updates go on. Both the values and what is made of them are kept, so that a copy for another backend can be
        made.

        Raises:
            InputError: the expression has statistics of the batch or a mask of dropout: it was built for training.
            NoRuleError: as for `tg.function`.
        Example:
            >>> import tg
            >>> x, w = tg.vector("x"), tg.shared([1.0, 2.0], "w")
            >>> f = tg.function([x], tg.sum(x * w))
            >>> g = f.inference()
            >>> w.set_value([0.0, 0.0])
            >>> float(f([3.0, 4.0])), float(g([3.0, 4.0]))
            (0.0, 11.0)
        """
        from tg.functions.inference import for_inference

        request = for_inference(self.request.written or self.request)
        options = dataclasses.replace(request.options, choice=self.programs.choice)
        return Function(dataclasses.replace(request, options=options).retyped)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise missing(self, name)

    def __reduce__(self) -> tuple[object, ...]:
        from tg.functions.pickled import reduced

        return reduced(self)

    def __repr__(self) -> str:
        return repr(self.programs)

    def _repr_html_(self) -> str:
        from tg.functions.shown import function_html

        return function_html(self)

    def find_nonfinite(self, *args: Any, **kwargs: Any) -> NonFinite | None:
        """For these arguments the node that first makes a NaN or an infinity which reaches a result; None if none does.

        The program is run in parts on its own backend; nothing is updated.
        """
        return self._calls.find_nonfinite(args, kwargs)
