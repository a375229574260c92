"""Hugging Face transformers as text classifiers of ours: the same batches, the same explainers."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from trueness.boundary import reading
from trueness.engine import disk
from trueness.errors import UserError
from trueness.kinds.text.data.batches import Batch
from trueness.kinds.text.data.coding import Coded
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.models.classifier import Classifier
from trueness.kinds.text.models.first_token import first_token, first_token_suffices
from trueness.kinds.text.models.network import Prediction, TextNetwork
from trueness.models.network import Attends
from trueness.models.pretrained import attention_of, computing_attention, quiet

WordRule = Literal["sum", "max", "first"]
"""How the scores of a word's parts become one: their sum, the one of largest magnitude, or the first part's."""

PREPARED = ("bert", "distilbert", "electra", "roberta")
"""Families that take what is added to attention scores as it is. From a mask they would make it themselves, and ask the
device on the way whether all is real: it would have to finish first, and no step could be recorded (see `stepping`)."""


class Transformer(TextNetwork):
    """Any `AutoModelForSequenceClassification`, looked at in evaluation mode.

    `attention` of a prediction is the first token's row of the last layer, averaged over heads. Weights exist in eager
    attention only; `logits` needs none, and takes the fused one where the family has it.
    """

    attends: Attends = "layers"
    pairs = None
    family = "transformer"

    def __init__(self, model: Any, *, uniform: bool = False) -> None:
        """With `uniform` every token attends equally to all, in every head: what attention adds is what is lost."""
        super().__init__()
        self.model = model
        self._uniform = uniform
        self.shape = {"classes": int(model.config.num_labels)}
        accepted = set(inspect.signature(model.forward).parameters)
        if "inputs_embeds" not in accepted:
            raise UserError(f"{type(model).__name__} takes no embeddings, so that it cannot be explained.")
        self._reads_types = "token_type_ids" in accepted and getattr(model.config, "type_vocab_size", 0) > 1
        # A decoder would have to see what comes later hidden, too.
        self.recorded = model.config.model_type in PREPARED and not getattr(model.config, "is_decoder", False)
        loaded = attention_of(model.config)
        self._fused = loaded if loaded != "eager" or not getattr(model, "_supports_sdpa", False) else "sdpa"
        self._first_suffices: bool | None = None
        """Whether the logits are the same without the last layer's other tokens: found out when first needed."""
        if loaded != "eager":
            model.set_attn_implementation("eager")
        self.eval()

    @property
    def embedding(self) -> torch.nn.Embedding:  # type: ignore[override]
        """The table of word embeddings."""
        table: torch.nn.Embedding = self.model.get_input_embeddings()
        return table

    def numbers_per_token(self, width: int, *, gradients: bool = False) -> int:
        """A state and a row of every head in every layer, and one layer's work; with gradients every layer's."""
        config = self.model.config
        layers, state, row = config.num_hidden_layers, config.hidden_size, config.num_attention_heads * width
        work = 24 * state + 3 * row  # the wide layer has four times the state
        return int(layers * (state + row + work) if gradients else layers * (state + row) + work)

    def numbers_for_logits(self, width: int, *, gradients: bool = False) -> int:
        """One layer's work, without attention weights where it is fused; with gradients every layer's."""
        if self._attention != "fused":
            return self.numbers_per_token(width, gradients=gradients)
        config = self.model.config
        state, wide = config.hidden_size, getattr(config, "intermediate_size", 4 * config.hidden_size)
        return int(config.num_hidden_layers * (9 * state + 2 * wide) if gradients else 5 * state + 2 * wide)

    def forward(self, batch: Batch, *, embeddings: Tensor | None = None, attention: Tensor | None = None) -> Prediction:
        """Predict; given embeddings of the words take the place of the model's own."""
        if attention is not None:
            raise UserError("A transformer has many attentions: none can be given from outside.")
        found = self._run(batch, embeddings)
        row = found.attentions[-1][:, :, 0].mean(dim=1) * batch.mask
        return Prediction(found.logits, row / row.sum(dim=-1, keepdim=True).clamp(min=1e-12), found.hidden_states[-1])

    def logits(self, batch: Batch, *, values: Tensor | None = None) -> Tensor:
        """The logits alone."""
        with self._shortened():
            found: Tensor = self._run(batch, values, weights=False).logits
        return found

    def _shortened(self) -> contextlib.AbstractContextManager[None]:
        """Without what the logits do not need; training stays as it is, since dropout would draw otherwise."""
        if self.training:
            return contextlib.nullcontext()
        if self._first_suffices is None:
            with computing_attention(self.model.config, self._fused):
                self._first_suffices = first_token_suffices(self.model, self.embedding.weight)
        return first_token(self.model) if self._first_suffices else contextlib.nullcontext()

    def attentions(self, batch: Batch, *, embeddings: Tensor | None = None) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The logits, and of every layer (batch, heads, tokens, tokens)."""
        found = self._run(batch, embeddings)
        return found.logits, tuple(found.attentions)

    @property
    def _attention(self) -> Literal["fused", "eager"]:
        """How attention is computed where its weights are not read; equal weights are made in eager attention."""
        return "eager" if self._uniform or self._fused == "eager" else "fused"

    def _run(self, batch: Batch, embeddings: Tensor | None, *, weights: bool = True) -> Any:
        text = batch.text
        # Always by embeddings, so that a prediction and its explanation are the same computation.
        values = self.embed(batch) if embeddings is None else embeddings
        inputs: dict[str, Tensor] = {"inputs_embeds": values}
        if weights or not text.full or not self.recorded:  # else nothing is hidden: kernels without a mask are faster
            position = torch.arange(text.tokens.shape[1], device=text.tokens.device)
            inside = position < text.lengths[:, None]
            inputs["attention_mask"] = _added(inside, values.dtype) if self.recorded else inside.long()
        if self._reads_types and text.types is not None:
            inputs["token_type_ids"] = text.types
        how = "eager" if weights or self._attention == "eager" else self._fused
        with (
            UniformAttention() if self._uniform else contextlib.nullcontext(),
            computing_attention(self.model.config, how),
        ):
            return self.model(**inputs, output_attentions=weights, output_hidden_states=weights, return_dict=True)


def _added(inside: Tensor, dtype: torch.dtype) -> Tensor:
    """(batch, 1, 1, tokens) what is added to attention scores: nothing, or the least number there is."""
    hidden = torch.zeros_like(inside, dtype=dtype).masked_fill(~inside, torch.finfo(dtype).min)
    return hidden[:, None, None]


class UniformAttention(TorchFunctionMode):
    """Attention scores that are all equal, in all layers or in some; masked ones stay masked.

    Every family has its own code, but a softmax, once a layer. For one forward pass.
    """

    def __init__(self, layers: Collection[int] | None = None) -> None:
        super().__init__()
        self._layers, self._seen = layers, 0

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if getattr(func, "__name__", "") == "softmax" and args[0].dim() == 4:
            if self._layers is None or self._seen in self._layers:
                hidden = args[0] <= torch.finfo(args[0].dtype).min / 2
                args = (torch.where(hidden, args[0], 0.0), *args[1:])
            self._seen += 1
        return func(*args, **(kwargs or {}))


_REMEMBERED = 20_000
"""Texts."""


@dataclass(frozen=True)
class Subwords:
    """The tokeniser of a transformer: words to parts of words, both texts of a pair as one sequence."""

    tokenizer: Any
    longest: int = 512
    explain_special: bool = False
    """Whether tokens such as [CLS] and [SEP] may be explained too."""
    explain_other: bool = True
    """Whether the second text of a pair is explained too."""
    _known: dict[Any, Coded] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def pad(self) -> int:
        """Fills up short texts."""
        number = self.tokenizer.pad_token_id
        return 0 if number is None else int(number)

    @property
    def mask_token(self) -> int:
        """Takes the place of a token that is hidden: the mask, unknown, padding or end token."""
        names = ("mask_token_id", "unk_token_id", "pad_token_id", "eos_token_id")
        for number in (getattr(self.tokenizer, name, None) for name in names):
            if number is not None:
                return int(number)
        raise UserError("The tokeniser has no mask, unknown, padding or end token: nothing can be hidden.")

    def code(self, example: TextExample) -> Coded:
        """One example; texts beyond the longest length lose their end, the longer one of a pair first.

        What was read before is remembered: many tasks ask about the same texts.
        """
        words = (example.tokens, example.tokens_b)
        if words not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[words] = self._coded(example)
        return self._known[words]

    def _coded(self, example: TextExample) -> Coded:
        with reading("A text", "cannot be read by the model's tokeniser"):  # whose library may panic
            coded = self.tokenizer(
                list(example.tokens),
                None if example.tokens_b is None else list(example.tokens_b),
                is_split_into_words=True,
                truncation=True,
                max_length=self.longest,
            )
        parts = coded.sequence_ids(0)
        words = [-1 if part != 0 else int(word) for part, word in zip(parts, coded.word_ids(0), strict=True)]
        # What belongs to no text was added. (The tokeniser's own mask of special tokens has unknown words in it.)
        explained = [
            self.explain_special if part is None else part == 0 or (part == 1 and self.explain_other) for part in parts
        ]
        # Tokenisers of models that do not tell two texts apart give no types.
        return Coded(coded["input_ids"], None, coded.get("token_type_ids"), words, explained)

    def spelled(self, numbers: Sequence[int]) -> list[str]:
        """The parts of words as the tokeniser spells them."""
        return list(map(str, self.tokenizer.convert_ids_to_tokens(list(numbers))))


def by_word(
    scores: npt.NDArray[np.float64], words: npt.ArrayLike, count: int, rule: WordRule = "sum"
) -> npt.NDArray[np.float64]:
    """One score per word from the scores of its parts; words that were cut off get 0."""
    result = np.zeros(count)
    numbers = np.asarray(words)
    for word in range(count):
        parts = scores[: len(numbers)][numbers == word]
        if len(parts):
            result[word] = {"sum": parts.sum(), "max": parts[np.abs(parts).argmax()], "first": parts[0]}[rule]
    return result


@dataclass(frozen=True, repr=False)
class TransformerModel(Classifier):
    """A transformer with its tokeniser; new text is split into words at white space."""

    network: Transformer = field(repr=False)
    coder: Subwords = field(repr=False)
    rule: WordRule = "sum"
    """How scores of parts become scores of words."""

    def words_of(self, example: TextExample) -> list[str]:
        """The explained parts of words, as the tokeniser writes them."""
        coded = self.coder.code(example)
        parts = self.coder.tokenizer.convert_ids_to_tokens(list(coded.tokens))
        return [part for part, explained in zip(parts, coded.explained or (), strict=True) if explained]

    def explaining_special(self) -> TransformerModel:
        """The same with tokens such as [CLS] and [SEP] explained as well."""
        return replace(self, coder=replace(self.coder, explain_special=True))

    def unusual(self, example: TextExample) -> str:
        """What to know of its explanation: parts of words put together, words cut off."""
        reached = {word for word in self.coder.code(example).words or () if word >= 0}
        missing = len(example.tokens) - len(reached)
        how = {"sum": "the sum", "max": "the largest", "first": "the first"}[self.rule]
        cut = f"; {missing} words were cut off: the model reads {self.coder.longest} tokens" if missing else ""
        return f"a word's score is {how} of its parts'{cut}"

    def known(self, example: TextExample) -> tuple[bool, ...]:
        """Whether the tokeniser has parts for each word."""
        coded = self.coder.code(example)
        unknown = self.coder.tokenizer.unk_token_id
        bad = {word for word, token in zip(coded.words or (), coded.tokens, strict=True) if token == unknown}
        return tuple(number not in bad for number in range(len(example.tokens)))

    def save(self, folder: str | Path) -> Path:
        """As `save_pretrained` does: safetensors, configuration and tokeniser."""
        path = Path(folder)
        with quiet(), disk(f"the model {path}", full="free some space", refused="choose another folder"):
            self.network.model.save_pretrained(path)
            self.coder.tokenizer.save_pretrained(path)
        return path

    def word_scores(self, example: TextExample, scores: Sequence[float]) -> tuple[float, ...]:
        """One score per word of the first text, from those of a batch's row."""
        words = self.coder.code(example).words or ()
        return tuple(by_word(np.asarray(scores), words, len(example.tokens), self.rule).tolist())
