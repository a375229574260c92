"""A language model behind the questions that explainers ask: how likely the answers are that are compared."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from trueness.errors import Unsupported, UserError
from trueness.kinds.prompt.data.batches import PromptBatch
from trueness.kinds.prompt.models.reader import Likelihood, Reader, of_tokens
from trueness.kinds.prompt.models.sequences import Wanted
from trueness.models.network import Network
from trueness.models.packing import memory_for_batches
from trueness.models.pretrained import attention_of, quiet

Score = Literal["auto", "likelihood", "contrast"]
SCORES = ("auto", "likelihood", "contrast")
_AT_ONCE = 1024
_REMEMBERED = 1 << 16
"""Likelihoods of answers, each of a prompt with some units hidden."""
_LARGEST = 1 << 31
"""Bytes of all attention of one prompt."""


class PromptNetwork(Network):
    """A language model of transformers.

    With label words a logit is the log-likelihood of a label word. Of a free answer the first logit is the answer's
    log-likelihood. The second one is that of the alternatives together, where an example has some. Otherwise it is
    that of the likeliest other token at each place, and both are means over the tokens of the answer: so an answer that
    the model gives itself is always what it predicts. With `contrast` logits have the mean 0: then the gradient and
    the change of a logit are those of a difference.
    """

    cpu_bytes = 1 << 30

    def __init__(self, model: Any, classes: int, *, labelled: bool, score: Score = "auto") -> None:
        super().__init__()
        if score not in SCORES:
            raise UserError(f"score should be {', '.join(SCORES)}, not {score!r}.")
        self.model, self.score, self.labelled = model, score, labelled
        self.offset: Tensor | None = None
        """(classes,) what is taken off the logits of label words: what they are after a text that says nothing."""
        self.shape = {"classes": classes}
        self.reader = Reader(model)
        self._memory: dict[tuple[bytes, bytes], tuple[Tensor, Tensor]] = {}
        self._state: tuple[Any, ...] = ()
        self.differentiable = not self.reader.apart

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        found: torch.device = self.model.device
        return found

    @property
    def embedding(self) -> nn.Module:
        """What turns tokens into numbers."""
        found: nn.Module = self.model.get_input_embeddings()
        return found

    def values(self, batch: PromptBatch) -> Tensor:
        """(prompts, tokens, size) the embeddings of the prompt."""
        if self.reader.apart:
            raise Unsupported(f"{type(self.model).__name__} has no gradients to explain it by: it reads in two parts.")
        found: Tensor = self.embedding(batch.read)
        return found

    def blank(self, batch: PromptBatch, baseline: str) -> Tensor:
        """Zero, or the mean embedding of all words."""
        if baseline == "mean":
            weight: Tensor = self.model.get_input_embeddings().weight
            return weight.detach().mean(dim=0)
        if baseline != "zero":
            raise self.unknown("baselines", baseline, "zero", "mean")
        return super().blank(batch, baseline)

    def logits(self, batch: PromptBatch, *, values: Tensor | None = None) -> Tensor:
        """(prompts, classes)."""
        if values is not None:
            return self._combined(batch, self._of_values(batch, values))
        answers = [[np.array(answer, dtype=np.int64) for answer in one.answers] for one in batch.coded]
        wanted = [Wanted(prompt, one) for prompt, some in zip(_prompts(batch), answers, strict=True) for one in some]
        return self._combined(batch, self._remembered(wanted))

    def _remembered(self, wanted: Sequence[Wanted]) -> Likelihood:
        """Likelihoods, of which those are not computed again that were asked for before."""
        state = (self.training, *((id(one), one._version, one.device) for one in self.parameters()))
        if state != self._state:
            self._state = state
            self._memory.clear()
        keys = [(one.prompt.tobytes(), one.answer.tobytes()) for one in wanted]
        new = {key: number for number, key in enumerate(keys) if key not in self._memory}
        if new:
            with torch.no_grad(), quiet():
                asked = [wanted[number] for number in new.values()]
                found = self.reader.likelihood(asked, memory_for_batches(self.device, self.cpu_bytes))
            if len(self._memory) + len(new) > _REMEMBERED:
                kept = {key: self._memory[key] for key in keys if key in self._memory}
                self._memory = kept
            for key, own, other in zip(new, found.own.cpu(), found.runner_up.cpu(), strict=True):
                self._memory[key] = (own, other)
        length = max(map(len, (one.answer for one in wanted)))
        both = torch.zeros(2, len(wanted), length)
        for number, (key, one) in enumerate(zip(keys, wanted, strict=True)):
            for place, values in enumerate(self._memory[key]):
                both[place, number, : len(one.answer)] = values[: len(one.answer)]
        return Likelihood(*both.to(self.device))

    def _of_values(self, batch: PromptBatch, values: Tensor) -> Likelihood:
        """The likelihoods with these embeddings of the prompt, which can be differentiated."""
        if self.reader.apart:
            self.values(batch)
        answers = [answer for one in batch.coded for answer in one.answers]
        length = max(map(len, answers))
        kept = batch.kept
        rows = []
        for row, one in enumerate(batch.coded):
            prompt = values[row, : kept.shape[1]][kept[row]]
            for answer in one.answers:
                behind = self.embedding(torch.tensor(answer[:-1], dtype=torch.long, device=values.device))
                rows.append((torch.cat([prompt, behind.to(prompt)]), len(prompt), answer))
        wide = max(len(read) for read, *_ in rows)
        given = torch.stack([nn.functional.pad(read, (0, 0, 0, wide - len(read))) for read, *_ in rows])
        begins = torch.tensor([begin for _, begin, _ in rows], device=values.device)
        places = begins[:, None] - 1 + torch.arange(length, device=values.device)
        with quiet(), self.reader.only_at(places.clamp(max=wide - 1)):
            said = self.model(inputs_embeds=given, use_cache=False).logits
        numbers = torch.tensor([[*answer, *[0] * (length - len(answer))] for *_, answer in rows], device=values.device)
        own, other = of_tokens(said.float(), numbers)
        inside = torch.tensor([[place < len(answer) for place in range(length)] for *_, answer in rows])
        inside = inside.to(own.device)
        return Likelihood(own.masked_fill(~inside, 0), other.masked_fill(~inside, 0))

    def _combined(self, batch: PromptBatch, found: Likelihood) -> Tensor:
        """(prompts, classes) from the likelihoods of all tokens of all answers."""
        counted = np.zeros(found.own.shape, dtype=np.float32)
        for number, which in enumerate(which for one in batch.coded for which in one.scored):
            counted[number, : len(which)] = which
        weight = torch.from_numpy(counted).to(found.own)
        own, other = (found.own * weight).sum(dim=-1), (found.runner_up * weight).sum(dim=-1)
        made, begin = [], 0
        for one in batch.coded:
            end = begin + len(one.answers)
            made.append(self._of_example(own[begin:end], other[begin:end], weight[begin:end]))
            begin = end
        return torch.stack(made).to(self.dtype)

    def _of_example(self, own: Tensor, other: Tensor, weight: Tensor) -> Tensor:
        several = self.labelled or len(own) > 1
        if self.labelled:
            logits = own if self.offset is None else own - self.offset.to(own)
        elif several:
            logits = torch.stack([own[0], own[1:].logsumexp(dim=0)])
        else:
            logits = torch.stack([own[0], other[0]]) / weight.sum()
        contrast = self.score == "contrast" or (self.score == "auto" and several)
        return logits - logits.mean() if contrast else logits

    def to_units(self, per_value: Tensor, batch: PromptBatch) -> Tensor:
        """The sum over the tokens of each unit."""
        return batch.summed(per_value)

    def spread(self, values: Tensor, batch: PromptBatch) -> Tensor:
        """(prompts,) the standard deviation of the explained embeddings."""
        return super().spread(values, batch.finest())

    def shown(self, batch: PromptBatch, hiding: str, groups: Tensor) -> PromptBatch:  # type: ignore[override]  # noqa: ARG002
        """What is hidden is taken out, or shows another token, by its kind: there is no choice."""
        if hiding != "usual":
            raise self.unknown("hiding", hiding, "usual")
        return batch

    def numbers_per_token(self, width: int, *, gradients: bool = False) -> int:  # noqa: ARG002  # of long prompts, too
        """About how many numbers a look at a prompt holds for each token, where it is differentiated."""
        if not gradients:
            return 64
        config = self.model.config.get_text_config(decoder=True)
        size, layers = (int(getattr(config, name, 0) or 12) for name in ("hidden_size", "num_hidden_layers"))
        return layers * 34 * size

    def most_at_once(self, width: int, device: str) -> int:  # noqa: ARG002  # batches are made where they are read
        """How many prompts are worth a batch."""
        return _AT_ONCE

    def attention(self, one: PromptBatch) -> Tensor:
        """(layers, heads, tokens of the answer, tokens that are read) of one prompt: from where each is predicted.

        Where the prompt is read apart, the attention to it.
        """
        (prompt,), answer = _prompts(one), np.array(one.coded[0].answers[0], dtype=np.int64)
        wanted = Wanted(prompt, answer)
        with quiet(), self._with_weights():
            if self.reader.apart:
                start = [self.model.config.decoder_start_token_id, *answer[:-1].tolist()]
                found = self.model(
                    input_ids=self._row(prompt),
                    decoder_input_ids=self._row(start),
                    output_attentions=True,
                    use_cache=False,
                ).cross_attentions
            else:
                cache = self.reader.beginning(wanted.read[: wanted.first]) if wanted.first else None
                begin = 0 if cache is None else wanted.first
                found = self.model(
                    input_ids=self._row(wanted.read[begin:]), past_key_values=cache, output_attentions=True
                ).attentions
        if not found or found[0] is None:
            raise Unsupported(f"{type(self.model).__name__} does not tell how much each token attends to each.")
        return torch.stack([layer[0, :, -len(answer) :] for layer in found])

    def all_attention(self, one: PromptBatch) -> Tensor:
        """(layers, tokens, tokens) between all tokens that are read of one prompt, as the mean over heads."""
        if self.reader.apart:
            raise Unsupported(f"{type(self.model).__name__} reads in two parts: there is no rollout through both.")
        (prompt,), answer = _prompts(one), np.array(one.coded[0].answers[0], dtype=np.int64)
        read = Wanted(prompt, answer).read
        config = self.model.config.get_text_config(decoder=True)
        if config.num_hidden_layers * config.num_attention_heads * len(read) ** 2 * self.dtype.itemsize > _LARGEST:
            raise Unsupported(f"The attention between all {len(read)} tokens takes too much memory.")
        nowhere = torch.zeros((1, 0), dtype=torch.long, device=self.device)
        with quiet(), self._with_weights(), self.reader.only_at(nowhere):
            found = self.model(input_ids=self._row(read), output_attentions=True, use_cache=False).attentions
        return torch.stack([layer[0].mean(dim=0) for layer in found])

    def _row(self, tokens: Any) -> Tensor:
        return torch.as_tensor(np.asarray(tokens, dtype=np.int64), device=self.device)[None]

    @contextlib.contextmanager
    def _with_weights(self) -> Iterator[None]:
        """Fused kernels hide attention; then as it was."""
        before = attention_of(self.model.config)
        self.model.set_attn_implementation("eager")
        try:
            yield
        finally:
            self.model.set_attn_implementation(before)

    @contextlib.contextmanager
    def noisy(self, share: float, seed: int) -> Iterator[None]:
        """Embeddings with normal noise of a share of their range; then as they were."""
        weight: Tensor = self.model.get_input_embeddings().weight
        size = share * float((weight.max() - weight.min()).detach())
        generator = torch.Generator().manual_seed(seed)

        def add(_: nn.Module, __: object, output: Tensor) -> Tensor:
            return output + size * torch.randn(output.shape, generator=generator).to(output)

        hook = self.embedding.register_forward_hook(add)
        kept, self._memory = self._memory, {}
        try:
            with self.reader.alone():  # what was computed with other noise cannot be kept
                yield
        finally:
            hook.remove()
            self._memory = kept


def _prompts(batch: PromptBatch) -> list[Any]:
    """The tokens of each prompt that are read."""
    read, kept = batch.read.cpu().numpy(), batch.kept.cpu().numpy()
    return [some[which] for some, which in zip(read, kept, strict=True)]
