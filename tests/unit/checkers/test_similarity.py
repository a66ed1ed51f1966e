"""Anchors where the click went, and content that scrolled."""

import base64
import io
import json

import numpy as np
import pytest
from PIL import Image, ImageDraw
from pixels_kit import Desk, encoded, jpeg, subject
from screen_kit import font

from otel_validation.checkers.similarity import COMMON, ENCODED, FOUND, MISPLACED, SimilarityChecker
from otel_validation.delivery.action import Point
from otel_validation.validation.anchor import LONGEST, anchor_text
from otel_validation.validation.verdict import FailureCategory, Verdict
from otel_validation.vision.encoder import FileEncoder

CHECKER = SimilarityChecker()
DISK, PLUS, GLASS = (112, 62), (172, 62), (232, 62)
SIZE = (1280, 800)
COMPLETE, UNCLEAR = (Verdict.COMPLETE, None), (Verdict.CONTINUE, FailureCategory.UNKNOWN)
WRONG = (Verdict.TERMINATE, FailureCategory.WRONG_TARGET)


def toolbar(*, ground=(246, 246, 248), ink=(60, 60, 66), size=SIZE, rows=12, without=()):
    """A disk, a plus and a magnifying glass over lines of text."""
    image = Image.new("RGB", size, ground)
    draw = ImageDraw.Draw(image)
    if DISK not in without:
        draw.rectangle((100, 50, 123, 73), outline=ink, width=2)
        draw.rectangle((105, 63, 118, 73), fill=ink)
    if PLUS not in without:
        draw.line((172, 52, 172, 72), fill=ink, width=2)
        draw.line((162, 62, 182, 62), fill=ink, width=2)
    if GLASS not in without:
        draw.ellipse((222, 52, 235, 65), outline=ink, width=2)
        draw.line((234, 64, 242, 72), fill=ink, width=4)
    for row in range(rows):
        draw.text((100, 150 + 40 * row), f"Ligne {row} du compte rendu", fill=ink, font=font(15))
    return image


def anchor(place, image=None):
    x, y = place
    return encoded((image or toolbar()).crop((x - 16, y - 16, x + 16, y + 16)))


def spec(place, name="anchor_image_base64"):
    return {"target_spec": {name: anchor(place)}}


def told(finding):
    json.dumps(dict(finding.evidence), allow_nan=False)
    return finding.verdict, finding.category


def judged(image, at, payload, *, before=None, checker=CHECKER, kind="click"):
    return checker.check(subject(before, image, at, kind=kind, payload=payload))


class TestClick:
    @pytest.mark.parametrize("place", [DISK, PLUS, GLASS])
    def test_the_anchor_under_the_click_is_complete(self, place):
        finding = judged(toolbar(), place, spec(place))
        assert told(finding) == COMPLETE
        assert finding.verified
        assert FOUND[0] < finding.confidence <= FOUND[1]
        assert finding.evidence["anchor"]["box"] == [place[0] - 16, place[1] - 16, place[0] + 16, place[1] + 16]

    @pytest.mark.parametrize("clicked", [PLUS, GLASS, (600, 600)])
    def test_another_icon_there_and_the_anchor_elsewhere_is_the_wrong_target(self, clicked):
        finding = judged(toolbar(), clicked, spec(DISK))
        assert told(finding) == WRONG
        assert finding.confidence in MISPLACED
        assert finding.evidence["elsewhere"][0]["score"] > 0.99

    def test_an_anchor_that_is_nowhere_is_unclear(self):
        finding = judged(toolbar(without=(DISK,)), PLUS, spec(DISK))
        assert told(finding) == UNCLEAR
        assert finding.verified

    def test_it_is_judged_on_the_screen_that_the_click_met(self):
        after = toolbar(without=(DISK, PLUS, GLASS), rows=0)
        ImageDraw.Draw(after).text((300, 300), "Enregistré", fill="black", font=font(20))
        assert told(judged(after, DISK, spec(DISK), before=toolbar())) == COMPLETE
        assert told(judged(toolbar(), PLUS, spec(DISK), before=toolbar())) == WRONG

    @pytest.mark.parametrize("image", [jpeg(toolbar(), 60), toolbar(ground=(40, 40, 44), ink=(230, 230, 230))])
    def test_compression_and_a_dark_theme_do_not_matter(self, image):
        assert told(judged(image, GLASS, spec(GLASS))) == COMPLETE
        assert told(judged(image, PLUS, spec(GLASS))) == WRONG

    def test_one_that_stands_in_several_places_is_less_sure(self):
        image = toolbar()
        image.paste(image.crop((96, 46, 128, 78)), (900, 700))
        finding = judged(image, DISK, spec(DISK))
        assert told(finding) == COMPLETE
        assert finding.confidence == COMMON
        assert len(finding.evidence["elsewhere"]) == 1

    def test_between_the_two_nothing_is_decided(self):
        image = toolbar(without=(DISK,))
        draw = ImageDraw.Draw(image)
        draw.rectangle((100, 50, 123, 73), outline=(60, 60, 66), width=2)
        finding = judged(image, DISK, spec(DISK))
        assert told(finding) == UNCLEAR
        assert 0.4 < finding.evidence["anchor"]["score"] < 0.85

    def test_no_text_of_the_screen_is_in_the_evidence(self):
        evidence = json.dumps(dict(judged(toolbar(), DISK, spec(DISK), before=toolbar()).evidence))
        assert "Ligne" not in evidence
        assert len(evidence) < 1_500


