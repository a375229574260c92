"""The commands about models of texts: train, fine-tune, explain, adversarial attention, agreement, attefa."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import trueness as tn
from trueness.api.forms import are_images, of_images
from trueness.boundary import exists
from trueness.cli import options
from trueness.cli.options import columns_of, put, settings_of
from trueness.errors import UserError
from trueness.kinds.image.models.families import IMAGE_MODELS
from trueness.kinds.text.models.families import TEXT_MODELS
from trueness.registry import nearest

if TYPE_CHECKING:
    from trueness.kinds.image.data.images import ImageDataset
    from trueness.kinds.text.data.dataset import TextDataset
    from trueness.kinds.text.models.classifier import Classifier


def train_command(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="Of texts, such as bilstm-additive, or of images, such as small-cnn; see: trueness list.",
        ),
    ],
    data: options.Data,
    out: options.ModelPlace,
    recipe: Annotated[str | None, typer.Option("--recipe", help="How to train; see: trueness list recipe.")] = None,
    seed: options.Seed = 0,
    root: options.Root = None,
    text_column: options.TextColumn = None,
    second_column: options.SecondColumn = None,
    label_column: options.LabelColumn = None,
    vectors: Annotated[str | None, typer.Option("--vectors", help="Word vectors: a file, glove-6b-50d[@unit].")] = None,
    device: options.Device = "cpu",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="The model's shape, e.g. hidden=32; of images size=64."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Train a classifier of texts, or of images. The same command continues an interrupted training of texts."""
    if model not in TEXT_MODELS and model not in IMAGE_MODELS:
        raise UserError(f"There is no model named {model!r}; {nearest(model, [*TEXT_MODELS, *IMAGE_MODELS])}")
    if model in list(IMAGE_MODELS) or (":" in model and are_images(data)):
        given = {"--recipe": recipe, "--root": root, "--vectors": vectors}
        given |= {"--text-column": text_column, "--text-b-column": second_column, "--label-column": label_column}
        for name in (name for name, value in given.items() if value):
            raise UserError(f"{model} is a model of images: leave out {name}.")
        from trueness.kinds.image.data.datasets import load_images

        _check_place(out)
        size = settings_of(settings)
        for name in size.keys() - {"size"}:
            raise UserError(f"{model} is a model of images: leave out --set {name}=..., it has size=PIXELS alone.")
        put(as_json, _trained_images(model, load_images(data, **size), out, seed, device), "trained")
        return
    how: dict[str, Any] = {"recipe": recipe, "seed": seed, "vectors": vectors, "device": device}
    shape, state = settings_of(settings), out / "training"
    for name in shape.keys() & {"seed", "recipe", "data", "vectors", "model", "views"}:
        raise UserError(f"--set {name}=...: {name} is an option of its own; see --help.")
    loaded = _loaded(out, data, root, columns_of(text_column, second_column, label_column))
    trained = tn.train(model, loaded, state=state, **how, **shape)
    scores = _saved(trained, out, loaded)
    notes = [*trained.notes, *_no_better(scores, loaded)]
    about = {"epochs": len(trained.history), "scores": scores, "notes": notes}
    put(as_json, {"model": str(out), **about}, "trained")


def fine_tune_command(
    pretrained: Annotated[Path, typer.Argument(metavar="FOLDER", help="A pretrained transformer with its tokeniser.")],
    data: options.Data,
    out: options.ModelPlace,
    recipe: Annotated[str, typer.Option("--recipe", help="How to train; see: trueness list recipe.")] = "fine-tune",
    seed: options.Seed = 0,
    root: options.Root = None,
    text_column: options.TextColumn = None,
    second_column: options.SecondColumn = None,
    label_column: options.LabelColumn = None,
    device: options.Device = "cpu",
    as_json: options.Json = False,
) -> None:
    """Fine-tune a pretrained Hugging Face transformer into a text classifier.

    The same command continues an interrupted training.
    """
    from trueness.kinds.text.models.pretrained import find_pretrained

    find_pretrained(pretrained)  # refused before the data are read
    how: dict[str, Any] = {"recipe": recipe, "seed": seed, "device": device}
    loaded = _loaded(out, data, root, columns_of(text_column, second_column, label_column))
    scores = _saved(tn.fine_tune(pretrained, loaded, state=out / "training", **how), out, loaded)
    put(
        as_json, {"model": str(out), "scores": scores, "notes": [*loaded.notes, *_no_better(scores, loaded)]}, "trained"
    )


