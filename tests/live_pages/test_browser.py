"""Pages in a browser: sliders are moved, numbers compared with Python's, and parts of
screenshots with both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from slipstick import solve
from slipstick.cli.main import main
from slipstick.report.formatting import quantity
from slipstick.report.html import report_page
from slipstick.schema.text import read_value
from slipstick_pages.model import LiveModel, live_page, page_section
from slipstick_pages.solve import live_model
from tests.browser import CHROMIUM, Browser, Pixels
from tests.house.code import ROOT

pytestmark = pytest.mark.skipif(
    not CHROMIUM, reason="no Chromium can be started here, so no page is opened in a browser"
)

FILL, GROUND, DARK = (0x44, 0x77, 0xAA), (0xFF, 0xFF, 0xFF), (0x0D, 0x11, 0x17)
MOVE = """
(() => {{
  const slider = document.getElementById("slider-{index}");
  slider.value = {place};
  slider.dispatchEvent(new Event("input", {{bubbles: true}}));
}})()
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as made:
        yield made


def text(browser: Browser, name: str) -> str:
    return str(browser.value(f'document.getElementById("{name}").textContent'))


def field(browser: Browser, name: str) -> str:
    return str(browser.value(f'document.getElementById("{name}").value'))


def type_into(browser: Browser, name: str, words: str) -> None:
    """Type words in place of those in a field, as at a keyboard."""
    browser.value(f'document.getElementById("{name}").select()')
    browser.value(f'document.getElementById("{name}").focus()')
    browser.call("Input.insertText", text=words)
    for kind in ("keyDown", "keyUp"):
        browser.call(
            "Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13
        )
    browser.value("document.activeElement.blur()")


