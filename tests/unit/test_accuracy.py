"""The scorer and the rendered set's own rules, without a browser."""

from __future__ import annotations

import json
import random

import pytest
from PIL import Image, ImageDraw, ImageFont

from benchmarks.accuracy import Judged, main, score
from benchmarks.rendered.cases import Sheet
from benchmarks.rendered.desktops import desktop
from benchmarks.rendered.looks import FONTS, looks
from benchmarks.rendered.pages import KINDS, PageStyle, page

STYLE = PageStyle("fr", dark=False, font="Lato", size=14)


def judged(truth, verdict, category=None, tags=()):
    return Judged({"case": "a", "truth": truth, "tags": tags}, verdict, category)


def value(figures, name):
    return next(figure.value for figure in figures if figure.name == name)


def test_each_truth_has_its_right_verdicts_and_policy_cases_are_left_out():
    rows = [
        judged("complete", "complete"),
        judged("complete", "terminate", "wrong_target"),
        judged("wrong_application", "terminate", "unexpected_dialog"),
        judged("wrong_application", "terminate", "wrong_target"),
        judged("wrong_target", "terminate", "wrong_target"),
        judged("wrong_target", "complete"),
        judged("nothing", "continue", "ocr_text_missing"),
        judged("nothing", "complete", tags=["policy"]),
    ]
    figures = score("set", rows)
    assert value(figures, "cases") == 7
    assert value(figures, "right complete") == 0.5
    assert value(figures, "right wrong_application") == 0.5
    assert value(figures, "right wrong_target") == 0.5
    assert value(figures, "right nothing") == 1.0
    assert value(figures, "false success") == 0.2
    assert value(figures, "false terminate") == 0.5


def test_a_folder_is_judged_or_a_file_of_verdicts_scored(tmp_path, capsys):
    (tmp_path / "images").mkdir()
    screen = Image.new("RGB", (800, 400), "white")
    draw = ImageDraw.Draw(screen)
    for y, text in ((100, "Imagerie"), (240, "Biologie")):
        draw.text((300, y), text, fill="black", font=ImageFont.load_default(18))
    screen.save(tmp_path / "images" / "a.png")
    case = {"image": "a.png", "x_pct": 0.42, "clicked_on": "", "tags": []}
    cases = [
        {**case, "case": "a_0", "y_pct": 0.275, "expected_text": "Imagerie", "truth": "complete"},
        {**case, "case": "a_1", "y_pct": 0.625, "expected_text": "Imagerie", "truth": "wrong_target"},
    ]
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    assert main([str(tmp_path), "--strict"]) == 0
    verdicts = tmp_path / "v.jsonl"
    verdicts.write_text(json.dumps({"case": "a_0", "verdict": "complete"}) + "\n")
    assert main([str(tmp_path), "--verdicts", str(verdicts), "--misses", "--strict"]) == 1
    assert "a_1\twrong_target\tNone" in capsys.readouterr().out


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_page_is_the_same_for_the_same_seed_and_says_each_label_once(kind):
    first, again = (page(random.Random(7), STYLE, kind=kind) for _ in range(2))
    assert first == again
    labels = [part.partition("<")[0].partition(">")[2] for part in first[1].split("data-t=")[1:]]
    assert len(labels) >= 6
    assert len(set(labels)) >= len(labels) - 2


def test_a_desktop_marks_what_is_not_the_application():
    for seed in range(12):
        _, body = desktop(random.Random(seed), STYLE)
        assert "data-f=" in body
        assert "data-t=" in body


def test_the_parts_share_no_font_and_cover_what_they_should():
    assert not set(FONTS["tune"]) & set(FONTS["report"])
    for part in ("tune", "report"):
        made = looks(part, 45)
        assert made == looks(part, 45)
        assert {look.kind for look in made} == {"chromium", "firefox", "mock", "page"}
        assert {look.lang for look in made} == {"fr", "en"}
        assert {look.font for look in made} == set(FONTS[part])
        assert {look.scale for look in made} == {1.0, 1.25, 1.5, 2.0}
        assert {look.dark for look in made} == {True, False}
        assert min(look.size for look in made) >= 11
        assert max(look.size for look in made) <= 20


def test_cases_lie_where_the_page_says_they_do():
    label = {"kind": "tab", "text": "Imagerie", "box": [100, 50, 160, 70], "padded": [90, 40, 170, 80]}
    other = {"kind": "tab", "text": "Biologie", "box": [200, 50, 260, 70], "padded": [200, 50, 260, 70]}
    taken = [[100, 50, 160, 70], [200, 50, 260, 70]]
    report = {"labels": [label, other], "foreign": [], "taken": taken, "area": [0, 0, 800, 500]}
    report |= {"size": [800, 500], "ratio": 2}
    sheet = Sheet("a_0.png", (2000, 1400), report, (40.0, 200.0), random.Random(1))
    sheet.add_labels(12)
    sheet.add_blanks(3)
    sheet.add_browser("firefox", bookmarks=False)
    truths = [case.truth for case in sheet.cases]
    assert [truths.count(t) for t in ("complete", "wrong_target", "nothing", "wrong_application")] == [2, 2, 3, 5]
    for case in sheet.cases:
        x, y = case.x_pct * 2000, case.y_pct * 1400
        if case.truth == "complete":
            box = label if case.expected_text == "Imagerie" else other
            left, top, right, bottom = box["padded"]
            assert 40 + 2 * left <= x <= 40 + 2 * right
            assert 200 + 2 * top <= y <= 200 + 2 * bottom
        if case.truth == "wrong_application":
            assert y < 200
        if case.truth == "wrong_target":
            assert case.clicked_on != case.expected_text
