"""The commands that explain and compare: explain, adversarial-attention, agreement, attefa."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import trueness as tn
from trueness.boundary import read_ordinary, reading
from trueness.cli import options
from trueness.cli.options import asked_family, columns_of, put
from trueness.errors import UserError

_LARGEST = 16 << 20
"""Bytes of a file of passages."""
_EMPTY_LINES = re.compile(r"\n\s*\n")

if TYPE_CHECKING:
    from trueness.report.explanation import Explanations


def explain_command(
    model: options.Model,
    example: options.SomeExamples = None,
    other: options.Others = None,
    question: Annotated[
        str | None, typer.Option("--question", metavar="TEXT", help="What a language model is asked.")
    ] = None,
    context: Annotated[
        list[Path] | None,
        typer.Option(
            "--context",
            metavar="PATH",
            help="Beside --question: passages, the files of a folder or the paragraphs of a file; repeatable.",
        ),
    ] = None,
    answer: Annotated[
        str | None,
        typer.Option("--answer", metavar="TEXT", help="Beside --question: the answer, instead of the model's own."),
    ] = None,
    explainer: options.Explainers = None,
    target: Annotated[str, typer.Option("--target", help="predicted, or a class.")] = "predicted",
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Also write a heat map.")] = None,
    family: options.Family = None,
    labels: Annotated[
        str | None, typer.Option("--labels", metavar="WORDS", help="Of a language model: the words for classes.")
    ] = None,
    prompt: Annotated[
        Path | None, typer.Option("--prompt", metavar="FILE", help="Beside --labels: the prompt, with {text} in it.")
    ] = None,
    precision: Annotated[
        str, typer.Option("--precision", help="full, tf32 or bf16; auto: the fastest that ranks units as full does.")
    ] = "default",
    as_json: options.Json = False,
) -> None:
    """Explain what a model makes of a text, a picture, a row of numbers, or a question with passages.

    Coloured scores, a column per method.
    """
    from trueness.api.explaining import first_choice

    given = _given(example, question, context, answer)
    loaded = tn.load_model(str(model), family=asked_family(family, labels, prompt))
    chosen: Any = explainer or first_choice(loaded)
    found: Explanations = tn.explain(loaded, given, chosen, others=other, target=target, precision=precision)
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


def _given(
    example: list[str] | None, question: str | None, context: list[Path] | None, answer: str | None
) -> list[str] | dict[str, Any]:
    """What is to be explained: examples as they stand, or one question with its passages."""
    if question is None:
        if context or answer is not None:
            raise UserError("--context and --answer belong to --question: say what is asked.")
        if not example:
            raise UserError("Say what is to be explained, with --text, or with --question and --context.")
        return example
    if example:
        raise UserError("--text and --question are two things to explain: give one of them.")
    contexts = [passage for path in context or () for passage in passages(path)]
    return {"question": question, "contexts": contexts, **({} if answer is None else {"answer": answer})}


def passages(path: Path) -> list[str]:
    """The files of a folder, in the order of their names, or the paragraphs of a file."""
    with reading(path):
        files = sorted(file for file in path.iterdir() if _shown(file)) if path.is_dir() else [path]
    texts = []
    for file in files:
        with reading(file, "is not UTF-8 text"):
            texts.append(read_ordinary(file, _LARGEST).decode("utf-8"))
    parts = texts if path.is_dir() else _EMPTY_LINES.split(texts[0])
    found = [part.strip() for part in parts if part.strip()]
    if not found:
        raise UserError(f"{path} holds no passage: give a folder of text files, or a file of paragraphs.")
    return found


def _shown(file: Path) -> bool:
    return file.is_file() and not file.name.startswith(".")


def _write(html: Path | None, page: Callable[[], str]) -> None:
    from trueness.engine import disk, write_atomically

    if html is not None:
        with disk(f"the heat map {html}", full="free some space", refused="choose another place with --html"):
            html.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(html, page().encode())
        print(f"trueness: wrote {html}.", file=sys.stderr)