def is_of(
    pixels: Pixels, colour: tuple[int, int, int]
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    found: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = (pixels == colour).all(axis=-1)
    return found


def nothing_went_wrong(browser: Browser) -> None:
    """Hold a page to no error, no line in the log, and no request but for itself."""
    names = [name for name, _ in browser.events]
    assert "Runtime.exceptionThrown" not in names
    assert "Log.entryAdded" not in names
    asked = [
        each["request"]["url"]
        for name, each in browser.events
        if name == "Network.requestWillBeSent"
    ]
    assert [each for each in asked if not each.startswith(("file:", "data:"))] == []


def moved(browser: Browser, model: str, found: LiveModel, index: int, place: int) -> LiveModel:
    """Move a slider, and answer the model in Python for the value that the page says."""
    browser.value(MOVE.format(index=index, place=place))
    now, slider = field(browser, f"now-{index}"), found.sliders[index]
    assert now != quantity(slider.value, slider.unit)
    if slider.whole and not slider.has_position_per_value:  # of which the page shows four digits
        part = place / int(browser.value(f'document.getElementById("slider-{index}").max'))
        now = str(round(slider.low * (slider.high / slider.low) ** part))
    return live_model(
        {"model": read_value(model, "model"), slider.name: read_value(now, slider.name)}
    )


@pytest.mark.turns(6)
def test_a_closed_form_runs_in_the_browser(browser: Browser, tmp_path: Path) -> None:
    found = live_model({"model": read_value("my-program", "model")})
    page = tmp_path / "page.html"
    page.write_text(live_page(found))
    browser.open(page)
    assert text(browser, "value") == quantity(found.answer.find("time"), "s")
    for index, place in ((0, 900), (0, 100), (1, 700)):
        browser.value('document.getElementById("reset").click()')
        answer = moved(browser, "my-program", found, index, place).answer
        assert text(browser, "value") == quantity(answer.find("time"), "s")
        whole = sum(answer.account.values())
        for row, (name, part) in enumerate(answer.account.items()):
            assert text(browser, f"part-{row}").startswith(quantity(part, "s")), name
            drawn = browser.value(f'parseFloat(document.getElementById("bar-{row}").style.width)')
            assert drawn == pytest.approx(100 * part / whole, rel=1e-5)  # a style has six digits
    nothing_went_wrong(browser)


@pytest.mark.turns(6)
def test_what_a_page_shows_is_what_its_numbers_say(browser: Browser, tmp_path: Path) -> None:
    found = live_model({"model": read_value("my-program", "model")})
    page = tmp_path / "page.html"
    page.write_text(live_page(found))
    browser.open(page)
    before = browser.screenshot()
    browser.value(MOVE.format(index=0, place=50))
    after = browser.screenshot()
    for row in range(len(found.answer.account)):
        box = browser.value(
            f'document.getElementById("bar-{row}").getBoundingClientRect().toJSON()'
        )
        top = browser.value("scrollY")
        line = after[round(box["y"] + top + box["height"] / 2)]
        inside = is_of(line, FILL)[round(box["x"]) : round(box["x"] + box["width"]) + 40]
        assert inside.sum() == pytest.approx(box["width"], abs=1.5)
    assert (before != after).any()
    browser.call(
        "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}]
    )
    assert is_of(browser.screenshot()[:5, :5], DARK).all()
    browser.call("Emulation.setEmulatedMedia", media="print", features=[])
    assert browser.value('getComputedStyle(document.querySelector("form")).display') == "none"
    assert is_of(browser.screenshot()[:5, :5], GROUND).all()
    nothing_went_wrong(browser)


def test_a_page_is_as_narrow_as_a_telephone(browser: Browser, tmp_path: Path) -> None:
    found = live_model({"model": read_value("my-program", "model")})
    path = ".".join(["machine", *["protocol"] * 12])
    long = replace(found, sliders=[replace(found.sliders[0], name=path), *found.sliders[1:]])
    page = tmp_path / "page.html"
    page.write_text(live_page(replace(long, title=path)))
    browser.open(page)
    browser.call(
        "Emulation.setDeviceMetricsOverride",
        width=390,
        height=900,
        deviceScaleFactor=1,
        mobile=True,
    )
    try:
        assert path in browser.value("document.body.textContent")
        assert browser.value("document.documentElement.scrollWidth") == 390
    finally:
        browser.call("Emulation.clearDeviceMetricsOverride")


@pytest.mark.turns(4)
def test_a_page_is_used_by_keyboard_and_screen_reader(browser: Browser, tmp_path: Path) -> None:
    found = live_model({"model": read_value("lock-and-bus", "model")})  # a grid
    page = tmp_path / "page.html"
    page.write_text(live_page(found))
    browser.open(page)
    given = text(browser, "value")
    browser.value('document.getElementById("slider-0").focus()')
    for kind in ("keyDown", "keyUp"):
        for _ in range(20):
            browser.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key="ArrowRight",
                code="ArrowRight",
                windowsVirtualKeyCode=39,
            )
    assert text(browser, "value") != given
    tree = browser.call("Accessibility.getFullAXTree")["nodes"]
    named = [
        node["name"]["value"] for node in tree if node.get("role", {}).get("value") == "slider"
    ]
    assert len(named) == len(found.sliders)
    labels = [found.words.quantity(each.name) for each in found.sliders]
    assert all(name.startswith(label) for name, label in zip(named, labels, strict=True))
    nothing_went_wrong(browser)


def test_a_page_loads_nothing_from_elsewhere_and_fits_a_screen(
    browser: Browser, tmp_path: Path
) -> None:
    found = live_model({"model": read_value("my-program", "model")})
    words = "![far](http://127.0.0.1:9/a.png)\n\n[![far](http://127.0.0.1:9/b.png)](c.svg)"
    page = tmp_path / "report.html"
    page.write_text(report_page("Far", words, tmp_path, page_section(found)))
    browser.open(page)
    browser.call(
        "Emulation.setDeviceMetricsOverride",
        width=1280,
        height=900,
        deviceScaleFactor=1,
        mobile=False,
    )
    try:
        page_width = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert browser.value(page_width) == 0
        assert browser.value("document.images.length") == 0
        links = browser.value("[...document.links].map((link) => link.getAttribute('href'))")
        assert links[:2] == ["http://127.0.0.1:9/a.png", "c.svg"]
        assert browser.value('document.getElementById("bar-0").getBoundingClientRect().width') > 1
        answer = moved(browser, "my-program", found, 0, 800).answer
        assert text(browser, "value") == quantity(answer.find("time"), "s")
        nothing_went_wrong(browser)
        # A script that is not the page's own does not run: the policy is in force.
        browser.value(
            "document.body.append(Object.assign(document.createElement('script'),"
            " {textContent: 'window.foreign = 1'}))"
        )
        assert browser.value("window.foreign") is None
    finally:
        browser.call("Emulation.clearDeviceMetricsOverride")


