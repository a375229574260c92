"""How vectors are read: by name, from tables of numbers in files and in memory, and from arrays."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trueness.boundary import exists, is_file, short
from trueness.data import arrays
from trueness.data.arrays import DataOfArrays
from trueness.data.check import check_splits
from trueness.data.columns import Columns, columns_of, known_text, label_among
from trueness.data.dataset import SPLITS
from trueness.data.faults import Faults, Gap, refuse_row
from trueness.data.table import open_table
from trueness.errors import UserError
from trueness.kinds.vector.vectors import VECTOR_DATASETS, VectorDataset, Vectors

if TYPE_CHECKING:
    import pandas as pd

    from trueness.engine import Stored

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".jsonl", ".parquet")
_LOOKED_AT = 20
"""Rows by which a file is taken for numbers."""
_Rows = tuple[Any, Sequence[str | None], tuple[str, ...], list[str]]
"""(rows, features) numbers, labels, names of the features, and notes."""


class VectorData(DataOfArrays):
    """The data part of the kind `vector`."""

    datasets, payload = VECTOR_DATASETS, "rows"

    def recognises(self, data: Any) -> bool:
        """A dataset's name, a table whose columns but the label are numbers, or arrays (rows, features)."""
        if isinstance(data, str | Path):
            if str(data) in VECTOR_DATASETS:
                return True
            files = _files(Path(data))
            return bool(files) and _are_numbers(next(iter(files.values())))
        if isinstance(data, Mapping):
            return bool(data) and set(data) <= set(SPLITS) and all(self.recognises(part) for part in data.values())
        if isinstance(data, tuple) and len(data) == 2:
            return _is_matrix(data[0])
        return isinstance(data, Vectors) or _is_matrix(data)

    def read(
        self,
        data: Any,
        *,
        model: Any = None,
        columns: Mapping[str, str] | None = None,
        root: str | Path | None = None,  # noqa: ARG002  # of texts
        **options: Any,
    ) -> VectorDataset:
        """By name (options: `seed` and sizes), or a table; labels may be missing where they are numbered -1."""
        if isinstance(data, str) and data in VECTOR_DATASETS:
            if any((columns or {}).values()):
                raise UserError(f"{data} has no columns to choose from.")
            return VECTOR_DATASETS[data](options.pop("seed", 0), **options)
        if options:
            raise UserError(f"A table of numbers has no option {next(iter(options))}.")
        if isinstance(data, VectorDataset):
            return data
        asked = columns_of(columns or {})
        parts = self._parts(data, asked)
        names = _features(parts)
        classes = _classes(parts) or (() if model is None else model.classes)
        splits = {}
        for split, (rows, labels, _, _) in parts.items():
            numbers = [-1 if one is None else classes.index(one) for one in labels]
            splits[split] = Vectors(np.asarray(rows, dtype=np.float64), np.array(numbers, dtype=np.int64))
        notes = tuple(dict.fromkeys(note for *_, found in parts.values() for note in found))
        name = str(data) if isinstance(data, str | Path) else f"{sum(map(len, splits.values())):,} rows"
        return VectorDataset(name, classes, splits, names, notes=notes)

    def fitting(self, read: VectorDataset, model: Any) -> VectorDataset:
        """Rows of as many features as the model reads, in its order where both name them."""
        width = int(model.network.shape["features"])
        if model.features and read.features != model.features and set(model.features) <= set(read.features):
            order = np.array([read.features.index(name) for name in model.features])
            chosen = {name: some.keep(order) for name, some in read.splits.items()}
            read = VectorDataset(read.name, read.classes, chosen, model.features, notes=read.notes)
        if read.width != width:
            raise UserError(f"{read.name} has {read.width} features, and the model reads {width}.")
        return read

    def check(
        self, data: str, *, columns: Mapping[str, str] | None = None, root: str | Path | None = None
    ) -> dict[str, Any]:
        """Sizes, classes, duplicates, leakage, and how many features there are and are known to matter."""
        read = self.read(data, columns=columns, root=root)
        evidence = 0 if read.evidence is None else int(read.evidence.sum())
        return {**check_splits(read), "features": read.width, "evidence": evidence}

    def sources(self, data: str) -> list[Path]:
        """The files; none of what is generated."""
        return [] if data in VECTOR_DATASETS else list(_files(Path(data)).values())

    def pack(self, data: VectorDataset) -> dict[str, Any]:
        """Arrays, and facts."""
        made = arrays.pack(data, self.payload, features=list(data.features))
        if data.evidence is not None:
            made[self.payload]["evidence"] = data.evidence
        return made

    def unpack(self, kept: Stored) -> VectorDataset:
        """The dataset that `pack` gave."""
        about, splits = arrays.unpack(kept, self.payload, Vectors)
        evidence, names = kept.read(self.payload).get("evidence"), tuple(about["features"])
        return VectorDataset(about["name"], about["classes"], splits, names, evidence, about["notes"])

    def _parts(self, data: Any, asked: Columns) -> dict[str, _Rows]:
        label = asked.label
        if isinstance(data, str | Path):
            return {split: _of_file(file, label, drops=asked.drops) for split, file in _files(Path(data)).items()}
        if isinstance(data, Mapping):
            return {split: _of_memory(part, label) for split, part in data.items()}
        return {"all": _of_memory(data, label)}


