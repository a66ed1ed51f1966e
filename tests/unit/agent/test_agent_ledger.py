from __future__ import annotations

import json

import pytest

from otel_validation import agent
from otel_validation.agent import Backoff, Execution, Ledger
from otel_validation.agent.assignment import Assignment
from otel_validation.agent.report import StoredReport


def assignment(action_id: str, token: str = "t") -> Assignment:
    return Assignment.from_json({"action_id": action_id}, {"token": token}, session_id="s", machine_id="m")


def finished(ledger, action_id, image=b""):
    entry, mine = ledger.claim(assignment(action_id))
    assert mine
    report = StoredReport.of(Execution(True, screenshot_after=image), assignment(action_id), {"traceparent": "tp"})
    ledger.finish(entry, report)
    return entry


def test_the_least_recently_delivered_is_forgotten_first():
    ledger = Ledger(2)
    for action_id in ("a", "b"):
        finished(ledger, action_id)
    assert not ledger.claim(assignment("a"))[1]
    finished(ledger, "c")
    assert len(ledger) == 2
    assert not ledger.claim(assignment("a"))[1]
    assert ledger.claim(assignment("b"))[1]


def test_one_that_still_runs_is_never_forgotten():
    ledger = Ledger(1)
    running, _ = ledger.claim(assignment("running"))
    for action_id in "abc":
        finished(ledger, action_id)
    again, mine = ledger.claim(assignment("running", "t2"))
    assert (again is running, mine, running.token) == (True, False, "t2")
    assert len(ledger) == 1


def test_old_reports_lose_their_screenshots_beyond_the_budget_and_nothing_else():
    ledger = Ledger(10, screenshot_budget=3_000)
    old, young = finished(ledger, "old", b"x" * 1_500), finished(ledger, "young", b"y" * 1_500)
    slim, whole = json.loads(old.report.under("t2")), json.loads(young.report.under(None))
    assert "screenshot_after" not in slim
    assert (slim["success"], slim["action_id"], slim["delivery_token"], slim["traceparent"]) == (
        True,
        "old",
        "t2",
        "tp",
    )
    assert "screenshot_after" in whole
    assert "delivery_token" not in whole
    assert old.report.headers == {"traceparent": "tp"}


def test_neither_screens_nor_values_show_in_a_repr():
    execution = Execution(True, screenshot_after=b"patient", value="patient", window={"title": "patient"})
    assert "patient" not in repr(execution)
    assert "cGF0" not in repr(StoredReport.of(execution, assignment("a"), {}))


@pytest.mark.parametrize("failures", [1, 3, 10, 5_000])
def test_backoff_grows_to_its_cap_and_keeps_its_jitter_there(failures):
    backoff = Backoff(initial_s=0.5, cap_s=8.0)
    ceiling = min(8.0, 0.5 * 2 ** min(failures - 1, 10))
    delays = {backoff.delay_s(failures) for _ in range(50)}
    assert all(ceiling / 2 <= delay <= ceiling for delay in delays)
    assert len(delays) > 1


def test_the_public_names_are_these():
    assert agent.__all__ == [
        "UNSET",
        "ActionContext",
        "ActionRun",
        "AgentClient",
        "AgentRefusedError",
        "Backoff",
        "Execution",
        "Ledger",
        "ReportAnswer",
        "Screen",
        "Signal",
    ]
    assert all(hasattr(agent, name) for name in agent.__all__)
