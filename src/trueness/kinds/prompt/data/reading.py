"""How prompts are read: questions with passages and answers from a file or a list, and tables of texts as prompts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueness.boundary import is_file, short
from trueness.data.check import check_splits
from trueness.data.columns import choose_columns, columns_of
from trueness.data.dataset import looked_at
from trueness.data.faults import Faults
from trueness.data.table import open_table
from trueness.errors import UserError
from trueness.kinds.prompt.calibration import check_bias
from trueness.kinds.prompt.data.prompts import ANSWER_CLASSES, PromptDataset, PromptExample, PromptExamples
from trueness.kinds.prompt.data.rows import QUESTIONS, example_of, is_question
from trueness.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from trueness.engine import Stored

SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet", ".csv", ".csv.gz", ".tsv")
PAYLOAD = "prompts"
PROMPT_DATASETS: Registry[Callable[..., PromptDataset]] = Registry("dataset", group="trueness.prompt_datasets")


class PromptData:
    """The data part of the kind `prompt`."""

    datasets = PROMPT_DATASETS

    def recognises(self, data: Any) -> bool:
        """A dataset's name, a table with a question and passages or an answer, or a list of examples."""
        if isinstance(data, str | Path):
            if str(data) in PROMPT_DATASETS:
                return True
            path = Path(data)
            return path.name.endswith(SUFFIXES) and is_file(path) and is_question(open_table(path).names)
        if isinstance(data, Sequence):
            return bool(data) and all(isinstance(one, PromptExample) or _is_record(one) for one in data)
        return is_question(getattr(data, "columns", ()))

    def read(
        self,
        data: Any,
        *,
        model: Any = None,
        columns: Mapping[str, str] | None = None,
        root: str | Path | None = None,  # noqa: ARG002  # of texts
        **options: Any,
    ) -> PromptDataset:
        """By name (options: `seed` and sizes); a file, list or table of questions; for label words one of texts."""
        if isinstance(data, PromptDataset):
            return data
        if isinstance(data, str) and data in PROMPT_DATASETS:
            return PROMPT_DATASETS[data](options.pop("seed", 0), **options)
        if options:
            raise UserError(f"Questions from a file have no option {next(iter(options))}.")
        if isinstance(data, PromptExamples) or (isinstance(data, Sequence) and _examples(data)):
            listed = PromptExamples(data)
            return PromptDataset(f"{len(listed):,} prompts", _classes(model, listed), {"all": listed})
        return _table(data, model, columns or {})

    def look(
        self,
        data: Any,
        model: Any,
        *,
        split: str | None = None,
        columns: Mapping[str, str] | None = None,
        gold: bool = True,
    ) -> PromptDataset:
        """With an answer for each: the model's own where none is given; of passages those that its window holds."""
        read = self.read(data, model=model, columns=columns)
        splits, notes = looked_at(read, model.classes, split, gold=gold and read.classes == model.classes)
        first, *others = splits
        told = list(notes)
        if model.labels:
            told += check_bias(model, splits[first])
        else:
            asked = sum(one.answer is None for one in splits[first])
            answered = model.answered(splits[first])
            given = PromptExamples(one for one in answered if one.answer)
            splits = {first: given, **{name: splits[name] for name in others}}
            told += [f"{asked:,} answers are the model's own"] if asked else []
            empty = len(answered) - len(given)
            told += [f"{empty:,} of the model's own answers are empty: they were left out"] if empty else []
            told += _changing(model, given)
        return PromptDataset(read.name, model.classes, splits, tuple(told))

    def check(
        self, data: str, *, columns: Mapping[str, str] | None = None, root: str | Path | None = None
    ) -> dict[str, Any]:
        """Sizes, duplicates, leakage, and how many passages there are."""
        read = self.read(data, columns=columns, root=root)
        numbers = [len(one.contexts) for some in read.splits.values() for one in some]
        return {**check_splits(read), "passages": {"least": min(numbers), "most": max(numbers)}}

    def sources(self, data: str) -> list[Path]:
        """The file; none of what is generated."""
        return [] if data in PROMPT_DATASETS else [Path(data)]

    def pack(self, data: PromptDataset) -> dict[str, Any]:
        """The payload that holds a dataset."""
        splits = {name: [asdict(one) for one in some] for name, some in data.splits.items()}
        return {
            PAYLOAD: {"name": data.name, "classes": list(data.classes), "notes": list(data.notes), "splits": splits}
        }

    def holds(self, stored: Stored) -> bool:
        """By the payload that `pack` gives."""
        return stored.holds(PAYLOAD)

    def unpack(self, stored: Stored) -> PromptDataset:
        """The dataset again."""
        kept = stored.read(PAYLOAD)
        splits = {
            name: PromptExamples(
                [PromptExample(**{field: _frozen(value) for field, value in one.items()}) for one in some]
            )
            for name, some in kept["splits"].items()
        }
        return PromptDataset(kept["name"], tuple(kept["classes"]), splits, tuple(kept["notes"]))


