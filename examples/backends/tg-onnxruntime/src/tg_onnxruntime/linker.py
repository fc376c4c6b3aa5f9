"""The linker: core's, whose compiler traces a program to an ONNX model, for each combination of shapes."""

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

from tg.backend import FuncifyLinker
from tg_onnxruntime.tensors import ONNX, Tensor, constant, node

OPSET, IR = 26, 13  # the first with BitCast and CumProd


class Program:
    """A function of NumPy arrays, run by a session for each combination of shapes."""

    def __init__(self, function, unit):
        self.function, self.name, self.made = function, unit.name, {}

    def __call__(self, *operands):
        """The outputs; large constants come first, as a tuple."""
        flat = [a for one in operands for a in (one if isinstance(one, tuple) else (one,))]
        arrays = [np.asarray(a, order="C") for a in flat]
        shapes = tuple(a.shape for a in arrays)
        if shapes not in self.made:
            self.made[shapes] = self.traced(operands, arrays)
        _, session = self.made[shapes]
        return tuple(session.run(None, {f"i{k}": a for k, a in enumerate(arrays)}))

    def traced(self, operands, arrays):
        """The model for operands of these shapes, and a session of it."""
        inputs = [Tensor("Input", (), a.dtype, a.shape) for a in arrays]
        waiting = iter(inputs)
        given = [tuple(next(waiting) for _ in one) if isinstance(one, tuple) else next(waiting) for one in operands]
        written = model(self.name, inputs, self.function(*given))
        settings = ort.SessionOptions()
        settings.intra_op_num_threads = settings.inter_op_num_threads = 1  # scattered sums race in several
        settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
        settings.log_severity_level = 4
        return written, ort.InferenceSession(written.SerializeToString(), settings, providers=["CPUExecutionProvider"])

    def source(self):
        """The models as text."""
        return "\n".join(onnx.printer.to_text(written) for written, _ in list(self.made.values()))


def model(name, inputs, outputs):
    """The model that computes outputs of inputs, which are i0, i1, …"""
    names = {v.serial: f"i{k}" for k, v in enumerate(inputs)}
    nodes, constants = [], []
    for v in ordered(outputs):
        own = names.setdefault(v.serial, f"v{len(names)}")
        if v.data is not None:
            constants.append(numpy_helper.from_array(v.data, own))
        elif v.kind != "Input":
            results = [*(f"{own}_{k}" for k in range(v.place)), own]
            nodes.append(helper.make_node(v.kind, [names[u.serial] for u in v.inputs], results, **v.attributes))
    for k, v in enumerate(outputs):  # each a result of its own, whatever else the tensor is
        nodes.append(helper.make_node("Identity", [names[v.serial]], [f"o{k}"]))
    given, found = (
        [helper.make_tensor_value_info(f"{letter}{k}", ONNX[v.dtype.name], v.shape) for k, v in enumerate(tensors)]
        for letter, tensors in (("i", inputs), ("o", outputs))
    )
    graph = helper.make_graph(nodes, name, given, found, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)


def ordered(outputs):
    """All that tensors were made of, operands first."""
    found, waiting = {}, list(outputs)
    while waiting:
        v = waiting.pop()
        if v.serial not in found:
            found[v.serial] = v
            waiting += v.inputs
    return [found[serial] for serial in sorted(found)]


LINKER = FuncifyLinker(
    to_native=np.array, to_numpy=np.asarray, constant=constant, copy=node("Identity"), jit=Program, owned=np.asarray
)
