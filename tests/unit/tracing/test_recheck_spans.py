"""The spans of a recheck: a look's are children of its action's step, which ends when that is settled."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from delivery_kit import a_report
from opentelemetry.trace import StatusCode
from recorder_kit import CANARY, SHOT, Studio, ident, links, parent

from otel_validation.delivery.policy import DeliveryPolicy
from otel_validation.tracing import semconv
from otel_validation.validation.routing import Mode, RoutingPolicy
from otel_validation.validation.verdict import FailureCategory, Finding, Verdict

if TYPE_CHECKING:
    from otel_validation.delivery.engine import Ticket

pytestmark = pytest.mark.anyio

LOADING = Finding(
    checker="ocr_roi",
    verdict=Verdict.CONTINUE,
    confidence=0.5,
    reasoning=CANARY,
    category=FailureCategory.UI_LOADING,
)
SEEN = replace(LOADING, verdict=Verdict.COMPLETE, category=None)


async def recheck(studio: Studio, **more: Any) -> Ticket:
    """Report `a`, which shows nothing yet, and take the look."""
    studio.checker.finding = LOADING
    ticket = await studio.dispatch()
    await studio.engine.report(a_report(token=ticket.lease.token, screenshot_after=SHOT, **more))
    studio.clock.advance(1.5)
    look = await studio.again()
    studio.clock.advance(0.5)
    return look


async def answer(studio: Studio, look: Ticket, shot: str | None = SHOT) -> Any:
    return await studio.engine.report(a_report(look.delivery.action.action_id, look.lease.token, screenshot_after=shot))


def all_named(studio: Studio, name: str) -> list[Any]:
    return sorted((s for s in studio.spans if s.name == name), key=lambda s: s.start_time)


async def test_the_tree_of_a_look_that_confirms():
    studio = Studio()
    look = await recheck(studio)
    assert studio.names() == [
        "check ocr_roi", "dispatch click", "report click", "validate click", "verdict click",
    ]  # fmt: skip
    studio.checker.finding = SEEN
    await answer(studio, look)
    studio.recorder.end_replay("s", end="completed")
    step, dispatch, report = studio.named("step click"), studio.named("dispatch click"), studio.named("report click")
    looked, looks_report = studio.named("dispatch screenshot_evidence"), studio.named("report screenshot_evidence")
    first, second = all_named(studio, "validate click")
    verdicts = all_named(studio, "verdict click")
    assert {parent(s) for s in (dispatch, report, looked, looks_report, first, second)} == {ident(step)}
    assert [parent(verdict) for verdict in verdicts] == [ident(first), ident(second)]
    assert [parent(check) for check in all_named(studio, "check ocr_roi")] == [ident(first), ident(second)]
    assert (links(first), links(second)) == ({"report": [ident(report)]}, {"report": [ident(looks_report)]})
    assert links(looks_report) == {"attempt": [ident(looked)]}
    assert [s.attributes["verification.status"] for s in (report, looks_report, *verdicts)] == [
        "continue", "complete", "continue", "complete",
    ]  # fmt: skip
    assert [s.attributes["rpa.verdict.route"] for s in (report, looks_report)] == ["recheck", "continue"]
    assert len(all_named(studio, "step click")) == 1
    assert step.end_time == looks_report.end_time == looked.end_time
    assert dispatch.end_time == report.end_time == looks_report.start_time - 2_000_000_000
    assert all(s.status.status_code is StatusCode.UNSET for s in studio.spans)
    assert len({s.get_span_context().trace_id for s in studio.spans}) == 1


async def test_the_attributes_of_a_looks_spans():
    studio = Studio()
    look = await recheck(studio)
    assert studio.recorder.traceparent(look.lease.token) is not None
    await answer(studio, look)
    dispatch = studio.named("dispatch screenshot_evidence").attributes
    name = look.delivery.action.action_id
    assert {key: dispatch[key] for key in (semconv.ACTION_ID, semconv.ACTION_TYPE, semconv.LOOK_OF)} == {
        "rpa.action.id": name,
        "rpa.action.type": "screenshot_evidence",
        "rpa.look.of": "a",
    }
    assert semconv.LOOK_OF not in studio.named("dispatch click").attributes
    told = json.dumps([json.loads(span.to_json()) for span in studio.spans])
    assert look.lease.token not in told
    assert CANARY not in told


async def test_the_first_report_once_more_ends_no_span_of_the_looks():
    studio = Studio()
    look = await recheck(studio)

    async def meanwhile(action: Any, report: Any) -> Any:
        await studio.engine.report(a_report(token="nobody's"))
        await studio.engine.report(a_report(screenshot_after=SHOT))
        assert "report screenshot_evidence" not in studio.names()
        return await judge(action, report)

    judge, judging = studio.engine._reports._judging._judge, studio.engine._reports._judging
    judging._judge = meanwhile
    await answer(studio, look)
    assert studio.named("report screenshot_evidence").attributes["rpa.report.status"] == "accepted"


async def test_a_look_that_is_resent_and_lost():
    studio = Studio(policy=DeliveryPolicy(max_resends=1))
    await recheck(studio)
    studio.clock.advance(30)
    await studio.again()
    studio.clock.advance(31)
    await studio.engine.expire()
    first, second = all_named(studio, "dispatch screenshot_evidence")
    resend, gave_up = studio.named("resend screenshot_evidence"), studio.named("give_up screenshot_evidence")
    step = studio.named("step click")
    assert {parent(s) for s in (first, second, resend, gave_up)} == {ident(step)}
    assert [s.attributes["error.type"] for s in (first, second)] == ["lease_expired"] * 2
    assert second.attributes["rpa.dispatch.lateness_s"] == 1.0
    assert (links(resend), links(gave_up)) == ({"orphan": [ident(first)]}, {"orphan": [ident(second)]})
    assert gave_up.status.status_code is StatusCode.ERROR
    assert gave_up.attributes["rpa.give_up.cause"] == "agent_dead"
    assert step.end_time == gave_up.end_time
    assert step.status.status_code is StatusCode.UNSET


async def test_a_look_that_nobody_came_for():
    studio = Studio()
    studio.checker.finding = LOADING
    ticket = await studio.dispatch()
    await studio.engine.report(a_report(token=ticket.lease.token, screenshot_after=SHOT))
    studio.clock.advance(1.5)
    await studio.engine.expire()
    studio.clock.advance(90)
    await studio.engine.expire()
    gave_up = studio.named("give_up screenshot_evidence")
    assert (links(gave_up), gave_up.attributes["rpa.dispatch.attempt"]) == ({}, 0)
    assert studio.named("step click").end_time == gave_up.end_time


async def test_a_cancel_ends_what_a_recheck_left_open():
    studio = Studio()
    await recheck(studio)
    await studio.engine.cancel("s")
    assert {"step click", "dispatch screenshot_evidence", "replay"} <= set(studio.names())
    assert studio.recorder._steps == studio.recorder._dispatches == {}


async def test_observing_says_which_route_enforcing_would_have_taken():
    studio = Studio()
    studio.checker.finding = LOADING
    judging = studio.engine._reports._judging
    judging.routing = RoutingPolicy(mode=Mode.OBSERVE)
    ticket = await studio.dispatch()
    await studio.engine.report(a_report(token=ticket.lease.token, screenshot_after=SHOT))
    attributes = studio.named("report click").attributes
    assert attributes["rpa.verdict.route"] == "continue"
    assert attributes["rpa.verdict.advised_route"] == "recheck"
    studio.checker.finding = SEEN
    ticket = await studio.dispatch("b")
    await studio.engine.report(a_report("b", ticket.lease.token, screenshot_after=SHOT))
    assert "rpa.verdict.advised_route" not in all_named(studio, "report click")[-1].attributes
