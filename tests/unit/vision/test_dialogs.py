"""Dialogs as what lies over a page and asks something; menus, toasts, cards and side panels are none."""

import pytest

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
from otel_validation.vision.dialogs import Kind, find_dialogs, find_menu
from otel_validation.vision.image import Frame

OVERLAYS = {
    "session_expired": session_expired,
    "uac": uac,
    "cookie_banner": cookie_banner,
    "chat_widget": chat_widget,
    "save_prompt": save_prompt,
    "save_prompt_without_cross": lambda canvas: save_prompt(canvas, cross=False),
}
overlays = pytest.mark.parametrize("overlay", OVERLAYS.values(), ids=OVERLAYS)
themes = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
scales = pytest.mark.parametrize("scale", [1, 1.5, 2])


def inside(box, scale=1):
    return (box[0] + 0.3 * (box[2] - box[0])) * scale, (box[1] + 0.4 * (box[3] - box[1])) * scale


def scaled(point, scale):
    return point[0] * scale, point[1] * scale


@themes
@scales
@overlays
def test_a_new_one_is_found_wherever_the_click_is(overlay, theme, scale):
    canvas = page(scale, theme)
    box = overlay(canvas)
    found = find_dialogs(Frame(canvas.image), scaled(TARGET, scale), scale, before=Frame(page(scale, theme).image))
    assert [(dialog.new, dialog.sure, dialog.covers) for dialog in found] == [(True, True, False)]
    # a panel of several grounds may be found without its title bar or its last band
    assert found[0].box == pytest.approx([value * scale for value in box], abs=75 * scale)


@themes
@scales
@overlays
def test_one_over_the_click_is_found_without_a_screen_before(overlay, theme, scale):
    canvas = page(scale, theme)
    box = overlay(canvas)
    found = find_dialogs(Frame(canvas.image), inside(box, scale), scale)
    assert found
    assert found[0].covers
    assert found[0].blocks
    assert found[0].new is None
    assert found[0].sure or overlay in {cookie_banner, chat_widget}


@pytest.mark.parametrize("overlay", [session_expired, uac])
def test_one_that_dims_the_page_is_in_the_way_of_every_click(overlay):
    canvas = page()
    overlay(canvas)
    (found,) = find_dialogs(Frame(canvas.image), TARGET, 1.0)
    assert (found.kind, found.covers, found.blocks) == (Kind.MODAL, False, True)
    assert found.signs.dimmed
    assert found.signs.close


@pytest.mark.parametrize("overlay", [cookie_banner, chat_widget, save_prompt])
def test_one_beside_the_click_that_was_there_is_no_matter(overlay):
    canvas = page()
    overlay(canvas)
    frame = Frame(canvas.image)
    assert find_dialogs(frame, TARGET, 1.0) == ()
    assert find_dialogs(frame, TARGET, 1.0, before=Frame(canvas.image.copy())) == ()


@overlays
def test_one_over_the_click_that_was_there_is_not_new(overlay):
    canvas = page()
    box = overlay(canvas)
    frame = Frame(canvas.image)
    found = find_dialogs(frame, inside(box), 1.0, before=Frame(canvas.image.copy()))
    assert all(dialog.new is False for dialog in found)


@themes
@scales
@pytest.mark.parametrize("compared", [True, False])
def test_a_page_of_cards_tables_and_forms_has_none(theme, scale, compared):
    frame = Frame(page(scale, theme).image)
    clicks = (TARGET, (80, 130), (500, 300), (915, 436), (640, 480), (1000, 220), (60, 600))
    for click in clicks:
        before = Frame(page(scale, theme).image) if compared else None
        assert find_dialogs(frame, scaled(click, scale), scale, before=before) == ()


def toast(canvas):
    canvas.shadow((950, 730, 1256, 772), blur=6)
    canvas.box((950, 730, 1256, 772), "#1e7a46", radius=6)
    canvas.text((970, 742), "Résultats relus et enregistrés", "white")


def tooltip(canvas):
    canvas.box((310, 84, 480, 108), "#333333")
    canvas.text((318, 88), "Ouvrir l'imagerie", "white", 12)


def drawer(canvas):
    canvas.shadow((900, 0, 1280, 800))
    canvas.box((900, 0, 1280, 800), canvas.theme["card"], canvas.theme["line"])
    canvas.text((920, 30), "Détails du patient", size=17)
    canvas.button((920, 200, 1030, 232), "Enregistrer")
    canvas.button((1050, 200, 1160, 232), "Annuler", "#888888")


def dropdown(canvas):
    menu(canvas, (270, 84))


