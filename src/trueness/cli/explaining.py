"""The commands that explain and compare: explain, adversarial-attention, agreement, attefa."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import trueness as tn
from trueness.cli import options
from trueness.cli.options import columns_of, put

if TYPE_CHECKING:
    from trueness.report.explanation import Explanations


def explain_command(
    model: options.Model,
    example: options.Examples,
    other: options.Others = None,
    explainer: options.Explainers = None,
    target: Annotated[str, typer.Option("--target", help="predicted, or a class.")] = "predicted",
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Also write a heat map.")] = None,
    family: options.Family = None,
    precision: Annotated[
        str, typer.Option("--precision", help="full, tf32 or bf16; auto: the fastest that ranks units as full does.")
    ] = "default",
    as_json: options.Json = False,
) -> None:
    """Explain what a model makes of a text, a picture or a row of numbers: coloured scores, a column per method."""
    from trueness.api.explaining import first_choice

    loaded = tn.load_model(str(model), family=family)
    chosen: Any = explainer or first_choice(loaded)
    found: Explanations = tn.explain(loaded, example, chosen, others=other, target=target, precision=precision)
    _write(html, found.to_html)
    put(as_json, found, "explanations", lambda all_: all_.to_json(), "show_words")


def adversarial_attention_command(
    model: options.Model,
    example: options.Examples,
    other: options.Others = None,
    epsilon: Annotated[
        float, typer.Option("--epsilon", min=0, max=1, help="How much the output may change (total variation).")
    ] = 0.01,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Also write both heat maps.")] = None,
    family: options.Family = None,
    as_json: options.Json = False,
) -> None:
    """Show the attention that differs most from the model's own and still gives the same output."""
    from trueness.papers.attention_is_not_explanation.adversary import adversary_page

    found = tn.adversarial_attention(tn.load_model(str(model), family=family), example, others=other, epsilon=epsilon)
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
    drop_bad_rows: options.DropBadRows = False,
    no_labels: options.NoLabels = False,
    family: options.Family = None,
    as_json: options.Json = False,
) -> None:
    """Do explanation methods agree about a model? Every pair, by several measures, against chance."""
    columns = columns_of(text_column, second_column, label_column, no_labels=no_labels, drop_bad_rows=drop_bad_rows)
    given: Any = data if root is None else tn.load_dataset(data, root=root, columns=columns)
    found = tn.agreement(
        tn.load_model(str(model), family=family),
        given,
        explainer,
        split=split,
        columns=columns if root is None else None,
        instances=instances,
        repeat=repeat,
    )
    put(as_json, found, "measured", lambda result: result.to_json())


def attefa_command(
    base: Annotated[str, typer.Argument(metavar="BASE", help="A trained model.")],
    other: Annotated[str, typer.Argument(metavar="OTHER", help="Another one, perhaps an adversarial twin.")],
    data: options.Data,
    split: options.Split = None,
    root: options.Root = None,
    text_column: options.TextColumn = None,
    second_column: options.SecondColumn = None,
    label_column: options.LabelColumn = None,
    drop_bad_rows: options.DropBadRows = False,
    as_json: options.Json = False,
) -> None:
    """Do two models predict the same while attending elsewhere? The AtteFa score that they show."""
    read = tn.load_dataset(
        data, root=root, columns=columns_of(text_column, second_column, label_column, drop_bad_rows=drop_bad_rows)
    )
    found = tn.attefa(tn.load_model(base), tn.load_model(other), read, split)
    put(as_json, found, "measured", lambda result: result.to_json())


def _write(html: Path | None, page: Callable[[], str]) -> None:
    from trueness.engine import disk, write_atomically

    if html is not None:
        with disk(f"the heat map {html}", full="free some space", refused="choose another place with --html"):
            html.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(html, page().encode())
        print(f"trueness: wrote {html}.", file=sys.stderr)