def _files(path: Path) -> dict[str, Path]:
    """Split to file; a file alone is one split."""
    if is_file(path):
        return {"all": path} if path.name.endswith(SUFFIXES) else {}
    if not exists(path) or not path.is_dir():
        return {}
    found = ((split, path / f"{split}{suffix}") for split in SPLITS for suffix in SUFFIXES)
    return {split: file for split, file in found if is_file(file)}


def _are_numbers(path: Path) -> bool:
    """Whether the first rows of a file hold numbers in every column but one, which may be the label."""
    with contextlib.suppress(UserError):  # what cannot be read is said when it is
        table = open_table(path)
        rows = table.sample()[:_LOOKED_AT]
        cells = {name: [str(row.get(name, "")) for row in rows] for name in table.names}
        return bool(rows) and not any(map(_is_number, table.names)) and _all_features(table.names, cells)
    return False


def _all_features(names: Sequence[str], cells: Mapping[str, Sequence[str]]) -> bool:
    """Whether all columns but the label hold numbers; a label without a known name stands in few different words."""
    with contextlib.suppress(UserError):  # several columns may be the label: of texts more is guessed
        numeric = {name: all(map(_is_number, cells[name])) and any(map(str.strip, cells[name])) for name in names}
        odd = [name for name in names if not numeric[name]]
        label = label_among("", names)
        if known_text(names):
            return False
        if label is None and len(odd) == 1 and 2 * len(set(cells[odd[0]])) <= len(cells[odd[0]]):
            label = odd[0]
        return len(names) > 1 and odd in ([], [label])
    return False


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell.strip() == ""
    return True


def _is_matrix(data: Any) -> bool:
    """An array (rows, features) of numbers, lists of them, or a table whose columns but one are numbers."""
    if hasattr(data, "dtypes") and hasattr(data, "columns"):
        head = data.head(_LOOKED_AT)
        cells = {str(name): list(map(str, head.iloc[:, place])) for place, name in enumerate(data.columns)}
        return _all_features(list(cells), cells)
    if hasattr(data, "dtype"):
        return getattr(data, "ndim", 0) == 2 and getattr(data.dtype, "kind", "") in "biuf"
    row = data[0] if isinstance(data, list) and data else None
    return isinstance(row, list | tuple) and bool(row) and all(isinstance(one, int | float) for one in row)


def _of_file(path: Path, label: str | None, *, drops: bool) -> _Rows:
    import pandas as pd

    table, rows, faults = open_table(path), [], Faults()
    for number, row in table.read():
        if isinstance(row, Gap) or (isinstance(row, str) and drops):
            faults.add(row, number)
        elif isinstance(row, str):
            raise refuse_row(str(path), number, row)
        else:
            rows.append(row)
    cells = {name: [row.get(name) for row in rows] for name in table.names}
    numbers = {name: _numbers(some) for name, some in cells.items()} if table.written else cells
    found = _of_table(pd.DataFrame(numbers), str(path), label)
    return (*found[:3], [*found[3], *([f"{faults.count:,} rows left out: {faults}"] if faults else [])])


