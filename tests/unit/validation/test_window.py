"""Window facts: read leniently, bounded, never a reason to fail."""

import math

import pytest

from otel_validation.validation.window import LONGEST_TITLE, WindowFacts

read = WindowFacts.from_json


def test_everything_that_an_agent_can_say():
    facts = read(
        {
            "title": "DPI - Dossier patient - Google Chrome",
            "title_before": "DPI - Accueil - Google Chrome",
            "process": "chrome.exe",
            "foreground": True,
            "rect": [-1920, -248, 0, 832],
            "client_rect": [-1912, -160, -8, 824],
            "remote_rect": [320, 0, 1600, 1080],
            "dpi_scale": 1.5,
            "monitor_origin": [-1920, -248],
            "screen_size": [4160, 2560],
            "logical": False,
        }
    )
    assert facts == WindowFacts(
        title="DPI - Dossier patient - Google Chrome",
        title_before="DPI - Accueil - Google Chrome",
        process="chrome.exe",
        foreground=True,
        rect=(-1920, -248, 0, 832),
        client_rect=(-1912, -160, -8, 824),
        remote_rect=(320, 0, 1600, 1080),
        dpi_scale=1.5,
        monitor_origin=(-1920, -248),
        screen_size=(4160, 2560),
        logical=False,
    )


@pytest.mark.parametrize(
    "sent",
    [
        {"rectangle": {"left": 10, "top": 20, "right": 110, "bottom": 70}},
        {"rect": {"left": 10, "top": 20, "width": 100, "height": 50}},
        {"rect": (10.0, 20.0, 110.0, 70.0)},
    ],
)
def test_a_rectangle_has_several_forms(sent):
    assert read(sent).rect == (10, 20, 110, 70)


def test_a_pair_has_two_forms():
    assert read({"monitor_origin": {"left": 0, "top": -248}}).monitor_origin == (0, -248)
    assert read({"screen_size": {"width": 800, "height": 600}}).screen_size == (800, 600)


@pytest.mark.parametrize(
    ("sent", "scale"),
    [({"dpi": 144}, 1.5), ({"dpi": 144, "dpi_scale": 2}, 2.0), ({"dpi_scale": 0.5}, 0.5), ({"dpi_scale": 4}, 4.0)],
)
def test_the_scale_is_a_factor_or_dots_per_inch(sent, scale):
    assert read(sent).dpi_scale == scale


@pytest.mark.parametrize("path", [r"C:\Program Files\Easily\Easily.exe", "/opt/easily/Easily.exe", "Easily.exe"])
def test_a_process_is_named_without_its_path(path):
    assert read({"process": path}).process == "Easily.exe"


@pytest.mark.parametrize("value", [None, 3, "title", [], {}, {"title": ""}, {"title": "  "}, {"unknown": 1}, {1: 2}])
def test_nothing_said_is_nothing(value):
    assert read(value) is None


@pytest.mark.parametrize(
    "fact",
    [
        *({"title": v} for v in (3, None, ["x"], {}, True)),
        *({"process": v} for v in (3, "C:\\", "")),
        *({"foreground": v} for v in ("true", 1, None)),
        *(
            {"rect": v}
            for v in ("0,0,1,1", [0, 0, 1], [0, 0, 0, 5], [5, 5, 1, 1], [0, 0, math.nan, 1], [0, 0, True, 1])
        ),
        *(
            {"rect": v}
            for v in ({}, {"left": 1, "top": 2}, {"left": 1, "top": 2, "width": 3}, {"width": 3, "height": 3})
        ),
        *({"client_rect": v} for v in ([0, 0, 1, 10**9], [0, 0, 1, 10**400], [[0], 0, 1, 1])),
        *({"monitor_origin": v} for v in (0, [0], [0, 0, 0], [math.inf, 0], {"left": 3}, "0,0")),
        *({"screen_size": v} for v in ([0, 100], [-5, 5], [100])),
        *({"dpi_scale": v} for v in (0, 90, -1, "huge", None, True, math.nan)),
        *({"dpi": v} for v in (0, 10_000, "96")),
        {"logical": "no"},
    ],
    ids=str,
)
def test_what_cannot_be_used_is_not_sent(fact):
    assert read(fact) is None
    assert read({"logical": True, **fact, "foreground": False}) is not None


def test_texts_are_bounded():
    facts = read({"title": "x" * 100_000, "title_before": "é" * 100_000, "process": "p" * 100_000})
    assert {len(facts.title), len(facts.title_before), len(facts.process)} == {LONGEST_TITLE}
