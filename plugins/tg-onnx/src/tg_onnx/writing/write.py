"""The writer of format "onnx": what `tg.export` calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import onnx
from onnx import external_data_helper, numpy_helper

import tg
from tg import OptionError
from tg.backend import Length, message
from tg_onnx.writing.graphs import supported
from tg_onnx.writing.model import model_of

if TYPE_CHECKING:
    from pathlib import Path

    from onnx import ModelProto

    from tg.backend import Exported
    from tg_onnx.options import OnnxOptions

LARGEST: Final = 2**31 - 2**20  # bytes of a file of protobuf, with room for all that is no weight
SEPARATE: Final = 1024  # bytes from which a weight is kept in the file of weights


def write(program: Exported, path: Path, options: OnnxOptions) -> None:
    """Write a function as a model, checked by `onnx.checker` with its shapes inferred.

    A model with its weights in another file is a folder, which has the golden values as well, where ONNX's own tests
    have them.

    Raises:
        OptionError: an opset that there is not.
        NoRuleError: ONNX has no way to say an op.
    """
    model = model_for(program, options)
    file = path
    if options.external or sum(a.nbytes for a in program.arrays) > LARGEST:
        path.mkdir()
        file = path / "model.onnx"
        _keep_golden(program, path / "test_data_set_0")
        external_data_helper.convert_model_to_external_data(
            model, location="model.data", size_threshold=SEPARATE, convert_attribute=False
        )
    onnx.save_model(model, file)
    onnx.checker.check_model(file, full_check=True)


def _keep_golden(program: Exported, folder: Path) -> None:
    """Write the golden values as tensors, in the order of the model's inputs and outputs."""
    folder.mkdir()
    golden = program.golden
    before = {s.name: s.array for s in program.state}
    after = {f"{name}.new": array for name, array in golden.state.items()}
    for kind, arrays in (("input", {**golden.inputs, **before}), ("output", {**golden.outputs, **after})):
        for k, (name, array) in enumerate(arrays.items()):
            onnx.save_tensor(numpy_helper.from_array(np.asarray(array), name), folder / f"{kind}_{k}.pb")


def model_for(program: Exported, options: OnnxOptions) -> ModelProto:
    """The model of a function, unchecked."""
    newest = onnx.defs.onnx_opset_version()
    if not 17 <= options.opset <= newest:
        text = f"format 'onnx': opset: found {options.opset}, needed 17 to {newest}, the newest that onnx here has"
        raise OptionError(message(text))
    graph = program.graph(supported, sized=True)
    new = [f"{s.name}.new" for s in program.state]
    arrays = dict(zip(program.names[len(program.inputs) :], program.arrays, strict=True))
    return model_of(
        graph,
        name=program.name,
        opset=options.opset,
        inputs=program.names,
        outputs=[*program.output_names, *new],
        arrays=arrays,
        defaults=[s.name for s in program.state],
        dims=_dims(program),
        metadata={
            "tg.version": tg.__version__,
            **({"tg.state": " ".join(s.name for s in program.state)} if new else {}),
        },
    )


def _dims(program: Exported) -> dict[tuple[int, int], str]:
    """The names of lengths that users gave."""
    return {
        (k, axis): repr(n)
        for k, v in enumerate(program.variables)
        for axis, n in enumerate(v.lengths)
        if isinstance(n, Length) and v.type.shape[axis] is None and repr(n).isidentifier()
    }
