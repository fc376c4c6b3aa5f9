"""The text of a Python program that shows how a backend's value differs from the reference's."""

from __future__ import annotations

import base64
import dataclasses
import zlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.graph.text.printer import to_text_with_constants
from tg.types.dtypes import dtype_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg.functions.backends import BackendChoice
    from tg.graph.frozen import FrozenGraph

    Array = np.ndarray[Any, Any]

WRITTEN_OUT: Final = 64  # elements of an array that a program has as numbers
LINE: Final = 100  # columns of the bytes of larger ones

ARRAYS: Final = """\
def array(text, dtype, shape):
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), np.dtype(dtype)).reshape(shape).copy()


"""
PROGRAM: Final = '''\
graph = tg.parse("""
{text}"""{constants})
arrays = {arrays}
inputs = [tg.tensor(f"x{{k}}", t.dtype, t.shape) for k, t in enumerate(graph.input_types)]
outputs = list(graph.instantiate(inputs))


def element(**options):
    return tg.function(inputs, outputs, on_unused_input="ignore", **options)(*arrays)[{output}][{index}]


want = element(backend="perform", mode="off")
got = element(backend={backend}{options})
print("reference", want)
print("{name}", got)
if not (want == got or (want != want and got != got) or abs(want * 1.0 - got) <= {bound!r}):
    raise SystemExit("the values differ")
'''


class Options(NamedTuple):
    """Options of a program that is shown: how it is compiled, and which element of which output differs."""

    choice: BackendChoice
    mode: str
    exclude: frozenset[str]
    output: int
    place: tuple[int, ...]
    bound: float  # by how much rounding may move the element


def program_text(graph: FrozenGraph, arrays: Sequence[Array], options: Options) -> str:
    """The program: a graph on arrays, compiled for the reference and for a backend.

    It ends with status 1, and a sentence, where an element differs by more than the bound.
    """
    text, constants = to_text_with_constants(graph)
    mode = "default" if options.mode == "debug" else options.mode
    chosen = [("mode", mode)] if mode != "default" else []
    chosen += [("exclude", sorted(options.exclude))] if options.exclude else []  # type: ignore[list-item]
    program = PROGRAM.format(
        constants=f", {_of_dict(constants)}" if constants else "",
        text=text.replace("\\", "\\\\"),
        arrays="[" + "".join(f"\n    {array_text(np.asarray(a))}," for a in arrays) + "\n]",
        backend=choice_text(options.choice),
        options="".join(f", {name}={value!r}" for name, value in chosen),
        name=options.choice.name,
        output=options.output,
        index=f"{options.place!r}",
        bound=options.bound,
    )
    if "array(\n" not in program:
        return f"import numpy as np\n\nimport tg\n\n{program}"
    return f"import base64\nimport zlib\n\nimport ml_dtypes\nimport numpy as np\n\nimport tg\n\n\n{ARRAYS}{program}"


def _of_dict(constants: Mapping[str, Array]) -> str:
    rows = "".join(f"\n    {name!r}: {array_text(a)}," for name, a in constants.items())
    return f"{{{rows}\n}}"


def array_text(array: Array) -> str:
    """An array as a Python expression: its numbers where they are few and finite, else its bytes."""
    name = dtype_name(array.dtype)
    is_plain = array.dtype.kind in "biuf" and array.dtype.isbuiltin == 1
    if array.size <= WRITTEN_OUT and is_plain and np.isfinite(array).all():
        return f"np.array({array.tolist()!r}, {name!r}).reshape({array.shape!r})"
    packed = base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes())).decode()
    rows = [packed[k : k + LINE] for k in range(0, len(packed), LINE)]
    return "array(\n" + "".join(f"        {row!r}\n" for row in rows) + f"        , {name!r}, {array.shape!r})"


def choice_text(choice: BackendChoice) -> str:
    """A choice of a backend as a Python expression, with the options that are not as usual."""
    options = [
        f"{field.name}={getattr(one, field.name)!r}"
        for one in (choice.general, choice.options)
        for field in dataclasses.fields(one)
        if field.init and getattr(one, field.name) != field.default and field.name != "dtype"
    ]
    return f"tg.backend({', '.join([repr(choice.name), *options])})" if options else repr(choice.name)
