"""ferret in an environment of its own, whose versions are not ours: explains when asked, and tells its CPU seconds.

    PYTHON benchmarks/ferret_peer.py MODEL TEXT

MODEL is a folder of transformers, TEXT a file. A line of JSON in (method, options), one out (seconds, scores).
"""

import importlib.metadata
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

NAMES = {
    "gradient": "GradientExplainer",
    "integrated gradients": "IntegratedGradientExplainer",
    "LIME": "LIMEExplainer",
}


def main(folder: str, text: str) -> None:
    warnings.filterwarnings("ignore")
    import ferret  # type: ignore[import-not-found]
    import torch
    from transformers import AutoModelForSequenceClassification, PreTrainedTokenizerFast

    torch.set_num_threads(1)
    model: Any = AutoModelForSequenceClassification.from_pretrained(folder).eval().requires_grad_(False)
    coder: Any = PreTrainedTokenizerFast.from_pretrained(folder)
    asked = Path(text).read_text()
    names = ("ferret-xai", "captum", "lime", "torch", "transformers")
    _say({name: importlib.metadata.version(name) for name in names})
    for line in sys.stdin:
        wanted = json.loads(line)
        more = {"multiply_by_inputs": False} if wanted["method"] == "gradient" else {}
        torch.manual_seed(0)
        begin = time.process_time()
        explainer = getattr(ferret, NAMES[wanted["method"]])(model, coder, **more)
        found = explainer.compute_feature_importance(asked, 0, **wanted["options"])
        _say({"seconds": time.process_time() - begin, "scores": [float(score) for score in found.scores[1:-1]]})


def _say(what: dict[str, Any]) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