class TestEncoder:
    class Answers:
        """An encoder that finds one thing alike: for answers that no small network gives for sure."""

        def __init__(self, here, beside):
            self.answers = [beside] * 4 + [here]
            self.warm = False

        def likeness(self, one, two):
            assert one.shape == two.shape
            return self.answers.pop(0)

        def warm_up(self):
            self.warm = True

    @staticmethod
    def unclear():
        image = toolbar(without=(DISK,), size=(1280, 800))
        ImageDraw.Draw(image).rectangle((100, 50, 123, 73), outline=(60, 60, 66), width=2)
        return image

    @pytest.mark.parametrize(
        ("here", "beside", "expected"),
        [(0.9, 0.2, COMPLETE), (0.9, 0.85, UNCLEAR), (0.4, 0.1, UNCLEAR)],
    )
    def test_it_decides_where_the_anchor_does_not(self, here, beside, expected):
        finding = judged(self.unclear(), DISK, spec(DISK), checker=SimilarityChecker(self.Answers(here, beside)))
        assert told(finding) == expected
        assert finding.evidence["encoder"] == {"here": here, "beside": beside}
        assert expected is UNCLEAR or finding.confidence == ENCODED

    def test_it_is_not_asked_where_the_anchor_decides(self):
        checker = SimilarityChecker(self.Answers(0.0, 0.0))
        assert told(judged(toolbar(), DISK, spec(DISK), checker=checker)) == COMPLETE
        assert told(judged(toolbar(), PLUS, spec(DISK), checker=checker)) == WRONG

    def test_it_is_loaded_at_start(self):
        encoder = self.Answers(0, 0)
        SimilarityChecker(encoder).warm_up()
        assert encoder.warm
        SimilarityChecker().warm_up()

    def test_a_real_network_decides(self, tmp_path):
        onnx = pytest.importorskip("onnx")
        helper = onnx.helper
        nodes = [
            helper.make_node("Conv", ["picture", "kernel"], ["features"], strides=[2, 2]),
            helper.make_node("Relu", ["features"], ["positive"]),
            helper.make_node("GlobalAveragePool", ["positive"], ["pooled"]),
            helper.make_node("Flatten", ["pooled"], ["out"]),
        ]
        kernel = np.random.default_rng(2).normal(size=(24, 3, 5, 5))
        kernel -= kernel.mean(axis=(1, 2, 3), keepdims=True)
        picture = helper.make_tensor_value_info("picture", onnx.TensorProto.FLOAT, (1, 3, 64, 64))
        out = helper.make_tensor_value_info("out", onnx.TensorProto.FLOAT, None)
        weights = [onnx.numpy_helper.from_array(kernel.astype(np.float32), "kernel")]
        model = helper.make_model(helper.make_graph(nodes, "g", [picture], [out], weights))
        model.ir_version = 8
        model.opset_import[0].version = 17
        onnx.save(model, tmp_path / "edges.onnx")
        checker = SimilarityChecker(FileEncoder(tmp_path / "edges.onnx"))
        checker.warm_up()
        finding = judged(self.unclear(), DISK, spec(DISK), checker=checker)
        assert finding.evidence["encoder"]["here"] > finding.evidence["encoder"]["beside"]
        assert told(finding) == COMPLETE


