"""The pages that nobody writes: made of the records, hooks, gaps and commands of what is installed, at every build.

They go to `docs/generated/`, as MyST text, and are written only where they changed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sphinx.application import Sphinx

FOLDER = "generated"


def setup(app: Sphinx) -> dict[str, Any]:
    """What Sphinx calls: the pages are written before it looks for pages."""
    from tg_pages import access

    access.setup(app)
    app.connect("builder-inited", lambda app: write(pages() | pictures(), Path(app.srcdir) / FOLDER))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def pages() -> dict[str, str]:
    """Every generated page: its path below the folder, and its text."""
    from tg_pages import (
        commands,
        coverage,
        distributions,
        families,
        front,
        functions,
        gallery,
        gaps,
        hooks,
        layers,
        names,
        numpy_names,
        onnx,
        options,
        runs,
        words,
    )

    return {
        **families.pages(),
        **functions.pages(),
        **gallery.pages(),
        **names.pages(),
        **words.pages(),
        "words.md": words.page(),
        "numpy_names.md": numpy_names.page(),
        "hooks.md": hooks.page(),
        "coverage.md": coverage.page(),
        "commands.md": commands.page(),
        "parts/distribution.md": distributions.record_part(),
        "parts/distributions.md": distributions.part(),
        "parts/speed.md": front.speed_part(),
        "parts/picture.md": front.picture_part(),
        "parts/gaps.md": gaps.part(),
        "parts/backends.md": gaps.backends_part(),
        "parts/onnx.md": onnx.part(),
        "parts/options.md": options.part(),
        "parts/option_lists.md": options.lists_part(),
        "parts/layers.md": layers.part(),
        "parts/native.md": layers.native_part(),
        "parts/runs.md": runs.part(),
    }


def pictures() -> dict[str, bytes]:
    """Pictures that generated pages show: their paths below the folder, and what is in them."""
    from tg_pages import gallery

    return gallery.pictures()


def write(files: Mapping[str, str | bytes], folder: Path) -> None:
    """Bring a folder to hold these files and no others; what has not changed is left alone."""
    known = {folder / name for name in files}
    for path in (*folder.rglob("*.md"), *folder.rglob("*.png")):
        if path not in known:
            path.unlink()
    for name, text in files.items():
        path = folder / name
        data = text if isinstance(text, bytes) else text.encode()
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != data:
            path.write_bytes(data)