def _changing(model: Any, examples: PromptExamples) -> list[str]:
    """What is to be said of a function that gives other answers when it is asked again; UserError where all differ."""
    asking = getattr(model, "changing", None)
    other, asked = (0, 0) if asking is None else asking(examples)
    if asked > 1 and other == asked:
        raise UserError(
            f"{model!r} gave another answer to each of {asked} questions when it was asked again, so that no change "
            "can be told from chance: set its temperature to 0, or its seed."
        )
    return [f"{other} of {asked} answers were other ones when the function was asked again"] if other else []


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _is_record(one: Any) -> bool:
    return isinstance(one, Mapping) and is_question(one)


def _examples(data: Sequence[Any]) -> bool:
    return bool(data) and all(isinstance(one, PromptExample) for one in data)


def _classes(model: Any, examples: PromptExamples) -> tuple[str, ...]:
    """The model's classes; of labels without a model as many as there are."""
    if model is not None:
        found: tuple[str, ...] = model.classes
        return found
    most = max(examples.labels.tolist(), default=-1)
    return ANSWER_CLASSES if most < len(ANSWER_CLASSES) else tuple(map(str, range(most + 1)))


def _table(data: Any, model: Any, columns: Mapping[str, str]) -> PromptDataset:
    """A file, a list of mappings, or a table in memory."""
    if isinstance(data, str | Path):
        path = Path(data)
        if not is_file(path) or not path.name.endswith(SUFFIXES):
            raise UserError(f"{short(data)} is no file of questions: give JSON lines with question, contexts, answer.")
        table = open_table(path)
        where, names, rows = str(path), list(table.names), list(table.read())
        told, sample = list(table.notes), table.sample()
    else:
        listed = data.to_dict("records") if hasattr(data, "to_dict") else data
        if not isinstance(listed, Sequence) or isinstance(listed, str):
            raise UserError(
                "Questions are a file, or a list of mappings with question, contexts and answer, not an object of "
                f"type {type(data).__name__}."
            )
        where, rows = f"{len(listed):,} questions", list(enumerate(listed, start=1))
        names = list(dict.fromkeys(str(name) for _, row in rows for name in row))
        told, sample = [], list(listed[:100])
    labels = tuple(getattr(model, "labels", ()))
    faults, found = Faults(), PromptExamples()
    if is_question(names):
        counts: Counter[str] = Counter()
        for number, row in rows:
            made = row if isinstance(row, str) else example_of(row, counts)
            if isinstance(made, str):
                faults.add(made, number)
            else:
                found.append(made)
        told += [f"{times:,} {what}" for what, times in counts.items() if times]
    else:
        found, more = _texts(where, names, rows, sample, labels, columns, faults)
        told += more
    if any(one.citations is not None for one in found):  # what cites nothing where others cite
        found = PromptExamples(one if one.citations is not None else replace(one, citations=()) for one in found)
    if not found:
        raise UserError(f"{where} has no question that can be used{f': {faults}' if faults else ''}.")
    told += [f"{faults.count:,} rows were left out: {faults}"] if faults else []
    return PromptDataset(where, labels or ANSWER_CLASSES, {"all": found}, tuple(told))


def _texts(
    where: str,
    names: Sequence[str],
    rows: Sequence[tuple[int, Any]],
    sample: Sequence[Mapping[str, Any]],
    labels: tuple[str, ...],
    columns: Mapping[str, str],
    faults: Faults,
) -> tuple[PromptExamples, list[str]]:
    """Texts, of which a model with label words is asked one at a time."""
    if not labels:
        raise UserError(
            f"{where} has no column of questions ({', '.join(QUESTIONS)}): name it so, or give the label words of a "
            "classifier with --labels."
        )
    chosen = choose_columns(where, names, sample, columns_of(columns))
    known = {_plain(label): number for number, label in enumerate(labels)}
    found = PromptExamples()
    unknown: set[str] = set()
    for number, row in rows:
        text = row.get(chosen.text) if isinstance(row, Mapping) else None
        if not isinstance(text, str) or not text.strip():
            faults.add("there is no text", number)
            continue
        cell = None if chosen.label is None else row.get(chosen.label)
        label = -1 if cell is None else known.get(_plain(cell), _numbered(cell, len(labels)))
        if label < 0 and cell is not None:
            unknown.add(str(cell))
        found.append(PromptExample(text, label=label))
    if unknown:
        raise UserError(
            f"{where}: the label {sorted(unknown)[0]!r} is none of the label words {', '.join(labels)}: give the words "
            'that the column has, or leave the labels out (label_column="").'
        )
    return found, [chosen.said] if chosen.said else []


def _numbered(cell: Any, count: int) -> int:
    """The number of a class that is written as one."""
    text = re.sub(r"\.0+$", "", str(cell).strip())
    return int(text) if text.isdigit() and int(text) < count else -1


def _plain(label: Any) -> str:
    return str(label).strip().casefold()
