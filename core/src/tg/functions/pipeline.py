"""`tg.pipeline`: a loss and its gradients by stages on devices of their own, part by part of the batch."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg import plugin
from tg.configuration import current
from tg.errors import InputError, OptionError, ShapeError, message
from tg.functions.backends import choose
from tg.functions.convert import to_array
from tg.functions.make import function
from tg.functions.stages import cut
from tg.graph.nodes import Variable
from tg.link.stages import Stages
from tg.types.dtypes import is_float, numpy_dtype
from tg.types.mesh import Mesh

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.functions.backends import BackendChoice
    from tg.functions.stages import Piece
    from tg.types.choices import PipelineSchedule

    Array = np.ndarray[Any, Any]

SCHEDULES: Final = ("1f1b", "gpipe")


def pipeline(
    inputs: Sequence[Variable],
    loss: Variable,
    wrt: Sequence[Variable],
    *,
    batch: Sequence[Variable],
    microbatches: int,
    schedule: PipelineSchedule = "1f1b",
    backend: Any = None,
    axis: str = "stage",
    name: str = "pipeline",
) -> Pipeline:
    """A function that gives a loss and its gradients, computed by the stages that `tg.stage` has marked.

    Each stage runs on the devices at its place along an axis of the mesh; the other axes split arrays within a stage,
    as `tg.shard` says. The batch is cut along its first axis in parts of one length, which follow one another through
    the stages. The loss is the mean of the parts' losses, and the gradients are its own: of a mean over the rows of the
    batch they are those of the whole. Where a check that values decide fails, say of an index, all of them are NaN.

    Args:
        wrt: the inputs by which the loss is differentiated: the weights.
        batch: the inputs that have the batch as their first axis.
        microbatches: the number of parts, which divides the length of the batch.
        schedule: "1f1b" goes back with each part as soon as it can, "gpipe" after all have gone forward.
        backend: one with `mesh=`, of which an axis is as long as there are stages.
        axis: the name of that axis.
    Raises:
        InputError: a loss that is no real scalar; no input; marks out of order, or a value that goes back.
        OptionError: a backend without pipelines or without a mesh; a mesh without the axis, or one of another length.
    Example:
        >>> import tg
        >>> x, v, w = tg.matrix("x"), tg.matrix("v"), tg.matrix("w")
        >>> loss = tg.mean(tg.stage(1, tg.tanh(x @ v)) @ w)
        >>> tg.pipeline([x, v, w], loss, [v, w], batch=[x], microbatches=4, backend=tg.backend("perform"))
        Traceback (most recent call last):
        ...
        tg.errors.OptionError: pipeline: backend 'perform' has no mesh=, needed a backend with pipelines
          hint: jax and torch have them: tg.backend("jax", mesh=tg.Mesh({"stage": 2}))
          ...
    Source:
        GPipe: Huang et al., 2019. 1F1B: Narayanan et al., 2019. torch.distributed.pipelining.Schedule1F1B.
    """
    inputs, wrt, batch = list(inputs), list(wrt), list(batch)
    places = {id(v): k for k, v in enumerate(inputs)}
    for what, variables in (("wrt", wrt), ("batch", batch)):
        other = next((v for v in variables if id(v) not in places), None)
        if other is not None or not variables:
            shown = "none" if other is None else repr(other)
            raise InputError(message(f"pipeline: {what}: found {shown}, needed inputs of the pipeline"))
    if not isinstance(loss, Variable) or loss.type.ndim or not is_float(loss.type.dtype):
        raise InputError(message(f"pipeline: loss: found {loss!r}, needed a real scalar expression"))
    flat = next((v for v in batch if not v.type.ndim), None)
    if flat is not None:
        raise InputError(message(f"pipeline: batch: found {flat!r}, needed an input with an axis"))
    if schedule not in SCHEDULES:
        raise OptionError(message(f"pipeline: schedule: found {schedule!r}, needed '1f1b' or 'gpipe'"))
    if type(microbatches) is not int or microbatches < 1:
        raise OptionError(message(f"pipeline: microbatches: found {microbatches!r}, needed an integer of at least 1"))
    numbers = [places[id(v)] for v in wrt]
    pieces = cut(inputs, loss, numbers, [places[id(v)] for v in batch])
    choice = choose(backend, current().backend)
    mesh = _mesh(choice, axis, len(pieces))
    programs = _Programs(pieces, choice, name)
    stages = Stages(
        name,
        tuple(p.own for p in pieces),
        tuple(p.wrt for p in pieces),
        tuple(len(p.received) for p in pieces),
        frozenset(places[id(v)] for v in batch),
        microbatches,
        schedule,
        axis,
        mesh,
        choice.options,
        programs.forward,
        programs.backward,
    )
    run = plugin.registry().linker(choice.name).pipeline(stages)
    if run is None:
        raise _no_pipelines(f"backend {choice.name!r} has no pipelines")
    return Pipeline(inputs, numbers, loss.type.dtype, stages, run)


def _mesh(choice: BackendChoice, axis: str, count: int) -> Mesh:
    """The mesh of a backend, of which an axis has a place for each stage."""
    if not hasattr(choice.options, "mesh"):
        raise _no_pipelines(f"backend {choice.name!r} has no mesh=")
    mesh = choice.options.mesh
    if not isinstance(mesh, Mesh):
        raise _no_pipelines(f"backend {choice.name!r} with no mesh")
    if axis not in mesh.names:
        text = f"pipeline: axis: found {axis!r}, needed an axis of {mesh}"
        raise OptionError(message(text, hint=f'tg.Mesh({{"{axis}": {count}}}) has one'))
    length = mesh.parts(axis)
    if length != count:
        text = f"pipeline: found {count} stages and {length} places along {axis!r} of {mesh}, needed as many"
        raise OptionError(message(text, hint=f'tg.Mesh({{"{axis}": {count}}}) has a place for each stage'))
    return mesh


def _no_pipelines(fact: str) -> OptionError:
    hint = 'jax and torch have them: tg.backend("jax", mesh=tg.Mesh({"stage": 2}))'
    return OptionError(message(f"pipeline: {fact}, needed a backend with pipelines", hint=hint))


@final
class _Programs:
    """The compiled functions of stages, made where a backend asks for them."""

    def __init__(self, pieces: Sequence[Piece], choice: BackendChoice, name: str) -> None:
        self._pieces, self._choice, self._name = pieces, choice, name

    def forward(self, k: int, mesh: Mesh | None) -> Callable[..., Any]:
        """See `Stages`."""
        piece = self._pieces[k]
        return self._made([*piece.received, *piece.inputs], list(piece.results), f"{self._name}_{k}", mesh)

    def backward(self, k: int, mesh: Mesh | None) -> Callable[..., Any]:
        """See `Stages`."""
        inputs, results = self._pieces[k].backward()
        return self._made(inputs, results, f"{self._name}_{k}_back", mesh)

    def _made(
        self, inputs: list[Variable], results: list[Variable], name: str, mesh: Mesh | None
    ) -> Callable[..., Any]:
        options = dataclasses.replace(self._choice.options, mesh=mesh)
        own = dataclasses.replace(self._choice, options=options)
        f = function(inputs, results, on_unused_input="ignore", backend=own, name=name)
        return f.traceable(on_error="nan")


@final
class Pipeline:
    """A loss and its gradients by stages; `tg.pipeline` makes one. Called with the inputs, it gives both."""

    def __init__(
        self,
        inputs: Sequence[Variable],
        wrt: Sequence[int],
        dtype: str,
        stages: Stages,
        run: Callable[[Sequence[Array]], tuple[Any, Sequence[Any]]],
    ) -> None:
        self._inputs, self._stages, self._run = tuple(inputs), stages, run
        self._order, self._dtype = [sorted(set(wrt)).index(k) for k in wrt], numpy_dtype(dtype)

    def __call__(self, *args: Any) -> tuple[Array, list[Array]]:
        """The loss, and the gradients in the order of `wrt`.

        Raises:
            InputError: another number of arguments.
            ShapeError: the batch cannot be cut in parts of one length.
            DtypeError: an unsafe cast.
        """
        if len(args) != len(self._inputs):
            raise InputError(message(f"{self!r}: found {len(args)} arguments, needed {len(self._inputs)}"))
        named = zip(args, self._inputs, strict=True)
        arrays = [to_array(a, v.type, f"input {v.name or k!r}") for k, (a, v) in enumerate(named)]
        for k in sorted(self._stages.batch):
            rows, parts = arrays[k].shape[0], self._stages.microbatches
            if not rows or rows % parts:
                label = self._inputs[k].name or k
                text = f"pipeline: input {label!r}: found {rows} rows, needed a multiple of {parts} microbatches"
                raise ShapeError(message(text))
        loss, gradients = self._run(arrays)
        return np.asarray(loss, self._dtype), [np.array(gradients[k]) for k in self._order]

    def __repr__(self) -> str:
        s = self._stages
        return f"<{s.name}: {s.count} stages, {s.microbatches} microbatches, {s.schedule}, on {s.mesh}>"