def _trained_images(model: str, images: ImageDataset, out: Path, seed: int, device: str) -> dict[str, Any]:
    """A classifier of images in its folder, and how well it predicts."""
    from trueness.kinds.image.models.training import accuracy

    trained = tn.train(model, images, seed=seed, device=device)
    trained.save(out)
    scores = {
        name: {"accuracy": accuracy(trained.network, trained.coded(images[name]))}
        for name in ("dev", "test")
        if name in images.splits
    }
    return {"model": str(out), "epochs": len(trained.history), "scores": scores, "notes": list(images.notes)}


def _loaded(out: Path, data: str, root: Path | None, columns: Mapping[str, str]) -> TextDataset:
    """The dataset with all splits."""
    from trueness.data.columns import columns_of as names_of
    from trueness.data.dataset import with_splits
    from trueness.kinds.text.data.datasets import load_text

    _check_place(out)
    return with_splits(load_text(data, root=root, columns=names_of(columns)))


def _check_place(out: Path) -> None:
    """Refused is a folder that could not be written after the training, and one with a model, which would be lost."""
    nearest = next(path for path in (out, *out.absolute().parents) if exists(path))
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise UserError(f"--out {out} cannot be written: {nearest} is not a folder that can be written to.")
    if exists(out / "config.json") and not exists(out / "training"):  # which is there until a model is complete
        raise UserError(f"--out {out} holds a model already; choose another folder, or remove that one.")


def _saved(model: Classifier, out: Path, data: TextDataset) -> dict[str, dict[str, float]]:
    """The model is kept in its folder; how well it predicts the splits it was not trained on."""
    model.save(out)
    shutil.rmtree(out / "training", ignore_errors=True)
    return {name: tn.evaluate(model, data, name) for name in ("dev", "test") if name in data.splits}


def _no_better(scores: Mapping[str, Mapping[str, float]], data: TextDataset) -> Iterator[str]:
    """A model that has learned nothing is not worth explaining: said of the last split."""
    for name in list(scores)[-1:]:
        labels = [example.label for example in data[name]]
        largest = max(Counter(labels).values()) / len(labels)
        if scores[name]["accuracy"] <= largest:
            yield (
                f"Warning: on {name} the model is no better than always the most frequent class ({largest:.3f}), "
                "so that there is little to explain; train it on more texts, or for longer"
            )


def explain_command(
    model: options.Model,
    text: options.Texts,
    other: options.Others = None,
    explainer: options.Explainers = None,
    target: Annotated[str, typer.Option("--target", help="predicted, or a class.")] = "predicted",
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Also write a heat map.")] = None,
    family: options.Family = None,
    precision: Annotated[
        str, typer.Option("--precision", help="full, tf32 or bf16; auto: the fastest that ranks words as full does.")
    ] = "default",
    as_json: options.Json = False,
) -> None:
    """Explain what a model makes of a text: a table of tokens, coloured."""
    from trueness.report.heatmap import heatmap_page

    _same_number(text, other)
    loaded = tn.load_model(str(model), family=family)
    if of_images(loaded):
        raise UserError(
            f"{model} is a classifier of images, and this command explains texts: use tn.explain_images in Python, or "
            f"trueness audit {model} PICTURES."
        )
    inside = (
        ["attention", "input-x-gradient"] if loaded.network.differentiable else ["occlusion", "lime[n_samples=200]"]
    )
    names = explainer or [*inside, "leave-one-out"]
    given: dict[str, Any] = {"others": other, "target": target, "precision": precision}
    found = [one for name in names for one in tn.explain(loaded, text, name, **given)]
    _write(html, lambda: heatmap_page(found))
    put(as_json, found, "explanations", lambda all_: [one.to_json() for one in all_], "show_words")


