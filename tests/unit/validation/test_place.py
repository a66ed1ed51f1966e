import pytest

from otel_validation.delivery.action import Action, PixelPoint, Point
from otel_validation.errors import UnplacedError
from otel_validation.validation.place import Place, guess_scale, on_screenshot, place_before, place_of
from otel_validation.validation.report import Report
from otel_validation.validation.window import WindowFacts

SIZE = (1280, 800)


def action(**payload):
    return Action("a1", "click", "s1", "m1", payload)


def report(position=None, *, given=None, window=None):
    return Report(
        session_id="s1",
        action_id="a1",
        position=position,
        position_given=position is not None if given is None else given,
        window=WindowFacts.from_json(window),
    )


@pytest.mark.parametrize(("at", "pixel"), [((0.0, 0.0), (0, 0)), ((1.0, 1.0), (1279, 799)), ((0.5, 0.25), (640, 200))])
def test_fractions_are_pixels_of_the_screenshot(at, pixel):
    assert place_of(action(), report(Point(*at)), SIZE) == Place(*pixel, 1.0, known=False)


def test_the_reported_position_wins_over_the_aim():
    aimed = action(x_pct=0.5, y_pct=0.5)
    assert place_of(aimed, report(), SIZE).x == 640
    assert place_of(aimed, report(Point(0.0, 0.0)), SIZE).x == 0


@pytest.mark.parametrize("at", [(-0.1, 0.5), (0.5, 1.1), (1e9, 0.5)])
def test_a_position_outside_is_not_moved_inside(at):
    with pytest.raises(UnplacedError, match="outside the screen"):
        place_of(action(x_pct=0.5, y_pct=0.5), report(Point(*at)), SIZE)


def test_a_position_that_cannot_be_used_is_not_replaced_by_the_aim():
    with pytest.raises(UnplacedError, match="cannot be used"):
        place_of(action(x_pct=0.5, y_pct=0.5), report(given=True), SIZE)
    with pytest.raises(UnplacedError, match="no position"):
        place_of(action(), report(), SIZE)


def test_the_scale_is_the_declared_one_else_that_of_the_size():
    assert guess_scale((1280, 720)) == 1.0
    assert guess_scale((3840, 2160)) == 2.0
    centre = Point(0.5, 0.5)
    assert place_of(action(), report(centre, window={"dpi_scale": 1.5}), SIZE) == Place(640, 400, 1.5, known=True)
    for absurd in (0, 90, "huge", None, True):
        assert place_of(action(), report(centre, window={"dpi_scale": absurd}), (3840, 2160)).scale == 2.0


@pytest.mark.parametrize("at", [(0, 0), (1279, 799), (0.0, 799.5)])
def test_pixels_are_those_of_the_screenshot(at):
    placed = place_of(action(), report(PixelPoint(*at)), SIZE)
    assert (placed.x, placed.y) == (at[0], int(at[1]))


@pytest.mark.parametrize("at", [(1280, 0), (0, 800), (-1, 5), (5, -0.01), (1e300, 5)])
def test_pixels_outside_are_not_moved_inside(at):
    with pytest.raises(UnplacedError, match="outside the screenshot"):
        place_of(action(x_pct=0.5, y_pct=0.5), report(PixelPoint(*at)), SIZE)


def test_e05_the_origin_of_the_capture_is_taken_off():
    """E05: a virtual desktop that begins left of and above the main monitor."""
    clicked, desktop = report(PixelPoint(-800, 300), window={"monitor_origin": [-1920, -248]}), (4160, 2560)
    placed = place_of(action(), clicked, desktop)
    assert (placed.x, placed.y) == (1120, 548)


def test_e05_without_an_origin_a_negative_position_is_outside():
    """E05."""
    with pytest.raises(UnplacedError, match="outside the screenshot"):
        place_of(action(), report(PixelPoint(-800, 300)), (4160, 2560))


def test_e05_the_origin_counts_for_the_aim_in_pixels_too():
    placed = place_of(action(x_px=-800, y_px=300), report(window={"monitor_origin": [-1920, -248]}), (4160, 2560))
    assert (placed.x, placed.y) == (1120, 548)


def test_the_origin_has_no_say_on_fractions():
    placed = place_of(action(), report(Point(0.5, 0.5), window={"monitor_origin": [-1920, -248]}), (4160, 2560))
    assert (placed.x, placed.y) == (2080, 1280)


