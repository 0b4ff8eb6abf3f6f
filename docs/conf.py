"""Settings of the documentation site, which `make site` builds with Sphinx."""

from __future__ import annotations

import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from groundstate.version import __version__

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "Groundstate"
copyright = "the Groundstate authors"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "command_line",
    "compiler_pipeline",
]
root_doc = "index"
exclude_patterns = ["extensions"]
suppress_warnings = ["ref.python"]  # annotations name types that two modules have, such as Memory

# Pages are Markdown. A link to a heading is spelt as on GitHub, where the same files are read.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
myst_links_external_new_tab = False

# Docstrings: single backticks are code, and members stand in the order of the source.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
add_module_names = False
toc_object_entries = False  # thousands of entries, copied into the sidebar of each page

# Everything comes from this folder and the packages: the site works without a network.
html_theme = "furo"
html_title = "Groundstate"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "monokai"


def setup(app: Sphinx) -> None:
    """Removes the empty lines at the end of excerpts from files."""

    def trim(app: Sphinx, document: nodes.document) -> None:
        for block in document.findall(nodes.literal_block):
            # Code is highlighted only while its source and its text are the same.
            if block.rawsource == (text := block.astext()):
                block.rawsource = text.rstrip("\n")
                block[:] = [nodes.Text(block.rawsource)]

    app.connect("doctree-read", trim)
