"""Tiny language models with weights drawn at random: what knows nothing, and what tests look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from trueness.errors import UserError

_WORDS = (
    "Question: Answer: What colour is the boat? Where does she live? Which town is the oldest of all? "
    "The boat is red. The boat is blue. Anna lives in a small town by the sea. It rained for three days. "
    "[1] [2] [3] [4] [5] [6] [7] [8] [9] positive negative yes no good bad film"
)
FAMILIES = ("llama", "gpt2", "t5")
_SPECIAL = ("<pad>", "<start>", "<end>", "<unk>")


def tiny_model(
    seed: int = 0,
    *,
    layers: int = 2,
    size: int = 32,
    family: str = "llama",
    texts: Sequence[str] = (),
    chat: bool = False,
    **settings: Any,
) -> tuple[Any, Any]:
    """(model, tokenizer) of a family of transformers; its words are those of `texts` and a few more."""
    tokenizer = tiny_tokenizer(texts, chat=chat)
    words = settings.pop("vocab_size", len(tokenizer))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = _made(family, words, layers, size, settings)
        words_said = model.get_output_embeddings().weight
        with torch.no_grad():  # the mean of all others is never the likeliest, so that answers are words
            words_said[: len(_SPECIAL)] = words_said[len(_SPECIAL) :].mean(dim=0)
    return model.eval(), tokenizer


def _made(family: str, words: int, layers: int, size: int, settings: Mapping[str, Any]) -> Any:
    import transformers

    make: Any = transformers
    shape: dict[str, Any] = {"vocab_size": words, "bos_token_id": None, "eos_token_id": None}  # no answer ends early
    if family == "llama":
        shape |= {"num_hidden_layers": layers, "hidden_size": size, "intermediate_size": 2 * size}
        shape |= {"num_attention_heads": 4, "num_key_value_heads": 2, "initializer_range": 0.3}
        return make.LlamaForCausalLM(make.LlamaConfig(**{**shape, **settings}))
    if family == "gpt2":
        shape |= {"n_layer": layers, "n_embd": size, "n_head": 4, "n_positions": 1024, "initializer_range": 0.3}
        return make.GPT2LMHeadModel(make.GPT2Config(**{**shape, **settings}))
    if family == "t5":
        shape |= {"num_layers": layers, "d_model": size, "d_kv": size // 4, "d_ff": 2 * size, "num_heads": 4}
        shape |= {"decoder_start_token_id": 0, "initializer_factor": 3.0}
        return make.T5ForConditionalGeneration(make.T5Config(**{**shape, **settings}))
    raise UserError(f"A tiny model is of the family {', '.join(FAMILIES)}, not {family!r}.")


def tiny_tokenizer(texts: Sequence[str] = (), *, chat: bool = False) -> Any:
    """A tokeniser of the words and marks that occur in some texts."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    pre: Any = pre_tokenizers
    split = pre.Sequence([pre.WhitespaceSplit(), pre.Punctuation()])
    words = {word: None for text in (_WORDS, *texts) for word, _ in split.pre_tokenize_str(text)}
    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate([*_SPECIAL, *words])}, "<unk>"))
    made.pre_tokenizer = split
    made.add_special_tokens([*_SPECIAL])
    names = dict(zip(("pad_token", "bos_token", "eos_token", "unk_token"), _SPECIAL, strict=True))
    make: Any = transformers.PreTrainedTokenizerFast
    tokenizer = make(tokenizer_object=made, **names)
    if chat:
        tokenizer.chat_template = (
            "{% for message in messages %}<start>{{ message['role'] }}\n{{ message['content'] }}<end>\n{% endfor %}"
            "{% if add_generation_prompt %}<start>assistant\n{% endif %}"
        )
    return tokenizer