def adversarial_attention_command(
    model: options.ModelFolder,
    text: options.Texts,
    other: options.Others = None,
    epsilon: Annotated[
        float, typer.Option("--epsilon", min=0, max=1, help="How much the output may change (total variation).")
    ] = 0.01,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Also write both heat maps.")] = None,
    as_json: options.Json = False,
) -> None:
    """Show the attention that differs most from the model's own and still gives the same output."""
    from trueness.papers.attention_is_not_explanation.adversary import adversary_page

    _same_number(text, other)
    found = tn.adversarial_attention(tn.load_model(str(model)), text, others=other, epsilon=epsilon)
    _write(html, lambda: adversary_page(found))
    rows = json.loads(found.records.to_json(orient="records"))
    put(
        as_json,
        found,
        "adversaries",
        lambda result: {"epsilon": epsilon, "texts": rows, **result.to_json()},
        "show_words",
    )


def agreement_command(
    model: options.Model,
    data: options.Data,
    explainer: options.Explainers = None,
    split: options.Split = None,
    instances: Annotated[
        int, typer.Option("--instances", min=2, help="How many examples, drawn evenly from the classes.")
    ] = 200,
    repeat: Annotated[
        bool, typer.Option("--repeat", help="Also compare methods that draw at random with themselves.")
    ] = False,
    root: options.Root = None,
    text_column: options.TextColumn = None,
    second_column: options.SecondColumn = None,
    label_column: options.LabelColumn = None,
    no_labels: options.NoLabels = False,
    family: options.Family = None,
    as_json: options.Json = False,
) -> None:
    """Do explanation methods agree about a model? Every pair, by several measures, against chance."""
    from trueness.data.columns import columns_of as names_of
    from trueness.kinds.text.data.datasets import TEXT_DATASETS, load_text
    from trueness.kinds.text.data.texts import read_texts

    named = columns_of(text_column, second_column, label_column, no_labels=no_labels)
    loaded = tn.load_model(str(model), family=family)
    # Of a dataset that has a name the classes are known, and texts are drawn evenly from them.
    texts: Any = (
        data
        if of_images(loaded)
        else load_text(data, root=root, columns=names_of(named))
        if data in TEXT_DATASETS and not no_labels
        else read_texts(data, split=split, root=root, **named)
    )
    found = tn.agreement(loaded, texts, explainer, split=split, instances=instances, repeat=repeat)
    put(as_json, found, "measured", lambda result: result.to_json())


def attefa_command(
    base: Annotated[Path, typer.Argument(metavar="BASE", help="A trained model.")],
    other: Annotated[Path, typer.Argument(metavar="OTHER", help="Another one, perhaps an adversarial twin.")],
    data: options.Data,
    split: options.Split = None,
    root: options.Root = None,
    text_column: options.TextColumn = None,
    second_column: options.SecondColumn = None,
    label_column: options.LabelColumn = None,
    as_json: options.Json = False,
) -> None:
    """Do two models predict the same while attending elsewhere? The AtteFa score that they show."""
    from trueness.data.columns import columns_of as names_of
    from trueness.kinds.text.data.datasets import load_text

    columns = names_of(columns_of(text_column, second_column, label_column))
    texts = load_text(data, root=root, columns=columns)
    found = tn.attefa(tn.load_model(str(base)), tn.load_model(str(other)), texts, split)
    put(as_json, found, "measured", lambda result: result.to_json())


def _same_number(text: list[str], other: list[str] | None) -> None:
    if other is not None and len(other) != len(text):
        raise UserError(f"There are {len(text)} texts and {len(other)} second texts.")


def _write(html: Path | None, page: Callable[[], str]) -> None:
    from trueness.engine import disk, write_atomically

    if html is not None:
        with disk(f"the heat map {html}", full="free some space", refused="choose another place with --html"):
            html.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(html, page().encode())
        print(f"trueness: wrote {html}.", file=sys.stderr)
