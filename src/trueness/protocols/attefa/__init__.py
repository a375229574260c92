"""Could another model predict the same while attending elsewhere? AtteFa (2022) and Wiegreffe and Pinter (2019).

`score` has the formulas, `two_models` compares two models of one's own, `runs` measures twins and retrained models
against a base model, `guides` trains under attention from outside, `summary` and `claims` conclude a study.
"""
