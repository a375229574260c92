"""Pack what the summaries in stores were made from, without masks and models, to be kept beside the results.

    python tools/keep_facts.py ARCHIVE STORE [STORE ...]

Unpacked (`mkdir STORE && tar xf ARCHIVE -C STORE`) it is a store again, from which the same settings are summarised
anew, also over the tasks of several runs. It is for summaries only: tasks that need a mask or a model fail there.
"""

import io
import json
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trueness.engine.encoding import digest
from trueness.engine.store import Store

SMALL = (".json", ".parquet")


def main(archive: str, *stores: str) -> None:
    """Write the archive; the same objects give the same bytes."""
    kept: dict[str, bytes] = {}
    for path in stores:
        store = Store.open(path)
        kept["trueness-store.json"] = (store.path / "trueness-store.json").read_bytes()
        for key in summarised(store):
            kept |= facts_of(store, key)
    with tarfile.open(archive, "w:xz") as tar:
        for name in sorted(kept):
            entry = tarfile.TarInfo(name)
            entry.size = len(kept[name])
            tar.addfile(entry, io.BytesIO(kept[name]))
    print(f"{archive}: {sum(name.endswith('meta.json') for name in kept)} tasks, {Path(archive).stat().st_size} bytes")


def summarised(store: Store) -> Iterator[str]:
    """The tasks that summaries read."""
    for key in store.keys():  # noqa: SIM118  # a store is no mapping
        meta = store.meta(key)
        if meta["task"].endswith("/summary"):
            for keys in meta["inputs"].values():
                yield from [keys] if isinstance(keys, str) else keys


def facts_of(store: Store, key: str) -> dict[str, bytes]:
    """The files of an object that are kept, by their names in a store; its meta data name only those."""
    meta: dict[str, Any] = store.meta(key)
    meta["payloads"] = {file: about for file, about in meta["payloads"].items() if file.endswith(SMALL)}
    text = json.dumps({**meta, "digest": digest(meta)}, indent=1, ensure_ascii=False) + "\n"
    files = {file: (store.objects / key / file).read_bytes() for file in meta["payloads"]}
    return {f"objects/{key}/{name}": data for name, data in {"meta.json": text.encode(), **files}.items()}


if __name__ == "__main__":
    main(*sys.argv[1:])
