"""How texts are read: labelled datasets, and texts as a model reads them, with labels or without."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.data.columns import columns_of
from trueness.data.dataset import looked_at
from trueness.data.labels import NAME_THEM, OR_NONE, match_labels
from trueness.kinds.text.data import stored
from trueness.kinds.text.data.check import check_texts
from trueness.kinds.text.data.dataset import TextDataset
from trueness.kinds.text.data.datasets import TEXT_DATASETS, find_source
from trueness.kinds.text.data.examples import TextExample, TextExamples
from trueness.kinds.text.data.texts import Texts, as_dataset, read_texts
from trueness.kinds.text.data.vocabulary import Vocabulary

if TYPE_CHECKING:
    from trueness.engine import Stored


class TextData:
    """The data part of the kind `text`."""

    datasets = TEXT_DATASETS
    pack = staticmethod(stored.pack)

    def recognises(self, data: Any) -> bool:  # noqa: ARG002  # it is asked last
        """Nearly everything may be texts: what is wrong with it is said when it is read."""
        return True

    def read(
        self,
        data: Any,
        *,
        model: Any = None,  # noqa: ARG002  # a dataset is read alike for all
        columns: Mapping[str, str] | None = None,
        root: str | Path | None = None,
        **options: Any,
    ) -> TextDataset:
        """By name, from a file or folder, of a table or a list; options change the preparation."""
        return as_dataset(data, root=root, columns=columns_of(columns or {}), **options)

    def look(
        self,
        data: Any,
        model: Any,
        *,
        split: str | None = None,
        columns: Mapping[str, str] | None = None,
        gold: bool = True,
    ) -> TextDataset:
        """Examples of a dataset as they are; other texts are read as those were that the model was trained on."""
        if isinstance(data, TextDataset):
            splits, notes = looked_at(data, model.classes, split, gold=gold)
            return replace(data, classes=model.classes, splits=splits, notes=notes)
        if isinstance(data, list | tuple) and data and all(isinstance(one, TextExample) for one in data):
            return _of_model(f"{len(data)} texts", TextExamples(data), model, ())
        columns_of(columns or {})  # which refuses other names
        texts = data if isinstance(data, Texts) else read_texts(data, split=split, **(columns or {}))
        others = [one.text_b or "" for one in texts.texts] if texts.pairs else None
        read, labels = model.read([one.text for one in texts.texts], others), [-1] * len(texts.texts)
        notes = texts.notes
        if gold:
            meant = match_labels([one.label for one in texts.texts], model.classes, f"{OR_NONE}{NAME_THEM}")
            labels = [-1 if one.label is None else meant.classes[one.label] for one in texts.texts]
            notes += (meant.note,) if meant.note else ()
        return _of_model(Path(texts.name).name, TextExamples(read).labelled(labels), model, notes)

    def check(
        self, data: str, *, columns: Mapping[str, str] | None = None, root: str | Path | None = None
    ) -> dict[str, Any]:
        """Sizes, classes, lengths, duplicates, leakage, bad rows."""
        return check_texts(data, root=root, columns=columns_of(columns or {}))

    def sources(self, data: str) -> list[Path]:
        """The file or folder; none of what is generated, in a package, or on the hub."""
        source, _ = find_source(data)
        return [] if source is None else [source]

    def holds(self, kept: Stored) -> bool:
        """By the payload that `pack` gives."""
        return kept.holds("examples")

    def unpack(self, kept: Stored) -> TextDataset:
        """The dataset that `pack` gave."""
        return stored.unpack(kept)


def _of_model(name: str, examples: TextExamples, model: Any, notes: tuple[str, ...]) -> TextDataset:
    """Examples in one split, prepared as the model prepares texts."""
    vocabulary = Vocabulary.of(examples)
    return TextDataset(name, model.classes, {"all": examples}, vocabulary, model.preparation, notes)
