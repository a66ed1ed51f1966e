"""The committed recording that the demo plays is whole and agrees with itself."""

import json
from importlib.resources import files
from pathlib import Path

import pytest
from PIL import Image

from otel_validation.validation.verdict import FailureCategory, Verdict

DATA = Path(str(files("otel_validation"))) / "cli" / "demo_data"
REPLAY = json.loads((DATA / "replay.json").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in REPLAY["steps"]}
WIDTH, HEIGHT = 2560, 1600
each_step = pytest.mark.parametrize("step", STEPS.values(), ids=STEPS.keys())


def pixel(position):
    return position["x_pct"] * WIDTH, position["y_pct"] * HEIGHT


def inside(box, point):
    left, top, right, bottom = box
    return left <= point[0] < right and top <= point[1] < bottom


def test_the_images_are_whole_screens_under_3_megabytes_in_all():
    images = sorted(DATA.glob("*.png"))
    for path in images:
        with Image.open(path) as image:
            assert image.size == (WIDTH, HEIGHT)
            image.load()
    assert sum(path.stat().st_size for path in images) < 3_000_000
    assert (REPLAY["screen"]["width"], REPLAY["screen"]["height"]) == (WIDTH, HEIGHT)


def test_every_image_is_used_and_every_used_image_is_there():
    used = {step[moment] for step in STEPS.values() for moment in ("before", "after")}
    assert used == {path.name for path in DATA.glob("*.png")}


def test_names_and_action_ids_are_unique():
    assert len(STEPS) == len(REPLAY["steps"])
    assert len({step["action"]["action_id"] for step in STEPS.values()}) == len(STEPS)


def test_the_recording_holds_the_steps_that_the_demo_tells_of():
    told = {(step["action"]["target_spec"]["by_text"], step["clicked_text"]) for step in STEPS.values()}
    right = {(label, label) for label in ("Notes médicales", "Imagerie", "Biologie", "Valider")}
    assert told >= right | {("Imagerie", None), ("Imagerie", "Biologie")}


@each_step
def test_coordinates_are_fractions_of_the_screen(step):
    for position in (step["action"], step["actual_position"]):
        assert 0 <= position["x_pct"] < 1
        assert 0 <= position["y_pct"] < 1


@each_step
def test_the_action_aims_at_its_label(step):
    assert inside(step["label_box"], pixel(step["action"]))


@each_step
def test_only_a_right_step_clicks_in_the_label(step):
    right = step["clicked_text"] == step["action"]["target_spec"]["by_text"]
    assert inside(step["label_box"], pixel(step["actual_position"])) is right
    assert (step["expected"]["verdict"] == Verdict.COMPLETE) is right


@each_step
def test_the_expectation_is_a_verdict_and_the_agent_always_claims_success(step):
    assert step["success"] is True
    assert Verdict(step["expected"]["verdict"])
    category = step["expected"]["failure_category"]
    assert category is None or FailureCategory(category)


@each_step
def test_the_screen_changes_so_a_moved_pixel_proves_nothing(step):
    assert (DATA / step["before"]).read_bytes() != (DATA / step["after"]).read_bytes()


def test_the_neighbouring_tab_is_the_one_recorded_for_it():
    clicked = pixel(STEPS["onglet-voisin"]["actual_position"])
    assert inside(STEPS["biologie"]["label_box"], clicked)
    assert STEPS["onglet-voisin"]["after"] == STEPS["biologie"]["after"]


def test_the_founding_bug_changes_the_address_bar_and_nothing_else():
    step = STEPS["barre-adresse"]
    with Image.open(DATA / step["before"]) as before, Image.open(DATA / step["after"]) as after:
        above_page = (0, 0, WIDTH, step["label_box"][1] // 2)
        page = (0, above_page[3], WIDTH, HEIGHT)
        assert before.crop(page).tobytes() == after.crop(page).tobytes()
        assert before.crop(above_page).tobytes() != after.crop(above_page).tobytes()
    assert inside(above_page, pixel(step["actual_position"]))
