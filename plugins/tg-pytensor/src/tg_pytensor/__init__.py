"""PyTensor programs and PyMC models in tg, and tg programs in them."""

from tg_pytensor import batches, indexing, linalg, loops, scalars, selection, tensors  # noqa: F401  their rules
from tg_pytensor.conversion import Converted, from_pytensor
from tg_pytensor.registry import convert

__all__ = ["Converted", "convert", "from_pytensor"]
