"""The label under the click on real screenshots, labelled by eye; a quarter of them, to stay quick."""

import collections
import json
from pathlib import Path

import pytest

from otel_validation.checkers.ocr_roi import OcrRoiChecker
from otel_validation.delivery.action import Point
from otel_validation.validation.subject import ReportSubject
from otel_validation.validation.verdict import Verdict

CORPUS = Path(__file__).resolve().parents[4] / "shared" / "corpus"
RIGHT = {
    "complete": {("complete", None)},
    "wrong_application": {("terminate", "wrong_application"), ("terminate", "unexpected_dialog")},
    "wrong_target": {("terminate", "wrong_target")},
    "nothing": {("continue", "ocr_text_missing")},
}


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS.is_dir(), reason="the labelled screenshots are not beside the repository")
def test_real_clicks_are_judged_right_and_no_wrong_one_is_a_success():
    images = sorted(path.name for path in (CORPUS / "images").iterdir())[::4]
    cases = [case for case in json.loads((CORPUS / "cases.json").read_text("utf-8")) if case["image"] in images]
    checker, right, total, false_success = OcrRoiChecker(), collections.Counter(), collections.Counter(), 0
    for case in cases:
        if "policy" in case["tags"]:
            continue
        made = ReportSubject.from_image(
            CORPUS / "images" / case["image"],
            at=Point(case["x_pct"], case["y_pct"]),
            expected_text=case["expected_text"],
        )
        finding = checker.check(made)
        truth = case["truth"]
        total[truth] += 1
        right[truth] += (finding.verdict, finding.category) in RIGHT[truth]
        false_success += truth != "complete" and finding.verdict is Verdict.COMPLETE
    assert false_success == 0
    assert {truth: right[truth] / total[truth] >= 0.9 for truth in RIGHT} == dict.fromkeys(RIGHT, True)
