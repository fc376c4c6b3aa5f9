"""`QuantizationReport`: per layer the format of its weights, and the errors that it brings."""

from __future__ import annotations

from typing import Final, NamedTuple, final

HEADS: Final = ("layer", "product", "weights", "format", "bits", "error of weights", "error of result")


class Layer(NamedTuple):
    """A product with weights: its name, what it is, the shape of the rows of weights, and what became of them.

    Errors are norms of differences over norms. That of the result is of this layer alone, for the float inputs that it
    has in the calibration data; None without data. A layer that is left as it is has no errors, and its format is "".
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    format: str
    bits: float
    weight_error: float | None = None
    output_error: float | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """As a table has it."""
        shape = " x ".join(map(str, self.shape))
        errors = ("" if e is None else f"{e:.2%}" for e in (self.weight_error, self.output_error))
        return (self.name, self.kind, shape, self.format or "as it was", f"{self.bits:.2f}", *errors)


@final
class QuantizationReport:
    """The layers of a quantised function in the order of computing; `print` it, or read its `layers`.

    Args:
        before: bytes of the weights that were replaced.
        after: bytes of what replaces them.
        held: bytes of those among the replaced ones that the function reads in other places, and so keeps besides.
    """

    def __init__(self, layers: tuple[Layer, ...], before: int, after: int, held: int) -> None:
        self.layers, self.before, self.after, self.held = layers, before, after, held

    def __getitem__(self, name: str) -> Layer:
        """The first layer of a name.

        Raises:
            KeyError: there is none.
        """
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise KeyError(name)

    def __str__(self) -> str:
        rows = [HEADS, *(layer.texts for layer in self.layers)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(_padded, row, widths, range(len(row)))).rstrip() for row in rows]
        held = f", {self.held:,} of them read elsewhere and held" if self.held else ""
        return "\n".join([*lines, f"bytes of weights: {self.before:,}{held} -> {self.after:,}"])

    def __repr__(self) -> str:
        count = sum(bool(layer.format) for layer in self.layers)
        return f"<report of {count} quantised layers of {len(self.layers)}: {self.before:,} bytes -> {self.after:,}>"


def _padded(text: str, width: int, place: int) -> str:
    return text.ljust(width) if place < 4 else text.rjust(width)
