"""The graph of ONNX that is being written: its values, its nodes and its constants.

A rule is given a scope and the values of its operands, and makes nodes by calling the scope with the name of an ONNX
operator. Lengths are those of `FrozenGraph.symbolic`, so two axes of one length are known to agree.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tg import NoRuleError
from tg.backend import Length, message, numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from onnx import GraphProto, NodeProto, ValueInfoProto

    Array = np.ndarray[Any, Any]
    Size = int | Length | None

DTYPES: Final = {
    "bool": TensorProto.BOOL, "int8": TensorProto.INT8, "int16": TensorProto.INT16, "int32": TensorProto.INT32,
    "int64": TensorProto.INT64, "uint8": TensorProto.UINT8, "uint16": TensorProto.UINT16,
    "uint32": TensorProto.UINT32, "uint64": TensorProto.UINT64, "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16, "float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE,
    "complex64": TensorProto.COMPLEX64, "complex128": TensorProto.COMPLEX128,
}  # fmt: skip
PREDICATES: Final = frozenset(
    {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor", "Not", "IsNaN", "IsInf"}
)
LARGEST: Final = 2**63 - 1  # the end of a slice that has none


@final
@dataclass(frozen=True, eq=False, slots=True)
class Value:
    """A tensor in a graph of ONNX; a length is None where nothing is known of it."""

    name: str
    dtype: str
    shape: tuple[Size, ...]
    data: Array | None = None  # of a constant
    node: NodeProto | None = None  # whose result it is
    operands: tuple[Value, ...] = ()

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def is_float(self) -> bool:
        """Whether its elements are real floating numbers."""
        return self.dtype.startswith(("float", "bfloat"))

    @property
    def is_integer(self) -> bool:
        """Whether its elements are integers."""
        return self.dtype.startswith(("int", "uint"))

    @property
    def is_number(self) -> bool:
        """Whether it is a constant of one element."""
        return self.data is not None and self.data.size == 1

    def is_by(self, kind: str) -> bool:
        """Whether it is the result of a node of this operator."""
        return self.node is not None and self.node.op_type == kind


@final
@dataclass(eq=False)
class Shared:
    """The common part of a graph and the graphs in its nodes: opset, names, constants."""

    opset: int
    names: set[str] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)
    constants: dict[tuple[str, tuple[int, ...], bytes], Value] = field(default_factory=dict)
    write: Any = None  # a program of tg into a scope

    def fresh(self, stem: str) -> str:
        """A name that no value has yet."""
        name = stem
        while name in self.names or not name:
            self.counts[stem] = self.counts.get(stem, 0) + 1
            name = f"{stem}_{self.counts[stem]}"
        self.names.add(name)
        return name


@final
class Scope:
    """One graph of ONNX, whose nodes may read the values of those around it."""

    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        self.nodes: list[NodeProto] = []
        self.results: tuple[Value, ...] = ()  # of the op that is being written: their dtypes and shapes
        self.used: tuple[bool, ...] = ()  # which of these something reads
        self.stem = ""  # the user's name for what is being written
        self.is_index_only = False  # whether it is read as positions alone
        self.cache: dict[tuple[Any, ...], Value] = {}

    @property
    def opset(self) -> int:
        """The version of the operators."""
        return self.shared.opset

    @property
    def out(self) -> Value:
        """The dtype and shape of the first result of the op that is being written."""
        return self.results[0]

    def inner(self) -> Scope:
        """A graph in a node of this one."""
        return Scope(self.shared)

    def __call__(
        self, kind: str, *operands: Value | None, dtype: str | None = None, shape: Any = None, **attributes: Any
    ) -> Value:
        """The only result of a new node; equal nodes are one. Unless given its shape is what the operands' give."""
        first = next(v for v in operands[kind == "Where" :] if v is not None)
        if dtype is None:
            dtype = "bool" if kind in PREDICATES else first.dtype
        if shape is None:
            shape = broadcast([v.shape for v in operands if v is not None])
        key = (kind, *(v and v.name for v in operands), repr(sorted(attributes.items())) if attributes else "")
        value = self.cache.get(key) if "body" not in attributes else None
        if value is None:
            (value,) = self.several(kind, operands, ((dtype, shape),), **attributes)
            self.cache[key] = value
        return value

    def several(
        self, kind: str, operands: Iterable[Value | None], types: Iterable[tuple[str, Any]], **attributes: Any
    ) -> tuple[Value, ...]:
        """The results of a new node, of these dtypes and shapes."""
        operands = tuple(operands)
        types = tuple(types)
        stem = self.stem or kind
        names = [self.shared.fresh(stem) for _ in types]
        node = helper.make_node(kind, [v.name if v else "" for v in operands], names, name=names[0], **attributes)
        self.nodes.append(node)
        sources = tuple(v for v in operands if v is not None)
        return tuple(
            Value(name, dtype, tuple(shape), None, node, sources)
            for name, (dtype, shape) in zip(names, types, strict=True)
        )

    def constant(self, value: Any, dtype: str | None = None, name: str = "constant") -> Value:
        """A constant; equal ones are one."""
        data = np.asarray(value, None if dtype is None else numpy_dtype(dtype))
        key = (data.dtype.name, data.shape, data.tobytes())
        constant = self.shared.constants.get(key)
        if constant is None:
            constant = Value(self.shared.fresh(name), data.dtype.name, data.shape, data)
            self.shared.constants[key] = constant
        return constant

    def like(self, x: Value, number: float) -> Value:
        """A number in the dtype of a value."""
        return self.constant(number, x.dtype)

    def integers(self, values: Iterable[int]) -> Value:
        """A vector of int64."""
        return self.constant(np.array(tuple(values), np.int64))

    def cast(self, x: Value, dtype: str) -> Value:
        """The elements in another dtype."""
        if x.dtype == dtype:
            return x
        if x.data is not None and x.data.size == 1:
            return self.constant(x.data.astype(numpy_dtype(dtype)))
        return self("Cast", x, dtype=dtype, to=DTYPES[dtype])

    # graphs in nodes

    def input(self, dtype: str, shape: Sequence[Size]) -> Value:
        """An input of a graph in a node."""
        return Value(self.shared.fresh("input"), dtype, tuple(shape))

    def graph(self, inputs: Sequence[Value], outputs: Sequence[Value]) -> GraphProto:
        """The graph, with nothing that its outputs do not need, and with outputs that its own nodes make."""
        own = {name for node in self.nodes for name in node.output}
        results: list[Value] = []
        for v in outputs:
            is_own = v.name in own and all(v.name != u.name for u in results)
            results.append(v if is_own else self.several("Identity", [v], [(v.dtype, v.shape)])[0])
        nodes = needed(self.nodes, [v.name for v in results])
        ins, outs = ([info(v, v.name) for v in values] for values in (inputs, results))
        return helper.make_graph(nodes, self.shared.fresh("graph"), ins, outs)

    def write(self, graph: Any, operands: Sequence[Value]) -> tuple[Value, ...]:
        """The outputs of a program of tg over values."""
        return self.shared.write(graph, self, operands)  # type: ignore[no-any-return]

    # lengths

    def as_vector(self, n: int | Value) -> Value:
        """A length as a vector of one element."""
        if isinstance(n, int):
            return self.integers([n])
        if n.data is not None:
            return self.integers([int(n.data)])
        if n.is_by("Squeeze") and n.operands[0].shape == (1,):
            return n.operands[0]
        return self("Unsqueeze", n, self.integers([0]), shape=(1,))

    def sizes(self, lengths: Sequence[int | Value]) -> Value:
        """A shape as a vector of int64."""
        if all(isinstance(n, int) or n.data is not None for n in lengths):
            return self.integers(int(n) if isinstance(n, int) else int(n.data) for n in lengths)  # type: ignore[arg-type]
        pieces: list[Value] = []
        run: list[int] = []
        for n in (*lengths, None):
            if isinstance(n, int):
                run.append(n)
                continue
            if run:
                pieces.append(self.integers(run))
                run = []
            if n is not None:
                pieces.append(self.as_vector(n))
        return pieces[0] if len(pieces) == 1 else self("Concat", *pieces, axis=0, shape=(len(lengths),))

    def length(self, x: Value, axis: int) -> Value:
        """The length of an axis as a scalar of int64."""
        k = axis % x.ndim
        n = x.shape[k]
        if isinstance(n, int):
            return self.constant(np.int64(n))
        part = self("Shape", x, start=k, end=k + 1, dtype="int64", shape=(1,))
        return self("Squeeze", part, self.integers([0]), shape=())

    # movements

    def reshape(self, x: Value, shape: Sequence[Size], sizes: Sequence[int | Value | None] | None = None) -> Value:
        """The elements of x under another shape; what was itself reshaped is taken from where it began.

        Args:
            sizes: the lengths as numbers and scalars, where `shape` does not say them; None for one that follows.
        """
        shape, root = tuple(shape), x
        if agree(x.shape, shape):
            return x
        while root.node is not None and root.node.op_type in ("Reshape", "Unsqueeze", "Squeeze"):
            root = root.operands[0]
            if agree(root.shape, shape):
                return root
        if any(type(n) is int and n == 0 for n in shape):  # which another way stands for a length of x
            lengths: list[Any] = [n if type(n) is int else sizes and sizes[k] for k, n in enumerate(shape)]
            if all(n is not None for n in lengths):
                return self("Reshape", x, self.sizes(lengths), shape=shape, allowzero=1)
        for source in (root, x):
            wanted = _wanted(source, shape)
            if wanted.count(None) <= 1:
                wanted = [-1 if n is None else n for n in wanted]
                return self("Reshape", source, self.sizes(wanted), shape=shape)  # type: ignore[arg-type]
        if sizes is None:
            raise NoRuleError(message("onnx: reshape: found more than one length that nothing says"))
        lengths = [n if n is not None else sizes[k] for k, n in enumerate(wanted)]
        return self("Reshape", x, self.sizes([-1 if n is None else n for n in lengths]), shape=shape)

    def transpose(self, x: Value, order: Sequence[int]) -> Value:
        """The axes permuted; two permutations are one."""
        order = [k % x.ndim for k in order]
        if x.is_by("Transpose") and x.node is not None:
            before = list(x.node.attribute[0].ints)
            return self.transpose(x.operands[0], [before[k] for k in order])
        if order == list(range(x.ndim)):
            return x
        if x.is_by("Unsqueeze") and x.operands[0].is_by("Transpose"):  # which may be undone
            places = [k for k, n in enumerate(x.shape) if is_one(n)]
            added = x.ndim - x.operands[0].ndim
            if len(places) == added == 1:
                inner = [k - (k > places[0]) for k in order if k != places[0]]
                return self.expand_dims(self.transpose(x.operands[0], inner), [order.index(places[0])])
        return self("Transpose", x, perm=order, shape=[x.shape[k] for k in order])

    def expand_dims(self, x: Value, axes: Sequence[int]) -> Value:
        """Axes of length 1 at places of the result."""
        ndim = x.ndim + len(axes)
        places = sorted(k % ndim for k in axes)
        if not places:
            return x
        if x.data is not None:
            return self.constant(np.expand_dims(x.data, tuple(places)))
        rest = iter(x.shape)
        shape = [1 if k in places else next(rest) for k in range(ndim)]
        return self("Unsqueeze", x, self.integers(places), shape=shape)

    def squeeze(self, x: Value, axes: Sequence[int]) -> Value:
        """The axes of length 1 dropped."""
        places = sorted(k % x.ndim for k in axes)
        if not places:
            return x
        shape = [n for k, n in enumerate(x.shape) if k not in places]
        if x.node is not None and x.node.op_type in ("Unsqueeze", "Reshape") and agree(x.operands[0].shape, shape):
            return x.operands[0]
        return self("Squeeze", x, self.integers(places), shape=shape)

    def concat(self, parts: Sequence[Value], axis: int) -> Value:
        """Arrays joined along an axis."""
        if len(parts) == 1:
            return parts[0]
        k = axis % parts[0].ndim
        shape = list(parts[0].shape)
        lengths = [v.shape[k] for v in parts]
        shape[k] = None if any(n is None for n in lengths) else sum(lengths)  # type: ignore[arg-type]
        return self("Concat", *parts, axis=k, shape=shape)


