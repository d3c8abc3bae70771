"""The page, as a person with a browser uses it."""

import json
import subprocess
import sys

import pytest
import requests

from tools.browser import find_browser
from transformer.serving.http.limits import Limits
from transformer.serving.http.page import ROUTES
from transformer.serving.translator import Translation, Translator

BROWSER = find_browser()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed (Debian: chromium)"),
]
TEXT = "Un chat dort !\n\n  deux chats\nun chien « d'ici »"


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser, serve):
    """Opens the page of a service; it may ask that service alone, and break nothing."""
    contexts, asked, problems = [], [], []

    def start(*folders, limits=None, keys=None, **options):
        served = serve(*folders, limits=limits, keys=keys, more_routes=ROUTES)
        context = browser.new_context(**options)
        contexts.append((context, served.url))
        context.set_default_timeout(30_000)
        page = context.new_page()
        page.served = served
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "console",
            lambda said: problems.append(said.text) if "Content Security" in said.text else None,
        )
        page.goto(served.url)
        page.wait_for_function("() => document.getElementById('count').textContent")
        return page

    yield start
    for context, url in contexts:
        context.close()
        assert [other for other in asked if not other.removeprefix("blob:").startswith(url)] == []
    assert problems == []


def library(folder, text):
    """The text line by line, as the library translates it."""
    translator = Translator(folder, "cpu", num_threads=1)
    lines = text.split("\n")
    wanted = [line.strip() for line in lines]
    translated = [answer[0].text for answer in translator.translate(wanted)]
    return "\n".join(
        line.replace(line.strip(), translation) if line.strip() else line
        for line, translation in zip(lines, translated, strict=True)
    )


def shown(page):
    """The translation that stands there, with its line breaks."""
    lines = page.locator("#output > div").all_text_contents()
    return "\n".join("" if line == "\n" else line for line in lines)


def wait_until_shown(page, text):
    page.wait_for_function(
        "text => [...document.querySelectorAll('#output > div')]"
        ".map(line => line.textContent.replace('\\n', '')).join('\\n') === text",
        arg=text,
    )


def write(page, text):
    page.locator("#source").fill(text)


def axe_violations(page):
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [(one["id"], [node["html"] for node in one["nodes"]]) for one in found]


@pytest.fixture
def many_wordings(monkeypatch):
    """Translators whose hypotheses differ: each lacks one more word."""
    run = Translator.run

    def shortened(self, rows, options):
        return [
            [
                Translation(one.text.rsplit(" ", rank)[0], one.score, one.is_complete)
                for rank, one in enumerate(answer)
            ]
            for answer in run(self, rows, options)
        ]

    monkeypatch.setattr(Translator, "run", shortened)


def test_what_is_typed_is_translated_as_the_library_does(open_page, make_translator):
    folder = make_translator(words=["un", "chat", "dort"])
    page = open_page(folder)
    assert page.evaluate("document.activeElement.id") == "source"
    page.keyboard.type(TEXT, delay=5)
    wait_until_shown(page, library(folder, TEXT))
    assert "chats, chien" in page.locator("#note").inner_text().replace("« ", "")
    assert page.locator("#status").inner_text().split() == library(folder, TEXT).split()
    # Not each key was a request.
    assert (
        page.served.metric("requests_total", route="/v1/translate", method="POST", status="200") < 4
    )
    page.locator("#clear").click()
    wait_until_shown(page, "")


def test_an_answer_that_comes_late_is_dropped(open_page):
    page = open_page()
    page.evaluate("() => { AbortController.prototype.abort = () => {}; }")  # too late for it
    held = []
    page.route("**/v1/translate", lambda route: route.continue_() if held else held.append(route))
    write(page, "un chat")
    page.wait_for_function("() => document.getElementById('output').ariaBusy === 'true'")
    while not held:
        page.wait_for_timeout(10)
    write(page, "deux chat")
    wait_until_shown(page, "DEUX CHAT")
    held[0].fulfill(json={"translations": [{"candidates": [{"text": "LATE"}]}]})
    page.wait_for_timeout(100)
    assert shown(page) == "DEUX CHAT"
    assert page.locator("#output").get_attribute("aria-busy") == "false"


