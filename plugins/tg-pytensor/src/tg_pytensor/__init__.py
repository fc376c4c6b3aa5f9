"""PyTensor programs and PyMC models in tg, and tg programs in them."""

from tg_pytensor import (  # noqa: F401  their rules
    batches,
    gradients,
    indexing,
    linalg,
    loops,
    random,
    scalars,
    selection,
    splines,
    tensors,
)
from tg_pytensor.conversion import Converted, from_pytensor
from tg_pytensor.models import ConvertedModel, PointFunction, from_pymc
from tg_pytensor.modes import mode
from tg_pytensor.outward import to_pytensor
from tg_pytensor.registry import convert
from tg_pytensor.report import Report, report
from tg_pytensor.sampling import nutpie_model, sample

__all__ = [
    "Converted",
    "ConvertedModel",
    "PointFunction",
    "Report",
    "convert",
    "from_pymc",
    "from_pytensor",
    "mode",
    "nutpie_model",
    "report",
    "sample",
    "to_pytensor",
]
