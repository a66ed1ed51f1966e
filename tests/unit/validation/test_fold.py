"""One verdict of several findings."""

from __future__ import annotations

from dataclasses import replace

import pytest
from delivery_kit import a_finding, a_report

from otel_validation.validation.fold import fold
from otel_validation.validation.verdict import FailureCategory, Verdict

SEEN = a_finding()
STOP = a_finding(Verdict.TERMINATE, 0.8, category=FailureCategory.WRONG_TARGET)
SURER_STOP = a_finding(Verdict.TERMINATE, 0.95, category=FailureCategory.WRONG_APPLICATION)
UNSURE = a_finding(Verdict.CONTINUE, 0.4, verified=False, category=FailureCategory.UNKNOWN)
LOADING = a_finding(Verdict.CONTINUE, 0.6, category=FailureCategory.UI_LOADING)
GUESSED_STOP = a_finding(Verdict.TERMINATE, 0.9, verified=False, category=FailureCategory.WRONG_TARGET)
NOTHING_AGAINST = replace(a_finding(confidence=0.95), proof=False)
SURELY_GUESSED = a_finding(Verdict.COMPLETE, 0.99, verified=False)
GUESSED = a_finding(Verdict.COMPLETE, 0.5, verified=False)
SUREST_STOP = a_finding(Verdict.TERMINATE, 0.99, category=FailureCategory.WRONG_TARGET)
VAGUE_STOP = a_finding(Verdict.TERMINATE, 0.6, category=FailureCategory.WRONG_TARGET)
VAGUE_DIALOG = a_finding(Verdict.TERMINATE, 0.5, category=FailureCategory.UNEXPECTED_DIALOG)
UNSURE_DIALOG = a_finding(Verdict.TERMINATE, 0.6, category=FailureCategory.UNEXPECTED_DIALOG)
DIALOG = a_finding(Verdict.TERMINATE, 0.75, category=FailureCategory.UNEXPECTED_DIALOG)


@pytest.mark.parametrize(
    ("findings", "verdict", "category", "verified", "confidence"),
    [
        ([SEEN], Verdict.COMPLETE, None, True, 0.9),
        ([a_finding(confidence=0.8), SEEN], Verdict.COMPLETE, None, True, 0.9),
        ([NOTHING_AGAINST, a_finding(confidence=0.8)], Verdict.COMPLETE, None, True, 0.8),
        ([NOTHING_AGAINST, STOP], Verdict.TERMINATE, FailureCategory.WRONG_TARGET, True, 0.8),
        ([NOTHING_AGAINST, UNSURE], Verdict.CONTINUE, FailureCategory.UNKNOWN, False, 0.4),
        ([SEEN, STOP], Verdict.TERMINATE, FailureCategory.WRONG_TARGET, True, 0.8),
        ([STOP, SURER_STOP, LOADING], Verdict.TERMINATE, FailureCategory.WRONG_APPLICATION, True, 0.95),
        ([UNSURE, STOP], Verdict.TERMINATE, FailureCategory.WRONG_TARGET, True, 0.8),
        ([SEEN, LOADING], Verdict.CONTINUE, FailureCategory.UI_LOADING, True, 0.6),
        ([UNSURE, SEEN], Verdict.CONTINUE, FailureCategory.UNKNOWN, False, 0.4),
        ([UNSURE, LOADING], Verdict.CONTINUE, FailureCategory.UI_LOADING, True, 0.6),
        ([SURER_STOP, DIALOG], Verdict.TERMINATE, FailureCategory.UNEXPECTED_DIALOG, True, 0.75),
        (
            [SURER_STOP, a_finding(Verdict.TERMINATE, 0.6, category=FailureCategory.UNEXPECTED_DIALOG)],
            Verdict.TERMINATE,
            FailureCategory.WRONG_APPLICATION,
            True,
            0.95,
        ),
        (
            [a_finding(Verdict.TERMINATE, 0.99, category=FailureCategory.WRONG_TARGET), SURER_STOP],
            Verdict.TERMINATE,
            FailureCategory.WRONG_APPLICATION,
            True,
            0.95,
        ),
        (
            [
                a_finding(Verdict.TERMINATE, 0.5, category=FailureCategory.UNEXPECTED_DIALOG),
                a_finding(Verdict.TERMINATE, 0.6, category=FailureCategory.WRONG_TARGET),
            ],
            Verdict.TERMINATE,
            FailureCategory.WRONG_TARGET,
            True,
            0.6,
        ),
        ([GUESSED_STOP, SEEN], Verdict.CONTINUE, FailureCategory.WRONG_TARGET, False, 0.9),
        ([GUESSED], Verdict.CONTINUE, None, False, 0.5),
        ([SEEN, GUESSED], Verdict.CONTINUE, None, False, 0.5),
        ([SEEN, SURELY_GUESSED], Verdict.CONTINUE, None, False, 0.99),
    ],
)
def test_the_fold(findings, verdict, category, verified, confidence):
    result = fold(findings, a_report())
    assert (result.verdict, result.category) == (verdict, category)
    assert (result.verified, result.confidence) == (verified, confidence)
    assert (result.validated, result.findings, result.elapsed_ms) == (True, tuple(findings), 0.0)


def test_that_nothing_is_against_it_proves_nothing():
    """The agent's word stands then, unless it contradicts itself."""
    result = fold([NOTHING_AGAINST], a_report())
    assert (result.verdict, result.verified, result.validated) == (Verdict.CONTINUE, False, False)
    assert result.findings == (NOTHING_AGAINST,)
    contradiction = fold([NOTHING_AGAINST], a_report(success=True, error="no"))
    assert (contradiction.verdict, contradiction.verified, contradiction.validated) == (Verdict.CONTINUE, False, True)


def test_no_findings_are_never_complete():
    result = fold([], a_report())
    assert (result.verdict, result.verified, result.validated) == (Verdict.CONTINUE, False, False)


@pytest.mark.parametrize(
    ("findings", "conflict"),
    [
        ([SEEN], False),
        ([SEEN, STOP], True),
        ([SEEN, LOADING], True),
        ([SEEN, UNSURE], False),
        ([STOP, LOADING], False),
        ([NOTHING_AGAINST, STOP], False),
    ],
)
def test_checkers_that_contradict_each_other_are_said_to(findings, conflict):
    assert fold(findings, a_report()).conflict is conflict


def test_g12_what_only_the_screen_bears_out_is_capped_and_says_so():
    """G12: a page may say "saved" while the server refused."""
    result = fold([a_finding(confidence=0.99)], a_report())
    assert (result.verdict, result.confidence) == (Verdict.COMPLETE, 0.9)
    assert result.reasoning.endswith("(visual only)")
    on_report = replace(a_finding(confidence=0.95), evidence={"basis": "report"})
    assert fold([a_finding(confidence=0.99), on_report], a_report()).confidence == 0.99
