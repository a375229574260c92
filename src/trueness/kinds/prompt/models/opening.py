"""How language models are opened: a folder of safetensors, a GGUF file, a pair with the tokeniser, a pipeline."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from trueness.boundary import check_folder, is_file, read_settings, reading
from trueness.errors import UserError, install
from trueness.kinds.prompt.data.coding import Units
from trueness.kinds.prompt.data.form import Form
from trueness.kinds.prompt.models.prompt_model import PromptModel, network_of
from trueness.kinds.text.models.pretrained import check_saved
from trueness.models.pretrained import quiet
from trueness.models.saved import check_finite

_CAUSAL = ("ForCausalLM", "LMHeadModel")
_APART = ("ForConditionalGeneration", "ForSeq2SeqLM")
_UNREADABLE = "cannot be read as a language model with a tokeniser"


def recognises(model: Any) -> bool:
    """Whether a folder, a pair or a pipeline holds a language model that generates; nothing of it is run."""
    if isinstance(model, str | Path):
        path = Path(model)
        return _gguf(path) is not None or _generates(_architectures(path))
    pair = pair_of(model)
    return pair is not None and _generates([type(pair[0]).__name__])


def open_model(
    model: Any,
    device: str | torch.device = "cpu",
    *,
    labels: Sequence[str] = (),
    form: Form | None = None,
    units: Units = "auto",
) -> PromptModel:
    """A language model on a device, in 32 bits where it is read from a folder; no code of a folder is run."""
    pair = pair_of(model)
    network, tokenizer = open_folder(Path(model)) if pair is None else pair
    if network.dtype not in (torch.float32, torch.float64):
        warnings.warn(
            f"The weights have the type {network.dtype}: what hiding a passage changes is mostly less than its error; "
            "give model.float().",
            stacklevel=2,
        )
    made = network_of(network.to(device), labels)
    return PromptModel(made, tokenizer, form or Form(), tuple(labels), units)


def open_folder(path: Path) -> tuple[Any, Any]:
    """The language model and the tokeniser that a folder holds, or a file in GGUF."""
    try:
        import transformers
    except ImportError as error:
        raise UserError(f"Language models need an extra: {install('llm')}.") from error
    safely: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}
    file = _gguf(path)
    if file is not None:
        _check_gguf(file)
        safely |= {"gguf_file": file.name}
        path = file.parent
    else:
        check_saved(path)
        if not sorted(path.glob("*.safetensors")):
            raise UserError(f"{path} has no safetensors file: save the model with save_pretrained of transformers 5.")
    apart = file is None and any(name.endswith(_APART) for name in _architectures(path))
    kind: Any = transformers.AutoModelForSeq2SeqLM if apart else transformers.AutoModelForCausalLM
    # Reading GGUF draws a bar of its own.
    with quiet(), contextlib.redirect_stderr(io.StringIO()), reading(path, _UNREADABLE):
        tokenizer = transformers.AutoTokenizer.from_pretrained(path, **safely)
        model, loading = kind.from_pretrained(
            path,
            dtype=torch.float32,
            output_loading_info=True,
            **({} if file is not None else {"use_safetensors": True}),
            **safely,
        )
    if loading["missing_keys"]:
        missing = sorted(loading["missing_keys"])
        raise UserError(f"{path} lacks {len(missing)} of its weights, such as {missing[0]}: they would be made up.")
    check_finite(path, model.state_dict())
    if not tokenizer.get_vocab():
        raise UserError(f"{path} has no tokeniser: save it beside the model.")
    if max(tokenizer.get_vocab().values()) >= model.get_input_embeddings().num_embeddings:
        raise UserError(f"{path}: the tokeniser has more tokens than the model: they do not belong together.")
    return model.eval(), tokenizer


def pair_of(model: Any) -> tuple[Any, Any] | None:
    """A model of transformers and its tokeniser, as a pair or as a pipeline has them."""
    network, tokenizer = (
        model
        if isinstance(model, tuple) and len(model) == 2
        else (getattr(model, "model", None), getattr(model, "tokenizer", None))
    )
    return (network, tokenizer) if hasattr(tokenizer, "pad_token_id") and hasattr(network, "config") else None


def _generates(architectures: Sequence[str]) -> bool:
    return any(str(name).endswith((*_CAUSAL, *_APART)) for name in architectures)


def _architectures(path: Path) -> list[str]:
    """What config.json says that a folder holds."""
    config = read_settings(path / "config.json") if is_file(path / "config.json") else None
    names = config.get("architectures") if isinstance(config, dict) else None
    return [str(name) for name in names] if isinstance(names, list) else []


def _gguf(path: Path) -> Path | None:
    """The only GGUF file of a folder without a configuration, or the file itself."""
    if path.suffix == ".gguf" and is_file(path):
        return path
    if not path.is_dir() or is_file(path / "config.json"):
        return None
    found = sorted(path.glob("*.gguf"))
    return found[0] if len(found) == 1 else None


def _check_gguf(file: Path) -> None:
    check_folder(file.parent)
    try:
        import accelerate  # noqa: F401  # transformers asks for it
        import gguf  # noqa: F401
    except ImportError as error:
        raise UserError(f"{file} is in GGUF, which needs an extra: {install('llm')}.") from error
