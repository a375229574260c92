"""Leave-one-out on a BiLSTM at 40 tokens, batch 32, against a loop over positions."""

import torch

from benchmarks.report import line, ratio
from trueness.kinds.text.data.batches import Batch, EncodedSplit
from trueness.kinds.text.data.examples import TextExample
from trueness.kinds.text.data.vocabulary import Vocabulary
from trueness.kinds.text.explainers.leave_one_out import LeaveOneOut
from trueness.kinds.text.models.attentive import AttentiveClassifier, AttentiveConfig

TOKENS, EXAMPLES, WORDS = 40, 32, 5000


def main() -> None:
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    words = [f"w{number}" for number in range(WORDS)]
    generator = torch.Generator().manual_seed(0)
    examples = [
        TextExample(tuple(words[i] for i in torch.randint(WORDS, (TOKENS,), generator=generator)), 0)
        for _ in range(EXAMPLES)
    ]
    vocabulary = Vocabulary.of([TextExample(tuple(words), 0)])
    batch = EncodedSplit(examples, vocabulary, device).batch(range(EXAMPLES))
    config = AttentiveConfig(len(vocabulary), 2, embedding=300, hidden=128, one_logit=True)
    model = AttentiveClassifier(config).to(device).eval()
    ours, theirs = LeaveOneOut().attribute(model, batch), _loop(model, batch)
    assert torch.allclose(ours, theirs, atol=1e-5)
    ahead = ratio(lambda: _loop(model, batch), lambda: LeaveOneOut().attribute(model, batch), tries=8)
    limit = 10.0 if device == "cuda" else 4.0
    line(
        f"leave-one-out, {TOKENS} tokens, batch {EXAMPLES}, {device}, against the loop",
        ahead,
        "x",
        limit,
        at_least=True,
    )


@torch.no_grad()
def _loop(model: AttentiveClassifier, batch: Batch) -> torch.Tensor:
    before = torch.softmax(model(batch).logits, -1)
    chosen = before.argmax(1, keepdim=True)
    scores = torch.zeros(batch.mask.shape, device=batch.mask.device)
    for position in range(1, batch.mask.shape[1] - 1):
        at = torch.full((len(batch),), position, device=batch.mask.device)
        after = torch.softmax(model(Batch(batch.text.without(at), batch.labels)).logits, -1)
        scores[:, position] = (before - after).gather(1, chosen)[:, 0]
    return scores
