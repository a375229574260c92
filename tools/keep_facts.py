"""Pack what the tasks of stores measured, without their models, masks and texts, to be kept beside the results.

    python tools/keep_facts.py ARCHIVE STORE [STORE ...]

Unpacked (`mkdir STORE && tar xf ARCHIVE -C STORE`) it is a store again: a study that finds its tasks there is
summarised anew, joined with what other stores measured, or goes on with the tasks that are missing.
"""

import io
import json
import sys
import tarfile
from pathlib import Path
from typing import Any

from trueness.engine.encoding import digest
from trueness.engine.store import Store

SMALL = (".json", ".parquet")
LEFT_OUT = ("text/dataset", "ground-truth/planted")
"""Tasks that hold a corpus."""


def main(archive: str, *stores: str) -> None:
    """Write the archive; the same objects give the same bytes."""
    kept: dict[str, bytes] = {"trueness-store.json": (Path(stores[0]) / "trueness-store.json").read_bytes()}
    for path in stores:
        store = Store.open(path)
        for key in store.keys():  # noqa: SIM118  # a store is no mapping
            kept |= facts_of(store, key)
    with tarfile.open(archive, "w:xz") as tar:
        for name in sorted(kept):
            entry = tarfile.TarInfo(name)
            entry.size = len(kept[name])
            tar.addfile(entry, io.BytesIO(kept[name]))
    print(f"{archive}: {sum(name.endswith('meta.json') for name in kept)} tasks, {Path(archive).stat().st_size} bytes")


def facts_of(store: Store, key: str) -> dict[str, bytes]:
    """The files of an object that are kept, by their names in a store; its meta data name only those."""
    meta: dict[str, Any] = store.verify(key)
    if meta["task"] in LEFT_OUT:
        return {}
    meta["payloads"] = {file: about for file, about in meta["payloads"].items() if file.endswith(SMALL)}
    text = json.dumps({**meta, "digest": digest(meta)}, indent=1, ensure_ascii=False) + "\n"
    files = {file: (store.objects / key / file).read_bytes() for file in meta["payloads"]}
    return {f"objects/{key}/{name}": data for name, data in {"meta.json": text.encode(), **files}.items()}


if __name__ == "__main__":
    main(*sys.argv[1:])
