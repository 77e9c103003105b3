"""The page in a real browser, headless: no error, no request to anywhere, it zooms, and it fits a narrow screen.

Chromium is $CHAOSKAFKA_CHROMIUM, else the one of Debian's package. Without one these tests are skipped, unless
CHAOSKAFKA_REQUIRE names chromium.
"""

from __future__ import annotations

import http.server
import os
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaoskafka.report.as_html import as_html
from chaoskafka.report.whole import whole_run
from tests.histories import alterations as a
from tests.histories.copy import Copy
from tests.report.pages import Element, parsed
from tests.report.runs import judged

pytestmark = pytest.mark.slow

MAKERS = re.compile(r"^[A-Z]+ (http://)?[a-z0-9.-]*\.(google|googleapis|gstatic|googleusercontent)\.com[:/]")
ELSEWHERE = "elsewhere.test"  # where the probed page asks for a picture, which shows that asking is heard
LOADS_S = 120  # on a starved machine; it takes two seconds
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-logging=stderr",
)  # fmt: skip
# Waits for the page's own script, then does what a person does, and leaves what it saw in the title.
PROBE = """<script>
addEventListener("load", () => {
  const plot = document.querySelector(".tl-plot"), scroll = document.querySelector(".tl-scroll");
  const told = {fits: document.documentElement.scrollWidth <= innerWidth};
  told.buttons = !document.querySelector(".tl-buttons").hidden;
  const middle = () => (scroll.scrollLeft + scroll.clientWidth / 2) / plot.clientWidth;
  const press = (name) => document.querySelector(`[data-zoom="${name}"]`).click();
  const before = plot.clientWidth, place = middle();
  press("in"); press("in"); press("in");
  told.zoomed = Math.round(plot.clientWidth / before); told.finer = plot.classList.contains("z2");
  told.stays = Math.abs(middle() - place) < 0.01;
  press("fault"); told.fault = scroll.scrollLeft > 0;
  press("all"); told.back = plot.clientWidth === before;
  const box = plot.getBoundingClientRect();
  const at = {clientX: box.left + box.width / 2, clientY: box.top + 5, bubbles: true};
  plot.dispatchEvent(new PointerEvent("pointermove", at));
  told.at = document.querySelector(".tl-at").textContent;
  document.body.dataset.told = JSON.stringify(told);
});
</script>"""


def browser() -> str | None:
    named = os.environ.get("CHAOSKAFKA_CHROMIUM", "")
    return named or shutil.which("chromium")


@pytest.fixture(scope="module")
def chromium() -> str:
    found = browser()
    if found is None:
        if "chromium" in os.environ.get("CHAOSKAFKA_REQUIRE", "").split(","):
            pytest.fail("CHAOSKAFKA_REQUIRE=chromium, and there is none; to mend it: apt-get install chromium")
        pytest.skip("no Chromium; to mend it: apt-get install chromium")
    return found


@pytest.fixture
def page(run: Copy, tmp_path: Path) -> Path:
    path = tmp_path / "report.html"
    path.write_text(as_html([whole_run(judged(run, a.lose_one, expect=("no_lost_acknowledged",)))]))
    return path


class _Heard(http.server.ThreadingHTTPServer):
    """Stands in for the whole internet, as the browser's proxy, and notes who called."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
        self.calls: list[str] = []

    def process_request(self, request: object, client_address: object) -> None:
        assert isinstance(request, socket.socket)
        request.settimeout(5)
        self.calls.append(request.recv(4096).split(b"\r\n")[0].decode("latin-1"))
        self.shutdown_request(request)


@pytest.fixture
def internet() -> Iterator[_Heard]:
    with _Heard() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def opened(chromium: str, page: Path, proxy: str, *flags: str) -> tuple[str, str]:
    """The page's final state as HTML, and what the browser logged of it."""
    profile = page.parent / f"profile-{len(list(page.parent.iterdir()))}"
    words = [chromium, *FLAGS, f"--user-data-dir={profile}", f"--proxy-server={proxy}", *flags, page.as_uri()]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LOADS_S, check=True)
    return done.stdout, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


def told(root: Element) -> str:
    return root.all("body")[0].attributes.get("data-told", "")


def probed(page: Path) -> Path:
    """The page with our probe beside it, which its policy would forbid."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text())
    path = page.with_name("probed.html")
    path.write_text(text.replace("</body>", f'{PROBE}<img src="http://{ELSEWHERE}/x.png"></body>'))
    return path


def test_it_opens_without_an_error_and_without_asking_anybody(chromium: str, page: Path, internet: _Heard) -> None:
    dom, console = opened(chromium, page, f"127.0.0.1:{internet.server_port}", "--dump-dom")
    assert console == ""
    # The browser itself calls its maker, whatever it is told.
    assert [call for call in internet.calls if not MAKERS.search(call)] == []
    # The script ran under the page's own policy: only it shows the buttons.
    buttons = parsed(dom).all("span", "tl-buttons")
    assert buttons
    assert "hidden" not in buttons[0].attributes


@pytest.mark.parametrize("width", [1280, 500])
def test_it_zooms_and_comes_back_and_is_never_wider_than_the_screen(
    width: int, chromium: str, page: Path, internet: _Heard
) -> None:
    proxy = f"127.0.0.1:{internet.server_port}"
    dom, console = opened(chromium, probed(page), proxy, f"--window-size={width},900", "--dump-dom")
    assert [line for line in console.splitlines() if ELSEWHERE not in line] == []
    assert any(ELSEWHERE in call for call in internet.calls)
    seen = told(parsed(dom))
    for fact in ("fits", "buttons", "finer", "stays", "fault", "back"):
        assert f'"{fact}":true' in seen, seen
    assert '"zoomed":8' in seen, seen
    assert re.search(r'"at":"-?\d+\.\d\d s"', seen), seen


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_drawn_in_both_schemes(scheme: str, chromium: str, page: Path, internet: _Heard) -> None:
    """A screenshot that is one colour, or the same in both, would be a page that did not draw."""
    shot = page.with_name(f"{scheme}.png")
    number = {"dark": 0, "light": 1}[scheme]
    flags = (f"--screenshot={shot}", "--window-size=1280,1600", f"--blink-settings=preferredColorScheme={number}")
    opened(chromium, page, f"127.0.0.1:{internet.server_port}", *flags)
    assert shot.stat().st_size > 50_000
