"""Symbolic tensors: what rules are given and give. Each is a result of an ONNX node, an input, or a constant.

Nothing is computed, and nothing is global: a tensor knows the operands of its node, and a model is all that its outputs
were made of. Every length is known, for a program is traced anew for each combination of shapes.
"""

import itertools

import numpy as np
from onnx import helper

ONNX = {d: helper.np_dtype_to_tensor_dtype(np.dtype(d)) for d in ("bool", "int32", "int64", "float32", "float64")}
COMPARISONS = {"eq": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual"}
BITWISE = {"and": "BitwiseAnd", "or": "BitwiseOr", "xor": "BitwiseXor", "invert": "BitwiseNot"}
OPERATORS = {"add": "Add", "sub": "Sub", "mul": "Mul", "truediv": "Div", "neg": "Neg", "abs": "Abs"}
NOT_OF_BOOL = {"Add", "Mul", "Max", "Min", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "ArgMax", "ArgMin"}
NOT_OF_BOOL |= {"CumProd", "CumSum", "MatMul", "ReduceProd", "ReduceSum", "ScatterND", "TopK"}
SERIAL = itertools.count()  # operands are older than what is made of them


class Tensor:
    """The result of a node with this number, its dtype and its shape; `data` of a constant."""

    __array_ufunc__ = None  # NumPy's operators leave those of this class alone
    __hash__ = None

    def __init__(self, kind, inputs, dtype, shape, *, place=0, data=None, attributes=None):
        self.kind, self.inputs, self.place, self.data, self.attributes = kind, inputs, place, data, attributes
        self.dtype, self.shape, self.serial = np.dtype(dtype), tuple(map(int, shape)), next(SERIAL)
        self.ndim = len(self.shape)


def node(kind):
    """The function, or method, that makes a node of this type."""
    return lambda *operands: elementwise(kind, *operands)


for name, kind in (COMPARISONS | BITWISE | OPERATORS).items():
    setattr(Tensor, f"__{name}__", node(kind))
Tensor.__ne__ = lambda x, y: ~(x == y)


def constant(value, dtype=None):
    data = np.array(value, dtype, order="C")
    return Tensor("Constant", (), data.dtype, data.shape, data=data)


def make(kind, *inputs, shape, dtype=None, place=0, **attributes):
    """A result of a node, of bool by way of int32 if need be; what makes another shape of no elements has no kernel."""
    own = inputs[0].dtype
    if 0 in (*shape, *inputs[0].shape) and tuple(shape) != inputs[0].shape:
        return constant(np.zeros(shape, dtype or own))
    if own == "bool" and kind in NOT_OF_BOOL:
        wide = [cast(v, "int32") if v.dtype == "bool" else v for v in inputs]
        return cast(make(kind, *wide, shape=shape, dtype=dtype, place=place, **attributes), dtype or own)
    return Tensor(kind, inputs, dtype or own, shape, place=place, attributes=attributes)


def alike(*operands):
    """Operands of which some are numbers, these in the dtype of the others."""
    own = next(v.dtype for v in operands if isinstance(v, Tensor))
    return [v if isinstance(v, Tensor) else constant(v, own) for v in operands]


def elementwise(kind, *operands, **attributes):
    """The result of a node of operands that broadcast; `BitwiseAnd` of bool is ONNX's `And`."""
    inputs = alike(*operands)
    shape = np.broadcast_shapes(*(v.shape for v in inputs))
    dtype = "bool" if kind in COMPARISONS.values() else None
    kind = kind.removeprefix("Bitwise") if inputs[0].dtype == "bool" else kind
    return make(kind, *inputs, shape=shape, dtype=dtype, **attributes)


def cast(x, dtype):
    """C's conversion: integers wrap, and what of floats is out of range is undefined."""
    dtype = np.dtype(dtype)
    return x if x.dtype == dtype else make("Cast", x, shape=x.shape, dtype=dtype, to=ONNX[dtype.name])


def bits(x, dtype=None):
    """The bits of floats as integers; with a dtype, the floats that such integers are the bits of."""
    dtype = np.dtype(dtype or f"int{8 * x.dtype.itemsize}")
    return make("BitCast", x, shape=x.shape, dtype=dtype, to=ONNX[dtype.name])


def where(condition, x, y):
    """x where the condition is true, else y: of floats their bits, since the kernel for floats makes 0 of -0."""
    x, y = alike(x, y)
    if x.dtype == "bool":
        return (condition & x) | (~condition & y)
    if x.dtype.kind == "f":
        return bits(where(condition, bits(x), bits(y)), x.dtype)
    return make("Where", condition, x, y, shape=np.broadcast_shapes(condition.shape, x.shape, y.shape), dtype=x.dtype)


def expand(x, sizes):
    return make("Expand", x, constant(sizes, "int64"), shape=sizes)


def reshape(x, sizes):
    return make("Reshape", x, constant(sizes, "int64"), shape=sizes)


def transpose(x, order):
    return make("Transpose", x, shape=[x.shape[k] for k in order], perm=list(order))


def concatenate(arrays, axis):
    """Arrays joined along an axis."""
    axis, shape = axis % arrays[0].ndim, list(arrays[0].shape)
    shape[axis] = sum(v.shape[axis] for v in arrays)
    return make("Concat", *([v for v in arrays if v.shape[axis]] or arrays), shape=shape, axis=axis)
