"""Keys of stored results name a recipe, not what it says: a recipe that changes needs new versions of tasks."""

from dataclasses import asdict

import pytest

from trueness.engine.encoding import digest
from trueness.models.recipes import FINE_TUNINGS, RECIPES

KNOWN = {
    "court2022": "5259b85907",
    "court2022-pair": "11193a7d0a",
    "default": "b51a97d87e",
    "default-pair": "3565385045",
    "demo": "859e4d6f7d",
    "dry-run": "c77e46f807",
    "dry-run-pair": "359b0306fc",
    "image": "cfc7ff9b39",
    "vector": "58d2b9db9c",
    "jw2019": "a36dfe3b15",
    "jw2019-babi": "47785c7fb5",
    "jw2019-pair": "d728eb07a5",
    "madsen2022": "11094f5f69",
    "madsen2022-babi": "af1ea80cd2",
    "madsen2022-pair": "078c29652f",
    "rationale": "681b448109",
    "twin": "f2fd8768c1",
    "twin@attefa2022": "9880c3ab2b",
    "wiegreffe2019": "e1372cd3b0",
    "zhou2022": "f880a89493",
    "fine-tune": "2b0232d61f",
    "fine-tune@court2022": "009af66d92",
    "fine-tune@madsen2022": "4f62c829fe",
    "planted": "eb457b0107",
}


@pytest.mark.parametrize("name", [*RECIPES, *FINE_TUNINGS])
def test_a_recipe_is_what_stored_results_were_trained_by(name):
    recipe = RECIPES[name] if name in RECIPES else FINE_TUNINGS[name]
    said = digest(asdict(recipe))[:10]
    assert KNOWN.get(name) == said, (
        f"{name} is new or has changed. Give the tasks that train by it another version (`grep -rn recipe src` "
        f"finds them: text/train, text/fine-tune, roar/*, ...), then write {said} here."
    )