def filter_below_the_click(canvas):
    canvas.shadow((260, 90, 540, 250), blur=8)
    canvas.box((260, 90, 540, 250), canvas.theme["card"], canvas.theme["line"])
    canvas.text((276, 104), "Filtrer", size=16)
    canvas.box((276, 136, 520, 166), canvas.theme["card"], "#888888")
    canvas.button((430, 200, 524, 234), "Appliquer")


@themes
@pytest.mark.parametrize("overlay", [toast, tooltip, drawer, dropdown, filter_below_the_click])
def test_what_asks_nothing_or_was_opened_by_the_click_is_none(overlay, theme):
    canvas = page(1, theme)
    overlay(canvas)
    assert find_dialogs(Frame(canvas.image), TARGET, 1.0, before=Frame(page(1, theme).image)) == ()


def other_page(theme):
    canvas = page(1, theme)
    canvas.box((0, 90, 1280, 800), theme["ground"])
    for x in (20, 440, 860):
        for y in (100, 440):
            canvas.box((x, y, x + 390, y + 310), theme["card"], theme["line"], radius=6)
            canvas.text((x + 16, y + 16), "Service de données", size=16)
            canvas.button((x + 16, y + 260, x + 110, y + 292), "Lancer")
    return canvas


@themes
def test_another_page_is_no_dialog(theme):
    before, after = Frame(page(1, theme).image), Frame(other_page(theme).image)
    for old, new in ((before, after), (after, before)):
        found = find_dialogs(new, TARGET, 1.0, before=old)
        assert not any(dialog.sure or dialog.signs.over for dialog in found)


@pytest.mark.parametrize("overlay", [session_expired, uac, save_prompt])
def test_one_is_found_though_the_page_changed_too(overlay):
    canvas = other_page(LIGHT)
    overlay(canvas)
    found = find_dialogs(Frame(canvas.image), TARGET, 1.0, before=Frame(page().image))
    assert [(dialog.new, dialog.sure) for dialog in found if dialog.sure] == [(True, True)]
    assert found[0].sure


def test_a_login_card_on_a_dark_ground_is_a_page():
    canvas = page()
    canvas.box((0, 0, 1280, 800), "#27476e")
    canvas.box((450, 200, 830, 560), "white", radius=8)
    canvas.text((480, 230), "Connexion", "black", 20)
    canvas.button((480, 480, 800, 516), "Se connecter")
    frame = Frame(canvas.image)
    assert find_dialogs(frame, (560, 250), 1.0) == ()
    assert find_dialogs(frame, (100, 100), 1.0) == ()


def test_without_a_click_what_is_new_or_dims_the_page_counts():
    canvas = page()
    save_prompt(canvas)
    frame = Frame(canvas.image)
    assert [dialog.covers for dialog in find_dialogs(frame, None, 1.0, before=Frame(page().image))] == [False]
    assert find_dialogs(frame, None, 1.0) == ()


def test_an_application_window_over_half_the_screen_is_not_surely_one():
    canvas = page()
    box = (100, 60, 1000, 700)
    canvas.shadow(box)
    canvas.box(box, "#f4f4f4", "#606060")
    canvas.text((116, 70), "Gestion des disques", "black")
    canvas.cross(974, 72, fill="black")
    assert not any(dialog.sure for dialog in find_dialogs(Frame(canvas.image), (500, 300), 1.0))


@themes
@scales
@pytest.mark.parametrize("compared", [True, False])
def test_the_menu_of_a_right_click_is_found_at_the_click(theme, scale, compared):
    canvas = page(scale, theme)
    box = menu(canvas, (480, 300))
    before = Frame(page(scale, theme).image) if compared else None
    found = find_menu(Frame(canvas.image), scaled((478, 298), scale), scale, before=before)
    assert found == pytest.approx([value * scale for value in box], abs=5 * scale)
    assert find_menu(Frame(canvas.image), scaled((1100, 200), scale), scale, before=before) is None


@themes
def test_without_a_menu_there_is_none(theme):
    frame = Frame(page(1, theme).image)
    assert find_menu(frame, (480, 300), 1.0, before=Frame(page(1, theme).image)) is None
    assert find_menu(frame, (480, 300), 1.0) is None


@pytest.mark.parametrize("size", [(1, 1), (3, 200), (200, 3), (60, 60)])
def test_tiny_screens_are_no_reason_to_fail(size):
    canvas = page()
    frame = Frame(canvas.image.resize(size))
    assert find_dialogs(frame, (0, 0), 1.0, before=frame) == ()
    assert find_dialogs(frame, (0, 0), 4.0) == ()
    assert find_menu(frame, (0, 0), 1.0) is None
