import numpy as np
import pytest
from scipy.stats import kendalltau

import trueness as tn
from tests.models.test_training import DATA, QUICK, SMALL
from trueness.data.dataset import drawn_examples
from trueness.errors import UserError


def test_the_methods_of_a_model_are_compared_in_one_call():
    model = tn.train("bilstm-additive", DATA, recipe=QUICK, **SMALL)
    names = ["attention", "lime", "kernel-shap", "gradient", "random"]
    found = tn.agreement(model, DATA, names, instances=30)
    tau = {score.method: score.value for score in found.scores if score.quantity == "Kendall tau"}
    assert len(tau) == 10
    assert tau["lime and kernel-shap"] > 0.5 > abs(tau["gradient and random"])
    (example, text), *_ = enumerate(drawn_examples(DATA["test"], 30))
    words = text.tokens
    alone = [np.abs(tn.explain(model, [text], name)[0].scores) for name in ("attention", "gradient")]
    record = found.to_pandas().set_index(["pair", "instance"]).loc[("attention and gradient", example)]
    assert record["length"] == len(words)
    assert record["Kendall tau"] == pytest.approx(kendalltau(*alone).statistic, abs=1e-6)
    assert tn.agreement(model, ["x good y z", "bad x y y z"], ["attention", "gradient"]).scores
    with pytest.raises(UserError, match="two different explainers"):
        tn.agreement(model, DATA, ["lime", "lime"])
    with pytest.raises(UserError, match="did you mean lime"):
        tn.agreement(model, DATA, ["limes", "random"])
