"""Pictures of the service's page for docs/serving.md: `python -m tools.page_screenshots`.

They show what the service at `--url` answers, in the fonts that are installed; those of the
documents are Debian's fonts-inter and fonts-noto-core.
"""

from pathlib import Path
from typing import Annotated, Any

import typer

from tools.browser import find_browser
from tools.screenshots import shrink

_TEXT = """Bonjour, où est la gare ?
Je voudrais un café, s'il vous plaît.
Elle habite à Paris depuis trois ans."""
_DEVICES: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 680}},
    "dark": {"viewport": {"width": 1280, "height": 760}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 760}, "is_mobile": True, "has_touch": True},
}


def main(
    url: Annotated[str, typer.Option(help="Of a service that runs.")] = "http://127.0.0.1:8000",
    output: Annotated[Path, typer.Option(help="The folder.")] = Path("docs/images"),
) -> None:
    """Take the pictures; without Chromium, say so and take none."""
    browser_path = find_browser()
    if browser_path is None:
        typer.echo("No Chromium is installed, so no pictures are taken (Debian: chromium).")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        for name, device in _DEVICES.items():
            page = browser.new_page(**device)
            page.goto(url)
            page.locator("#source").fill(_TEXT)
            lines = page.locator(".line")
            lines.nth(2).wait_for()
            if name == "light":
                lines.nth(2).click()
                page.locator("#wordings button").first.wait_for()
                page.mouse.move(0, 0)
            if name == "dark":
                page.get_by_role("button", name="The model").click()
                page.locator("#scores tr").first.wait_for()
            file = output / f"page-{name}.png"
            file.write_bytes(shrink(page.screenshot()))
            typer.echo(f"{file}: {file.stat().st_size / 1000:.0f} kB")
        browser.close()


if __name__ == "__main__":
    typer.run(main)
