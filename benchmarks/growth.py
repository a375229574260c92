"""How costs grow with the length of a text and the number of texts: python -m benchmarks.growth [OUT].

A small transformer with random weights on one thread: CPU seconds (the least of three; of the largest size one) and
peak memory of tensors. The exponent is the slope of the logarithms over the upper half of the sizes. Writes growth.csv
and growth.png to OUT.
"""

import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from tests.memory import peak_bytes

from benchmarks.peer_setting import setting
from trueness.explainers.gradients import Gradient
from trueness.explainers.masked_copies import KernelShap, Lime
from trueness.explainers.paths import IntegratedGradients
from trueness.kinds.text.data.batches import Batch
from trueness.kinds.text.data.sequences import Sequences
from trueness.kinds.text.explainers.leave_one_out import LeaveOneOut
from trueness.report.figure import Figure, all_at_once, layer, numbers, panels

TOKENS = (20, 40, 80, 160, 320, 500)
TEXTS = (1, 4, 16, 64, 256, 1024)
METHODS = {
    "gradient": Gradient(),
    "integrated gradients, 20 steps": IntegratedGradients(20),
    "leave-one-out": LeaveOneOut("mask"),
    "LIME, 100 samples": Lime(100),
    "Kernel SHAP, 100 samples": KernelShap(100),
}


def main(out: Path | None) -> None:
    rows = []
    for what, sizes in (("tokens of one text", TOKENS), ("texts of 20 tokens", TEXTS)):
        for name, explainer in METHODS.items():
            for size in sizes:
                texts, tokens = (1, size) if what.startswith("tokens") else (size, 20)
                one, batch = _batch(texts, tokens)

                def look(explainer=explainer, one=one, batch=batch) -> None:  # type: ignore[no-untyped-def]
                    explainer.attribute(one.network, batch, 0)

                look()
                taken = min(_seconds(look) for _ in range(3 if size < max(sizes) else 1))
                memory = peak_bytes(look) / 1e6
                rows.append({"against": what, "method": name, "size": size, "seconds": taken, "MB": memory})
                print(f"{what} {size}, {name}: {taken:.3f} s, {memory:.0f} MB", flush=True)
    table = pd.DataFrame(rows)
    fitted = {}
    for (against, method), some in table.groupby(["against", "method"], sort=False):
        upper = some[some["size"] >= np.sqrt(some["size"].min() * some["size"].max())]
        fitted[against, method] = [
            np.polyfit(np.log(upper["size"]), np.log(upper[column]), 1)[0] for column in ("seconds", "MB")
        ]
        slow, large = fitted[against, method]
        print(f"{against}, {method}: seconds grow by the power {slow:.2f}, MB by {large:.2f}")
    if out is not None:
        table["exponent of seconds"] = [fitted[key][0] for key in zip(table["against"], table["method"], strict=True)]
        table["exponent of MB"] = [fitted[key][1] for key in zip(table["against"], table["method"], strict=True)]
        table.to_csv(out / "growth.csv", index=False, float_format="%.4g")
        _draw(table, out / "growth.png")


def _batch(texts: int, tokens: int):  # type: ignore[no-untyped-def]
    one = setting("tiny", tokens, "cpu", 1, 1, (1,))
    words = torch.randint(1000, 30_000, (texts, tokens), generator=torch.Generator().manual_seed(0))
    inside = one.batch.mask.expand(texts, -1)
    text = Sequences(words, torch.full((texts,), tokens), inside, mask_token=103)
    return one, Batch(text, torch.zeros(texts, dtype=torch.long))


def _seconds(look) -> float:  # type: ignore[no-untyped-def]
    begin = time.process_time()
    look()
    return time.process_time() - begin


def _draw(table: pd.DataFrame, path: Path) -> None:
    shown = table.melt(["against", "method", "size"], ["seconds", "MB"], "unit", "value")
    shown["panel"] = shown["unit"] + " against " + shown["against"]
    x = numbers("size", title="tokens or texts", scale={"type": "log"})
    y = numbers("value", title="seconds or MB", scale={"type": "log"})
    colour = {"field": "method", "type": "nominal", "title": None}
    here = {"x": x, "y": y, "color": colour}
    spec = all_at_once(
        shown,
        columns=2,
        facet=panels(shown, "panel"),
        spec={"width": 260, "height": 180, "layer": [layer("line", here), layer("point", here, filled=True, size=25)]},
        resolve={"scale": {"x": "independent", "y": "independent"}},
    )
    path.write_bytes(Figure("growth", "", "", spec).drawn("png"))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
