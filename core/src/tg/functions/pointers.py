"""`f.pointer()`: a compiled function for callers that are not Python: samplers and solvers in C, Rust or Numba."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, final

from tg.errors import InputError, message

if TYPE_CHECKING:
    from tg.functions.calls import Calls
    from tg.functions.programs import Programs
    from tg.functions.request import Request
    from tg.link.linker import MachineCode


class ArrayLayout(NamedTuple):
    """An array as C has it: its dtype, its lengths; its elements lie one behind the other in C order."""

    dtype: str
    shape: tuple[int, ...]


@final
class Pointer:
    """A compiled function for arguments of known shapes, as the address of a C function and of what it is given.

    No call runs Python or needs its lock, and any number of threads may call at once. Shared variables have the values
    that they had when the pointer was made. All is valid as long as this object lives.

        int64_t address(const void *const *inputs, void *const *outputs, const void *data);
        int64_t density(uint64_t n, const double *x, double *gradient, double *value, const void *data);

    Both give 0, or anything else where a check has failed or there was no memory: then the outputs mean nothing.
    `density` is for samplers, of a function of one float64 vector to a number and a vector of as many elements, its
    gradient; of other functions it is 0. It gives -1 for another n, 1 where the call failed, and 3 or 4 where the
    gradient or the value is not finite, as nutpie expects it.
    """

    def __init__(
        self, name: str, inputs: tuple[ArrayLayout, ...], outputs: tuple[ArrayLayout, ...], code: MachineCode
    ) -> None:
        self.name, self.inputs, self.outputs, self._code = name, inputs, outputs, code
        self.address, self.data = code.call, code.data
        self.density = code.density if _is_density(inputs, outputs) else 0

    def __repr__(self) -> str:
        inputs, outputs = (
            ", ".join(f"{a.dtype}{list(a.shape)}" for a in arrays) for arrays in (self.inputs, self.outputs)
        )
        return f"<{self.name}: ({inputs}) -> ({outputs}) at {self.address:#x}>"


def _is_density(inputs: tuple[ArrayLayout, ...], outputs: tuple[ArrayLayout, ...]) -> bool:
    vector = inputs[0] if len(inputs) == 1 else None
    is_vector = vector is not None and vector.dtype == "float64" and len(vector.shape) == 1
    return is_vector and outputs == (ArrayLayout("float64", ()), vector)


def pointer(
    request: Request, programs: Programs, calls: Calls, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Pointer:
    """The pointer of a function for arguments like these, with which it is run once."""
    if request.targets:
        text = f"pointer: {programs!r} updates {request.targets[0].name}, needed a function without updates"
        raise InputError(message(text))
    programs.wait()
    values, held = request.taken(args, kwargs)
    outputs, _ = calls.run(values, held)
    programs.wait()  # it may be a specialisation that nothing has asked for before
    program = programs.program(values, held)
    natives = request.operands(program, (), held)
    code = program.executable.machine_code([v.shape for v in values], natives, [v.shape for v in outputs])
    if code is None:
        hint = 'backend="c" and backend="numba" have it'
        text = f"pointer: backend {program.backend!r} has no machine code that runs without Python"
        raise InputError(message(text, hint=hint))
    types = [v.type for v in request.inputs], program.graph.output_types
    inputs, results = (
        tuple(ArrayLayout(t.dtype, tuple(v.shape)) for t, v in zip(static, arrays, strict=True))
        for static, arrays in zip(types, (values, outputs), strict=True)
    )
    return Pointer(request.options.name, inputs, results, code)
