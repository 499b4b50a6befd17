"""Sphinx: the pages of the sources as they lie, and the public headers by Doxygen and Breathe. `./dev site` runs it."""
import pathlib
import re

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

ROOT = pathlib.Path(__file__).resolve().parents[2]

project = "Tern"
copyright = "the authors of Tern"
numbers = re.findall(r"#define TERN_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", (ROOT / "include/tern/version.h").read_text())
version = release = ".".join(numbers)

extensions = ["myst_parser", "breathe"]
root_doc = "docs/site/index"
include_patterns = ["*.md", "docs/**.md", "examples/**.md", "fuzz/README.md"]
exclude_patterns = ["build*/**", "dist/**"]
# A namespace is in several headers, and C has the name of a struct twice.
suppress_warnings = ["duplicate_declaration.cpp"]

html_theme = "furo"
html_title = f"Tern {version}"
html_additional_pages = {"index": "redirect.html"}
html_copy_source = False
templates_path = ["templates"]

myst_enable_extensions = ["attrs_inline"]
myst_heading_anchors = 3

breathe_projects = {"tern": str(ROOT / "build/site-work/xml")}
breathe_default_project = "tern"
breathe_domain_by_extension = {"h": "cpp"}
# Names that Doxygen sees and Sphinx does not parse as C++ attributes.
cpp_id_attributes = ["TERN_API"]
c_id_attributes = ["TERN_API"]

# The page of each public header.
HEADERS = {header: f"docs/site/{page.stem}" for page in (ROOT / "docs/site").glob("*.md")
           for header in re.findall(r"^## (tern/\w+\.h)$", page.read_text(), re.M)}


class LinkNames(SphinxTransform):
    """A page, or a command of tern, that stands in backticks becomes a link: the pages are written for the terminal."""

    default_priority = 500

    def apply(self):
        here = self.env.docname
        for literal in list(self.document.findall(nodes.literal)):
            if isinstance(literal.parent, (nodes.reference, addnodes.pending_xref)):
                continue
            target = self.target(literal.astext())
            if target and target != here:
                reference = addnodes.pending_xref("", refdomain="std", reftype="doc", reftarget="/" + target, refdoc=here,
                                                  refexplicit=True, refwarn=True)
                literal.replace_self(reference)
                reference += literal

    def target(self, text):
        name = text.removesuffix("/")
        for page in (name.removesuffix(".md") if name.endswith(".md") else None, f"{name}/README"):
            if page in self.env.found_docs:
                return page
        return HEADERS.get(name.removeprefix("include/"))


def setup(app):
    app.add_transform(LinkNames)
