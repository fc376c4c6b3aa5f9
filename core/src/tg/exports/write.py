"""`tg.export`: a function written for programs without tg, by the plugin that has the format."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tg import plugin
from tg.errors import InputError, PluginError, TgError, blamed, message
from tg.exports.exported import exported
from tg.exports.golden import golden
from tg.functions.compiled import Function
from tg.plugin.options import fields_of
from tg.variables.structure import short

if TYPE_CHECKING:
    import os

    from tg.plugin.exporters import Offer


def export(
    f: Function,
    path: str | os.PathLike[str],
    format: str,
    *,
    name: str | None = None,
    example: Any = None,
    **options: Any,
) -> Path:
    """Write a compiled function for programs without tg.

    The plugin that has the format writes a file, or a folder with a library and what it needs, and golden values beside
    it where the format has a place for them: inputs and what f gave for them, by which whoever reads it can check. An
    error leaves nothing changed; files that were there under the same names are replaced.

    Args:
        path: the file or folder to write; its parent exists.
        format: "c" (of tg-c), "onnx" (tg-onnx), "stablehlo" (tg-jax), "torch" (tg-torch), or one of another plugin.
        name: an identifier, by which the format calls the function; made of `f.name` unless given.
        example: values for the inputs, by name or in the order of a call. Unless given they are drawn with key 0 within
            the domains, facts and axes that the expression says; unknown lengths are small.
        options: those of the format.
    Returns:
        the path that was written.
    Raises:
        OptionError: no plugin that is known has the format, or the format has no such option.
        BackendUnavailable: the plugin that has the format is not installed, or lacks what it requires.
        InputError: f is no compiled function; an example that does not fit; a result that is not finite.
        NoRuleError: the format has no way to say an op.
    """
    f = checked("export", f)
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(message(f"export: path: found {str(target)!r}, needed a folder {str(target.parent)!r}"))
    registry = plugin.registry()
    offer = registry.exporter(format)
    settings = fields_of(f"format {format!r}", offer.exporter.options, options)
    writer = registry.writer(offer)
    program = exported(f, identifier(name, f.name), golden("export", f, example))
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
        draft = Path(folder) / (target.name or "export")
        try:
            writer(program, draft, settings)
        except TgError:
            raise
        except Exception as error:  # noqa: BLE001 (raised again, named)
            raise blamed(error, f"writer of format {format!r}", ("plugin", offer.plugin.entry.described))  # noqa: B904
        _move(draft, target, offer)
    return target


def checked(what: str, f: object) -> Function:
    """A compiled function.

    Raises:
        InputError: it is something else.
    """
    if not isinstance(f, Function):
        text = f"{what}: found {short(f)}, needed a compiled function"
        raise InputError(message(text, hint="tg.function(inputs, outputs) makes one"))
    return f


def identifier(name: str | None, otherwise: str) -> str:
    """A name that other languages can have too: what was asked for, else made of another.

    Raises:
        InputError: what was asked for is none.
    """
    if name is None:
        word = re.sub(r"\W", "_", otherwise, flags=re.ASCII)
        return word if word[:1].isalpha() or word[:1] == "_" else f"f_{word}"
    if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
        raise InputError(message(f"export: name: found {name!r}, needed an identifier of ASCII letters"))
    return name


def _move(draft: Path, target: Path, offer: Offer) -> None:
    """Put what was written where it is to be: a file as a whole, the files of a folder one by one.

    Raises:
        PluginError: nothing was written.
        InputError: a file is in the way of a folder, or the other way round.
    """
    if not draft.exists():
        entry = offer.plugin.entry
        text = f"{entry.source}: writer {offer.exporter.writer}: found nothing written, needed a file or a folder"
        raise PluginError(message(text, ("plugin", entry.described)))
    if target.exists() and target.is_dir() != draft.is_dir():
        kinds = ("a folder", "a file") if target.is_dir() else ("a file", "a folder")
        raise InputError(message(f"export: path: found {kinds[0]} at {str(target)!r}, needed {kinds[1]} or nothing"))
    if not draft.is_dir() or not target.exists():
        draft.replace(target)
        return
    for file in sorted(draft.rglob("*")):
        place = target / file.relative_to(draft)
        if file.is_dir():
            place.mkdir(exist_ok=True)
        else:
            shutil.move(file, place)