@pytest.mark.turns(4)
def test_a_report_opens_with_its_pictures_and_its_model(browser: Browser, tmp_path: Path) -> None:
    folder = ROOT / "reports" / "my-program"
    found = live_model({"model": read_value("my-program", "model")})
    page = tmp_path / "report.html"
    page.write_text(
        report_page("From a table", (folder / "report.md").read_text(), folder, page_section(found))
    )
    browser.open(page)
    widths = browser.value("[...document.images].map((each) => each.naturalWidth)")
    assert len(widths) == len(list(folder.glob("*.png")))
    assert all(width > 0 for width in widths)
    assert browser.value('document.querySelectorAll("h1").length') == 1
    answer = moved(browser, "my-program", found, 0, 800).answer
    assert text(browser, "value") == quantity(answer.find("time"), "s")
    first = browser.value("document.images[0].getBoundingClientRect().toJSON()")
    shot = browser.screenshot()
    part = shot[
        round(first["y"]) : round(first["bottom"]), round(first["x"]) : round(first["right"])
    ]
    assert not is_of(part, GROUND).all()
    assert re.match(r"\d", text(browser, "value"))
    nothing_went_wrong(browser)


@pytest.mark.turns(4)
def test_a_service_is_moved_to_its_saturation_by_keyboard(browser: Browser, tmp_path: Path) -> None:
    path, page = tmp_path / "shop.yaml", tmp_path / "shop.html"
    path.write_text(
        "queueing-network: 1\nclasses: {requests: {arrivals: 80 /s}}\n"
        "stations: {db: {service: {requests: 10 ms}}}\n"
    )
    found = live_model({"model": read_value(str(path), "model")})
    page.write_text(live_page(found))
    browser.open(page)
    assert text(browser, "value") == "50 ms"
    type_into(browser, "now-0", "90 req/s")
    assert text(browser, "value") == "100 ms"
    assert [text(browser, f"{name}-0") for name in ("changed", "change")] == ["100 ms", "+100 %"]
    type_into(browser, "wanted", "50 ms")
    assert "At most 50 ms up to 80 /s" in text(browser, "caption")
    labels = browser.value(
        '[...document.querySelectorAll("#curve text")].map((e) => e.textContent)'
    )
    assert {"saturated at 100 /s", "limit 50 ms"} <= set(labels)
    type_into(browser, "now-0", "90")
    assert "write a number with a unit" in text(browser, "problem")
    state = browser.value("location.hash")
    type_into(browser, "now-0", "105 /s")
    assert text(browser, "value") == "no steady state"
    assert "Saturation begins at 100 /s (arrivals of requests)" in text(browser, "saturated")
    type_into(browser, "now-1", "2")
    assert text(browser, "saturated") == ""
    assert found.sliders[1].name == "stations.db.servers"
    browser.value(f"location.hash = {state!r}")
    browser.value("new Promise((done) => setTimeout(done, 50))")
    assert text(browser, "value") == "100 ms"
    nothing_went_wrong(browser)


