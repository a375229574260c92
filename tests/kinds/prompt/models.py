"""Tiny language models of several families, one built by hand whose source is known, and slow literal oracles."""

from types import SimpleNamespace

import torch
import transformers
from torch import nn

from trueness.kinds.prompt.data.prompts import PromptExample
from trueness.kinds.prompt.models.prompt_model import PromptModel, network_of
from trueness.kinds.prompt.models.tiny import tiny_model, tiny_tokenizer

CONTEXTS = (
    "The boat is red.",
    "Anna lives in a small town by the sea.",
    "It rained for three days. The town is old.",
    "The boat is blue.",
)
QUESTION = "What colour is the boat?"
EXAMPLE = PromptExample(QUESTION, CONTEXTS, "blue by the sea", alternatives=("red", "a small town"))
ALONE = PromptExample(QUESTION, CONTEXTS[:3], "red. It is old.")


def of(family, **settings):
    """A tiny model of a family, also of such as keep some layers' tokens only within a window."""
    if family in ("llama", "gpt2", "t5"):
        model, tokenizer = tiny_model(3, family=family, **settings)
        return PromptModel(network_of(model), tokenizer)
    tokenizer = tiny_tokenizer()
    shape = {"vocab_size": len(tokenizer), "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "initializer_range": 0.3}
    kind, more = {
        "mistral": (transformers.MistralConfig, {"sliding_window": 8}),
        "gemma3": (transformers.Gemma3TextConfig, {"sliding_window": 8, "head_dim": 8, "sliding_window_pattern": 2}),
        "gemma2": (transformers.Gemma2Config, {"sliding_window": 8, "head_dim": 8, "final_logit_softcapping": 5.0}),
    }[family]
    torch.manual_seed(3)
    model = transformers.AutoModelForCausalLM.from_config(kind(**{**shape, **heads, **more}))
    return PromptModel(network_of(model.eval()), tokenizer)


@torch.no_grad()
def slow_likelihood(model, prompt, answer):
    """(tokens,) the log-probability of each token of the answer, by one plain pass over all of it."""
    prompt, answer = list(map(int, prompt)), list(map(int, answer))
    if model.config.is_encoder_decoder:
        start = [model.config.decoder_start_token_id, *answer[:-1]]
        logits = model(input_ids=torch.tensor([prompt]), decoder_input_ids=torch.tensor([start])).logits[0]
    else:
        logits = model(input_ids=torch.tensor([prompt + answer])).logits[0, len(prompt) - 1 : -1]
    return logits.log_softmax(dim=-1)[torch.arange(len(answer)), torch.tensor(answer)]


def slow_logits(model, coded, gone=()):
    """(2,) of a free answer with alternatives, without the units `gone`: literally what the network says it gives."""
    prompt = [token for token, block in zip(coded.tokens, coded.block, strict=True) if block not in gone]
    totals = torch.stack([slow_likelihood(model, prompt, answer).sum() for answer in coded.answers])
    both = torch.stack([totals[0], totals[1:].logsumexp(dim=0)])
    return both - both.mean()


class Copier(nn.Module):
    """Says what stands behind the last word of the question, where that occurs in the passages: the last time counts.

    Built by hand, without any learned weight: so the source of its answer is known.
    """

    def __init__(self, words, sharpness=8.0):
        super().__init__()
        self.config = SimpleNamespace(is_encoder_decoder=False, hidden_size=words, num_hidden_layers=1)
        self.config.get_text_config = lambda decoder=True: self.config
        self.table, self.head = nn.Embedding(words, words), nn.Linear(words, words, bias=False)
        for weight in (self.table.weight, self.head.weight):
            nn.init.eye_(weight)
        self.sharpness = sharpness
        self.device, self.dtype = torch.device("cpu"), torch.float32

    def get_input_embeddings(self):
        return self.table

    def get_output_embeddings(self):
        return self.head

    def forward(self, input_ids=None, inputs_embeds=None, past_key_values=None, use_cache=False):
        if past_key_values is not None:
            raise ValueError("nothing is kept")
        seen = self.table(input_ids) if inputs_embeds is None else inputs_embeds
        before = nn.functional.pad(seen, (0, 0, 1, 0))[:, :-1]
        late = torch.arange(seen.shape[1]) / seen.shape[1]
        match = self.sharpness * (seen @ before.transpose(1, 2) * (1 + late))
        earlier = torch.ones(match.shape[1:]).tril(-1).bool()
        weights = match.masked_fill(~earlier, -1e4).softmax(dim=-1)
        return SimpleNamespace(logits=self.head(10 * weights @ seen))


WORDS = "blue green black white gold pink 11 22 33 44 55 66 the box has code number is of in town by sea"


def copier():
    """The model built by hand, which is asked for a code by the colour of its box."""
    from trueness.kinds.prompt.data.form import Form

    tokenizer = tiny_tokenizer([WORDS])
    form = Form(prompt="{contexts} {question}", passage="{text}", between=" ")
    return PromptModel(network_of(Copier(len(tokenizer))), tokenizer, form)
