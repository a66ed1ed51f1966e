"""Several findings made one verdict: the rule for checkers that contradict each other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from otel_validation.validation.verdict import (
    VISUAL_ONLY_CONFIDENCE,
    FailureCategory,
    Finding,
    ValidationResult,
    Verdict,
    is_visual_only,
)

if TYPE_CHECKING:
    from otel_validation.validation.report import Report

CONTRADICTION = "the agent claims a success and reports an error"
SURE = 0.70
"""Confidence from which a TERMINATE is acted upon (validator seed, section 9: RPA_VALIDATOR_ACCEPT_CONFIDENCE)."""
EXPLAINS = (FailureCategory.UNEXPECTED_DIALOG, FailureCategory.WRONG_APPLICATION)
"""Categories that explain others: under a dialog, or in another application, every label is the wrong one."""


NOTHING_TO_JUDGE = ValidationResult(
    verdict=Verdict.CONTINUE, confidence=0.0, reasoning="nothing to judge", verified=False, validated=False
)
CONTRADICTED = ValidationResult(
    verdict=Verdict.CONTINUE,
    confidence=0.0,
    reasoning=CONTRADICTION,
    category=FailureCategory.UNKNOWN,
    verified=False,
)


def fold(findings: list[Finding], report: Report) -> ValidationResult:
    """One verdict of several findings.

    The rule: a verified TERMINATE wins over everything; of several the one whose category explains the others
    (`EXPLAINS`) where it is sure enough, else the surest. Then anything that is not a verified COMPLETE makes
    CONTINUE: what is known to be missing before what nobody could tell. COMPLETE needs every finding to be COMPLETE
    and verified, and at least one to be a proof; without one the agent's word stands. A finding that abstains (neither
    verified nor a proof) counts for nothing. Confidence is that of the finding
    that decided, of several proofs the surest; where only the screen bears it out, it is capped (field case G12: a page
    may say "saved" while the server refused).
    """
    counted = [f for f in findings if f.verified or f.proof]
    stops = [f for f in counted if f.verdict is Verdict.TERMINATE and f.verified]
    unsure = [f for f in counted if f.verdict is not Verdict.COMPLETE or not f.verified]
    if stops:
        decisive = max(stops, key=_explains)
    elif unsure:
        decisive = max(unsure, key=lambda f: f.verified)
    elif proofs := [f for f in counted if f.proof]:
        decisive = max(proofs, key=lambda f: f.confidence)
    else:
        return replace(nothing_to_judge(report), findings=tuple(findings))
    verdict, category, reasoning = decisive.verdict, decisive.category, decisive.reasoning
    verified = decisive.verified
    if not verified:
        verdict = Verdict.CONTINUE
    if verdict is Verdict.COMPLETE and report.success is True and report.error:
        verdict, category, verified = Verdict.CONTINUE, FailureCategory.UNKNOWN, False
        reasoning = CONTRADICTION
    confidence = decisive.confidence
    if verdict is Verdict.COMPLETE and is_visual_only(findings):
        confidence, reasoning = min(confidence, VISUAL_ONLY_CONFIDENCE), f"{reasoning} (visual only)"
    return ValidationResult(
        verdict=verdict,
        confidence=confidence,
        reasoning=reasoning,
        category=category,
        verified=verified,
        findings=tuple(findings),
    )


def _explains(finding: Finding) -> tuple[int, float]:
    rank = EXPLAINS.index(finding.category) if finding.category in EXPLAINS else len(EXPLAINS)
    return -rank if finding.confidence >= SURE else -len(EXPLAINS), finding.confidence


def nothing_to_judge(report: Report) -> ValidationResult:
    """Nothing proves or disproves it: the agent's word stands, unless it contradicts itself (field case G01)."""
    return CONTRADICTED if report.success is True and report.error else NOTHING_TO_JUDGE
