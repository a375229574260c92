"""A rating in a real browser: ten items by keyboard, stopped and gone on with, reloaded; nothing tells the method."""

import json

import pytest

from tests.browser.conftest import Running
from tests.browser.stores import METHODS, audit_store, strips
from tests.browser.test_chromium import enter, faults_of, wide
from trueness.api import rating
from trueness.cli.main import main
from trueness.ratings.design import FOILS


@pytest.fixture
def place(tmp_path):
    return audit_store(tmp_path / "store", strips(40))


def begin(store, **how):
    return Running([], session=rating("audit", store=store.path, items=12, **how)[1])


def lines(store):
    (folder,) = (store.path / "ratings").iterdir()
    content = (folder / "answers.jsonl").read_text()
    return [json.loads(line) for line in content.splitlines() if line]


def test_ten_items_are_rated_stopped_and_gone_on_with(page, place):
    store, _ = place
    answers = []
    page.on("response", lambda answer: answers.append((answer.url, answer.text())) if "rate" in answer.url else None)
    server = begin(store)
    enter(page, server, "rate/")
    page.wait_for_selector("#rating[data-done='0']")
    assert faults_of(page) == []
    for number in range(6):
        page.keyboard.press("123"[number % 3])
        page.wait_for_selector(f"#rating[data-done='{number + 1}']")
    page.reload()
    page.wait_for_selector("#rating[data-done='6']")
    shown = page.locator(".words").first.inner_text()
    server.stop()
    again = begin(store)
    enter(page, again, "rate/")  # another port: the rater's number is kept for this machine's name
    page.wait_for_selector("#rating[data-done='6']")
    assert page.locator(".words").first.inner_text() == shown
    for number in range(6, 10):
        page.get_by_role("button", name="Left is better").click()
        page.wait_for_selector(f"#rating[data-done='{number + 1}']")
    kept = lines(store)
    assert len(kept) == 10
    assert len({line["rater"] for line in kept}) == 1
    page.get_by_role("button", name="Another person begins").click()
    page.wait_for_selector("#rating[data-done='0']")
    page.set_viewport_size({"width": 360, "height": 740})
    assert not wide(page)
    again.stop()
    for url, text in answers:
        for name in (*METHODS, *FOILS, "audit"):
            assert name not in url
            assert name not in text or "rate.js" in url or "rate.css" in url or name in ("random", "audit")


@pytest.mark.parametrize("mode", ["simulation", "highlight"])
def test_the_other_questions(page, place, mode):
    store, _ = place
    server = begin(store, mode=mode)
    enter(page, server, "rate/")
    page.wait_for_selector("#rating[data-done='0']")
    assert faults_of(page) == []
    if mode == "highlight":
        page.locator(".words button").nth(1).press("Space")
        page.get_by_role("button", name="These words").press("Enter")
    else:
        page.keyboard.press("1")
    page.wait_for_selector("#rating[data-done='1']")
    assert len(lines(store)) == 1
    server.stop()


def test_the_server_of_a_rating_shows_nothing_else_and_takes_only_answers(place, capsys):
    store, key = place
    server = begin(store)
    for address in (
        f"store/{key}/index.html",
        f"store/{key}/texts.json",
        "rate/design.json",
        "index.html",
        "assets/site.css",
    ):
        assert server.ask(address)[0] == 404
    cookie = server.ask("rate/")[1]["set-cookie"].partition(";")[0]
    ours = {"Origin": server.base, "Cookie": cookie}
    item = json.loads(server.ask("rate/next.json", Cookie=cookie)[2])["item"]
    sent = json.dumps({"id": item["id"], "answer": "left"}).encode()
    for given, headers, status in (
        (sent, {"Cookie": cookie}, 403),
        (sent, {"Cookie": cookie, "Origin": "http://evil.example"}, 403),
        (sent, {"Origin": server.base}, 409),
        (b"{", ours, 409),
        (b"[" * 100_000, ours, 409),
        (b"[1]", ours, 409),
        (sent, ours, 200),
        (sent, ours, 409),
    ):
        assert server.ask("rate/answers", data=given, **headers)[0] == status
    assert server.ask("rate/answers", token=False, data=sent, **ours)[0] == 401
    server.stop()
    with pytest.raises(SystemExit) as ended:
        main(["rate", "audit", "--store", str(store.path), "--items", "12", "--analyse", "--json"])
    assert ended.value.code == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["title"], found["answers"]) == ("Plausibility", 1)
