"""The site: `make docs` builds docs/ with Sphinx, where a warning is an error, and then follows every link inside it.

`python tools/build_docs.py requirements` prints what the builder needs: the extra `docs` of pyproject.toml.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "build" / "docs"


class Page(HTMLParser):
    """The anchors of a page, where it leads, and what a browser loads to show it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect."""
        given = {name: value for name, value in attrs if value}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in ("img", "script", "source", "iframe") and "src" in given:
            self.loaded.append(given["src"])
        if tag == "link" and "stylesheet" in given.get("rel", ""):
            self.loaded.append(given["href"])


def faults(site: Path) -> list[str]:
    """Links inside the site that lead nowhere, and what would be fetched from elsewhere to show a page."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        where = path.relative_to(site)
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loaded and parts.scheme != "data":
                    found.append(f"{where} loads {link}: the site must work offline")
                continue
            target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            if not target.is_file():
                found.append(f"{where} leads to {link}, which is not there")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{where} leads to {link}, which has no such anchor")
    return found


def main() -> int:
    """Build and check."""
    if "requirements" in sys.argv:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        print(*project["optional-dependencies"]["docs"])
        return 0
    # Sphinx has a virtual environment of its own, so that the locked one stays as it is; trueness comes from there.
    library = Path(os.__file__).relative_to(sys.base_prefix).parent / "site-packages"
    python_path = os.pathsep.join([str(ROOT / "src"), str(ROOT / ".venv" / library), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "sphinx", "--builder", "html", "--fail-on-warning", "--keep-going", "--quiet"]
    built = subprocess.run(
        [*command, "--doctree-dir", str(SITE.with_name("doctrees")), str(ROOT / "docs"), str(SITE)],
        env={**os.environ, "PYTHONPATH": python_path.rstrip(os.pathsep)},
        check=False,
    )
    if built.returncode:
        return built.returncode
    found = faults(SITE)
    print(*found, sep="\n", file=sys.stderr, end="\n" if found else "")
    print(f"{len(list(SITE.rglob('*.html')))} pages: {SITE.relative_to(ROOT) / 'index.html'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