def test_a_slow_network_is_waited_for_in_sight(open_page):
    page = open_page()
    devtools = page.context.new_cdp_session(page)
    slow = {"latency": 700, "downloadThroughput": 5_000, "uploadThroughput": 5_000}
    devtools.send("Network.emulateNetworkConditions", {"offline": False, **slow})
    for text in ("un", "un chat", "un chat dort"):
        write(page, text)
        page.wait_for_timeout(400)  # each is asked for before the one before is answered
    page.wait_for_function("() => document.getElementById('output').ariaBusy === 'true'")
    wait_until_shown(page, "UN CHAT DORT")
    assert page.locator("#output").get_attribute("aria-busy") == "false"


def test_what_is_typed_before_the_service_is_known_is_translated_too(open_page):
    page = open_page()
    held = []
    page.route("**/frontend/settings", lambda route: held.append(route))
    page.reload(wait_until="commit")
    while not held:
        page.wait_for_timeout(10)
    page.locator("#source").type("un chat")
    held[0].continue_()
    wait_until_shown(page, "UN CHAT")


def test_errors_are_told_and_can_be_tried_again(open_page):
    page = open_page()
    error = page.get_by_role("alert")
    write(page, "un chat dort un chat dort un chat dort")
    error.get_by_text("this model holds 8; break it into shorter sentences").wait_for()
    assert axe_violations(page) == []
    page.context.set_offline(True)
    write(page, "un chat")
    error.get_by_text("can’t be reached").wait_for()
    page.context.set_offline(False)
    error.get_by_role("button", name="Try again").click()
    wait_until_shown(page, "UN CHAT")
    assert error.inner_text() == ""


def test_five_thousand_characters_and_one_more(open_page, make_translator):
    folder = make_translator()
    page = open_page(folder, limits=Limits(max_characters=5_000))
    text = ("un chat dort deux\n" * 300)[:5_000]
    write(page, text)
    wait_until_shown(page, library(folder, text))
    assert page.locator("#count").inner_text() == "5,000 / 5,000"
    assert page.locator("#status").inner_text() == "Translated."
    # Both sides show all of it, without bars of their own.
    assert page.evaluate("source.scrollHeight <= source.clientHeight + 1")
    write(page, text + "😀")
    wait_until_shown(page, "")
    assert page.locator("#count").inner_text() == "1 over the limit"
    for width in (320, 1280):  # the error is in sight, however long the text is
        page.set_viewport_size({"width": width, "height": 720})
        page.locator("#error", has_text="Too long: 1 characters over the limit.").wait_for()
        assert page.locator("#error").bounding_box()["y"] < 720


def test_arabic_runs_from_the_right_and_back(open_page, make_translator):
    there = make_translator("there", source_language="en", target_language="ar")
    back = make_translator("back", source_language="ar", target_language="en")
    page = open_page(there, back)
    page.get_by_role("combobox", name="Translate from").select_option("en")
    assert page.get_by_role("combobox", name="Translate to").evaluate("it => it.value") == "ar"
    write(page, "un chat")
    wait_until_shown(page, "UN CHAT")

    def space_left_of(selector):
        return page.evaluate(
            "s => { const box = document.querySelector(s), range = document.createRange();"
            "range.selectNodeContents(box.querySelector('.line'));"
            "return [range.getBoundingClientRect().left - box.getBoundingClientRect().left,"
            "box.getBoundingClientRect().right - range.getBoundingClientRect().right] }",
            selector,
        )

    left, right = space_left_of("#output")
    assert left > right
    output, source = page.locator("#output"), page.locator("#source")
    assert (output.get_attribute("dir"), output.get_attribute("lang")) == ("rtl", "ar")
    assert (source.get_attribute("dir"), source.get_attribute("lang")) == ("ltr", "en")
    assert axe_violations(page) == []
    page.get_by_role("button", name="Swap").click()
    assert (source.get_attribute("dir"), source.get_attribute("lang")) == ("rtl", "ar")
    assert output.get_attribute("dir") == "ltr"
    assert source.input_value() == "UN CHAT"
    page.get_by_role("combobox", name="Translate from").select_option("auto")
    assert source.get_attribute("dir") == "auto"
    page.locator("#note").get_by_text("From ").wait_for()


