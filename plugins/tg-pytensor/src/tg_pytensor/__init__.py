"""PyTensor programs and PyMC models in tg, and tg programs in them."""

from tg_pytensor import batches, indexing, loops, scalars, tensors  # noqa: F401  their rules
from tg_pytensor.conversion import Converted, from_pytensor
from tg_pytensor.linker import Linked, linked
from tg_pytensor.modes import mode
from tg_pytensor.outward import to_pytensor
from tg_pytensor.registry import convert

__all__ = ["Converted", "Linked", "convert", "from_pytensor", "linked", "mode", "to_pytensor"]
