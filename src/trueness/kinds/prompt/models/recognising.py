"""Whether something is a language model: told without loading torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trueness.boundary import is_file, read_settings

_CAUSAL = ("ForCausalLM", "LMHeadModel")
APART = ("ForConditionalGeneration", "ForSeq2SeqLM")


def recognises(model: Any) -> bool:
    """Whether a folder, a pair or a pipeline holds a language model that generates; nothing of it is run."""
    if isinstance(model, str | Path):
        path = Path(model)
        return gguf_in(path) is not None or _generates(architectures_in(path))
    pair = pair_of(model)
    return pair is not None and _generates([type(pair[0]).__name__])


def pair_of(model: Any) -> tuple[Any, Any] | None:
    """A model of transformers and its tokeniser, as a pair or as a pipeline has them."""
    network, tokenizer = (
        model
        if isinstance(model, tuple) and len(model) == 2
        else (getattr(model, "model", None), getattr(model, "tokenizer", None))
    )
    return (network, tokenizer) if hasattr(tokenizer, "pad_token_id") and hasattr(network, "config") else None


def _generates(architectures: Sequence[str]) -> bool:
    return any(str(name).endswith((*_CAUSAL, *APART)) for name in architectures)


def architectures_in(path: Path) -> list[str]:
    """What config.json says that a folder holds."""
    config = read_settings(path / "config.json") if is_file(path / "config.json") else None
    names = config.get("architectures") if isinstance(config, dict) else None
    return [str(name) for name in names] if isinstance(names, list) else []


def gguf_in(path: Path) -> Path | None:
    """The only GGUF file of a folder without a configuration, or the file itself."""
    if path.suffix == ".gguf" and is_file(path):
        return path
    if not path.is_dir() or is_file(path / "config.json"):
        return None
    found = sorted(path.glob("*.gguf"))
    return found[0] if len(found) == 1 else None