@pytest.mark.parametrize(
    ("window", "pixel", "scale"),
    [
        ({"dpi_scale": 2}, (400, 300), 2.0),
        ({"dpi_scale": 2, "logical": True}, (800, 600), 2.0),
        ({"dpi_scale": 2, "logical": True, "monitor_origin": [-100, 0]}, (1000, 600), 2.0),
        ({"logical": True}, (400, 300), 2.0),
        ({"screen_size": [1920, 1080]}, (800, 600), 2.0),
        ({"screen_size": [1920, 1080], "dpi_scale": 1.25}, (800, 600), 2.5),
        ({"screen_size": [1920, 1080], "dpi_scale": 2, "logical": True}, (800, 600), 2.0),
        ({"screen_size": [7680, 4320], "dpi_scale": 2}, (200, 150), 1.0),
    ],
)
def test_logical_pixels_and_scaled_captures(window, pixel, scale):
    placed = place_of(action(), report(PixelPoint(400, 300), window=window), (3840, 2160))
    assert ((placed.x, placed.y), placed.scale) == (pixel, scale)


def test_a_screen_of_another_shape_than_the_screenshot_places_no_pixel():
    window = {"screen_size": [1920, 1080], "dpi_scale": 1.5}
    with pytest.raises(UnplacedError, match="shape"):
        place_of(action(), report(PixelPoint(400, 300), window=window), SIZE)
    assert place_of(action(), report(Point(0.5, 0.5), window=window), SIZE) == Place(640, 400, 1.5, known=True)


def test_a_letterboxed_remote_desktop():
    """A client of 1280 x 800 shows a remote desktop of 1066 x 800 between two black bars."""
    bars = {"remote_rect": [107, 0, 1173, 800]}
    centre = place_of(action(), report(Point(0.5, 0.5), window=bars), SIZE)
    assert (centre.x, centre.y) == (640, 400)
    corner = place_of(action(), report(Point(0.0, 0.0), window=bars), SIZE)
    assert (corner.x, corner.y) == (107, 0)
    last = place_of(action(), report(Point(1.0, 1.0), window=bars), SIZE)
    assert (last.x, last.y) == (1172, 799)
    assert place_of(action(), report(PixelPoint(0, 0), window=bars), SIZE).x == 107
    scaled = place_of(action(), report(PixelPoint(800, 600), window={**bars, "screen_size": [1600, 1200]}), SIZE)
    assert (scaled.x, scaled.y) == (640, 400)
    with pytest.raises(UnplacedError, match="outside the screenshot"):
        place_of(action(), report(PixelPoint(1066, 0), window=bars), SIZE)


def test_without_facts_a_letterboxed_capture_is_a_capture():
    assert place_of(action(), report(Point(0.0, 0.0)), SIZE).x == 0


@pytest.mark.parametrize("rect", [[107, 0, 1281, 800], [-1, 0, 600, 400], [2000, 0, 2100, 50]])
def test_a_remote_desktop_outside_the_screenshot_is_refused(rect):
    with pytest.raises(UnplacedError, match="remote desktop"):
        place_of(action(), report(Point(0.5, 0.5), window={"remote_rect": rect}), SIZE)


def test_a_window_is_placed_as_a_click_is():
    facts = WindowFacts.from_json({"rect": [-1920, 0, -960, 540], "monitor_origin": [-1920, -248]})
    assert on_screenshot(facts, facts.rect, (4160, 2560)) == (0, 248, 960, 788)
    logical = WindowFacts.from_json({"rect": [10, 10, 110, 60], "dpi_scale": 1.5, "logical": True})
    assert on_screenshot(logical, logical.rect, SIZE) == (15, 15, 165, 90)


def test_a_screen_before_of_the_same_size_is_placed_as_the_one_after():
    pixels = report(PixelPoint(40, 30))
    assert place_before(action(), pixels, SIZE, SIZE) == place_of(action(), pixels, SIZE)


def test_a_screen_before_of_another_size_is_placed_by_fractions_only():
    small = (640, 400)
    placed = place_before(action(), report(Point(0.5, 0.5)), small, SIZE)
    assert (placed.x, placed.y) == (320, 200)
    assert place_before(action(), report(PixelPoint(40, 30)), small, SIZE) is None
    remote = report(Point(0.5, 0.5), window={"remote_rect": [0, 0, 100, 100]})
    assert place_before(action(), remote, small, SIZE) is None
    with pytest.raises(UnplacedError):
        place_before(action(), report(), small, SIZE)
