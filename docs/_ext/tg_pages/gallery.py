"""The gallery: a page of thumbnails, and one page for each executed notebook of `docs/gallery`."""

from __future__ import annotations

import base64
import html
from typing import TYPE_CHECKING, Any

import notebooks

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = "gallery"
INTRO = """# Gallery

{count} notebooks, executed, each with a picture and with numbers that are held against something other than tg: a
closed form, SciPy, scikit-learn, PyTorch, JAX, ONNX Runtime or a compiled C program. Each is a file of text in
`docs/gallery` that `make gallery` executes anew, and a notebook beside it that Jupyter opens.

"""


def pages() -> dict[str, str]:
    """The page of thumbnails, and those of the notebooks."""
    made = {f"{FOLDER}/{name}.md": page(name) for name in notebooks.names()}
    return made | {f"{FOLDER}/index.md": index()}


def pictures() -> dict[str, bytes]:
    """Every picture of every notebook: its path below the folder of generated pages, and its bytes."""
    return {f"{FOLDER}/{name}-{k}.png": data for name in notebooks.names() for k, data in enumerate(_pictures(name))}


def index() -> str:
    """Thumbnails with a title and a sentence each, by subject."""
    parts = [INTRO.format(count=len(notebooks.names()))]
    for title, group in notebooks.SECTIONS:
        cards = "\n".join(card(name) for name in group.split())
        parts.append(f"## {title}\n\n:::{{container}} gallery\n{cards}\n:::\n")
    listed = "\n".join(notebooks.names())
    return "\n".join([*parts, f"```{{toctree}}\n:hidden:\n\n{listed}\n```\n"])


def card(name: str) -> str:
    """An entry of the page of thumbnails: a link with the first picture, and the notebook's first sentence."""
    title, sentence = heading(name)
    picture = f"[![{title}: the picture]({name}-0.png)]({name}.md) " if any(_pictures(name)) else ""
    return f"- {picture}[**{title}**]({name}.md) {sentence}"


def heading(name: str) -> tuple[str, str]:
    """The title of a notebook, and its first sentence."""
    first = "".join(notebooks.kept(name)["cells"][0]["source"])
    title, _, rest = first.partition("\n")
    sentence, _, _ = " ".join(rest.split()).partition(". ")
    return title.removeprefix("# "), sentence.rstrip(".") + "."


def page(name: str) -> str:
    """A notebook as a page."""
    numbers = iter(range(1000))
    cells = [text for cell in notebooks.kept(name)["cells"] for text in _cell(cell, name, numbers)]
    file = f"{{download}}`{name}.ipynb <../../gallery/{name}.ipynb>`"
    below = f"The text of this notebook is `docs/gallery/{name}.py`; with its outputs it is {file}."
    return "\n\n".join([*cells, f"---\n\n{below}\n"])


def _cell(cell: dict[str, Any], name: str, numbers: Iterator[int]) -> Iterator[str]:
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield text
        return
    yield _fence("python", text)
    for output in cell["outputs"]:
        yield from _output(output, name, numbers)


def _output(output: dict[str, Any], name: str, numbers: Iterator[int]) -> Iterator[str]:
    data = output.get("data", {})
    if output["output_type"] == "stream":
        yield _fence("text", "".join(output["text"]).rstrip())
    elif output["output_type"] == "error":
        yield _fence("text", "\n".join(output["traceback"]).rstrip())
    elif "image/png" in data:
        yield f"![{html.escape(heading(name)[0])}]({name}-{next(numbers)}.png)"
    elif "text/html" in data:
        yield _fence("{raw} html", "".join(data["text/html"]))
    elif "text/plain" in data:
        yield _fence("text", "".join(data["text/plain"]))


def _fence(kind: str, text: str) -> str:
    return f"````{kind}\n{text}\n````"


def _pictures(name: str) -> Iterator[bytes]:
    for cell in notebooks.kept(name)["cells"]:
        for output in cell.get("outputs", ()):
            if "image/png" in output.get("data", {}):
                yield base64.b64decode("".join(output["data"]["image/png"]))
