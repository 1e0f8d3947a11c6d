"""The page in a real browser, where there is one: it runs, filters, tells points, is inert."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from harness.testing import browser
from harness.testing.browser import Browser
from tests.report.html.made_runs import PLANTED, reported, save, sweep

PROGRAM = browser.program()
pytestmark = pytest.mark.skipif(
    PROGRAM is None, reason="no chromium on PATH: apt-get install chromium"
)
SHOWN = "[...document.querySelectorAll('.talk')].filter(t => !t.hidden)"
MOST_OPENING_MS = 2000


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page of four runs, one of which said what is planted."""
    root = sweep(tmp_path_factory.mktemp("sweep"))
    save(root / "0-easy-seed1", (1, 60), 5, " ".join(PLANTED))
    path = root / "report.html"
    path.write_bytes(reported(root).content)
    return path.as_uri()


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    assert PROGRAM is not None
    opened = Browser(PROGRAM, tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


@pytest.fixture
def page(tab: Browser, address: str) -> Browser:
    tab.width(1400)
    tab.scheme("light")
    tab.open(address)
    return tab


def test_it_runs_without_an_error_and_asks_for_nothing(page: Browser, address: str) -> None:
    assert page.js("document.documentElement.dataset.ready") == "yes"
    assert page.js("document.documentElement.dataset.error") is None
    assert page.troubles == []
    assert page.requests == [address]
    timing = page.js("performance.getEntriesByType('navigation')[0].loadEventEnd")
    assert timing < MOST_OPENING_MS


def test_planted_text_stays_text(page: Browser) -> None:
    page.js(f"{SHOWN}.forEach(t => t.open = true)")
    assert page.js("document.documentElement.dataset.planted") is None
    assert page.js("document.images.length") == 0
    assert page.js("document.scripts.length - document.querySelectorAll('.points').length") == 1
    said = page.js("document.querySelector('.talk .turns p').textContent")
    assert said.startswith(PLANTED[0])
    assert "\\x1b[31mred" in said
    assert "\\u202e" in said


def test_a_script_that_got_in_would_be_refused(page: Browser) -> None:
    page.js(
        "(() => { const s = document.createElement('script');"
        "s.textContent = 'document.documentElement.dataset.planted = 1';"
        "document.body.append(s);"
        "const i = new Image(); i.src = 'https://example.org/x.png'; document.body.append(i); })()"
    )
    assert page.js("document.documentElement.dataset.planted") is None
    assert page.js("document.querySelector('img').naturalWidth") == 0
    refused = json.dumps(page.troubles)
    assert "script-src" in refused
    assert "img-src" in refused or "default-src" in refused


def test_search_and_filters_show_what_fits_and_the_address_keeps_them(page: Browser) -> None:
    every = page.js("document.querySelectorAll('.talk').length")
    assert page.js(f"{SHOWN}.length") == min(every, 40)
    page.js(_typed("find", "nul\\\\x00byte"))
    planted = page.js(f"{SHOWN}.map(t => t.dataset.run)")
    assert set(planted) == {"0-easy-seed1"}
    page.js("document.getElementById('talk-filters').reset()")
    page.js(_typed("moment", "last step"))
    page.js(_typed("rank", "best"))
    assert set(page.js(f"{SHOWN}.map(t => t.dataset.rank)")) == {"best"}
    assert page.js(f"{SHOWN}.length") == 4
    assert page.js("document.getElementById('talk-count').textContent") == f"4 of {every}"
    assert page.js("location.hash") == "#conversations?moment=last+step&rank=best"
    page.js("location.hash = '#conversations?run=2-hard-seed1'; dispatchEvent(new Event('x'))")
    page.js("dispatchEvent(new HashChangeEvent('hashchange'))")
    assert set(page.js(f"{SHOWN}.map(t => t.dataset.run)")) == {"2-hard-seed1"}


def _typed(name: str, value: str) -> str:
    return (
        f"(() => {{ const f = document.getElementById('talk-filters').elements.namedItem('{name}');"
        f"f.value = '{value}'; f.dispatchEvent(new Event('input', {{bubbles: true}})); }})()"
    )


def test_rows_of_the_table_of_runs_are_found(page: Browser) -> None:
    page.js(
        "(() => { const f = document.querySelector('input[data-table]'); f.value = '3-HARD';"
        "f.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )
    rows = "[...document.querySelectorAll('#runs-table tbody tr')].filter(r => !r.hidden)"
    assert [text.strip()[:6] for text in page.js(f"{rows}.map(r => r.textContent)")] == ["3-hard"]


def test_a_point_is_read_by_pointer_and_by_key(page: Browser) -> None:
    told = "document.querySelector('#tip.on')?.textContent ?? ''"
    page.js("document.querySelector('#figure-2 svg.panel').scrollIntoView({block: 'center'})")
    box = page.js(
        "(b => [b.left, b.top, b.width, b.height])"
        "(document.querySelector('#figure-2 svg.panel').getBoundingClientRect())"
    )
    for share in range(20, 95, 5):
        page.mouse(box[0] + 0.5 * box[2], box[1] + share / 100 * box[3])
        if page.js(told):
            break
    assert "step: " in page.js(told)
    page.js("document.querySelector('#figure-2 svg.panel').focus()")
    seen = []
    for name in ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowDown"):
        page.key(name)
        seen.append(page.js(told))
    assert seen[0] == seen[2] != seen[1]
    assert seen[3].startswith("seed 2")
    page.key("Escape")
    assert page.js(told) == ""


def test_one_series_of_a_legend_can_be_seen_alone(page: Browser) -> None:
    page.js("document.querySelector('#figure-1 .legend button').click()")
    assert page.js("document.querySelectorAll('#figure-1 .dim').length") > 0
    pressed = "document.querySelector('#figure-1 .legend button').getAttribute('aria-pressed')"
    assert page.js(pressed) == "true"
    page.js("document.querySelector('#figure-1 .legend button').click()")
    assert page.js("document.querySelectorAll('#figure-1 .dim').length") == 0


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_the_window_and_follows_the_scheme(page: Browser, width: int, scheme: str) -> None:
    page.width(width)
    page.scheme(scheme)
    page.js(f"{SHOWN}.slice(0, 3).forEach(t => t.open = true)")
    assert page.js("document.documentElement.scrollWidth") <= width
    ground = page.js("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 28)"}[scheme]
    assert len(page.picture()) > 10_000


OUTSIDE = (
    "[...document.querySelectorAll('body *')].filter(e => e.id !== 'tip' && !e.closest('.skip')"
    " && !e.closest('.scroll table, nav div, svg') && e.getBoundingClientRect().right > 400.5)"
    ".map(e => `${e.tagName}.${e.className}`)"
)
WIDE = (
    "[...document.querySelectorAll('.scroll, nav div')].filter(s => s.scrollWidth > s.clientWidth)"
)


def test_on_a_phone_only_tables_and_contents_are_wider_than_the_screen(page: Browser) -> None:
    page.width(400)
    page.js("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    page.js(
        "document.querySelectorAll('.talk').forEach(t => t.style.contentVisibility = 'visible')"
    )
    assert page.js(OUTSIDE) == []
    assert page.js(f"{WIDE}.length") >= 4


def test_what_is_wider_has_a_shadow_at_its_edge_until_its_end_is_seen(page: Browser) -> None:
    page.width(400)
    page.js("document.querySelector('#runs .scroll').scrollIntoView({block: 'start'})")
    beyond = page.js(
        "(s => s.scrollWidth - s.clientWidth)(document.querySelector('#runs .scroll'))"
    )
    assert beyond > 100
    assert _edge_darkness(page) > 15
    page.js("document.querySelector('#runs .scroll').scrollLeft = 10000")
    assert _edge_darkness(page) == 0


def _edge_darkness(page: Browser) -> int:
    """How much darker the right edge of the table of runs is than its ground, of 255: the lightest
    pixels of its last columns, between the lines of text.
    """
    left, top, width = page.js(
        "(b => [b.right - 8, b.top + 120, 3])"
        "(document.querySelector('#runs .scroll').getBoundingClientRect())"
    )
    with Image.open(io.BytesIO(page.picture())) as picture:
        strip = picture.convert("L").crop((int(left), int(top), int(left + width), int(top) + 60))
    lightest: int = max(strip.tobytes())
    return 255 - lightest


def test_a_wide_table_is_scrolled_by_key_and_keeps_names_in_sight(page: Browser) -> None:
    page.width(400)
    page.js("document.querySelector('#runs .scroll').focus()")
    for _ in range(4):
        page.key("ArrowRight")
    until = time.monotonic() + 5
    while not page.js("document.querySelector('#runs .scroll').scrollLeft > 30"):
        assert time.monotonic() < until, "arrow keys do not scroll the table"
    name = "document.querySelector('#runs tbody tr:not(.level) th').getBoundingClientRect().left"
    table = "document.querySelector('#runs .scroll').getBoundingClientRect().left"
    assert abs(page.js(f"{name} - {table}")) <= 2


def test_the_switch_overrides_the_scheme(page: Browser) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    page.js("document.getElementById('theme').click()")
    assert page.js("document.getElementById('theme').textContent") == "colours: dark"
    assert page.js(ground) == "rgb(20, 24, 28)"
    page.js("document.getElementById('theme').click()")
    page.scheme("dark")
    assert page.js(ground) == "rgb(255, 255, 255)"
    page.js("document.getElementById('theme').click()")


def test_every_control_is_reached_by_the_tab_key(page: Browser) -> None:
    reached = set()
    for _ in range(60):
        page.key("Tab")
        reached.add(page.js("document.activeElement.id || document.activeElement.tagName"))
    assert {"A", "theme", "INPUT", "svg", "BUTTON"} <= reached


def test_without_script_everything_can_be_read(tab: Browser, address: str) -> None:
    tab.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        tab.open(address)
        document = tab.send("DOM.getDocument", depth=0)["root"]["nodeId"]
        found = tab.send("DOM.querySelectorAll", nodeId=document, selector=".talk:not([hidden])")
        assert len(found["nodeIds"]) == Path(address[7:]).read_text().count('class="talk"')
        hidden = tab.send("DOM.querySelectorAll", nodeId=document, selector="html.js")
        assert hidden["nodeIds"] == []
    finally:
        tab.send("Emulation.setScriptExecutionDisabled", value=False)
