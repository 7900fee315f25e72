"""Sphinx: ``make docs`` writes HTML to docs/_build/html."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import jitgrad  # noqa: E402

project = "jitgrad"
author = "the jitgrad developers"
version = release = jitgrad.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"
exclude_patterns = ["_build"]
default_role = "py:obj"  # `name` in docstrings

myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings name the types
autodoc_default_options = {"show-inheritance": True}
napoleon_google_docstring = False

html_theme = "alabaster"
html_title = f"jitgrad {release}"


def setup(app):
    # Links to files outside of docs/ (sources, README) serve readers of the repository; here their text is enough.
    outside = re.compile(r"\[([^\]]+)\]\(\.\./[^)]+\)")
    app.connect("source-read", lambda app, name, source: source.__setitem__(0, outside.sub(r"\1", source[0])))
