"""The documentation: MyST pages, and pages that `_ext/tg_pages` makes of what is installed."""

import sys
from pathlib import Path

import tg

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "tg"
author = "the authors of tg"
version = release = tg.__version__
extensions = ["myst_parser", "sphinx_copybutton", "tg_pages"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "_ext", "gallery", "generated/parts"]

html_theme = "furo"
html_title = f"tg {version}"
html_theme_options = {"navigation_with_keys": True}
html_static_path = ["_static"]
html_css_files = ["tg.css"]
html_js_files = ["tg.js"]
html_show_copyright = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

smartquotes = False  # a name in quotes is code as often as not

nitpicky = True
# signatures show annotations as they are written; what they name is documented where it is public
nitpick_ignore_regex = [("py:.*", r"(?!tg\.).*"), ("py:class", ".*")]
python_display_short_literal_types = True
python_maximum_signature_line_length = 88