def _numbers(cells: list[Any]) -> Any:
    """The cells of a column as numbers, if they all are; an empty one is none."""
    import pandas as pd

    known = [None if cell == "" else cell for cell in cells]
    with contextlib.suppress(ValueError):  # its cells are words
        return pd.to_numeric(np.array(known, dtype=object))
    return known


def _of_table(table: pd.DataFrame, where: str, label: str | None) -> _Rows:
    """Columns of numbers, and one of labels; rows with a gap are left out and counted."""
    table = table.rename(columns=str)
    odd = [name for name, kind in zip(table.columns, table.dtypes, strict=True) if kind.kind not in "biuf"]
    chosen = label_among(where, list(table.columns), label) if label != "" else None
    chosen = chosen or (odd[0] if len(odd) == 1 and label is None else None)
    wrong = [name for name in odd if name != chosen]
    if wrong:
        raise UserError(f"{where}: the column {short(wrong[0])} is not of numbers; leave it out, or turn it into some.")
    features = table.drop(columns=[chosen] if chosen else []).astype("float64")
    usable = np.isfinite(features.to_numpy()).all(axis=1)
    notes = []
    if not usable.all():
        notes.append(f"{int((~usable).sum()):,} of {len(table):,} rows left out: a number is missing")
    if not usable.any() or not features.shape[1]:
        raise UserError(f"{where} has no row of numbers that can be used.")
    labels = [None] * int(usable.sum()) if chosen is None else _labels(table[chosen][usable].tolist(), where)
    if chosen is None:
        notes.append("no column is known to hold labels: label_column names one")
    return features[usable].to_numpy(), labels, tuple(features.columns), notes


def _of_memory(data: Any, label: str | None) -> _Rows:
    """A table, Vectors, an array, or a pair of these and labels."""
    rows, labels = data if isinstance(data, tuple) and len(data) == 2 else (data, None)
    if isinstance(rows, Vectors):
        return rows.features, [None if one < 0 else str(one) for one in rows.labels.tolist()], (), []
    if hasattr(rows, "columns"):
        import pandas as pd

        found = _of_table(pd.DataFrame(rows), "the table", "" if labels is not None else label)
        if labels is None:
            return found
        if len(found[0]) != len(labels):
            raise UserError(f"There are {len(found[0])} rows that can be used and {len(labels)} labels.")
        return found[0], _labels(list(labels), "the labels"), found[2], []
    array = np.asarray(rows, dtype=np.float64)
    if array.ndim != 2 or not array.size or not np.isfinite(array).all():
        raise UserError(f"Rows of features are finite numbers of shape (rows, features), not {array.shape}.")
    if labels is not None and len(labels) != len(array):
        raise UserError(f"There are {len(array)} rows and {len(labels)} labels.")
    told = [None] * len(array) if labels is None else _labels(np.asarray(labels).tolist(), "the labels")
    return array, told, (), []


def _labels(given: Sequence[Any], where: str) -> list[str | None]:
    """As text; numbers that are not whole are no classes."""
    found: list[str | None] = []
    for one in given:
        if one is None or (isinstance(one, float) and math.isnan(one)):
            found.append(None)
        elif isinstance(one, float) and not one.is_integer():
            raise UserError(f"{where}: the label {one} is not whole, and trueness explains choices between classes.")
        else:
            found.append(str(int(one)) if isinstance(one, bool | int | float) else str(one))
    return found


def _features(parts: Mapping[str, _Rows]) -> tuple[str, ...]:
    """The names of the features, which all splits share."""
    (first, *others) = [names for _, _, names, _ in parts.values()]
    if any(other != first for other in others) or len({np.shape(rows)[1] for rows, *_ in parts.values()}) > 1:
        raise UserError("The splits have different features.")
    return first


def _classes(parts: Mapping[str, _Rows]) -> tuple[str, ...]:
    """All labels, numbers in their order."""
    names = {label for _, labels, _, _ in parts.values() for label in labels if label is not None}
    whole = all(name.lstrip("-").isdigit() for name in names)
    return tuple(sorted(names, key=int) if whole else sorted(names))
