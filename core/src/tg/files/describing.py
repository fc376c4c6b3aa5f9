"""Description of a model file: what its manifest and its texts say, without making a function of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tg.files.archive import WEIGHTS, Archive
from tg.files.kinds import fields, type_of
from tg.files.loading import manifest_of, refusing
from tg.files.tensors import unpacked

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

USUAL: Final = {
    "mode": "default", "exclude": [], "nan_guard": False, "native": False, "compile": "now", "checkpointing": "none",
    "dtype": None, "amp": None, "precision": "highest",
}  # fmt: skip


def describe(path: str | os.PathLike[str], *, texts: bool = False) -> dict[str, Any]:
    """A record of plain values: who wrote the file, its functions with inputs and options, its shared variables.

    Args:
        texts: whether it has the programs of the functions as well.
    Raises:
        FileError: no file of `tg.save`, a damaged one, or one of a version that this tg does not read.
    """
    archive = Archive(Path(path))
    with refusing(archive):
        manifest = manifest_of(archive)
        weights = unpacked(archive.data(WEIGHTS), f"{archive.path}: {WEIGHTS}")
        shared = []
        for k, entry in enumerate(manifest["shared"]):
            where = f"{archive.path}: shared {k}"
            one = fields(entry, {"name": str, "fixed": bool}, where)
            array = weights.get(one["name"])
            size = 0 if array is None else int(array.nbytes)
            kind = str(type_of(one.get("type"), where))
            shared.append({"name": one.get("label") or one["name"], "type": kind, "bytes": size, "fixed": one["fixed"]})
        functions = [_function(archive, k, one, shared, texts=texts) for k, one in enumerate(manifest["functions"])]
        return {
            "file": str(path),
            "bytes": Path(path).stat().st_size,
            "written by": manifest["written_by"],
            "needs": manifest["needs"],
            "plugins": {name: str(one["version"]) for name, one in manifest["plugins"].items()},
            "functions": functions,
            "shared": shared,
        }


def _function(archive: Archive, k: int, record: Any, shared: list[dict[str, Any]], *, texts: bool) -> dict[str, Any]:
    where = f"{archive.path}: function {k}"
    kinds = {"name": str, "inputs": list, "results": int, "targets": list, "options": dict, "general": dict}
    record = fields(record, kinds, where)
    text = archive.text(f"functions/{k}.tg")
    options: Mapping[str, Any] = {**record["options"], **record["general"]}
    told = {name: value for name, value in options.items() if name != "limit" and value != USUAL.get(name)}
    return {
        "name": record.get("key") or record["name"],
        "inputs": [{"name": v.get("name"), "type": str(type_of(v.get("type"), where))} for v in record["inputs"]],
        "results": record["results"],
        "updates": [shared[j]["name"] for j in record["targets"]],
        "options": told,
        "nodes": sum(line.lstrip().startswith("%") and " = " in line for line in text.splitlines()),
        **({"text": text} if texts else {}),
    }
