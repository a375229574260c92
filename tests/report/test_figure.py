"""The pieces that figures are made of."""

import pandas as pd

from trueness.report import figure as draw

TABLE = pd.DataFrame({"model": ["other", "bilstm-additive", "other"], "value": [0.5, None, 1.0]})


def test_channels():
    share = draw.numbers("share", between=(0, 1), title=None)
    assert share == {"field": "share", "type": "quantitative", "scale": {"domain": [0, 1]}, "title": None}
    assert draw.numbers("share") == {"field": "share", "type": "quantitative"}
    colour = draw.names_to("model", {"other": "red", "bilstm-additive": "blue"}, title="model")
    assert colour["scale"] == {"domain": ["other", "bilstm-additive"], "range": ["red", "blue"]}
    assert (colour["type"], colour["title"], draw.names("model")["title"]) == ("nominal", "model", None)
    assert draw.panels(TABLE, "model")["sort"] == ["other", "bilstm-additive"]


def test_a_tooltip_says_fields_formats_and_titles():
    assert draw.tooltip("seed", "word is:.1%", "low:.3f:95 % from", "n::draws") == [
        {"field": "seed"},
        {"field": "word is", "format": ".1%"},
        {"field": "low", "format": ".3f", "title": "95 % from"},
        {"field": "n", "title": "draws"},
    ]


def test_a_layer_may_keep_some_rows_only():
    assert draw.layer("rule", {}, color="red") == {"mark": {"type": "rule", "color": "red"}, "encoding": {}}
    assert draw.layer("rule", {}, only="datum.a")["transform"] == [{"filter": "datum.a"}]


def test_a_menu_begins_with_the_papers_own_model():
    spec = draw.one_at_a_time(TABLE)
    assert spec["params"][0]["bind"]["options"] == ["bilstm-additive", "other"]
    assert spec["params"][0]["value"] == "bilstm-additive"
    assert spec["data"]["values"][1] == {"model": "bilstm-additive", "value": None}
    assert draw.one_at_a_time(TABLE[:0])["params"][0]["value"] == ""


def test_a_figure_has_one_style_unless_it_asks_for_another():
    assert draw.all_at_once(TABLE)["config"] == draw.style(titleFontSize=11)
    assert draw.all_at_once(TABLE, config={})["config"] == {}
    assert draw.style(12, 500, columns=5)["legend"]["columns"] == 5
