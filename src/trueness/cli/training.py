"""The commands that make models: train and fine-tune."""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

import trueness as tn
from trueness.boundary import exists, printable, short
from trueness.cli import options
from trueness.cli.options import as_flags, columns_of, put, settings_of
from trueness.errors import UserError

_CLASSES = 12
"""Names of classes that are said before training."""


def train_command(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="Its name, such as bilstm-additive or small-cnn; see: trueness list."),
    ],
    data: options.Data,
    out: options.ModelPlace,
    recipe: Annotated[str | None, typer.Option("--recipe", help="How to train; see: trueness list recipe.")] = None,
    seed: options.Seed = 0,
    root: options.Root = None,
    text_column: options.TextColumn = None,
    second_column: options.SecondColumn = None,
    label_column: options.LabelColumn = None,
    drop_bad_rows: options.DropBadRows = False,
    vectors: Annotated[str | None, typer.Option("--vectors", help="Word vectors: a file, glove-6b-50d[@unit].")] = None,
    device: options.Device = "cpu",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="The model's shape, e.g. hidden=32; of images size=64."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Train a classifier of texts, images or rows of numbers. The same command continues an interrupted training."""
    from trueness.api.models import kind_with
    from trueness.data.dataset import with_splits

    shape = settings_of(settings)
    for name in shape.keys() & {"seed", "recipe", "data", "vectors", "model", "views", "columns"}:
        raise UserError(f"--set {name}=...: {name} is an option of its own; see --help.")
    kind = kind_with(model, data)
    _check_place(out)
    size = {"size": shape.pop("size")} if "size" in shape else {}
    columns = columns_of(text_column, second_column, label_column, drop_bad_rows=drop_bad_rows)
    loaded = with_splits(kind.data.read(data, root=root, columns=columns, **size))
    _say_before(loaded)
    how: dict[str, Any] = {"recipe": recipe, "seed": seed, "vectors": vectors, "device": device, **shape}
    trained = tn.train(model, loaded, state=out / "training", **how)
    scores = _saved(trained, out, loaded)
    told = [note for note in getattr(trained, "notes", loaded.notes) if as_json or note not in loaded.notes]
    about = {"epochs": len(trained.history), "scores": scores, "notes": [*told, *_no_better(scores, loaded)]}
    put(as_json, {"model": str(out), **about}, "trained")


def fine_tune_command(
    pretrained: Annotated[Path, typer.Argument(metavar="FOLDER", help="A pretrained transformer with its tokeniser.")],
    data: options.Data,
    out: options.ModelPlace,
    recipe: Annotated[str, typer.Option("--recipe", help="How to train; see: trueness list recipe.")] = "fine-tune",
    epochs: Annotated[int | None, typer.Option("--epochs", min=1, help="Passes over the data; default: 3.")] = None,
    learning_rate: Annotated[
        float | None, typer.Option("--learning-rate", help="The highest one; default: 2e-5.")
    ] = None,
    batch_size: Annotated[int | None, typer.Option("--batch-size", min=1, help="Texts a step; default: 16.")] = None,
    max_length: Annotated[
        int | None, typer.Option("--max-length", min=16, help="Tokens read of a text; default: all that fit.")
    ] = None,
    seed: options.Seed = 0,
    root: options.Root = None,
    text_column: options.TextColumn = None,
    second_column: options.SecondColumn = None,
    label_column: options.LabelColumn = None,
    drop_bad_rows: options.DropBadRows = False,
    device: options.Device = "cpu",
    as_json: options.Json = False,
) -> None:
    """Fine-tune a pretrained Hugging Face transformer into a classifier.

    The same command continues an interrupted training.
    """
    from trueness.api.models import check_pretrained
    from trueness.data.dataset import with_splits

    check_pretrained(pretrained, data)  # refused before the data are read
    _check_place(out)
    columns = columns_of(text_column, second_column, label_column, drop_bad_rows=drop_bad_rows)
    loaded = with_splits(tn.load_dataset(data, root=root, columns=columns))
    _say_before(loaded)
    how: dict[str, Any] = {"recipe": recipe, "epochs": epochs, "learning_rate": learning_rate, "batch_size": batch_size}
    how |= {"max_length": max_length, "seed": seed, "device": device}
    scores = _saved(tn.fine_tune(pretrained, loaded, state=out / "training", **how), out, loaded)
    notes = [*(loaded.notes if as_json else ()), *_no_better(scores, loaded)]
    put(as_json, {"model": str(out), "scores": scores, "notes": notes}, "trained")


def _say_before(data: Any) -> None:
    """What was guessed and left out, and the classes, before the time is spent."""
    for note in data.notes:
        print(f"trueness: {printable(as_flags(note))}.", file=sys.stderr)
    names = [short(name) for name in data.classes[:_CLASSES]]
    more = f" and {len(data.classes) - _CLASSES:,} more" if len(data.classes) > _CLASSES else ""
    sizes = ", ".join(f"{name} {len(some):,}" for name, some in data.splits.items())
    told = f"{len(data.classes)} classes ({', '.join(names)}{more}); examples: {sizes}."
    print(f"trueness: {printable(told)}", file=sys.stderr)


def _check_place(out: Path) -> None:
    """Refused is a folder that could not be written after the training, and one with a model, which would be lost."""
    nearest = next(path for path in (out, *out.absolute().parents) if exists(path))
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise UserError(f"--out {out} cannot be written: {nearest} is not a folder that can be written to.")
    if exists(out / "config.json") and not exists(out / "training"):  # which is there until a model is complete
        raise UserError(f"--out {out} holds a model already; choose another folder, or remove that one.")


def _saved(model: Any, out: Path, data: Any) -> dict[str, dict[str, float]]:
    """The model is kept in its folder; how well it predicts the splits it was not trained on."""
    model.save(out)
    shutil.rmtree(out / "training", ignore_errors=True)
    return {name: tn.evaluate(model, data, name) for name in ("dev", "test") if name in data.splits}


def _no_better(scores: Mapping[str, Mapping[str, float]], data: Any) -> Iterator[str]:
    """A model that has learned nothing is not worth explaining: said of the last split."""
    for name in list(scores)[-1:]:
        labels = data[name].labels.tolist()
        largest = max(Counter(labels).values()) / len(labels)
        if scores[name]["accuracy"] <= largest:
            yield (
                f"Warning: on {name} the model is no better than always the most frequent class ({largest:.3f}), "
                "so that there is little to explain; train it on more examples, or for longer"
            )
