"""The pages as files that any web space can host."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path

from trueness.browser.site import Site
from trueness.engine import Store, disk
from trueness.errors import UserError

MARKER = "trueness-pages.txt"
"""Makes a folder one that an export may replace."""


def export(stores: Mapping[str, Store], folder: Path, *, texts: bool = True) -> int:
    """Write every page into `folder`, whole or not at all; returns how many. Only an earlier export is replaced."""
    site = Site(stores, texts=texts, live=False)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())) and not (folder / MARKER).is_file():
        raise UserError(f"{folder} is there and is no earlier export; give a new or empty folder.")
    beside = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
    with disk(f"the export {folder}", full="free some space", refused="choose another place"):
        try:
            number = 0
            for address in site.addresses():
                page = site.page(address)
                if page.status == 200:  # what cannot be shown is left out; its study's page says why
                    path = beside / address
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(page.content)
                    number += 1
            (beside / MARKER).write_text("Pages written by trueness serve --export; made anew each time.\n")
            if folder.exists():
                shutil.rmtree(folder)
            beside.rename(folder)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    return number
