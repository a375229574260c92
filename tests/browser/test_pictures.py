"""Pictures as a person sees them, in a real browser: no name is cut, no labels collide, nothing lies beyond an edge."""

import itertools

from tests.audit.fixtures import example_audit
from tests.browser.test_chromium import enter
from trueness.audits.page import page as audit_page
from trueness.protocols.result import Score
from trueness.report.explanation import Explanation, Explanations
from trueness.report.measurement import figure_of

METHODS = ("leave-one-out", "integrated-gradients", "lime[n_samples=200, hiding=unknown]", "attention")
ABOUT = {
    "quantity": "comprehensiveness of a long name",
    "dataset": "d",
    "model": "m",
    "variant": "corrected",
    "level": 0.95,
}
ABOUT |= {"target": "predicted", "direction": "higher is better", "null": 0.0, "best": 1.0, "n": 9}
TEXT = "a dull film with a wonderful cast that the plot never deserves , and an ending that nobody wanted to see"
WORDS = TEXT.split(" ")

_OUTSIDE = """() => {
  const edge = document.querySelector('svg').getBoundingClientRect();
  return [...document.querySelectorAll('svg text')].filter(text => text.textContent.trim()).filter(text => {
    const box = text.getBoundingClientRect();
    return box.left < edge.left || box.right > edge.right || box.top < edge.top || box.bottom > edge.bottom;
  }).map(text => text.textContent);
}"""
_VISIBLE = """() => [...document.querySelectorAll('svg text')]
  .filter(text => getComputedStyle(text).opacity > 0).map(text => text.textContent)"""
_COLLIDING = """() => {
  const boxes = [...document.querySelectorAll('svg text')].filter(text => getComputedStyle(text).opacity > 0)
    .filter(text => text.textContent.trim() && !/rotate/.test(text.getAttribute('transform')))
    .map(text => [text.textContent, text.getBoundingClientRect()]);
  return boxes.flatMap(([text, one], place) => boxes.slice(place + 1).filter(([, other]) =>
    one.left < other.right && other.left < one.right && one.top + 2 < other.bottom && other.top + 2 < one.bottom
  ).map(([other]) => `${text} on ${other}`));
}"""


def scores(values):
    return [
        Score(method=method, value=value, low=value - 0.01, high=value, **ABOUT)
        for method, value in zip(METHODS, values, strict=True)
    ]


def test_figures_keep_names_whole_and_labels_apart(page):
    narrow = figure_of(scores([0.4111, 0.4112, 0.4113, 0.4114]), "Close together")
    for figure in [narrow, figure_of(scores([-1e5, 0.0, 1e5, 12.0]), "Wide")]:
        page.set_content(f"<body style='margin:40px'>{figure.drawn('svg').decode()}</body>")
        assert page.evaluate(_OUTSIDE) == []
        assert page.evaluate(_COLLIDING) == []
        assert set(METHODS) <= set(page.evaluate(_VISIBLE)), "every method has its name"


def test_a_heat_map_on_a_phone_shows_every_word(page, tmp_path):
    found = Explanations(
        Explanation(method, tuple(WORDS), tuple(range(len(WORDS))), "bad", 0.9, "bad") for method in METHODS
    )
    (tmp_path / "explain.html").write_text(found.to_html())
    (tmp_path / "audit.html").write_text(audit_page(example_audit()))
    for name in ("explain.html", "audit.html"):
        page.goto(f"file://{tmp_path / name}")
        for width in (1280, 400):
            page.set_viewport_size({"width": width, "height": 900})
            shown = page.locator(".lined" if width == 1280 else ".flowing")
            words = shown.first.locator("bdi:not(.name)")
            boxes = [one.bounding_box() for one in words.all() if one.is_visible()]
            assert boxes
            assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes), "no word is cut"
    assert page.locator(".flowing").first.is_visible()


def test_names_of_methods_break_between_their_parts(page, running, small):
    page.set_viewport_size({"width": 400, "height": 900})
    enter(page, running, f"small/{small[1]}/index.html")
    widths = page.evaluate("""() => [...document.querySelectorAll('#matrix-table tbody th')].map(head => {
        const range = document.createRange(), lines = new Map();
        for (const node of head.childNodes) if (node.nodeType === 3) for (let place = 0; place < node.length; place++) {
            range.setStart(node, place); range.setEnd(node, place + 1);
            const top = Math.round(range.getBoundingClientRect().top);
            lines.set(top, (lines.get(top) ?? '') + node.data[place]);
        }
        return [...lines.values()];
    })""")
    for lines in widths:
        assert not any(before[-1].isalpha() and after[0].isalpha() for before, after in itertools.pairwise(lines)), (
            lines
        )


def test_one_plot_has_a_row_for_each_method_and_ticks(page, running, small):
    enter(page, running, f"small/{small[1]}/plots.html")
    page.wait_for_selector(".plots[data-ready]")
    plot = page.locator(".plot.by-method").first
    rows, dots = plot.locator(".methods span").count(), plot.locator("svg .dot").count()
    assert rows == dots > 3
    ticks = [float(text.replace("−", "-")) for text in plot.locator("svg text").all_text_contents()]
    assert 3 <= len(ticks) <= 6
    assert ticks == sorted(ticks)
    steps = {round(after - before, 6) for before, after in itertools.pairwise(ticks)}
    assert len(steps) == 1, "round numbers at equal distances"
    status = page.get_by_role("status").inner_text()
    cells, plots = (int(word) for word in (status.split()[0], status.split()[-2]))
    assert plots < cells / 3, "not one plot for every dot"
