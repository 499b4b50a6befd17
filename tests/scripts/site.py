#!/usr/bin/env python3
"""Checks the documentation as built: every link and picture leads somewhere, every anchor exists, every page is reached.

  site.py BUILD/site      ends with `N passed, N failed`, a check for each page
"""
import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], {""}
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors |= {attrs[name] for name in ("id", "name") if attrs.get(name)}
        self.links += [attrs[name] for name in ("href", "src") if attrs.get(name)]
        if tag == "meta" and attrs.get("http-equiv") == "refresh":
            self.links.append(attrs["content"].split("url=")[1])


def problems(root, path, pages, reached):
    for link in pages[path].links:
        parts = urllib.parse.urlsplit(link)
        if parts.scheme or parts.netloc:
            if parts.scheme not in ("https", "mailto", "data"):
                yield f"the link {link} is neither relative nor https"
            continue
        target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
        if target.is_dir():
            target /= "index.html"
        if not target.is_file() or root not in target.parents:
            yield f"the link {link} leads nowhere"
            continue
        if target != path:
            reached.add(target)
        # Scripts of the theme show parts of the search page.
        if target in pages and parts.fragment and urllib.parse.unquote(parts.fragment) not in pages[target].anchors:
            yield f"the anchor of {link} does not exist"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    pages = {path: Page(path) for path in root.rglob("*.html")}
    reached = {root / "index.html"}
    found = {path: sorted(set(problems(root, path, pages, reached))) for path in sorted(pages)}
    for path in pages.keys() - reached:
        found[path].append("no page links to it")
    for path, wrong in found.items():
        for problem in wrong:
            print(f"FAIL {path.relative_to(root)}: {problem}")
    failed = sum(map(bool, found.values()))
    print(f"{len(found) - failed} passed, {failed} failed")
    sys.exit(failed > 0 or not found)


main()