class TestWatching:
    """An anchor that may be anywhere, or is a whole screen."""

    @pytest.mark.parametrize("kind", ["wait", "wait_for_anchor", "verify_screen", "visual_condition"])
    def test_the_anchor_is_on_the_screen_or_it_is_not(self, kind):
        there, gone = toolbar(), toolbar(without=(DISK,))
        for at in (None, (700, 700)):
            assert told(judged(there, at, spec(DISK), before=gone, kind=kind)) == COMPLETE
            assert told(judged(gone, at, spec(DISK), before=there, kind=kind)) == UNCLEAR

    def test_an_action_without_a_place_looks_everywhere(self):
        assert told(judged(toolbar(), None, spec(DISK), kind="key_combo")) == COMPLETE

    def test_a_picture_of_a_screen_is_compared_as_a_whole(self):
        desk, other = Desk().image, Desk()
        other.page(*((100 + 300 * i, 80 + 30 * j, f"Résultat {i} {j}") for i in range(5) for j in range(25)))
        reference = {"anchor_image": encoded(jpeg(desk, 70), "JPEG", quality=70)}
        again = Desk()
        again.clock("15:04")
        same = judged(again.image, None, reference, kind="verify_screen")
        assert told(same) == COMPLETE
        assert same.evidence["reference"]["hash_distance"] <= 4
        assert told(judged(other.image, None, reference, kind="verify_screen")) == UNCLEAR


class TestScroll:
    @staticmethod
    def page(offset=0, seed=3, anchor_at=None):
        rng = np.random.default_rng(seed)
        inner = Image.new("RGB", (1000, 700), "white")
        draw = ImageDraw.Draw(inner)
        for row in range(100):
            words = " ".join(f"{rng.integers(1000, 99999)}" for _ in range(16))
            draw.text((10, 30 * row - offset), words, fill=(30, 30, 30), font=font(15))
        image = Image.new("RGB", (1280, 800), (235, 236, 240))
        image.paste(inner, (200, 60))
        if anchor_at is not None:
            image.paste(toolbar().crop((96, 46, 128, 78)), anchor_at)
        return image

    def scrolled(self, after, *, at=(700, 400), payload=None, before=None):
        return judged(after, at, payload or {}, before=before or self.page(), kind="scroll")

    @pytest.mark.parametrize("at", [(700, 400), None])
    def test_content_that_moved_is_complete(self, at):
        finding = self.scrolled(self.page(240), at=at)
        assert told(finding) == COMPLETE
        assert abs(finding.evidence["moved"][1] + 240) <= 2
        assert finding.confidence == 0.8
        assert finding.evidence["screen"]["ssim"] < 0.9
        assert (finding.evidence["roi"] is None) is (at is None)

    def test_elsewhere_than_under_the_pointer_it_is_left_open(self):
        finding = self.scrolled(self.page(240), at=(60, 400))
        assert told(finding) == COMPLETE
        assert finding.confidence == 0.5

    def test_more_than_a_page_is_left_open(self):
        finding = self.scrolled(self.page(1500))
        assert told(finding) == COMPLETE
        assert finding.confidence == 0.5
        assert finding.evidence["moved"] is None

    def test_nothing_moved_at_the_end_of_the_page(self):
        again = self.page()
        ImageDraw.Draw(again).line((60, 300, 60, 315), fill="black")
        for after in (self.page(), again):
            assert told(self.scrolled(after)) == (Verdict.CONTINUE, FailureCategory.NO_VISUAL_CHANGE)

    def test_a_page_that_loads_is_waited_for(self):
        gone = Image.new("RGB", (1280, 800), (235, 236, 240))
        ImageDraw.Draw(gone).rectangle((200, 60, 1199, 759), fill="white")
        assert told(self.scrolled(gone)) == (Verdict.CONTINUE, FailureCategory.UI_LOADING)

    def test_the_anchor_became_visible(self):
        finding = self.scrolled(self.page(240, anchor_at=(600, 300)), payload=spec(DISK))
        assert told(finding) == COMPLETE
        assert finding.evidence["anchor"]["box"][:2] == [600, 300]
        assert told(judged(self.page(anchor_at=(600, 300)), None, spec(DISK), kind="scroll_to_anchor")) == COMPLETE

    def test_an_anchor_still_out_of_sight_does_not_hide_that_it_moved(self):
        assert told(self.scrolled(self.page(240), payload=spec(DISK))) == COMPLETE


