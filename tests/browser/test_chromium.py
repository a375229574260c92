"""The pages in a real browser: filtered, sorted, compared, copied; by keyboard, on small screens, hostile texts."""

import itertools
import re
import time

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Running
from tests.browser.stores import audit_store, commit, strips
from trueness.browser.runs import runs_of
from trueness.protocols.result import Result
from trueness.report import write_report

axe = pytest.importorskip("axe_core_python.sync_playwright", reason="axe-core checks pages; it is in the extra dev.")


def enter(page, running, address):
    page.goto(f"{running.base}/?token={running.server.token}")
    page.goto(f"{running.base}/{address}")


def faults_of(page):
    """What axe-core calls serious or worse: rule and where."""
    found = axe.Axe().run(page, options={"resultTypes": ["violations"]})["violations"]
    return [(one["id"], one["nodes"][0]["target"]) for one in found if one["impact"] in ("serious", "critical")]


def wide(page):
    return page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


def test_from_the_list_to_one_text(page, running, small):
    enter(page, running, "index.html")
    page.get_by_role("link", name="Audit of a model").click()
    page.get_by_role("link", name="60 texts").click()
    page.wait_for_selector(".instances[data-ready]")
    status, articles = page.get_by_role("status"), page.locator("article")
    expect(status).to_have_text("60 of 60 texts.")
    expect(articles).to_have_count(25)
    page.get_by_label("predicted").select_option("yes")
    page.get_by_label("search in texts").fill("openly")
    expect(status).not_to_have_text("60 of 60 texts.")
    few = articles.count()
    assert 0 < few < 25
    assert all("openly" in text for text in articles.all_inner_texts())
    page.get_by_label("show").select_option("integrated-gradients")
    page.get_by_label("beside it").select_option("lime")
    page.get_by_label("order").select_option("methods disagree most")
    expect(articles.first.locator("h4")).to_have_text(["integrated-gradients", "lime"])
    address = page.url
    page.reload()
    page.wait_for_selector(".instances[data-ready]")
    assert page.url == address
    expect(articles).to_have_count(few)
    articles.locator("a").first.click()  # a new address: drawn when the browser has told the page of it
    expect(articles).to_have_count(1)
    expect(status).to_have_text("One text, by its address.")
    page.get_by_role("button", name="All texts").click()
    expect(articles).to_have_count(25)


def test_disagreement_sorts_as_computed(page, running, small):
    store, key = small
    enter(page, running, f"small/{key}/texts.html#left=1&right=2&sort=methods+disagree+most")
    page.wait_for_selector(".instances[data-ready]")
    shown = [int(text.split()[1]) for text in page.locator("article h3 a").all_inner_texts()]
    (verdict,) = (store.get(one) for one in store.get(key).meta["inputs"]["audits"])
    table = store.get(verdict.meta["inputs"]["examples"][0]).read("strips")
    by = table.set_index(["instance", "method"])["scores"]
    pairs = {one: [np.abs(by[one, name]) for name in ("integrated-gradients", "lime")] for one in range(60)}
    slow = {one: np.corrcoef(*both)[0, 1] for one, both in pairs.items()}
    found = [slow[one] for one in shown]
    assert all(a <= b + 0.051 for a, b in itertools.pairwise(found)), "in steps of 5 %"


def test_plots_are_filtered_pinned_and_compared(page, running, small):
    enter(page, running, f"small/{small[1]}/plots.html")
    page.wait_for_selector(".plots[data-ready]")
    page.get_by_label("method").select_option("lime")
    grid = page.locator(".plots > .grid-of-plots")
    expect(grid.locator(".plot")).to_have_count(7)
    for place in (0, 1):
        grid.locator("input").nth(place).check()
    expect(page.locator(".pinned .plot")).to_have_count(2)
    expect(page.locator(".pinned tbody tr")).to_have_count(2)
    page.reload()
    page.wait_for_selector(".plots[data-ready]")
    expect(page.locator(".pinned .plot")).to_have_count(2)
    page.get_by_role("button", name="Unpin all").click()
    expect(page.locator(".pinned")).to_be_hidden()
    page.locator(".plot a").first.click()
    expect(page.get_by_role("status")).to_have_text("One cell, by its address.")


def test_a_table_is_sorted_and_copied(page, running, small):
    enter(page, running, f"small/{small[1]}/index.html")
    head = page.locator("#matrix-table thead th").nth(1)
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    cells = page.locator("#matrix-table tbody tr td:nth-child(2)")
    values = [float(one.get_attribute("data-sort") or "-inf") for one in cells.all()]
    assert values == sorted(values, reverse=True)
    page.locator("button[data-copy=csv][data-table=matrix-table]").click()
    page.get_by_role("button", name="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith('"method","depends on the model')
    assert copied.count("\n") == len(values)


def test_the_keyboard_alone_suffices(page, running, small):
    enter(page, running, f"small/{small[1]}/texts.html")
    page.wait_for_selector(".instances[data-ready]")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.type") == "search":
            break
    page.keyboard.type("openly")
    found = page.locator("article").count()
    assert 0 < found <= 25
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")  # predicted: the first class
    expect(page).to_have_url(re.compile("predicted="))
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName") == "A" and "text=" in page.evaluate(
            "document.activeElement.href"
        ):
            break
    page.keyboard.press("Enter")
    expect(page.locator("article")).to_have_count(1)


