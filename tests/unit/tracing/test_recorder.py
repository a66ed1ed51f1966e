"""Spans as the engine and the Validator say: names, parents, links, ends; nothing from a screen in any of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from delivery_kit import a_finding, a_report, an_action
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode
from recorder_kit import CANARY, SHOT, Checker, Studio, ident, links, parent

from otel_validation.delivery.lease import Delivery, DeliveryState
from otel_validation.delivery.observer import Dispatched, Reported
from otel_validation.delivery.policy import DeliveryPolicy
from otel_validation.tracing import semconv
from otel_validation.validation.fold import fold
from otel_validation.validation.validator import ValidationDetails
from otel_validation.validation.verdict import FailureCategory, Finding, Verdict

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

    from otel_validation.delivery.engine import Ticket

pytestmark = pytest.mark.anyio


def error(span: ReadableSpan) -> Any:
    return (span.attributes or {}).get("error.type") if span.status.status_code is StatusCode.ERROR else None


async def accepted(studio: Studio, **more: Any) -> Ticket:
    ticket = await studio.dispatch()
    await studio.engine.report(a_report(token=ticket.lease.token, screenshot_after=SHOT, **more))
    return ticket


async def test_the_tree_of_an_accepted_report():
    studio = Studio()
    await accepted(studio)
    studio.recorder.end_replay("s", end="completed", wall_ns=studio.clock.wall_ns())
    assert studio.names() == [
        "check ocr_roi", "dispatch click", "replay", "report click", "step click", "validate click", "verdict click",
    ]  # fmt: skip
    replay, step, dispatch, report, validate, check, verdict = (
        studio.named(name)
        for name in (
            "replay", "step click", "dispatch click", "report click", "validate click", "check ocr_roi", "verdict click"
        )
    )  # fmt: skip
    assert parent(replay) is None
    assert parent(step) == ident(replay)
    assert parent(dispatch) == parent(report) == parent(validate) == ident(step)
    assert parent(check) == parent(verdict) == ident(validate)
    assert dispatch.kind is SpanKind.PRODUCER
    assert report.kind is SpanKind.CONSUMER
    assert links(report) == {"attempt": [ident(dispatch)]}
    assert links(validate) == {"report": [ident(report)]}
    assert len({span.get_span_context().trace_id for span in studio.spans}) == 1
    assert dispatch.end_time - dispatch.start_time == 1_000_000_000
    assert replay.end_time == studio.clock.wall_ns()
    assert all(span.status.status_code is StatusCode.UNSET for span in studio.spans)


async def test_the_attributes_of_an_accepted_report():
    studio = Studio()
    ticket = await accepted(studio)
    dispatch, report, check = (studio.named(n).attributes for n in ("dispatch click", "report click", "check ocr_roi"))
    common = {"rpa.action.id": "a", "rpa.action.type": "click", "rpa.session.id": "s", "rpa.machine.id": "m"}
    assert dispatch == {
        **common,
        "rpa.dispatch.attempt": 1,
        "rpa.lease.visibility_timeout_s": 30.0,
        "messaging.system": "rpa",
        "messaging.operation.type": "send",
        "messaging.message.id": "a",
    }
    assert report == {
        **common,
        "messaging.operation.type": "process",
        "rpa.report.success": True,
        "rpa.report.status": "accepted",
        "verification.status": "complete",
        "rpa.verdict.verified": True,
        "rpa.verdict.route": "continue",
        "rpa.report.overridden": False,
    }
    assert check == {
        **common,
        "rpa.checker": "ocr_roi",
        "verification.status": "complete",
        "rpa.verdict.confidence": 0.9124,
        "rpa.verdict.verified": True,
    }
    assert ticket.lease.token not in json.dumps([json.loads(span.to_json()) for span in studio.spans])


async def test_an_orphan_is_an_error_and_its_resend_is_linked():
    studio = Studio()
    await studio.dispatch()
    studio.clock.advance(30)
    ticket = await studio.again()
    await studio.engine.report(a_report(token=ticket.lease.token))
    first, second = sorted(
        (span for span in studio.spans if span.name == "dispatch click"), key=lambda span: span.start_time
    )
    resend, report = studio.named("resend click"), studio.named("report click")
    assert error(first) == "lease_expired"
    assert first.attributes["rpa.dispatch.lateness_s"] == 1.0
    assert links(resend) == {"orphan": [ident(first)]}
    assert resend.start_time == resend.end_time
    assert links(second) == {"previous_attempt": [ident(first)]}
    assert second.attributes["rpa.dispatch.attempt"] == 2
    assert second.attributes["rpa.dispatch.redelivered"] is True
    assert error(second) is None
    assert sorted(links(report)["attempt"]) == sorted([ident(first), ident(second)])
    step = studio.named("step click")
    assert {parent(span) for span in (first, second, resend, report)} == {ident(step)}
    assert error(step) is None


async def test_a_give_up_is_an_error_of_the_marker_the_attempt_and_the_step():
    studio = Studio(policy=DeliveryPolicy(max_resends=0))
    await studio.dispatch()
    studio.clock.advance(30)
    await studio.engine.expire()
    assert error(studio.named("give_up click")) == "give_up"
    assert studio.named("give_up click").attributes["rpa.give_up.cause"] == "agent_dead"
    assert error(studio.named("dispatch click")) == "lease_expired"
    assert error(studio.named("step click")) == "give_up"
    studio.recorder.close()
    (event,) = studio.named("replay").events
    assert (event.name, event.attributes["rpa.pause.reason"]) == ("paused", "give_up")


async def test_a_resend_that_nobody_came_for_is_given_up_without_an_open_attempt():
    studio = Studio()
    await studio.dispatch()
    studio.clock.advance(30)
    await studio.engine.expire()
    studio.clock.advance(61)
    await studio.engine.expire()
    assert studio.names() == ["dispatch click", "give_up click", "resend click", "step click"]
    assert links(studio.named("give_up click")) == {"orphan": [ident(studio.named("dispatch click"))]}


async def test_duplicates_and_unknown_reports_add_nothing():
    studio = Studio()
    ticket = await accepted(studio)
    before = studio.names()
    for _ in range(5):
        await studio.engine.report(a_report(token=ticket.lease.token, screenshot_after=SHOT))
    await studio.engine.report(a_report("unknown"))
    assert studio.names() == before


async def test_a_stopped_report_is_no_error_and_says_why():
    studio = Studio()
    studio.checker.finding = Finding(
        checker="ocr_roi",
        verdict=Verdict.TERMINATE,
        confidence=0.9,
        reasoning=CANARY,
        category=FailureCategory.WRONG_TARGET,
    )
    await accepted(studio, error=CANARY)
    verdict = studio.named("verdict click")
    assert verdict.attributes["verification.status"] == "terminate"
    assert verdict.attributes["rpa.verdict.failure_category"] == "wrong_target"
    assert verdict.attributes["rpa.verdict.findings"] == ("ocr_roi=terminate",)
    assert verdict.attributes["rpa.verdict.conflict"] is False
    assert studio.named("check ocr_roi").attributes["rpa.verdict.failure_category"] == "wrong_target"
    report = studio.named("report click")
    assert report.attributes["rpa.report.overridden"] is True
    assert report.attributes["rpa.verdict.route"] == "retry_with_reresolve"
    assert all(span.status.status_code is StatusCode.UNSET for span in studio.spans)


async def test_both_sides_of_a_conflict_are_on_the_verdict():
    studio = Studio()
    findings = (
        a_finding(Verdict.TERMINATE, category=FailureCategory.WRONG_TARGET, checker="ocr_roi"),
        a_finding(checker="title_bar"),
    )
    studio.recorder.validated(
        ValidationDetails(
            action=an_action(), report=a_report(), result=fold(findings, a_report()), started_ns=1, ended_ns=2
        )
    )
    for name in ("verdict click", "validate click"):
        attributes = studio.named(name).attributes
        assert attributes["verification.status"] == "terminate"
        assert attributes["rpa.verdict.conflict"] is True
        assert attributes["rpa.verdict.findings"] == ("ocr_roi=terminate", "title_bar=complete")


async def test_a_crashed_checker_is_an_error_of_its_span_only():
    studio = Studio()
    studio.checker.finding = ValueError(CANARY)
    await accepted(studio)
    assert error(studio.named("check ocr_roi")) == "crashed"
    assert [span.name for span in studio.spans if span.status.status_code is StatusCode.ERROR] == ["check ocr_roi"]


async def test_what_is_not_judged_has_no_validation_span():
    studio = Studio()
    ticket = await studio.dispatch()
    await studio.engine.report(a_report(token=ticket.lease.token, success=None))
    assert studio.names() == ["dispatch click", "report click", "step click"]
    assert "rpa.report.success" not in studio.named("report click").attributes


async def test_a_late_report_that_is_rejected_ends_its_span_and_leaves_the_attempt_open():
    studio = Studio()
    first = await studio.dispatch()
    studio.clock.advance(30)
    second = await studio.again()
    studio.checker.finding = RuntimeError()
    await studio.engine.report(a_report(token=first.lease.token, screenshot_after=SHOT))
    assert studio.named("report click").attributes["rpa.report.status"] == "stale_rejected"
    assert second.lease.token in studio.recorder._dispatches
    studio.checker.finding = Checker().finding
    await studio.engine.report(a_report(token=second.lease.token, screenshot_after=SHOT))
    assert [span.name for span in studio.spans].count("step click") == 1


async def test_a_cancelled_replay_ends_what_is_open():
    studio = Studio()
    await studio.dispatch()
    await studio.engine.cancel("s")
    assert studio.names() == ["dispatch click", "replay", "step click"]
    assert studio.named("replay").attributes["rpa.replay.end"] == "cancelled"


async def test_a_pause_and_its_end_are_events_of_the_replay():
    studio = Studio()
    await accepted(studio)
    await studio.engine.pause("s", CANARY)
    await studio.engine.resume("s")
    await studio.engine.pause("nobody")
    studio.recorder.close()
    assert [event.name for event in studio.named("replay").events] == ["paused", "resumed"]


async def test_an_idle_replay_ends_where_it_was_last_active_and_a_busy_one_does_not():
    studio = Studio()
    await accepted(studio)
    last = studio.clock.wall_ns()
    await studio.dispatch(session_id="busy")
    studio.clock.advance(298)
    studio.recorder.end_idle(studio.clock.wall_ns())
    assert "replay" not in studio.names()
    studio.clock.advance(2)
    studio.recorder.end_idle(studio.clock.wall_ns())
    replay = studio.named("replay")
    assert replay.attributes["rpa.replay.end"] == "idle"
    assert replay.end_time == last
    assert studio.recorder.trace_id("s") is None
    assert studio.recorder.trace_id("busy") is not None


async def test_a_new_replay_in_the_same_session_ends_the_former():
    studio = Studio()
    for number in (1, 2):
        ticket = await studio.dispatch(f"a{number}", replay_id=f"rep_{number}")
        await studio.engine.report(a_report(f"a{number}", ticket.lease.token))
    replay = studio.named("replay")
    assert replay.attributes["rpa.replay.id"] == "rep_1"
    assert replay.attributes["rpa.replay.end"] == "superseded"
    studio.recorder.end_replay("s", end="completed")
    studio.recorder.end_replay("s", end="completed")
    assert studio.names().count("replay") == 2


async def test_a_replay_that_ends_takes_its_steps_with_it():
    studio = Studio()
    await studio.dispatch()
    studio.recorder.end_replay("s", end="failed")
    assert studio.names() == ["replay", "step click"]


async def test_a_replay_opened_by_hand_is_the_root():
    studio = Studio()
    trace_id = studio.recorder.start_replay("s", replay_id="rep_1", wall_ns=studio.clock.wall_ns())
    await studio.dispatch(replay_id="rep_1")
    assert studio.recorder.trace_id("s") == trace_id
    studio.recorder.close()
    assert {trace.format_trace_id(span.get_span_context().trace_id) for span in studio.spans} == {trace_id}


async def test_shutdown_leaves_nothing_open_and_says_why():
    studio = Studio()
    ticket = await studio.dispatch()
    async with studio.engine.inspect("s") as session:
        delivery = session.live["a"]
    event = Reported(session_id="s", wall_ns=studio.clock.wall_ns(), delivery=delivery, report=a_report())
    studio.recorder.reported(event)
    studio.recorder.reported(event)
    assert error(studio.named("report click")) == "abandoned"
    studio.recorder._open_validation(delivery.action, studio.clock.wall_ns())
    studio.recorder.close()
    assert studio.names() == [
        "dispatch click", "replay", "report click", "report click", "step click", "validate click",
    ]  # fmt: skip
    assert error(studio.named("dispatch click")) == "shutdown"
    assert error(studio.named("validate click")) == "shutdown"
    assert studio.named("replay").attributes["rpa.replay.end"] == "shutdown"
    assert studio.recorder.traceparent(ticket.lease.token) is None
    studio.recorder.close()


async def test_the_traceparent_is_the_dispatch_spans():
    studio = Studio()
    ticket = await studio.dispatch()
    header = studio.recorder.traceparent(ticket.lease.token)
    assert header is not None
    await studio.engine.report(a_report(token=ticket.lease.token))
    assert header.split("-")[2] == trace.format_span_id(ident(studio.named("dispatch click")))
    assert studio.recorder.traceparent(ticket.lease.token) is None


@pytest.mark.parametrize(
    ("header", "linked"),
    [
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", True),
        ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", True),
        ("00-00000000000000000000000000000000-0000000000000000-01", False),
        ("xyz", False),
        ("0" * 60_000, False),
        (None, False),
    ],
)
async def test_the_agents_execute_span_is_linked_where_its_header_is_valid(header, linked):
    studio = Studio()
    ticket = await studio.dispatch()
    await studio.engine.report(a_report(token=ticket.lease.token, traceparent=header))
    assert ("execute" in links(studio.named("report click"))) is linked


async def test_the_http_span_is_linked_and_never_a_parent():
    studio = Studio()
    tracer = studio.provider.get_tracer("http")
    with tracer.start_as_current_span("GET next") as get:
        ticket = await studio.dispatch()
    with tracer.start_as_current_span("POST result") as post:
        await studio.engine.report(a_report(token=ticket.lease.token, screenshot_after=SHOT))
    studio.recorder.close()
    assert links(studio.named("dispatch click"))["http"] == [get.get_span_context().span_id]
    assert links(studio.named("report click"))["http"] == [post.get_span_context().span_id]
    http = {get.get_span_context().span_id, post.get_span_context().span_id}
    ours = [span for span in studio.spans if span.instrumentation_scope.name == semconv.SCOPE]
    assert not {parent(span) for span in ours} & http
    assert studio.named("POST result").attributes["rpa.report.status"] == "accepted"


async def test_nothing_of_a_screen_or_a_person_is_in_any_span():
    studio = Studio()
    ticket = await studio.dispatch(
        kind=f"click {CANARY}", target_spec={"by_text": CANARY}, text=CANARY, window_title=CANARY, url=CANARY
    )
    await studio.engine.report(
        a_report(
            token=ticket.lease.token,
            error=CANARY,
            screenshot_after=CANARY,
            screenshot_before=CANARY,
            window={"title": CANARY},
        )
    )
    await studio.engine.resume("s")
    ticket = await studio.dispatch("b", target_spec={"by_text": CANARY})
    studio.checker.finding = ValueError(CANARY)
    await studio.engine.report(a_report("b", ticket.lease.token, success=True, error=CANARY, screenshot_after=CANARY))
    await studio.engine.resume("s")
    await studio.engine.pause("s", CANARY)
    await studio.engine.resume("s")
    await studio.dispatch("c", label=CANARY)
    for _ in range(4):
        studio.clock.advance(100)
        await studio.engine.expire()
    studio.recorder.close()
    assert len(studio.spans) >= 10
    assert CANARY not in "".join(span.to_json() for span in studio.spans)


@pytest.mark.parametrize("text", ["\ud800", "x" * 100_000, "é" * 300])
async def test_odd_identifiers_are_short_and_valid(text):
    studio = Studio()
    await studio.dispatch(text[:256], replay_id=text, session_id=text[:256])
    studio.recorder.close()
    for span in studio.spans:
        for value in span.attributes.values():
            if isinstance(value, str):
                assert len(value.encode()) <= 2 * semconv.LONGEST_VALUE


@pytest.mark.parametrize("kind", ["Ouvrir le dossier de M. Durand", "x" * 41, "1click", "CLICK"])
async def test_a_span_name_holds_only_a_bounded_type(kind):
    studio = Studio()
    await studio.dispatch(kind=kind)
    studio.recorder.close()
    assert studio.names() == ["dispatch other", "replay", "step other"]


async def test_without_an_sdk_everything_works_and_nothing_is_sent():
    studio = Studio(provider=trace.ProxyTracerProvider())
    await accepted(studio)
    await studio.dispatch("b")
    assert studio.recorder.trace_id("s") is not None
    assert studio.recorder.traceparent("nobody's") is None
    studio.clock.advance(30)
    assert (await studio.again()).lease.attempt == 2
    studio.recorder.close()


async def test_orphaned_attempts_are_forgotten_at_last(monkeypatch):
    monkeypatch.setattr("otel_validation.tracing.recorder.REMEMBERED_ORPHANS", 3)
    studio = Studio()
    await studio.dispatch()
    for _ in range(6):
        studio.clock.advance(30)
        ticket = await studio.again()
        await studio.engine.report(a_report(token=ticket.lease.token))
        await studio.dispatch()
    assert len(studio.recorder._orphans) == 3


async def test_a_business_retry_is_numbered_and_no_resend():
    studio = Studio()
    for _ in range(2):
        ticket = await studio.dispatch()
        await studio.engine.report(a_report(token=ticket.lease.token))
    first, second = (span.attributes for span in studio.spans if span.name == "dispatch click")
    assert (first.get("rpa.dispatch.retry"), second["rpa.dispatch.retry"]) == (None, 1)
    assert "rpa.dispatch.redelivered" not in second


async def test_a_recorder_that_fails_changes_nothing(monkeypatch, caplog):
    studio = Studio()
    monkeypatch.setattr(studio.recorder, "_start", None)
    ticket = await accepted(studio)
    async with studio.engine.inspect("s") as session:
        assert session.settled["a"].tokens == (ticket.lease.token,)
    assert "observer Recorder failed" in caplog.text


async def test_a_dispatch_without_a_lease_opens_nothing():
    studio = Studio()
    delivery = Delivery(an_action(), DeliveryState.WAITING)
    studio.recorder.dispatched(Dispatched(session_id="s", wall_ns=1, delivery=delivery))
    assert studio.recorder.trace_id("s") is None
