"""Payload files: tables as parquet, arrays as safetensors, everything else as JSON. Never pickle."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from trueness.boundary import parse_json

T = TypeVar("T")

SUFFIXES = (".parquet", ".safetensors", ".json")
_MANY_CELLS, _CELLS_A_BYTE = 1 << 22, 50
"""Cells that any parquet file may hold, and how many a byte may; real tables hold at most ten."""
_MANY_BYTES, _TIMES = 1 << 26, 200
"""Bytes that its columns may have before they were compressed, and how many times its own."""


def write_payload(folder: Path, name: str, value: Any) -> Path:
    """Write one payload into `folder`; its type decides the format."""
    if not name.isidentifier() or name == "meta":
        raise ValueError(f"a payload name must be a plain word other than 'meta', not {name!r}")
    if hasattr(value, "to_parquet"):
        path = folder / f"{name}.parquet"
        value.to_parquet(path, index=False)
    elif _is_arrays(value):
        import numpy as np
        from safetensors.numpy import save_file

        path = folder / f"{name}.safetensors"
        save_file({key: np.array(item, order="C") for key, item in sorted(value.items())}, path)
    else:
        path = folder / f"{name}.json"
        path.write_text(json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def parse_payload(name: str, data: bytes) -> Any:
    """The value that `write_payload` wrote into the file of that name; arrays in the order of their names."""
    if name.endswith(".parquet"):
        return open_parquet(io.BytesIO(data)).read().to_pandas()
    if name.endswith(".safetensors"):
        from safetensors.numpy import load

        return dict(sorted(load(data).items()))
    return parse_json(data)


def check_payload(name: str, file: BinaryIO) -> None:
    """Raise where a payload of that name does not begin as one does: its digest says only that it is what was written.

    Of tables and arrays no more is read than what they say of themselves.
    """
    if name.endswith(".parquet"):
        open_parquet(file)
    elif name.endswith(".safetensors"):
        size, length = file.seek(0, io.SEEK_END), int.from_bytes(_from_begin(file, 8), "little")
        arrays = parse_json(file.read(length)) if length < size else None
        if not isinstance(arrays, dict):
            raise ValueError("it does not begin as arrays do")
        for about in (arrays[key] for key in arrays if key != "__metadata__"):
            begin, end = about["data_offsets"]
            if not isinstance(about["shape"], list) or not 0 <= begin <= end <= size - length - 8:
                raise ValueError("an array has no shape, or lies outside of it")
    else:
        parse_json(_from_begin(file, -1))


def _from_begin(file: BinaryIO, size: int) -> bytes:
    file.seek(0)
    return file.read(size)


def open_parquet(file: BinaryIO, *, packed: bool = False) -> Any:
    """A parquet file whose tables can be read; ValueError for one that holds far more cells or bytes than it has bytes.

    A few kilobytes can say that one value fills a billion rows, which would take all memory. With `packed`, text that
    occurs again stays in memory once (see `unpacked_size`).
    """
    import pyarrow.parquet as pq

    about = pq.read_metadata(file)
    cells, size = about.num_rows * about.num_columns, file.seek(0, io.SEEK_END)
    if cells > max(_MANY_CELLS, _CELLS_A_BYTE * size):
        raise ValueError(f"its {size:,} bytes are said to hold {cells:,} cells")
    groups = [about.row_group(number) for number in range(about.num_row_groups)]
    bytes_held = sum(group.total_byte_size for group in groups)
    if bytes_held > max(_MANY_BYTES, _TIMES * size):
        raise ValueError(f"its {size:,} bytes are said to hold {bytes_held:,}")
    columns = [about.schema.column(number) for number in range(about.num_columns)] if packed else []
    texts = [one.path for one in columns if one.physical_type == "BYTE_ARRAY" and "." not in one.path]
    return pq.ParquetFile(file, metadata=about, read_dictionary=texts or None)


def unpacked_size(batch: Any, longest: int) -> int:
    """How many bytes the cells of some rows take where text that occurs again is there again.

    ValueError where a text is longer than the longest may be.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    total = 0
    for column in batch.columns:
        kind = column.type
        if pa.types.is_dictionary(kind):
            lengths = pc.binary_length(column.dictionary)
            if (most := pc.max(lengths).as_py() or 0) > longest:
                raise ValueError(f"a cell of it has {most:,} bytes")
            total += int(pc.sum(pc.take(lengths.cast("int64"), column.indices)).as_py() or 0)
        else:
            total += column.nbytes
    return total


def _is_arrays(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and bool(value)
        and all(hasattr(item, "dtype") and hasattr(item, "shape") for item in value.values())
    )


def part_ending(number: int) -> str:
    """Of the names of a part's payloads."""
    return f"_{number}"


def in_parts(parts: Iterable[Mapping[str, T]]) -> dict[str, T]:
    """The payloads of a task that makes several things alike at once; `Stored.part` reads one of them."""
    return {name + part_ending(number): payload for number, part in enumerate(parts) for name, payload in part.items()}


def under(prefix: str, payload: Mapping[str, T]) -> dict[str, T]:
    """What one of several parts left in a payload: the values whose names begin so, by the rest of their names."""
    return {name.removeprefix(prefix): value for name, value in payload.items() if name.startswith(prefix)}
