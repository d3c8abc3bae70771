"""The browser that takes the pictures for the documents."""

import pytest

from tools import page_screenshots, screenshots
from tools.browser import find_browser, open_browser

PAGE = "data:text/html,<input placeholder=name><p id=p>not yet</p><script>{}</script>"
SCRIPT = "setTimeout(() => p.innerText = 'ready', 300)"


@pytest.mark.skipif(find_browser() is None, reason="no Chromium is installed")
def test_a_page_is_waited_for_typed_into_and_pictured():
    with open_browser(find_browser() or "") as page:
        page.open(PAGE.format(SCRIPT), 320, 200)
        page.wait("p.innerText == 'ready'", settle_seconds=0)
        page.type("input", "a|b")
        assert page.evaluate("document.querySelector('input').value") == "a|b"
        assert page.evaluate("[innerWidth, innerHeight]") == [320, 200]
        picture = page.screenshot()
    assert picture.startswith(b"\x89PNG")
    assert len(screenshots.shrink(picture)) < len(picture)


@pytest.mark.parametrize("pictures", [screenshots, page_screenshots])
def test_without_a_browser_it_says_so_and_takes_none(pictures, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(pictures, "find_browser", lambda: None)
    pictures.main(output=tmp_path / "images")
    assert "No Chromium is installed" in capsys.readouterr().out
    assert not (tmp_path / "images").exists()
