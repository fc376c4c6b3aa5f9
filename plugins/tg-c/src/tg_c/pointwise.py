"""Scalar programs over index spaces: what elementwise ops and fused loops become."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tg.graph.frozen import FrozenGraph, Node
from tg.link.values import Array, Scalar, collapsed, is_zero, spread
from tg_c.prelude import Element
from tg_c.text import C_TYPES, literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg.graph.op import Op
    from tg.link.loop import Loop
    from tg.link.values import Value
    from tg.types.lengths import Length
    from tg_c.kernel import Kernel
    from tg_c.site import Site


class ScalarProgram(NamedTuple):
    """Steps over numbered scalars: the operands first; `literals` are those that are known."""

    dtypes: tuple[str, ...]
    literals: Mapping[int, str]
    nodes: tuple[Node, ...]
    outputs: tuple[int, ...]


def program_of(frozen: FrozenGraph) -> ScalarProgram:
    """The scalar program that a graph of 0-d values is."""
    dtypes = tuple(t.dtype for t in frozen.types)
    literals = {frozen.arity + k: literal(c.data[()], c.type.dtype) for k, c in enumerate(frozen.constants)}
    return ScalarProgram(dtypes, literals, frozen.nodes, frozen.outputs)


def one_op(op: Op, site: Site) -> list[Value]:
    """A single op on elements."""
    n = len(site.inputs)
    dtypes = (*(v.dtype for v in site.inputs), site.types[0].dtype)
    return pointwise(site, ScalarProgram(dtypes, {}, (Node(op, tuple(range(n)), (n,)),), (n,)))


def loop(op: Loop, site: Site) -> list[Value]:
    """A fused loop of one stage."""
    (stage,) = op.stages
    return pointwise(site, program_of(stage.program))


def pointwise(site: Site, program: ScalarProgram) -> list[Value]:
    """Run a scalar program at every index of the space of the results."""
    shape = site.types[0].shape
    scalars = [_uniform(v) for v in site.inputs]
    if all(s is not None for s in scalars):
        return _uniform_results(site, program, [s for s in scalars if s is not None])
    outputs = [site.allocate(k) for k in range(len(program.outputs))]
    operands = [
        s if s is not None else spread(v, shape)  # type: ignore[arg-type]
        for s, v in zip(scalars, site.inputs, strict=True)
    ]
    arrays = [v for v in operands if isinstance(v, Array)]
    space = collapsed(shape, [a.strides for a in (*arrays, *outputs)])  # type: ignore[arg-type]
    kernel = site.kernel()
    _Nest(kernel, site, program, operands, space.shape, space.strides).write(outputs)
    site.call(kernel)
    return list(outputs)


def _uniform(value: Value) -> Scalar | None:
    """The scalar that all elements of a value equal, if they are known to."""
    if isinstance(value, Scalar):
        return value
    return Scalar(value.dtype, value.fill) if value.fill is not None else None


def _uniform_results(site: Site, program: ScalarProgram, operands: Sequence[Scalar]) -> list[Value]:
    """The program run once, for all indices alike."""
    texts = dict(program.literals)
    texts.update((k, s.text) for k, s in enumerate(operands))
    for node in program.nodes:
        (number,) = node.outputs
        expression = step(site, program, node, texts)
        name = site.names[program.outputs.index(number)] if number in program.outputs else None
        texts[number] = site.local(program.dtypes[number], expression, name)
    found: list[Value] = []
    for k, number in enumerate(program.outputs):
        dtype, shape = program.dtypes[number], site.types[k].shape
        if shape:
            found.append(Array(dtype, "", shape, (0,) * len(shape), None, texts[number]))  # type: ignore[arg-type]
        else:
            found.append(Scalar(dtype, texts[number]))
    return found


def step(site: Site, program: ScalarProgram, node: Node, texts: Mapping[int, str]) -> str:
    """The C expression of one step."""
    dtypes = tuple(program.dtypes[k] for k in node.inputs)
    operands = tuple(texts[k] for k in node.inputs)
    return site.element(node.op, Element(operands, dtypes, program.dtypes[node.outputs[0]], site.prelude))


class _Nest(NamedTuple):
    """The loops of a scalar program: what is constant along the inner axis is read before the inner loop."""

    kernel: Kernel
    site: Site
    program: ScalarProgram
    operands: Sequence[Value]
    shape: Sequence[int | Length]
    strides: Sequence[Sequence[int | Length]]  # of the arrays among the operands, then of the outputs

    def write(self, outputs: Sequence[Array]) -> None:
        """Write the whole function."""
        kernel = self.kernel
        strides = iter(self.strides)
        reads = [(k, v, next(strides)) for k, v in enumerate(self.operands) if isinstance(v, Array)]
        names = [kernel.read(v) for _, v, _ in reads]
        texts = dict(self.program.literals)
        texts.update((k, kernel.value(v)) for k, v in enumerate(self.operands) if isinstance(v, Scalar))
        stores = [(kernel.write(y), next(strides)) for y in outputs]
        outer = kernel.loops(self.shape[:-1])
        late: list[tuple[int, str]] = []
        for (k, v, s), name in zip(reads, names, strict=True):
            place = kernel.place(name, outer, s[: len(outer)])
            kind = C_TYPES[v.dtype]
            if not self.shape or is_zero(s[-1]):
                kernel.line(f"const {kind} t{k} = {kernel.at(name, outer, s[: len(outer)])};")
                texts[k] = f"t{k}"
                continue
            if place != name:
                kernel.line(f"const {kind} *restrict p{k} = {place};")
            late.append((k, f"{name if place == name else f'p{k}'}[{kernel.step('i', s[-1])}]"))
        targets = []
        for k, ((name, s), y) in enumerate(zip(stores, outputs, strict=True)):
            place = kernel.place(name, outer, s[: len(outer)])
            if place != name:
                kernel.line(f"{C_TYPES[y.dtype]} *restrict q{k} = {place};")
            targets.append(f"{name if place == name else f'q{k}'}[{kernel.step('i', s[-1]) if s else '0'}]")
        if self.shape:
            kernel.loop("i", self.shape[-1])
        self._steps(texts, late, targets)
        kernel.close(len(self.shape))

    def _steps(self, texts: dict[int, str], loads: Sequence[tuple[int, str]], targets: Sequence[str]) -> None:
        kernel, program = self.kernel, self.program
        for k, text in loads:
            kernel.line(f"const {C_TYPES[program.dtypes[k]]} t{k} = {text};")
            texts[k] = f"t{k}"
        for node in program.nodes:
            (number,) = node.outputs
            expression = step(self.site, program, node, texts)
            kernel.line(f"const {C_TYPES[program.dtypes[number]]} t{number} = {expression};")
            texts[number] = f"t{number}"
        for number, target in zip(program.outputs, targets, strict=True):
            kernel.line(f"{target} = {texts[number]};")
