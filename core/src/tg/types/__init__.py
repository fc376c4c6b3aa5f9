"""Values on the edges of a graph: dtypes, lengths, and the one type of value, `TensorType`.

The signs, texts and broadcasts of lengths stand above their arithmetic, which asks for them: they are bound here.
"""

from tg.types import requirements, signs, text

__all__ = ["requirements", "signs", "text"]
