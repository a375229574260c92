"""How `make docs` builds the site: Sphinx, MyST for Markdown, furo. Nothing is fetched when a page is read."""

import re
from pathlib import Path

import trueness

project = "trueness"
author = "the trueness maintainers"
project_copyright = "the trueness maintainers, Apache-2.0"
version = release = trueness.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"trueness {release}"
html_static_path = ["_static"]
html_css_files = ["trueness.css"]
html_show_sourcelink = False
html_copy_source = False

myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
add_module_names = False
python_maximum_signature_line_length = 90
default_role = "code"  # docstrings are plain text with `names`
nitpicky = False  # types of other packages have no page here


def plain_bars(_app, _what, _name, _obj, _options, lines):
    """`|x|` in a docstring is a magnitude, not a substitution of reStructuredText."""
    lines[:] = [line.replace("|", "\\|") for line in lines]


def files_of_the_repository(app, docname, source):
    """A link out of docs/ works where the repository is read; the site names the file instead."""
    # Results are one page, or one for each paper.
    if docname == "index" and not (Path(app.srcdir) / "results").is_dir():
        source[0] = source[0].replace("results/*\n", "")
    source[0] = re.sub(r"\[([^\]]+)\]\((?:\.\./)+((?:results|benchmarks)/[^)#]+)(?:#[^)]*)?\)", r"\1 (`\2`)", source[0])


def setup(app):
    """Sphinx calls this."""
    app.connect("autodoc-process-docstring", plain_bars)
    app.connect("source-read", files_of_the_repository)
