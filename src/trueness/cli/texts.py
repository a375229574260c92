"""The commands about datasets and text models: data check, train, fine-tune, explain, adversary."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from trueness.boundary import exists
from trueness.cli.options import Json, Root, as_it_is, complete_dataset, put, settings_of
from trueness.errors import UserError

ModelFolder = Annotated[Path, typer.Argument(metavar="FOLDER", help="A trained model.")]
Texts = Annotated[list[str], typer.Option("--text", help="The text; repeatable.")]
Others = Annotated[list[str] | None, typer.Option("--other", help="The second text of a pair, one per --text.")]


def train_command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="ENCODER-ATTENTION, such as bilstm-additive.")],
    data: Annotated[str, typer.Option("--data", metavar="DATASET", help="A dataset's name, file or folder.")],
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the model is kept.")],
    recipe: Annotated[str | None, typer.Option("--recipe", help="How to train; see: trueness list recipe.")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0)] = 0,
    root: Root = None,
    vectors: Annotated[str | None, typer.Option("--vectors", help="Word vectors: a file, glove-6b-50d[@unit].")] = None,
    device: Annotated[str, typer.Option("--device", help="cpu, cuda:0, ...")] = "cpu",
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="The model's shape, e.g. hidden=32.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a text classifier. The same command continues an interrupted training."""
    import shutil

    from trueness import api
    from trueness.cli import show
    from trueness.data import load_text

    shape = settings_of(settings)
    _check_place(out)
    loaded = load_text(data, root=root)
    state = out / "training"
    trained = api.train(
        model,
        loaded,
        recipe=recipe,
        seed=seed,
        vectors=vectors,
        device=device,
        state=state,
        **shape,
    )
    trained.save(out)
    shutil.rmtree(state, ignore_errors=True)
    scores = {split: api.evaluate(trained, loaded, split) for split in ("dev", "test") if split in loaded.splits}
    summary = {"model": str(out), "epochs": len(trained.history), "scores": scores, "notes": list(trained.notes)}
    put(as_json, summary, as_it_is, show.trained)


def fine_tune_command(
    pretrained: Annotated[Path, typer.Argument(metavar="FOLDER", help="A pretrained transformer with its tokeniser.")],
    data: Annotated[str, typer.Option("--data", metavar="DATASET", help="A dataset's name, file or folder.")],
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the model is kept.")],
    recipe: Annotated[str, typer.Option("--recipe", help="How to train; see: trueness list recipe.")] = "fine-tune",
    seed: Annotated[int, typer.Option("--seed", min=0)] = 0,
    root: Root = None,
    device: Annotated[str, typer.Option("--device", help="cpu, cuda:0, ...")] = "cpu",
    as_json: Json = False,
) -> None:
    """Fine-tune a pretrained Hugging Face transformer into a text classifier."""
    from trueness import api
    from trueness.cli import show
    from trueness.data import load_text

    _check_place(out)
    loaded = load_text(data, root=root)
    tuned = api.fine_tune(pretrained, loaded, recipe=recipe, seed=seed, device=device)
    tuned.save(out)
    scores = {split: api.evaluate(tuned, loaded, split) for split in ("dev", "test") if split in loaded.splits}
    put(as_json, {"model": str(out), "scores": scores, "notes": list(loaded.notes)}, as_it_is, show.trained)


def explain_command(
    model: ModelFolder,
    text: Texts,
    other: Others = None,
    explainer: Annotated[
        list[str] | None, typer.Option("--explainer", help="See: trueness list explainer. Repeatable.")
    ] = None,
    target: Annotated[str, typer.Option("--target", help="predicted, or a class.")] = "predicted",
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Also write a heat map.")] = None,
    as_json: Json = False,
) -> None:
    """Explain what a model makes of a text: a table of tokens, coloured."""
    from trueness import api
    from trueness.cli import show
    from trueness.report.heatmap import heatmap_page

    _same_number(text, other)
    loaded = api.load_model(model)
    names = explainer or ["attention", "input-x-gradient", "leave-one-out"]
    found = [
        explanation for name in names for explanation in api.explain(loaded, text, name, others=other, target=target)
    ]
    _write(html, lambda: heatmap_page(found))
    put(as_json, found, lambda all_: [explanation.to_json() for explanation in all_], show.explanations)


