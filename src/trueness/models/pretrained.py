"""Folders that `save_pretrained` of transformers wrote, whatever their models read: what they declare is bounded first.

Nothing of a folder is run, and nothing is fetched from elsewhere. What its files declare is compared with the weights
that are there before memory is taken for it.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from trueness.boundary import check_folder, is_file, quoted, read_settings, reading
from trueness.errors import UserError, install

SAFELY: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}
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
_LARGEST_TOKENISER = 64 << 20
"""Bytes of a file of a tokeniser; that of 260,000 tokens has half."""
_LARGEST = 1_000_000
"""A size in a configuration that is taken without a look at the weights."""
_SPARE = 10_000_000
"""Weights that a model may have beyond those of its files: a new head, a pooler."""


def import_transformers() -> Any:
    """The library; UserError where it is not installed."""
    try:
        import transformers
    except ImportError as error:
        raise UserError(f"Transformers are in an extra: {install('transformers')}.") from error
    return transformers


def check_saved(path: Path, others: str = "") -> list[Path]:
    """The files of weights of a folder; refused is one that would run or fetch something, or holds no safetensors.

    `others` says which there are where there is no such folder.
    """
    with reading(path):
        if not path.is_dir():
            raise UserError(f"There is no folder {path} with a saved transformer{f'; {others}' if others else '.'}")
    if not is_file(path / "config.json"):
        raise UserError(f"{path} is not a saved transformer: it has no config.json.")
    if is_file(path / "adapter_config.json"):
        raise UserError(f"{path} is an adapter to another model: merge it with that model and save both as one.")
    check_folder(path, _LARGEST_TOKENISER)
    _check_index(path / _INDEX)
    for file in (path / name for name in _SETTINGS):
        for key, value in entries(read_object(file) if is_file(file) else {}):
            if key == "auto_map":
                raise UserError(
                    f"{file} has an auto_map: the model is defined by code in its folder, and such code is never run; "
                    "save the model as one of the families of transformers."
                )
            if "attn_implementation" in key and "/" in str(value):
                raise UserError(f"{file} asks for attention code from elsewhere ({quoted(value)}): take that line out.")
    files = sorted(path.glob("*.safetensors"))
    if not files:
        raise UserError(f"{path} has no safetensors file: save the model with save_pretrained of transformers 5.")
    return files


def _check_index(file: Path) -> None:
    """Refuse an index of weights that lie elsewhere: what is read would not be what the folder holds."""
    if is_file(file):
        files = read_object(file).get("weight_map")
        for name in files.values() if isinstance(files, dict) else [files]:
            if not isinstance(name, str) or Path(name).name != name or not name.endswith(".safetensors"):
                raise UserError(f"{file} names {quoted(name)}, which is no safetensors file of its folder.")


def read_object(file: Path) -> dict[str, Any]:
    """What a file of settings holds."""
    found = read_settings(file, _LARGEST_SETTINGS)
    if not isinstance(found, dict):
        raise UserError(f"{file} is not a JSON object.")
    return found


def entries(value: Any) -> Iterator[tuple[str, Any]]:
    """All keys of a JSON value with what they hold, at any depth."""
    left = [value]
    while left:
        some = left.pop()
        if isinstance(some, dict):
            yield from some.items()
            left += some.values()
        elif isinstance(some, list):
            left += some


def shapes_of(files: list[Path]) -> dict[str, list[int]]:
    """The shapes of all weights, by their names; none is read."""
    shapes: dict[str, list[int]] = {}
    for file in files:
        with safe_open(file, framework="pt") as tensors:
            shapes |= {name: tensors.get_slice(name).get_shape() for name in tensors.keys()}  # noqa: SIM118
    return shapes


def check_size(path: Path, shapes: dict[str, list[int]], make: Callable[[Any], Any]) -> None:
    """Refuse a configuration of a far larger model than the weights are of: memory and time would be taken for it.

    `make` gives a model of a configuration.
    """
    held = sum(math.prod(shape) for shape in shapes.values())
    widest = max((side for shape in shapes.values() for side in shape), default=0)
    for key, value in entries(read_object(path / "config.json")):
        if isinstance(value, int | float) and value > max(held, _LARGEST):
            raise UserError(f"{path / 'config.json'}: {key} is {value:g}, but the folder holds {held:,} weights.")
        many = "layer" in key or "group" in key or key in ("depths", "num_blocks")
        for one in value if isinstance(value, list) else [value]:
            if many and isinstance(one, int | float) and one > len(shapes):
                raise UserError(f"{path / 'config.json'}: {key} is {one:g}, but there are {len(shapes)} tensors.")
        if key in ("num_labels", "id2label") and (len(value) if isinstance(value, dict) else value or 0) > widest:
            raise UserError(f"{path / 'config.json'}: {key} is of more classes than any tensor has rows ({widest:,}).")
    with torch.random.fork_rng(devices=[]), torch.device("meta"):
        empty = make(import_transformers().AutoConfig.from_pretrained(path, **SAFELY))
    wanted = sum(parameter.numel() for parameter in empty.parameters())
    if wanted > 2 * held + _SPARE:
        raise UserError(f"{path}: config.json describes {wanted:,} weights, but the folder holds {held:,}.")


def check_classes(name: str, config: Any) -> None:
    """Refuse a model that does not tell one of several classes."""
    if config.num_labels < 2:
        raise UserError(f"{name} has one output: only classifiers of two or more classes can be explained.")
    if config.problem_type not in (None, "single_label_classification"):
        kind = str(config.problem_type).replace("_", " ")
        raise UserError(f"{name} is for {kind}: only classifiers whose classes exclude one another can be explained.")


def class_names(name: str, config: Any) -> tuple[str, ...]:
    """What all classes are called, in their order."""
    if set(config.id2label) != set(range(config.num_labels)):
        raise UserError(f"{name}: id2label of its configuration names other classes than 0 to {config.num_labels - 1}.")
    return tuple(str(config.id2label[number]) for number in range(config.num_labels))


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
    logging: Any = import_transformers().logging
    level, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bar:
            logging.enable_progress_bar()