class TestAnchor:
    """What an action may carry as its anchor."""

    @pytest.mark.parametrize("name", ["anchor_image_base64", "anchor_image", "by_image"])
    @pytest.mark.parametrize("wrap", [lambda t: t, lambda t: "data:image/png;base64," + t, lambda t: {"base64": t}])
    def test_where_it_may_be(self, name, wrap):
        value = wrap(anchor(DISK))
        for payload in ({"target_spec": {name: value}}, {name: value}):
            assert CHECKER.applies(subject(None, toolbar(size=(300, 200), rows=0), DISK, payload=payload))
            assert told(judged(toolbar(size=(300, 200), rows=0), DISK, payload)) == COMPLETE

    @pytest.mark.parametrize(
        "value", ["/etc/passwd", "anchors/disk.png", "http://127.0.0.1/a.png", "", 7, None, {"base64": 3}]
    )
    def test_a_path_is_none(self, value, tmp_path):
        one = subject(None, toolbar(size=(300, 200)), DISK, payload={"target_spec": {"by_image": value}})
        assert not CHECKER.applies(one)
        assert CHECKER.check(one).verified is False

    def test_a_path_to_a_real_image_is_not_read(self, tmp_path):
        toolbar().save(tmp_path / "disk.png")
        one = subject(None, toolbar(), DISK, payload={"anchor_image": str(tmp_path / "disk.png")})
        assert anchor_text(one.action) is None

    @pytest.mark.parametrize(
        "text", ["iVBORw0KGgo=", "iVBORw0KGgo!!!", "data:image/png,abc", "iVBORw0KGgo" + "A" * LONGEST]
    )
    def test_one_that_is_no_image_is_no_success(self, text):
        finding = judged(toolbar(), DISK, {"anchor_image": text})
        assert told(finding) == (Verdict.CONTINUE, FailureCategory.IMAGE_INVALID)
        assert not finding.verified

    def test_a_bomb_is_not_decoded(self):
        buffer = io.BytesIO()
        Image.new("1", (6000, 6000)).save(buffer, "PNG")
        finding = judged(toolbar(), DISK, {"anchor_image": base64.b64encode(buffer.getvalue()).decode()})
        assert told(finding) == (Verdict.CONTINUE, FailureCategory.IMAGE_INVALID)
        assert "too_large" in finding.reasoning

    def test_one_that_shows_nothing_cannot_be_found(self):
        for size in ((32, 32), (3, 3)):
            finding = judged(toolbar(), DISK, {"anchor_image": encoded(Image.new("RGB", size, "white"))})
            assert told(finding) == UNCLEAR
            assert not finding.verified


class TestNothingToJudge:
    def test_it_applies_to_an_anchor_or_a_scroll_only(self):
        image = toolbar(size=(300, 200))
        assert not CHECKER.applies(subject(image, image, DISK))
        assert not CHECKER.applies(subject(None, None, None, payload=spec(DISK)))
        assert CHECKER.applies(subject(image, image, DISK, kind="scroll"))
        assert not CHECKER.applies(subject(None, image, DISK, kind="scroll"))

    def test_a_black_screen_and_a_place_outside(self):
        black = judged(Image.new("RGB", SIZE, "black"), DISK, spec(DISK))
        assert told(black) == (Verdict.CONTINUE, FailureCategory.SCREEN_UNAVAILABLE)
        one = subject(None, toolbar(), DISK, payload=spec(DISK))
        object.__setattr__(one.report, "position", Point(-1.0, 0.5))
        assert told(CHECKER.check(one)) == UNCLEAR
        assert not CHECKER.check(one).verified

    def test_a_scroll_with_one_screen_and_no_anchor_is_not_judged(self):
        assert not judged(toolbar(), DISK, {}, kind="scroll").verified
