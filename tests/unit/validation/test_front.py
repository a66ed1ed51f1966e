"""What window facts say of a place."""

import pytest

from otel_validation.validation.front import NOTHING, OF_BROWSERS, OF_DESKTOPS, told
from otel_validation.validation.window import WindowFacts
from otel_validation.vision.surfaces import Surface

SIZE = (1280, 800)
WINDOW = {"rect": [100, 50, 1100, 750], "client_rect": [108, 82, 1092, 742]}


def of(at, **facts):
    return told(WindowFacts.from_json({**WINDOW, **facts}), at, SIZE)


def test_in_a_browsers_client_area_is_neither_a_bar_of_the_desktop_nor_a_title_bar():
    assert of((600, 400), process="chrome.exe").ruled_out == OF_DESKTOPS | {Surface.TITLE_BAR}
    assert of((600, 400)).ruled_out == OF_DESKTOPS | {Surface.TITLE_BAR}


def test_in_another_programs_window_is_nothing_of_a_browser_either():
    assert of((600, 400), process="dpi.exe").ruled_out == OF_DESKTOPS | OF_BROWSERS | {Surface.TITLE_BAR}


def test_without_its_client_area_a_window_may_have_its_title_bar_there():
    assert told(WindowFacts.from_json({"rect": WINDOW["rect"]}), (600, 60), SIZE).ruled_out == OF_DESKTOPS


def test_between_border_and_client_area_is_the_title_bar():
    assert of((600, 60)).surface is Surface.TITLE_BAR
    assert of((600, 82)).surface is None


@pytest.mark.parametrize(
    "facts",
    [
        {"foreground": False},
        {"process": "explorer.exe"},
        {"process": "Finder"},
        {"rect": None, "client_rect": None, "title": "x"},
        {"screen_size": [100, 100]},
    ],
    ids=["no focus", "shell", "shell of a Mac", "no rectangle", "a contradiction"],
)
def test_nothing_follows(facts):
    assert of((600, 400), **facts) == NOTHING


def test_nothing_follows_for_a_place_outside_and_without_facts():
    assert of((20, 400), process="dpi.exe") == NOTHING
    assert told(None, (600, 400), SIZE) == NOTHING


def test_the_window_stands_on_the_virtual_desktop_and_the_place_on_the_screenshot():
    facts = {"monitor_origin": [-1280, 0], "process": "dpi.exe"}
    assert of((600, 400), **facts) == NOTHING
    moved = {"rect": [-1180, 50, -180, 750], "client_rect": [-1172, 82, -188, 742]}
    assert of((600, 400), **facts, **moved).ruled_out >= OF_BROWSERS
