"""The dialog checker's rules, on drawn screens."""

import pytest
from PIL import Image, ImageChops
from screen_kit import encoded

from benchmarks.overlays import (
    DARK,
    LIGHT,
    TARGET,
    chat_widget,
    cookie_banner,
    menu,
    page,
    save_prompt,
    session_expired,
    uac,
)
from otel_validation.checkers.dialog_presence import DialogPresenceChecker
from otel_validation.delivery.action import Action, Point
from otel_validation.validation.report import Report
from otel_validation.validation.subject import ReportSubject
from otel_validation.validation.verdict import FailureCategory, Verdict
from otel_validation.validation.window import WindowFacts

COMPLETE, CONTINUE, TERMINATE = Verdict.COMPLETE, Verdict.CONTINUE, Verdict.TERMINATE
OVERLAYS = [session_expired, uac, cookie_banner, chat_widget, save_prompt]


@pytest.fixture(scope="module")
def checker():
    checker = DialogPresenceChecker()
    checker.warm_up()
    return checker


def subject(after, at=TARGET, *, before=None, label="Imagerie", kind="click", scale=1, **payload):
    if label is not None:
        payload["target_spec"] = {"by_text": label}
    width, height = after.size
    position = None if at is None else Point((at[0] * scale + 0.5) / width, (at[1] * scale + 0.5) / height)
    report = Report(
        session_id="s",
        action_id="a",
        success=True,
        position=position,
        position_given=at is not None,
        screenshot_before=None if before is None else encoded(before),
        screenshot_after=encoded(after),
        window=WindowFacts(dpi_scale=float(scale)),
    )
    return ReportSubject(Action("a", kind, "s", "m", payload), report)


def over(overlay, *, scale=1, theme=LIGHT, at=None):
    canvas = page(scale, theme)
    box = overlay(canvas) if at is None else overlay(canvas, at)
    return canvas.image, box


def middle(box):
    return (box[0] + box[2]) / 2, box[1] + 0.45 * (box[3] - box[1])


def changed(before, after):
    difference = ImageChops.difference(before, after).convert("L").point(lambda value: 255 if value > 12 else 0)
    return difference.histogram()[255] / (before.width * before.height)


E11 = {
    "cookie_banner": lambda canvas: cookie_banner(canvas, 260),
    "uac": lambda canvas: uac(canvas, (260, 40)),
    "session_expired": lambda canvas: session_expired(canvas, (120, 74)),
    "chat_widget": lambda canvas: chat_widget(canvas, (120, 74)),
}


@pytest.mark.parametrize(("scale", "theme"), [(1, LIGHT), (1, DARK), (2, LIGHT)], ids=["light", "dark", "double"])
@pytest.mark.parametrize("compared", [True, False])
@pytest.mark.parametrize("overlay", E11.values(), ids=E11)
def test_e11_a_dialog_over_the_click_is_unexpected_though_the_label_is_read_beside_it(
    checker, overlay, theme, scale, compared
):
    """E11: cookie banner, UAC prompt, expired session, chat widget over the click, the label still readable beside."""
    after, box = over(overlay, scale=scale, theme=theme)
    click = (box[0] + 0.15 * (box[2] - box[0]), box[1] + 0.5 * (box[3] - box[1]))
    before = page(scale, theme).image if compared else None
    finding = checker.check(subject(after, click, before=before, scale=scale))
    assert (finding.verdict, finding.category) == (TERMINATE, FailureCategory.UNEXPECTED_DIALOG)
    assert finding.verified
    assert finding.confidence >= 0.7
    assert any(dialog["covers_click"] and dialog["text"] for dialog in finding.evidence["dialogs"])


def test_e11_with_thirty_percent_of_the_pixels_changed(checker):
    """E11."""
    before = page().image
    after, box = over(session_expired)
    assert changed(before, after) > 0.3
    finding = checker.check(subject(after, middle(box), before=before))
    assert finding.category is FailureCategory.UNEXPECTED_DIALOG
    assert "Votre session a expir" in " ".join(finding.evidence["dialogs"][0]["text"])


@pytest.mark.parametrize(
    ("overlay", "declared"),
    [
        *((overlay, True) for overlay in OVERLAYS),
        (save_prompt, "Enregistrer les modifications ?"),
        (uac, ["Refuser", "Oui"]),
    ],
)
def test_e11_a_declared_dialog_is_expected(checker, overlay, declared):
    """E11."""
    after, box = over(overlay)
    finding = checker.check(subject(after, middle(box), before=page().image, expected_dialog=declared))
    assert (finding.verdict, finding.category) == (COMPLETE, None)
    assert finding.confidence >= 0.75


@pytest.mark.parametrize("declared", ["Imprimer", ["Refuser", "Accepter"], False])
def test_another_dialog_than_the_declared_one_is_unexpected(checker, declared):
    after, box = over(save_prompt)
    finding = checker.check(subject(after, middle(box), before=page().image, expected_dialog=declared))
    assert (finding.verdict, finding.category) == (TERMINATE, FailureCategory.UNEXPECTED_DIALOG)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_a_new_dialog_beside_the_click_is_unexpected(checker, overlay):
    after, _ = over(overlay)
    finding = checker.check(subject(after, before=page().image))
    assert (finding.verdict, finding.category) == (TERMINATE, FailureCategory.UNEXPECTED_DIALOG)


