"""The task that studies of text share: a dataset, prepared once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.engine import Stored, Task, task

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from trueness.kinds.text.data.dataset import TextDataset


def dataset_task(
    name: str, vectors: str | None, needed: Sequence[str] = (), columns: Mapping[str, str] | None = None
) -> Task:
    """The task that prepares a dataset; its key follows from what the files hold, not from where they lie.

    Files of a user's own are looked at right away: they must have the splits that are `needed`, and the `columns`.
    """
    from trueness.data.columns import columns_of
    from trueness.kinds.text.data.datasets import TEXT_DATASETS, check_files, find_source

    check_files(name, needed, columns_of(columns or {}))
    revision = TEXT_DATASETS[name].revision if name in TEXT_DATASETS else 1
    later: dict[str, Any] = {
        **({} if revision == 1 else {"revision": revision}),
        **({"columns": columns} if columns else {}),
    }
    return dataset(name=name, source=find_source(name)[0], vectors=vectors_for(name, vectors), **later)


def vectors_for(name: str, vectors: str | None) -> str | Path | None:
    """The word vectors that a dataset takes: none where its words are made up."""
    from trueness.kinds.text.data.datasets import find_source
    from trueness.kinds.text.data.word_vectors import PACKAGED, check_vectors

    given = vectors if find_source(name)[1] and vectors != "none" else None
    if given is None or given in PACKAGED:
        return given
    check_vectors(given)
    return Path(given)


@task("text/dataset", version=2)
def dataset(
    inputs: Mapping[str, Any],  # noqa: ARG001  # every task takes its inputs; this one has none
    *,
    name: str,
    source: Path | None,
    vectors: str | Path | None,
    revision: int = 1,  # noqa: ARG001  # it is part of the key
    columns: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A prepared dataset, and word vectors for its vocabulary."""
    from trueness.data.columns import columns_of
    from trueness.kinds.text.data.datasets import load_text
    from trueness.kinds.text.data.stored import pack

    root = None if source is None else source.parent
    return pack(load_text(name, root=root, columns=columns_of(columns or {})), vectors)


def dataset_payloads(data: TextDataset, vectors: str | Path | None) -> dict[str, Any]:
    """How a prepared dataset is kept in a store."""
    from trueness.kinds.text.data.stored import pack

    return pack(data, vectors)


def read_dataset(stored: Stored) -> TextDataset:
    """The dataset that a `text/dataset` task left."""
    from trueness.kinds.text.data.stored import unpack

    return unpack(stored)


def read_vectors(stored: Stored) -> npt.NDArray[np.float32] | None:
    """The word vectors that a `text/dataset` task left, if any."""
    return stored.read("vectors")["table"] if stored.holds("vectors") else None


def small(records: pd.DataFrame) -> pd.DataFrame:
    """The same in single precision and with short integers."""
    changes = {
        column: records[column].astype("float32" if kind == "f" else "int32")
        for column in records
        if (kind := records[column].dtype.kind) in "fi"
    }
    changed: pd.DataFrame = records.assign(**{str(column): values for column, values in changes.items()})
    return changed