def test_a_typed_value_beyond_the_slider_is_on_the_axis(browser: Browser, tmp_path: Path) -> None:
    """Two servers of 10 ms carry 200 /s: at 150 /s the time is that of an M/M/2 queue, and the dot
    lies on its curve.
    """
    path, page = tmp_path / "shop.yaml", tmp_path / "shop.html"
    path.write_text(
        "queueing-network: 1\nclasses: {requests: {arrivals: 80 /s}}\n"
        "stations: {db: {service: {requests: 10 ms}}}\n"
    )
    found = live_model({"model": read_value(str(path), "model")})
    assert [slider.name for slider in found.sliders[:2]] == [
        "classes.requests.arrivals",
        "stations.db.servers",
    ]
    page.write_text(live_page(found))
    browser.open(page)

    def dot_and_curve() -> tuple[list[float], list[list[float]]]:
        """Return the place of the dot and the places of the curve."""
        dot = browser.value(
            '["cx", "cy"].map((name) => Number(document.querySelector("#curve circle")'
            ".getAttribute(name)))"
        )
        drawn = browser.value('document.querySelector("#curve .line").getAttribute("d")')
        places = [place.split() for place in re.split("[ML]", drawn)[1:]]
        return dot, [[float(number) for number in place] for place in places]

    def place_of_thumb() -> int:
        return int(browser.value('document.getElementById("slider-0").value'))

    given_place = place_of_thumb()
    type_into(browser, "now-0", "150 /s")
    assert text(browser, "value") == "no steady state"
    type_into(browser, "now-1", "2")
    assert text(browser, "value") == quantity(0.01 / (1 - 0.75**2), "s")
    dot, curve = dot_and_curve()
    assert dot[1] == pytest.approx(np.interp(dot[0], *np.array(curve).T), abs=1.0)
    assert curve[0][0] < dot[0] < curve[-1][0] - 20
    labels = browser.value(
        '[...document.querySelectorAll("#curve text")].map((e) => e.textContent)'
    )
    assert "saturated at 200 /s" in labels
    # The slider ends at 220 /s now, and its end is beyond saturation.
    assert place_of_thumb() == round(1000 * np.log(150 / 8) / np.log(220 / 8))
    browser.value(MOVE.format(index=0, place=990))
    assert float(field(browser, "now-0").split()[0]) == pytest.approx(8 * 27.5**0.99, rel=1e-3)
    assert text(browser, "saturated").startswith("Saturated")
    browser.value('document.getElementById("reset").click()')
    browser.value("new Promise((done) => setTimeout(done, 50))")
    assert (text(browser, "value"), place_of_thumb()) == ("50 ms", given_place)
    type_into(browser, "now-0", "300 /s")
    type_into(browser, "now-1", "4")
    dot, curve = dot_and_curve()
    assert dot[1] == pytest.approx(np.interp(dot[0], *np.array(curve).T), abs=1.0)
    nothing_went_wrong(browser)


_FOCUS = """(() => {
const e = document.activeElement, style = getComputedStyle(e);
return e === document.body ? null : {id: e.id, tag: e.tagName, ring: parseFloat(style.outlineWidth)
  && style.outlineStyle !== "none" || style.boxShadow !== "none"};
})()"""


def pressed(browser: Browser, key: str, number: int) -> None:
    """Press a key once, at whatever has the focus."""
    for kind in ("keyDown", "keyUp"):
        browser.call(
            "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=number
        )


@pytest.mark.turns(6)
@pytest.mark.parametrize("width", [1280, 390])
def test_the_tab_key_reaches_every_control_and_shows_where_it_is(
    width: int, browser: Browser, tmp_path: Path
) -> None:
    found = live_model({"model": read_value("lock-and-bus", "model")})
    page = tmp_path / "page.html"
    page.write_text(live_page(found))
    browser.open(page)
    browser.call(
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=900,
        deviceScaleFactor=1,
        mobile=width < 400,
    )
    stops = []
    for _ in range(80):
        pressed(browser, "Tab", 9)
        stop = browser.value(_FOCUS)
        if stop is None:
            break
        stops.append(stop)
    assert all(stop["ring"] for stop in stops), stops
    reached = {stop["id"] for stop in stops}
    for index in range(len(found.sliders)):
        assert {f"slider-{index}", f"now-{index}"} <= reached
    assert {"SELECT", "BUTTON", "A"} <= {stop["tag"] for stop in stops}
    nothing_went_wrong(browser)


_CONTRASTS = r"""(() => {
const channel = (v) => (v / 255 <= 0.03928 ? v / 3294.6 : Math.pow((v / 255 + 0.055) / 1.055, 2.4));
const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const parts = (colour) => colour.match(/[\d.]+/g).map(Number);
const ground = (e) => {
  const colour = parts(getComputedStyle(e).backgroundColor);
  return colour.length < 4 || colour[3] === 1 ? colour : ground(e.parentElement);
};
const worst = {};
for (const e of document.querySelectorAll("body *")) {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || !e.getClientRects().length || e.closest("option, script, figure a")) continue;
  const style = getComputedStyle(e);
  const pair = [parts(e.closest("svg") ? style.fill : style.color), ground(e)].map(luminance);
  const contrast = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
  worst[e.tagName] = Math.min(worst[e.tagName] || 21, contrast);
}
return worst;
})()"""