def _wanted(x: Value, shape: Sequence[Size]) -> list[int | None]:
    """The second operand of Reshape: numbers, 0 for a length of x, None for one that the operands do not say."""
    return [
        n if isinstance(n, int) and n > 0 else 0 if k < x.ndim and agree(x.shape[k : k + 1], (n,)) else None
        for k, n in enumerate(shape)
    ]


def is_one(n: Size) -> bool:
    """Whether a length is known to be 1."""
    return type(n) is int and n == 1


def agree(a: Sequence[Size], b: Sequence[Size]) -> bool:
    """Whether two shapes are known to be the same."""
    return len(a) == len(b) and all(map(_same, a, b))


def _same(n: Size, m: Size) -> bool:
    if isinstance(n, Length):
        return isinstance(m, Length) and n.key == m.key
    return n is not None and type(m) is int and n == m


def broadcast(shapes: Sequence[Sequence[Size]]) -> tuple[Size, ...]:
    """The shape that several broadcast to, where a length that is not known to be 1 is not."""
    rank = max(map(len, shapes))
    lengths: list[Size] = []
    for k in range(-rank, 0):
        present = [shape[k] for shape in shapes if len(shape) >= -k]
        others = [n for n in present if not is_one(n)]
        numbers = [n for n in others if isinstance(n, int)]
        lengths.append(numbers[0] if numbers else others[0] if others else 1)
    return tuple(lengths)


def info(v: Value, name: str, dims: Sequence[int | str | None] | None = None) -> ValueInfoProto:
    """The type of an input or output, whose lengths may have names."""
    shape = [n if type(n) is int else None for n in v.shape] if dims is None else dims
    return helper.make_tensor_value_info(name, DTYPES[v.dtype], shape)


def reads(node: NodeProto) -> set[str]:
    """The names that a node and the graphs in it read."""
    names = set(node.input)
    for attribute in node.attribute:
        if attribute.HasField("g"):
            inner = attribute.g
            for one in inner.node:
                names |= reads(one)
            names.update(v.name for v in inner.output)
    return names


def needed(nodes: Sequence[NodeProto], outputs: Iterable[str]) -> list[NodeProto]:
    """The nodes, in order, without which some values are not there."""
    names = set(outputs)
    live = []
    for node in reversed(nodes):
        if not names.isdisjoint(node.output):
            live.append(node)
            names |= reads(node)
    return live[::-1]


def tensor(value: Value) -> TensorProto:
    """A constant as ONNX has it."""
    assert value.data is not None
    return numpy_helper.from_array(np.ascontiguousarray(value.data).reshape(value.data.shape), value.name)
