"""Verdicts, failure categories, findings: the values every checker returns and every layer above reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

NOTHING: Mapping[str, Any] = MappingProxyType({})
BASIS, ON_REPORT = "basis", "report"
"""The key of a finding's evidence, and its value, where the finding rests on what the report says in words and numbers;
every other finding rests on the screen."""
VISUAL_ONLY_CONFIDENCE = 0.9
"""The most that a COMPLETE is sure of which nothing but the screen bears out: a page may say that a record is saved
while the server refused it (field case G12)."""


class Verdict(StrEnum):
    """What a report amounts to, as Skyvern's validator says it (validator seed, section 2)."""

    COMPLETE = "complete"
    """The effect was seen."""
    CONTINUE = "continue"
    """The effect was not seen (yet), or nothing could be concluded: never a success."""
    TERMINATE = "terminate"
    """The action will not succeed; the failure category decides the route."""


class FailureCategory(StrEnum):
    """Why a verdict is not COMPLETE (validator seed, section 3.1, and DESIGN section 6)."""

    WRONG_TARGET = "wrong_target"
    WRONG_APPLICATION = "wrong_application"
    NO_VISUAL_CHANGE = "no_visual_change"
    UNEXPECTED_DIALOG = "unexpected_dialog"
    OCR_TEXT_MISSING = "ocr_text_missing"
    SCHEMA_INVALID = "schema_invalid"
    UI_LOADING = "ui_loading"
    SCREEN_UNAVAILABLE = "screen_unavailable"
    IMAGE_INVALID = "image_invalid"
    JUDGE_UNAVAILABLE = "judge_unavailable"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One checker's result.

    `confidence` is in 0..1. `verified` is false where the verdict rests on no real evidence. `proof` is false for a
    COMPLETE that only says that nothing is against it (no dialog is in the way, the right window is in front): it
    confirms no action by itself. One that is neither verified nor a proof abstains: it counts for nothing.

    `reasoning` may name what was on the screen, so it stays in the process (answers to the agent and local evidence,
    never telemetry). `evidence` is JSON-serialisable; each checker documents its keys.
    """

    checker: str
    verdict: Verdict
    confidence: float
    reasoning: str
    category: FailureCategory | None = None
    verified: bool = True
    proof: bool = True
    evidence: Mapping[str, Any] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What a checker's rule says, before the checker puts its name and all its evidence to it."""

    verdict: Verdict
    confidence: float
    reasoning: str
    category: FailureCategory | None = None
    evidence: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    proof: bool = True

    def finding(self, checker: str, evidence: Mapping[str, Any] = NOTHING) -> Finding:
        """As a finding of `checker`, with this evidence and the conclusion's own, which goes first."""
        return Finding(
            checker=checker,
            verdict=self.verdict,
            confidence=round(self.confidence, 3),
            reasoning=self.reasoning,
            category=self.category,
            proof=self.proof,
            evidence={**evidence, **self.evidence},
        )


def abstention(checker: str, reasoning: str, evidence: Mapping[str, Any]) -> Finding:
    """What a checker finds that cannot tell: it counts for nothing."""
    return Finding(
        checker=checker,
        verdict=Verdict.CONTINUE,
        confidence=0.0,
        reasoning=reasoning,
        verified=False,
        proof=False,
        evidence=evidence,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationResult:
    """The folded findings of one report.

    `validated` is false where there was nothing to judge (no checker for the type, no evidence): then the agent's
    word stands, `verified` is false and the caller counts it.
    """

    verdict: Verdict
    confidence: float
    reasoning: str
    category: FailureCategory | None = None
    verified: bool = True
    validated: bool = True
    findings: tuple[Finding, ...] = ()
    elapsed_ms: float = 0.0

    @property
    def conflict(self) -> bool:
        """Whether one checker saw the effect and another, sure of it too, did not."""
        seen = {f.verdict for f in self.findings if f.verified and (f.proof or f.verdict is not Verdict.COMPLETE)}
        return Verdict.COMPLETE in seen and len(seen) > 1


def is_visual_only(findings: Iterable[Finding]) -> bool:
    """Whether nothing but the screen bears the findings out; then confidence is capped at VISUAL_ONLY_CONFIDENCE."""
    return not any(finding.evidence.get(BASIS) == ON_REPORT and finding.verified for finding in findings)
