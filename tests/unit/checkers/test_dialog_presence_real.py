"""False alarms on real screens: the demo's recording, and labelled screenshots beside the repository."""

import collections
import json
from pathlib import Path

import pytest
from PIL import Image
from screen_kit import encoded

import otel_validation.cli
from otel_validation.checkers.dialog_presence import DialogPresenceChecker
from otel_validation.delivery.action import Action, Point
from otel_validation.validation.report import Report
from otel_validation.validation.subject import ReportSubject
from otel_validation.validation.verdict import Verdict

DEMO = Path(otel_validation.cli.__file__).parent / "demo_data"
CORPUS = Path(__file__).resolve().parents[4] / "shared" / "corpus"


@pytest.mark.parametrize("compared", [True, False])
def test_the_recorded_replay_meets_no_dialog(compared):
    checker = DialogPresenceChecker()
    screens = {path.name: encoded(Image.open(path)) for path in DEMO.glob("*.png")}
    for step in json.loads((DEMO / "replay.json").read_text("utf-8"))["steps"]:
        report = Report(
            session_id="s",
            action_id="a",
            position=Point(**step["actual_position"]),
            position_given=True,
            screenshot_before=screens[step["before"]] if compared else None,
            screenshot_after=screens[step["after"]],
        )
        finding = checker.check(ReportSubject(Action("a", "click", "s", "m", step["action"]), report))
        assert (finding.verdict, finding.proof) == (Verdict.COMPLETE, False), step["name"]


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS.is_dir(), reason="the labelled screenshots are not beside the repository")
def test_right_clicks_on_real_screens_meet_no_unexpected_dialog():
    images = sorted(path.name for path in (CORPUS / "images").iterdir())[::3]
    cases = [case for case in json.loads((CORPUS / "cases.json").read_text("utf-8")) if case["image"] in images]
    checker, verdicts = DialogPresenceChecker(), collections.defaultdict(collections.Counter)
    for case in cases:
        made = ReportSubject.from_image(
            CORPUS / "images" / case["image"],
            at=Point(case["x_pct"], case["y_pct"]),
            expected_text=case["expected_text"],
        )
        verdicts[case["truth"]][checker.check(made).verdict] += 1
    for truth in ("complete", "wrong_target", "nothing"):
        assert verdicts[truth][Verdict.TERMINATE] == 0
    assert verdicts["complete"][Verdict.COMPLETE] == sum(verdicts["complete"].values())