def test_an_expected_dialog_that_is_not_there_is_not_complete(checker):
    finding = checker.check(subject(page().image, before=page().image, expected_dialog=True))
    assert (finding.verdict, finding.verified) == (CONTINUE, True)


def test_it_may_be_declared_in_the_target(checker):
    after, box = over(save_prompt)
    payload = {"target_spec": {"by_text": "Imagerie", "expected_dialog": True}}
    finding = checker.check(subject(after, middle(box), before=page().image, label=None, **payload))
    assert finding.verdict is COMPLETE


def test_the_dialog_that_the_click_was_aimed_at_is_expected(checker):
    after, box = over(save_prompt)
    click = (box[0] + 225, box[1] + 137)
    finding = checker.check(subject(after, click, label="Ne pas enregistrer"))
    assert (finding.verdict, finding.proof) == (COMPLETE, False)


def test_a_dialog_that_the_click_closed_is_none(checker):
    before, box = over(save_prompt)
    finding = checker.check(subject(page().image, middle(box), before=before, label="Annuler"))
    assert (finding.verdict, finding.proof) == (COMPLETE, False)


def test_the_next_dialog_after_an_answer_is_left_open(checker):
    before, box = over(save_prompt)
    after, _ = over(uac)
    click = (box[0] + 362, box[1] + 137)
    finding = checker.check(subject(after, click, before=before, label="Annuler"))
    assert (finding.verdict, finding.category) == (CONTINUE, FailureCategory.UNEXPECTED_DIALOG)


def test_a_dialog_that_was_there_and_took_the_click_is_unexpected(checker):
    screen, box = over(chat_widget)
    finding = checker.check(subject(screen, middle(box), before=screen))
    assert (finding.verdict, finding.category) == (TERMINATE, FailureCategory.UNEXPECTED_DIALOG)


def test_a_click_without_a_label_was_aimed_at_the_dialog_that_was_there(checker):
    screen, box = over(chat_widget)
    assert checker.check(subject(screen, middle(box), before=screen, label=None)).verdict is COMPLETE


def test_without_a_label_and_a_screen_before_nothing_is_concluded(checker):
    screen, box = over(save_prompt)
    finding = checker.check(subject(screen, middle(box), label=None))
    assert (finding.verdict, finding.category) == (CONTINUE, FailureCategory.UNEXPECTED_DIALOG)


@pytest.mark.parametrize("compared", [True, False])
@pytest.mark.parametrize("at", [TARGET, (915, 436), (500, 300), (60, 20)])
@pytest.mark.parametrize("label", ["Imagerie", None])
def test_a_page_without_one_has_nothing_against_the_click_which_proves_nothing(checker, compared, at, label):
    finding = checker.check(subject(page().image, at, label=label, before=page().image if compared else None))
    assert (finding.verdict, finding.proof, finding.verified) == (COMPLETE, False, True)
    assert finding.evidence["dialogs"] == []


def test_an_action_without_a_position_is_judged_by_what_is_new(checker):
    after, _ = over(save_prompt)
    saved = subject(after, None, before=page().image, label=None, kind="key_combo")
    assert checker.check(saved).verdict is TERMINATE
    declared = subject(after, None, before=page().image, label=None, kind="key_combo", expected_dialog=True)
    assert checker.check(declared).verdict is COMPLETE


@pytest.mark.parametrize("compared", [True, False])
def test_a_right_click_opens_a_menu(checker, compared):
    canvas = page()
    menu(canvas, (480, 300))
    before = page().image if compared else None
    finding = checker.check(subject(canvas.image, (479, 299), before=before, label=None, kind="right_click"))
    assert finding.verdict is COMPLETE
    assert finding.evidence["menu"] == pytest.approx([480, 300, 700, 492], abs=5)
    nothing = checker.check(subject(page().image, (479, 299), before=before, label=None, kind="right_click"))
    assert nothing.verdict is CONTINUE
    assert nothing.category is (FailureCategory.NO_VISUAL_CHANGE if compared else FailureCategory.UNKNOWN)


def test_a_right_click_that_meets_a_dialog(checker):
    after, _ = over(session_expired)
    finding = checker.check(subject(after, before=page().image, kind="right_click"))
    assert finding.category is FailureCategory.UNEXPECTED_DIALOG


def test_a_screen_before_of_another_size_is_no_proof(checker):
    after, _ = over(save_prompt)
    finding = checker.check(subject(after, before=page(2).image))
    assert (finding.verdict, finding.verified) == (CONTINUE, False)


@pytest.mark.parametrize("colour", ["black", "white"])
def test_a_blank_screen_is_no_proof(checker, colour):
    finding = checker.check(subject(Image.new("RGB", (1280, 800), colour), before=page().image))
    assert (finding.verdict, finding.category) == (CONTINUE, FailureCategory.SCREEN_UNAVAILABLE)
    assert not finding.verified


@pytest.mark.parametrize("at", [(-5, 20), (5000, 20)])
def test_a_click_outside_is_no_proof(checker, at):
    finding = checker.check(subject(page().image, at))
    assert (finding.verdict, finding.verified) == (CONTINUE, False)


def test_it_needs_a_screen_after(checker):
    only_before = Report(session_id="s", action_id="a", screenshot_before=encoded(page().image))
    assert not checker.applies(ReportSubject(Action("a", "click", "s", "m", {}), only_before))
