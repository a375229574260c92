"""How language models are opened: a folder of safetensors, a GGUF file, a pair with the tokeniser, a pipeline."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from trueness.boundary import check_folder, reading
from trueness.errors import UserError, install
from trueness.kinds.prompt.data.coding import Units
from trueness.kinds.prompt.data.form import Form
from trueness.kinds.prompt.models.prompt_model import PromptModel, network_of
from trueness.kinds.prompt.models.recognising import APART, architectures_in, gguf_in, pair_of
from trueness.models.pretrained import SAFELY, check_saved, check_size, quiet, shapes_of
from trueness.models.saved import check_finite
from trueness.rehearsal import rehearse

_UNREADABLE = "cannot be read as a language model with a tokeniser"


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
    safely: dict[str, Any] = dict(SAFELY)
    file, weights = gguf_in(path), list[Path]()
    if file is not None:
        _check_gguf(file)
        safely |= {"gguf_file": file.name}
        path = file.parent
    else:
        weights = check_saved(path)
    apart = file is None and any(name.endswith(APART) for name in architectures_in(path))
    kind: Any = transformers.AutoModelForSeq2SeqLM if apart else transformers.AutoModelForCausalLM

    def tokeniser() -> Any:
        if weights:
            check_size(path, shapes_of(weights), kind.from_config)
        return transformers.AutoTokenizer.from_pretrained(path, **safely)

    # Reading GGUF draws a bar of its own.
    with quiet(), contextlib.redirect_stderr(io.StringIO()), reading(path, _UNREADABLE):
        if weights:
            rehearse(path, lambda: tokeniser()("good film " * 256))
        tokenizer = tokeniser()
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


def _check_gguf(file: Path) -> None:
    check_folder(file.parent)
    try:
        import accelerate  # noqa: F401  # transformers asks for it
        import gguf  # noqa: F401
    except ImportError as error:
        raise UserError(f"{file} is in GGUF, which needs an extra: {install('llm')}.") from error
