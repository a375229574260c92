"""What ours and other libraries explain: one text, one class, a transformer with random weights or a saved one.

Peers get the model as transformers loads it (fused attention, no padding).
"""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trueness.kinds.text.data.batches import Batch
from trueness.kinds.text.data.sequences import Sequences
from trueness.kinds.text.models.transformer import Transformer

SHAPES = {
    "tiny": {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128},
    "minilm": {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536},
    "bert-base": {},
}
CLS, SEP, MASK = 101, 102, 103


@dataclass(frozen=True)
class Setting:
    """One model, one text; how often each method looks."""

    shape: str
    tokens: int
    device: str
    steps: int
    samples: int
    sizes: tuple[int, ...]
    """Copies per call that peers may take."""
    network: Transformer = field(repr=False)
    batch: Batch = field(repr=False)
    seed: int = 0
    """Of everything that is drawn."""

    @property
    def model(self) -> Any:
        """The transformer itself."""
        return self.network.model


def setting(
    shape: str, tokens: int, device: str, steps: int, samples: int, sizes: tuple[int, ...], text: str = ""
) -> Setting:
    """One of the shapes with random weights and random tokens, or a saved BERT with the beginning of a text."""
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    make: Any = BertForSequenceClassification
    if shape in SHAPES:
        sizes_of: Any = {"num_labels": 2, **SHAPES[shape]}
        network = Transformer(make(BertConfig(**sizes_of))).to(device)
        numbers = torch.randint(1000, 30_000, (1, tokens), device=device)
        numbers[0, 0], numbers[0, -1] = CLS, SEP
    else:
        network = Transformer(make.from_pretrained(shape)).to(device)
        numbers = _coded(shape, text, tokens).to(device)
    inside = torch.ones(1, tokens, dtype=torch.bool, device=device)
    inside[:, 0] = inside[:, -1] = False
    asked = Sequences(numbers, torch.tensor([tokens], device=device), inside, mask_token=MASK)
    batch = Batch(asked, torch.zeros(1, dtype=torch.long, device=device))
    return Setting(shape, tokens, device, steps, samples, sizes, network, batch)


def _coded(folder: str, text: str, tokens: int) -> Tensor:
    """(1, tokens) its first tokens."""
    from transformers import AutoTokenizer

    coder: Any = AutoTokenizer.from_pretrained(folder)
    found: Tensor = coder(text, truncation=True, max_length=tokens, return_tensors="pt")["input_ids"]
    if found.shape[1] < tokens:
        raise SystemExit(f"The text has {found.shape[1]} tokens, and {tokens} are asked for.")
    return found


class Peer:
    """The model as a peer calls it: fused attention, frozen weights, (copies, tokens, embedding) to (copies, classes).

    Begin and end are not explained, as by us.
    """

    def __init__(self, one: Setting) -> None:
        self.one = one
        whole = one.network.embed(one.batch).detach()
        self.begin, self.embeddings, self.end = whole[:, :1], whole[:, 1:-1], whole[:, -1:]
        self.mask = one.network.embedding.weight[MASK].detach().expand_as(self.embeddings)
        self.features = torch.arange(one.tokens - 2, device=one.device)[None, :, None].expand_as(self.embeddings)

    def __enter__(self) -> "Peer":
        self.one.model.config._attn_implementation = "sdpa"
        for weight in self.one.model.parameters():
            weight.requires_grad = False
        return self

    def __exit__(self, *_: object) -> None:
        self.one.model.config._attn_implementation = "eager"
        for weight in self.one.model.parameters():
            weight.requires_grad = True

    def logits(self, embeddings: Tensor) -> Tensor:
        ends = [one.expand(len(embeddings), -1, -1) for one in (self.begin, self.end)]
        found: Tensor = self.one.model(inputs_embeds=torch.cat([ends[0], embeddings, ends[1]], dim=1)).logits
        return found

    def probability(self, embeddings: Tensor) -> Tensor:
        return self.logits(embeddings).softmax(dim=-1)

    def hidden(self, keep: np.ndarray[Any, Any], size: int) -> np.ndarray[Any, Any]:
        """(masks,) probabilities with the tokens where `keep` (masks, tokens - 2) is 0 masked."""
        found = []
        with torch.no_grad(), self:
            for some in np.array_split(keep, max(1, -(-len(keep) // size))):
                inside = torch.from_numpy(some.astype(bool)).to(self.one.device)[..., None]
                found.append(self.probability(torch.where(inside, self.embeddings, self.mask))[:, 0].cpu().numpy())
        return np.concatenate(found)


def as_words(one: Setting) -> str:
    """The text as `coder` reads it."""
    return " ".join(f"w{number}" for number in one.batch.tokens[0, 1:-1].tolist())


@cache
def coder() -> Any:
    """A tokeniser whose words are the numbers of tokens: w1000 is token 1,000."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = {"[PAD]": 0, "[UNK]": 100, "[CLS]": CLS, "[SEP]": SEP, "[MASK]": MASK}
    words = {f"w{number}": number for number in range(30_522) if number not in special.values()}
    made: Any = Tokenizer(models.WordLevel({**special, **words}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    ends = [("[CLS]", CLS), ("[SEP]", SEP)]
    made.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    named = {f"{name[1:-1].lower()}_token": name for name in special}
    fast: Any = PreTrainedTokenizerFast
    return fast(tokenizer_object=made, model_max_length=512, **named)