def test_other_wordings_by_mouse_and_keyboard(open_page, make_translator, many_wordings):
    folder = make_translator()
    page = open_page(folder)
    write(page, "deux\nun chat dort !")
    wait_until_shown(page, "DEUX\nUN CHAT DORT !")
    best = Translator(folder, "cpu", 1).translate(["un chat dort !"], num_best=5, beam_size=5)[0]
    others = list(dict.fromkeys(one.text for one in best[1:]))
    line = page.get_by_role("button", name="UN CHAT DORT !", exact=True)
    line.click()
    wordings = page.get_by_role("region", name="Other wordings").get_by_role("button")
    wordings.first.wait_for()
    assert wordings.all_inner_texts() == others
    assert axe_violations(page) == []
    page.keyboard.press("Escape")
    assert wordings.count() == 0
    page.keyboard.press("Enter")  # on the line, which has the focus again
    wordings.first.wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    wait_until_shown(page, f"DEUX\n{others[1]}")
    assert page.evaluate("document.activeElement.textContent") == others[1]
    page.get_by_role("button", name="DEUX", exact=True).click()
    page.get_by_text("The model has none for this line.").wait_for()


def test_words_that_belong_together_are_marked_on_hover_and_by_keyboard(open_page):
    page = open_page(reduced_motion="reduce")
    write(page, "😀 un chat\n\ndeux chat dort")
    wait_until_shown(page, "😀 UN CHAT\n\nDEUX CHAT DORT")

    def marked():
        return page.evaluate("[...CSS.highlights.get('together')].map(String)")

    def box_of(selector, word, line=0):
        return page.evaluate(
            "([selector, word, line]) => {"
            "const node = document.querySelectorAll(selector)[line].firstChild;"
            "const range = document.createRange(), at = node.data.indexOf(word);"
            "range.setStart(node, at); range.setEnd(node, at + word.length);"
            "const box = range.getBoundingClientRect();"
            "return [box.x + box.width / 2, box.y + box.height / 2] }",
            [selector, word, line],
        )

    page.mouse.move(*box_of(".line", "CHAT", 1))
    assert marked() == ["chat", "CHAT"]
    assert page.evaluate("[...CSS.highlights.get('together')].map(one => one.startOffset)") == [
        len("😀 un chat\n\ndeux ") + 1,  # the smiley takes two places
        len("DEUX "),
    ]
    assert axe_violations(page) == []
    page.mouse.move(*box_of("#echo", "dort"))
    assert marked() == ["dort", "DORT"]
    page.mouse.move(0, 0)
    assert marked() == []
    # The echo's lines break where the text's do.
    assert page.evaluate("echo.clientHeight === source.clientHeight")
    page.keyboard.press("Control+Home")
    page.keyboard.press("Control+ArrowRight")
    page.keyboard.press("ArrowRight")
    assert "un" in marked()
    page.get_by_role("button", name="DEUX CHAT DORT").focus()
    assert marked() == ["deux", "DEUX"]
    page.keyboard.press("ArrowRight")
    assert marked() == ["chat", "CHAT"]
    assert page.locator("#status").inner_text() == "CHAT: chat"
    page.keyboard.press("Shift+Tab")
    assert marked() != ["chat", "CHAT"]
    page.locator("#source").fill("un")
    assert marked() == []


def test_dropped_files_come_back_translated(open_page, make_translator):
    folder = make_translator()
    page = open_page(folder)
    dropped = page.evaluate_handle(
        """text => {
            const all = new DataTransfer();
            all.items.add(new File([text], "../lettre d’été.txt"));
            all.items.add(new File(["%PDF"], "letter.pdf"));
            return all;
        }""",
        TEXT,
    )
    page.dispatch_event("#source", "dragover", {"dataTransfer": dropped})
    assert "dropping" in (page.locator("#panes").get_attribute("class") or "")
    page.dispatch_event("#source", "drop", {"dataTransfer": dropped})
    link = page.get_by_role("link", name="Save")
    with page.expect_download() as download:
        link.click()
    assert download.value.suggested_filename.endswith("lettre d’été.en.txt")
    assert download.value.path().read_text("utf-8") == library(folder, TEXT)
    page.get_by_role("list", name="Translated files").get_by_text("Not one of .txt,").wait_for()
    assert page.locator("#source").input_value() == ""
    assert axe_violations(page) == []
    with page.expect_file_chooser() as chooser:
        page.locator("#choose").click()
    chooser.value.set_files({"name": "two.TXT", "mimeType": "text/plain", "buffer": b"deux"})
    page.get_by_role("link", name="Save two.en.TXT").wait_for()


