"""Looks: extra actions by which the plugin itself asks an agent for a fresh screenshot, and why it does."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from otel_validation.delivery.action import LONGEST_ID, Action

if TYPE_CHECKING:
    from otel_validation.delivery.outcome import Outcome
    from otel_validation.validation.report import Report

LOOK_TYPE = "screenshot_evidence"
"""The action type that takes a screenshot and touches nothing (validator seed, section 5): legacy agents know it."""


class Purpose(StrEnum):
    """What a look is for."""

    RECHECK = "recheck"
    """To judge an action again whose effect was not seen yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recheck:
    """Why an action is looked at once more, and what is known of it so far: small, since a store keeps it.

    `number` counts the action's rechecks from 1. The look is handed out from `not_before` on (seconds on the engine's
    clock), as the action `look_id`, None until then. `report` is the agent's own, without its evidence
    (`Report.bare`), `outcome` what came of it. `more_evidence`: the agent sent more than a screenshot afterwards, which
    is kept in the process alone (`Evidence`).
    """

    number: int
    not_before: float
    report: Report
    outcome: Outcome
    more_evidence: bool = False
    look_id: str | None = None

    def again(self, outcome: Outcome, not_before: float) -> Recheck:
        """The next one: the last look did not confirm the action either."""
        return replace(self, number=self.number + 1, not_before=not_before, outcome=outcome, look_id=None)

    def shifted(self, seconds: float) -> Recheck:
        """The same after a pause of `seconds`."""
        return replace(self, not_before=self.not_before + seconds)

    def asked(self, look_id: str) -> Recheck:
        """The look is there to be handed out."""
        return replace(self, look_id=look_id)


def look_at(action: Action, *, purpose: Purpose, number: int, token: str) -> Action:
    """The look after `action`, of type `screenshot_evidence`.

    Its id is `<action_id>~look<number>-<eight digits>`. The digits come from `token`, which an attempt of the action
    bore: nobody can guess them, so no action of a host's has that id by accident, and each retry's looks are others.
    """
    named = json.dumps([action.session_id, action.action_id, number, token])
    ending = f"~look{number}-{hashlib.sha256(named.encode()).hexdigest()[:8]}"
    look_id = action.action_id[: LONGEST_ID - len(ending)] + ending
    payload = {"action_id": look_id, "type": LOOK_TYPE, "look_of": action.action_id, "purpose": purpose.value}
    if "replay_id" in action.payload:
        payload["replay_id"] = action.payload["replay_id"]
    return Action(look_id, LOOK_TYPE, action.session_id, action.machine_id, payload, look_of=action.action_id)
