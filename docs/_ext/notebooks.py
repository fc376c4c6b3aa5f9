"""The notebooks of the gallery: read, executed, kept with their outputs, and found stale.

`docs/gallery/NAME.py` is a notebook as text (py:percent, jupytext's), which people write; `NAME.ipynb` beside it is
what a kernel made of it, which the pages show and readers open. The second holds the hash of the first and of its own
outputs, so that neither is changed without the other.

    python docs/_ext/notebooks.py               # executes those whose text is newer than their outputs
    python docs/_ext/notebooks.py --all         # every one, as `make nightly` does
    python docs/_ext/notebooks.py kalman flow   # these
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

GALLERY = Path(__file__).parents[1] / "gallery"
LIMIT = 100_000  # bytes of a notebook with its outputs
SECONDS = 300  # for one cell, on a machine with other work: a hang ends
COLORS = 64  # of a picture: lines and a few areas, a third of the size
ANSI = re.compile(r"\x1b\[[0-9;]*m")
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # beside other work, threads wait for one another
MARK = "tg"  # the key of the notebook's metadata that is ours

SECTIONS = (
    ("First steps", "mistakes regression walk"),
    ("Statistics", "splines mixture hierarchical survival gaussian_process nuts"),
    ("Time and motion", "epidemic kalman ode signals"),
    ("Networks", "transformer resnet normalizing_flow autoencoder graph_network"),
    ("Numerics", "optimisation linear_algebra sparse_matrices"),
    (
        "Extending, looking inside, leaving Python",
        "custom_op custom_backend nan profiling c_library onnx_models cluster",
    ),
)


def names() -> list[str]:
    """The notebooks, as the gallery shows them."""
    return [name for _, group in SECTIONS for name in group.split()]


def source(name: str) -> str:
    """The text of a notebook."""
    return (GALLERY / f"{name}.py").read_text()


def kept(name: str) -> dict[str, Any]:
    """The notebook with its outputs."""
    read: dict[str, Any] = json.loads((GALLERY / f"{name}.ipynb").read_text())
    return read


def digest(text: str) -> str:
    """The hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def digest_of_cells(notebook: dict[str, Any]) -> str:
    """The hash of all that a reader sees of a notebook."""
    return digest(json.dumps(notebook["cells"], sort_keys=True))


def stale(name: str) -> str:
    """The reason why the outputs of a notebook are not those of its text, or nothing."""
    if not (GALLERY / f"{name}.ipynb").exists():
        return "never executed"
    notebook = kept(name)
    marks = notebook["metadata"].get(MARK, {})
    if marks.get("source") != digest(source(name)):
        return "the text has changed"
    if marks.get("cells") != digest_of_cells(notebook):
        return "the outputs were changed by hand"
    return ""


def executed(name: str) -> dict[str, Any]:
    """A notebook with the outputs of a fresh kernel; a cell that raises ends it, unless it is tagged."""
    import jupytext
    import nbformat
    from nbclient import NotebookClient

    text = source(name)
    notebook = jupytext.reads(text, fmt="py:percent")
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"IPYTHONDIR": folder, "JUPYTER_RUNTIME_DIR": folder, "NO_COLOR": "1", **ONE_THREAD}
        NotebookClient(
            notebook,
            timeout=SECONDS,
            kernel_name="python3",
            resources={"metadata": {"path": str(GALLERY)}},
            extra_arguments=["--IPKernelApp.log_level=ERROR"],
        ).execute()
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
        cell.metadata = {key: value for key, value in cell.metadata.items() if key == "tags"}
        if cell.cell_type == "code":
            cell["outputs"] = _shown(cell.outputs)
    plain: dict[str, Any] = json.loads(nbformat.writes(notebook))
    plain["metadata"] = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        MARK: {"source": digest(text), "cells": digest_of_cells(plain)},
    }
    return plain


def _shown(outputs: list[Any]) -> list[Any]:
    """Outputs for a reader: nothing of stderr, where progress is told, and beside a picture no list of its parts."""
    has_picture = any("image/png" in output.get("data", {}) for output in outputs)
    beside = {"execute_result"} if has_picture else set()
    return [_plain(o) for o in outputs if o.get("name") != "stderr" and o.output_type not in beside]


def _plain(output: Any) -> Any:
    """An output made small, without colours of terminals; of several forms of a value those that pages show."""
    if output.output_type == "error":
        output["traceback"] = [ANSI.sub("", line) for line in output["traceback"]]
    data = output.get("data", {})
    if "image/png" in data:
        output["data"] = {"image/png": _small(data["image/png"])}
    elif "text/html" in data:
        output["data"] = {key: data[key] for key in ("text/html", "text/plain") if key in data}
    return output


def _small(picture: str) -> str:
    """A picture of few colours."""
    from PIL import Image

    out = io.BytesIO()
    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    image.quantize(COLORS).save(out, "PNG", optimize=True)
    return base64.b64encode(out.getvalue()).decode()


def write(name: str) -> None:
    """Execute a notebook and keep it, if it is small enough."""
    text = json.dumps(executed(name), indent=1, ensure_ascii=False) + "\n"
    if len(text.encode()) > LIMIT:
        raise SystemExit(f"{name}: {len(text.encode())} bytes with its outputs, needed at most {LIMIT}")
    (GALLERY / f"{name}.ipynb").write_text(text)


def main(arguments: list[str]) -> int:
    """Execute what is asked for."""
    parser = argparse.ArgumentParser(description="Execute the notebooks of the gallery.")
    parser.add_argument("names", nargs="*", choices=[[], *names()], metavar="NAME")
    parser.add_argument("--all", action="store_true", help="also those that are not stale")
    told = parser.parse_args(arguments)
    for name in told.names or [name for name in names() if told.all or stale(name)]:
        start = time.perf_counter()
        write(name)
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