def test_the_card_is_one_click_away(open_page, make_translator):
    folder = make_translator(graphs={"int8": {"bleu_loss": 0.5, "bleu_loss_low": -0.25}})
    page = open_page(folder)
    card = json.loads((folder / "translator.json").read_text())
    page.get_by_role("button", name="The model").click()
    dialog = page.get_by_role("dialog", name="The model")
    dialog.get_by_text(card["model_hash"]).wait_for()
    told = dialog.inner_text()
    for entry in ("French → English", "toy (here)", "CC0-1.0", "9 test sentences", "nrefs:1"):
        assert entry in told
    rows = dialog.get_by_role("row").all_inner_texts()
    assert "int8\t100.00\t0.50 [−0.25, 0.00]\t100.0 %" in rows
    assert any(row.startswith("float16 (left out)") for row in rows)
    assert axe_violations(page) == []
    whole = dialog.get_by_role("link", name="The whole card").get_attribute("href")
    assert (
        requests.get(f"{page.served.url}/{whole}", timeout=20).json()["card"]["files"]
        == card["files"]
    )
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "open-card"


def test_the_same_request_for_programs_gives_the_same(open_page, make_translator, tmp_path):
    from transformer.serving.http.keys import make_key

    key, line = make_key("somebody")
    keys = tmp_path / "keys"
    keys.write_text(line)
    folder = make_translator()
    page = open_page(folder, keys=keys, permissions=["clipboard-read", "clipboard-write"])
    write(page, TEXT)
    page.get_by_role("alert").get_by_text("An API key is needed").wait_for()
    page.get_by_label("API key").fill(key)
    page.keyboard.press("Enter")
    wait_until_shown(page, library(folder, TEXT))
    page.locator("#copy").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == library(folder, TEXT)
    page.get_by_role("button", name="For programs").click()
    assert axe_violations(page) == []
    answers = []
    for name, command in (("curl", ["bash", "-c"]), ("Python", [sys.executable, "-c"])):
        page.get_by_role("button", name=f"Copy the {name}").click()
        page.locator("#code").get_by_role("button", name="Copied").or_(
            page.get_by_text("Copied")
        ).first.wait_for()
        program = page.evaluate("navigator.clipboard.readText()")
        run = subprocess.run(
            [*command, program],
            env={"KEY": key, "PATH": "/usr/bin:/bin", "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            timeout=20,
            check=True,
        )
        answers.append(run.stdout.decode())
    from_curl = json.loads(answers[0])["translations"][0]["candidates"][0]["text"]
    assert from_curl == answers[1].removesuffix("\n") == library(folder, TEXT)


@pytest.mark.parametrize("letters", ["100%", "200%"])  # fonts differ, and people enlarge them
def test_it_fits_and_breaks_no_rule_of_accessibility(open_page, letters):
    page = open_page(reduced_motion="reduce")  # else colors are looked at while they change
    page.evaluate("size => { document.documentElement.style.fontSize = size; }", letters)
    write(page, "un chat dort\nun chien")
    wait_until_shown(page, "UN CHAT DORT\nUN CHIEN")
    for width in (320, 1280):
        page.set_viewport_size({"width": width, "height": 720})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert axe_violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_page_loads_nothing_of_other_hosts_and_no_inline_script(serve):
    served = serve(more_routes=ROUTES)
    for path in ("/", "/page/style.css", "/page/script.js", "/page/words.js", "/page/icon.svg"):
        reply = requests.get(served.url + path, timeout=20)
        policy = reply.headers["Content-Security-Policy"]
        assert reply.status_code == 200
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert "unsafe" not in policy
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert requests.get(f"{served.url}/page/__init__.py", timeout=20).status_code == 404