PAGES = (
    "index.html",
    "small/{}/index.html",
    "small/{}/texts.html",
    "small/{}/plots.html",
    "small/{}/audit-1.html",
    "nothing",
)


def test_small_screens_and_accessibility(chromium, running, small):
    for scheme in ("light", "dark"):
        context = chromium.new_context(viewport={"width": 360, "height": 740}, color_scheme=scheme)
        page = context.new_page()
        for address in PAGES:
            enter(page, running, address.format(small[1]))
            page.wait_for_load_state()
            if "texts" in address or "plots" in address:
                page.wait_for_selector("[data-ready]")
            assert not wide(page), address
            if (scheme == "dark") is ("audit-" in address or "plots" in address or address == "index.html"):
                assert faults_of(page) == [], (address, scheme)
        context.close()


def test_hostile_texts_are_text(page, running, hostile):
    enter(page, running, f"hostile/{hostile[1]}/texts.html")
    page.wait_for_selector(".instances[data-ready]")
    assert "<script>window.broken=1</script>" in page.locator("article").first.inner_text()
    page.get_by_role("button", name="Show 5,000 more of 99,700 words").click()
    page.get_by_role("button", name="Show 5,000 more of 94,700 words").wait_for()
    assert page.locator("article").nth(2).locator("span").count() > 2 * 4000
    for address in ("index.html", "plots.html", "audit-1.html"):
        page.goto(f"{running.base}/hostile/{hostile[1]}/{address}")
    assert page.evaluate("window.broken") is None


@pytest.fixture(scope="module")
def report(small, tmp_path_factory):
    run = runs_of(small[0])[small[1]]
    return write_report(run.study, run.stored, tmp_path_factory.mktemp("report") / "report.html")[0]


def test_the_report_has_the_same_browser_and_stands_alone(page, report):
    page.goto(report.as_uri())
    page.wait_for_selector(".instances[data-ready]")
    page.get_by_label("search in texts").fill("openly")
    assert 0 < page.locator("article").count() <= 25
    page.get_by_label("order").select_option("methods disagree most")
    page.locator("#matrix-table thead button").nth(1).click()
    expect(page.locator("#matrix-table thead th").nth(1)).to_have_attribute("aria-sort", "descending")
    page.locator("button[data-copy=csv][data-table=matrix-table]").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert "trueness verify" in page.locator("footer").inner_text()
    page.set_viewport_size({"width": 360, "height": 740})
    assert not wide(page)
    assert faults_of(page) == []
    page.emulate_media(media="print")
    expect(page.locator("button[data-copy]").first).to_be_hidden()


def test_a_report_without_texts_holds_none(small, tmp_path):
    run = runs_of(small[0])[small[1]]
    page, *_ = write_report(run.study, run.stored, tmp_path / "report.html", no_text=True)
    html = page.read_text(encoding="utf-8")
    assert "openly" not in html
    assert "without texts" in html


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """10,000 texts of five methods, and 10,000 plots."""
    store, texts = audit_store(tmp_path_factory.mktemp("large") / "large", strips(10_000))
    cells = pd.DataFrame({"instance": np.tile(np.arange(3), 10_000), "seed": np.repeat(np.arange(10_000), 3)})
    cells["tau"] = np.random.default_rng(0).normal(size=len(cells))
    plots = commit(store, "audit/summary", Result(cells).payloads(), audits=[])
    study = {"kind": "audit", "name": "audit", "title": "Many plots", "question": "?", "paper": "trueness"}
    store.record_run("audit", plots, study)
    server = Running([store])
    yield server, texts, plots
    server.stop()


def seconds_until_ready(page, address, limit):
    """From the click until the page can be used; other work on this machine may need some more tries."""
    for _ in range(6):
        page.goto("about:blank")
        page.goto(address)
        page.wait_for_selector("[data-ready]")
        taken = page.evaluate("Number(document.querySelector('[data-ready]').dataset.ready)") / 1000
        if taken < limit:
            break
    return taken


def test_ten_thousand_texts_without_a_stutter(page, large):
    server, texts, _ = large
    size = len(server.ask(f"large/{texts}/texts.json")[2])
    assert size < 20 << 20
    enter(page, server, "index.html")
    assert seconds_until_ready(page, f"{server.base}/large/{texts}/texts.html", 2) < 2
    work = (
        "document.querySelector('.controls input[type=search]').dispatchEvent(new InputEvent('input', {bubbles: true}))"
    )
    page.get_by_label("order").select_option("methods disagree most")
    taken = page.evaluate(f"() => {{ const begin = performance.now(); {work}; return performance.now() - begin; }}")
    assert taken < 500, "filtering and sorting all of them, in milliseconds"


def test_sixty_thumbnails_of_ten_thousand_plots(page, large):
    server, _, plots = large
    enter(page, server, "index.html")
    server.ask(f"large/{plots}/plots.json")
    assert seconds_until_ready(page, f"{server.base}/large/{plots}/plots.html", 1) < 1
    assert page.locator(".plot svg").count() == 60
    assert "10,000 plots" in page.get_by_role("status").inner_text()
    begin = time.perf_counter()
    page.get_by_role("button", name="Next").click()
    page.get_by_text("page 2 of 167").wait_for()
    assert time.perf_counter() - begin < 1