def adversary_command(
    model: ModelFolder,
    text: Texts,
    other: Others = None,
    epsilon: Annotated[
        float, typer.Option("--epsilon", min=0, max=1, help="How much the output may change (total variation).")
    ] = 0.01,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Also write both heat maps.")] = None,
    as_json: Json = False,
) -> None:
    """Show the attention that differs most from the model's own and still gives the same output."""
    from trueness import api
    from trueness.cli import show
    from trueness.report.heatmap import adversary_page

    _same_number(text, other)
    found = api.adversarial_attention(api.load_model(model), text, others=other, epsilon=epsilon)
    _write(html, lambda: adversary_page(found))
    rows = json.loads(found.records.to_json(orient="records"))
    put(as_json, found, lambda result: {"epsilon": epsilon, "texts": rows, **result.to_json()}, show.adversaries)


def agree_command(
    model: ModelFolder,
    data: Annotated[str, typer.Option("--data", metavar="DATASET", help="A dataset's name, file or folder.")],
    explainer: Annotated[
        list[str] | None, typer.Option("--explainer", help="See: trueness list explainer. Repeatable.")
    ] = None,
    split: Annotated[
        str | None, typer.Option("--split", help="The split to look at; default: test, or the only one.")
    ] = None,
    instances: Annotated[int, typer.Option("--instances", min=2, help="How many examples, the first ones.")] = 200,
    repeat: Annotated[
        bool, typer.Option("--repeat", help="Also compare methods that draw at random with themselves.")
    ] = False,
    root: Root = None,
    as_json: Json = False,
) -> None:
    """Do explanation methods agree about a model? Every pair, by several measures, against chance."""
    from trueness import api
    from trueness.cli import show
    from trueness.data import load_text

    names = explainer or ["attention", "input-x-gradient", "integrated-gradients", "leave-one-out"]
    found = api.agreement(
        api.load_model(model), load_text(data, root=root), names, split=split, instances=instances, repeat=repeat
    )
    put(as_json, found, lambda result: result.to_json(), show.result)


def attefa_command(
    base: Annotated[Path, typer.Argument(metavar="BASE", help="A trained model.")],
    other: Annotated[Path, typer.Argument(metavar="OTHER", help="Another one, perhaps an adversarial twin.")],
    data: Annotated[str, typer.Option("--data", metavar="DATASET", help="A dataset's name, file or folder.")],
    split: Annotated[
        str | None, typer.Option("--split", help="The split to look at; default: test, or the only one.")
    ] = None,
    root: Root = None,
    as_json: Json = False,
) -> None:
    """Do two models predict the same while attending elsewhere? The AtteFa score that they show."""
    from trueness import api
    from trueness.cli import show
    from trueness.data import load_text

    found = api.compare_attention(api.load_model(base), api.load_model(other), load_text(data, root=root), split)
    put(as_json, found, lambda result: result.to_json(), show.result)


def _same_number(text: list[str], other: list[str] | None) -> None:
    if other is not None and len(other) != len(text):
        raise UserError(f"There are {len(text)} texts and {len(other)} second texts.")


def _check_place(out: Path) -> None:
    """Refuse a folder that could not be written, before the training that is to fill it."""
    nearest = next(path for path in (out, *out.absolute().parents) if exists(path))
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise UserError(f"--out {out} cannot be written: {nearest} is not a folder of yours; choose another one.")


def _write(html: Path | None, page: Callable[[], str]) -> None:
    from trueness.engine import disk, write_atomically

    if html is not None:
        with disk(f"the heat map {html}", full="free some space", refused="choose another place with --html"):
            html.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(html, page().encode())
        print(f"trueness: wrote {html}.", file=sys.stderr)


def data_check_command(
    path: Annotated[
        str,
        typer.Argument(
            metavar="DATASET",
            help="A folder with train, dev, test; one file; or a name.",
            autocompletion=complete_dataset,
        ),
    ],
    root: Root = None,
    as_json: Json = False,
) -> None:
    """Report rows, classes, lengths, duplicates, leakage between splits, and each bad row by number.

    Exits with 2 if there are bad rows or empty splits.
    """
    from trueness.cli import show
    from trueness.data import check_dataset

    found = check_dataset(path, root=root)
    put(as_json, found, as_it_is, show.dataset)
    if not found["usable"]:
        raise typer.Exit(2)
