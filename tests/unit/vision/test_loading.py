"""A page that is still on its way (E03), and pages that only look like it."""

import pytest
from PIL import Image
from pixels_kit import BLUE, BUTTON, LINE, SIZE, desks, jpeg

from otel_validation.vision.change import Kind, compare
from otel_validation.vision.image import Frame
from otel_validation.vision.loading import Loading, loading

SCREENS = {
    "light": (SIZE, 1.0, False),
    "dark": (SIZE, 1.0, True),
    "light at 150 %": ((2560, 1600), 1.5, False),
}


def veil(desk, keeps=0.5, level=0):
    desk.image = Image.blend(desk.image, Image.new("RGB", desk.size, (level,) * 3), 1 - keeps)


def dialog(desk):
    desk.box(660, 340, 1260, 740, fill="white", outline=LINE)
    desk.text(700, 380, "Confirmer la sortie du patient ?", ink=(0, 0, 0))
    desk.box(900, 600, 1000, 630, fill=BLUE)


def bar(desk, *, framed):
    desk.box(760, 520, 1160, 530, fill=None if framed else (220, 220, 220), outline=(120, 120, 120))
    desk.box(760, 520, 900, 530, fill=BLUE)


WAITING = {
    "ring": (Loading.SPINNER, lambda d: d.page(), lambda d: d.spinner(960, 520)),
    "ring over its text": (
        Loading.SPINNER,
        lambda d: d.page((890, 565, "Chargement en cours...")),
        lambda d: d.spinner(960, 520),
    ),
    "circle of dots": (Loading.SPINNER, lambda d: d.page(), lambda d: d.spinner(960, 520, kind="dots")),
    "large ring": (Loading.SPINNER, lambda d: d.page(), lambda d: d.spinner(960, 520, 50)),
    "ring over the page": (Loading.SPINNER, lambda d: d.spinner(1040, 400)),
    "dots over the page": (Loading.SPINNER, lambda d: d.spinner(960, 700, kind="dots")),
    "veil": (Loading.VEILED, veil),
    "veil with a ring": (Loading.VEILED, veil, lambda d: d.spinner(960, 520)),
    "white veil": (Loading.VEILED, lambda d: veil(d, 0.4, 255)),
    "blank": (Loading.BLANK, lambda d: d.page()),
    "bar": (Loading.PROGRESS, lambda d: d.page(), lambda d: bar(d, framed=False)),
    "framed bar": (Loading.PROGRESS, lambda d: d.page(), lambda d: bar(d, framed=True)),
}
THERE = {
    "no results": (lambda d: d.page((880, 500, "Aucun résultat")),),
    "round letters": (lambda d: d.page((880, 500, "OOO O"), (100, 100, "Titre")),),
    "dialog over a veil": (veil, dialog),
    "another page": (
        lambda d: d.page(*((100 + 200 * i, 100 + 40 * j, f"Texte {i} {j}") for i in range(6) for j in range(18))),
    ),
    "tab": (lambda d: d.tab(BLUE),),
    "checkbox": (lambda d: d.checkbox(ticked=True),),
    "nothing": (),
    "toast": (lambda d: d.toast(),),
    "ring and a panel": (lambda d: d.spinner(1040, 700), lambda d: d.box(200, 640, 900, 900, fill=(200, 220, 240))),
    "one section folded": (lambda d: d.box(960, 320, 1400, 560, fill=d.paper),),
}


def judged(screen, things, *, coding=lambda image: image, click=BUTTON, first=()):
    before, after = desks(SCREENS[screen], things, first)
    one, two = Frame(coding(before.image)), Frame(coding(after.image))
    change = compare(one, two, click=before.at(click), scale=before.scale)
    return loading(change, scale=before.scale), change


@pytest.mark.parametrize("name", WAITING)
@pytest.mark.parametrize("screen", SCREENS)
def test_e03_a_page_on_its_way(screen, name):
    expected, *things = WAITING[name]
    assert judged(screen, things)[0] is expected


@pytest.mark.parametrize("name", ["ring over its text", "circle of dots", "ring over the page", "white veil", "blank"])
def test_e03_as_jpeg(name):
    expected, *things = WAITING[name]
    assert judged("light", things, coding=lambda image: jpeg(image, 60))[0] is expected


@pytest.mark.parametrize("name", THERE)
@pytest.mark.parametrize("screen", SCREENS)
def test_a_page_that_is_there(screen, name):
    assert judged(screen, THERE[name])[0] is None


def test_a_ring_that_turned_on_goes_on():
    ring = lambda turn: lambda d: d.spinner(960, 700, turn=turn)  # noqa: E731
    assert judged("light", [ring(90)], first=[ring(0)])[0] is Loading.SPINNER


class TestRing:
    """Rings that do not turn."""

    def ring(self, x, y, radius, width=2):
        return lambda d: d._draw.ellipse((x - radius, y - radius, x + radius, y + radius), outline=BLUE, width=width)

    def test_the_focus_around_a_round_button(self):
        state, change = judged("light", [self.ring(1200, 800, 18)], click=(1200, 800))
        assert state is None
        assert {region.kind for region in change.regions} == {Kind.CHANGE}

    def test_a_radio_button_beside_the_click(self):
        state, change = judged("light", [self.ring(1200, 800, 9)], click=(1200, 830))
        assert state is None
        assert {region.kind for region in change.regions} == {Kind.CHANGE}

    def test_a_wide_one_beside_the_click_turns(self):
        assert judged("light", [self.ring(1200, 800, 18, 4)], click=(1200, 840))[0] is Loading.SPINNER

    def test_a_disc_and_a_square_are_none(self):
        disc = lambda d: d._draw.ellipse((1182, 782, 1218, 818), fill=BLUE)  # noqa: E731
        square = lambda d: d.box(1182, 782, 1218, 818, outline=BLUE)  # noqa: E731
        for thing in (disc, square):
            state, change = judged("light", [thing])
            assert state is None
            assert Kind.RING not in {region.kind for region in change.regions}
