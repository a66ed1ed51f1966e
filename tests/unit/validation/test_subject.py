"""Frames of a report: decoded once, whoever asks, errors included."""

import base64
import io
import threading

import pytest
from PIL import Image

from otel_validation.delivery.action import Action, Point
from otel_validation.errors import ImageError
from otel_validation.validation.expectation import expected_text, expects_text
from otel_validation.validation.report import Report
from otel_validation.validation.subject import LazyFrame, ReportSubject
from otel_validation.vision.expected import ExpectedText
from otel_validation.vision.image import decode_frame


def picture(size=(20, 10)):
    buffer = io.BytesIO()
    Image.new("RGB", size, "white").save(buffer, "PNG")
    return buffer.getvalue()


def subject(**screens):
    action = Action("a1", "click", "s1", "m1", {})
    return ReportSubject(action, Report(session_id="s1", action_id="a1", **screens))


def test_no_screenshot_is_none():
    assert subject().before is None
    assert subject().after is None


def test_each_screen_is_decoded_once():
    made = subject(screenshot_after=base64.b64encode(picture()).decode())
    assert made.after is made.after
    assert made.after.size == (20, 10)
    assert made.before is None


def test_an_error_is_kept_and_raised_again():
    made = subject(screenshot_before="not an image!")
    for _ in range(2):
        with pytest.raises(ImageError) as caught:
            _ = made.before
        assert caught.value.reason == "not_base64"


def test_threads_share_one_decoding():
    count, started = [], threading.Barrier(8)

    def decode():
        count.append(1)
        return decode_frame(picture())

    lazy = LazyFrame(decode)

    def work():
        started.wait()
        lazy.get()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(count) == 1


def test_the_budget_is_passed_on():
    text = base64.b64encode(picture()).decode()
    action, report = Action("a1", "click", "s1", "m1", {}), Report(session_id="s", action_id="a", screenshot_after=text)
    with pytest.raises(ImageError) as caught:
        _ = ReportSubject(action, report, pixel_budget=10).after
    assert caught.value.reason == "too_large"


def test_a_file_on_disk_makes_a_subject(tmp_path):
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes(picture())
    made = ReportSubject.from_image(
        tmp_path / "a.png", at=Point(0.0, 0.5), expected_text="Imagerie", before=tmp_path / "b.png"
    )
    assert expected_text(made.action) == ExpectedText(("Imagerie",))
    assert made.report.position == Point(0.0, 0.5)
    assert made.before is not None
    assert made.after is not None
    bare = ReportSubject.from_image(tmp_path / "a.png", at=None)
    assert not expects_text(bare.action)
    assert not bare.report.position_given
    with pytest.raises(OSError, match=r"gone\.png"):
        ReportSubject.from_image(tmp_path / "gone.png", at=None)


@pytest.mark.parametrize(
    ("kind", "payload", "kept"),
    [
        ("type_secret", {}, False),
        ("type", {"secret": True}, False),
        ("type", {"target_spec": {"secret": "yes"}}, False),
        ("type", {"secret": False, "target_spec": None}, True),
        ("extract_text", {}, True),
    ],
)
def test_g10_nothing_that_a_report_carries_of_a_secret_reaches_a_checker(kind, payload, kept):
    """G10: of the value and the members of a secret's report."""
    report = Report(session_id="s", action_id="a", value="S3cret!Pw", value_given=True, members={"detail": "S3cret!Pw"})
    made = ReportSubject(Action("a", kind, "s", "m", payload), report)
    assert (made.report.value == "S3cret!Pw") is kept
    assert (made.report.members == {"detail": "S3cret!Pw"}) is kept
    assert made.report.value_given is kept