@pytest.mark.turns(8)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_its_ground(
    scheme: str, browser: Browser, tmp_path: Path
) -> None:
    """A contrast of 4.5 is what WCAG 2.1 asks for text of usual size (AA)."""
    page = tmp_path / "page.html"
    page.write_text(live_page(live_model({"model": read_value("lock-and-bus", "model")})))
    browser.open(page)
    for width in (1280, 390):
        browser.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=1400,
            deviceScaleFactor=1,
            mobile=width < 400,
        )
        media = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.call("Emulation.setEmulatedMedia", features=media)
        contrasts = browser.value(_CONTRASTS)
        assert {"H1", "P", "A", "LABEL"} <= set(contrasts)
        assert min(contrasts.values()) >= 4.5, contrasts


def test_a_curve_has_a_band_within_the_ranges_of_what_is_not_moved(
    browser: Browser, tmp_path: Path
) -> None:
    """The band is as high everywhere as the range of the work, 2 to 8 ms; with the work moved there
    is nothing that has a range.
    """
    path, out = tmp_path / "two.yaml", tmp_path / "two.html"
    path.write_text(
        "activity: 1\nparameters: {work: 4 ms, start: 1 ms}\npopulation: {processors: 1}\n"
        "cycle: [{name: work, delay: work}, {name: start, delay: start}]\n"
    )
    options = [
        "--set",
        "parameters.work=2 ms..8 ms",
        "--slider",
        "parameters.start",
        "-o",
        str(out),
    ]
    assert main(["page", str(path), *options]) == 0
    browser.open(out)
    corners = str(browser.value('document.querySelector("#curve .band").getAttribute("points")'))
    places = np.array([[float(each) for each in corner.split(",")] for corner in corners.split()])
    low, high = places[: len(places) // 2], places[len(places) // 2 :][::-1]
    assert low[:, 0] == pytest.approx(high[:, 0])
    heights = low[:, 1] - high[:, 1]
    assert heights.min() > 20
    assert heights == pytest.approx(heights.mean(), abs=0.3)
    words = "Shaded: nine of ten values within the ranges of the other inputs."
    assert words in text(browser, "caption")
    nothing_went_wrong(browser)


@pytest.mark.turns(5)
def test_a_curve_without_ranges_has_no_band(browser: Browser, tmp_path: Path) -> None:
    out = tmp_path / "lock.html"
    assert main(["page", "three-parts", "-o", str(out)]) == 0
    browser.open(out)
    assert browser.value('document.querySelector("#curve .band") === null')


@pytest.mark.turns(8)
def test_pictures_of_a_report_fit_a_telephone(browser: Browser, tmp_path: Path) -> None:
    assert main(["run", "memory-expansion", "--out", str(tmp_path / "found")]) == 0
    assert not [*(tmp_path / "found").glob("*.narrow.png")]
    browser.open(tmp_path / "found" / "report.html")
    browser.call(
        "Emulation.setDeviceMetricsOverride",
        width=390,
        height=900,
        deviceScaleFactor=2,
        mobile=True,
    )
    sizes = browser.value(
        "[...document.images].map((image) => [image.parentElement.tagName,"
        " image.getBoundingClientRect().right, image.naturalWidth])"
    )
    assert sizes
    assert all(tag == "PICTURE" and right <= 390 for tag, right, _ in sizes), sizes
    nothing_went_wrong(browser)


def test_the_effect_of_one_more_server_is_that_of_the_next_whole_number(
    browser: Browser, tmp_path: Path
) -> None:
    """One per cent of three servers is no change that anyone can make."""
    page = tmp_path / "page.html"
    assert main(["page", "three-tier", "--out", str(page)]) == 0
    browser.open(page)
    given, changed = (
        solve("three-tier", {"stations.db.servers": servers})["response_time[requests]"] or 0.0
        for servers in (3, 4)
    )
    ratio = changed / given
    effect = f"Db servers: one more lowers response time of requests by {100 * (1 - ratio):.3g} %"
    assert effect in text(browser, "ranking")
