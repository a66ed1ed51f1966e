"""The recorder: mirrors what the engine and the Validator say as spans (DESIGN section 5).

It decides nothing. Spans carry identifiers, enumerations and numbers; never a label, a title or an error's text.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, Status, StatusCode, TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from otel_validation.delivery.observer import Observer
from otel_validation.tracing import semconv
from otel_validation.validation.validator import ValidationObserver

if TYPE_CHECKING:
    from otel_validation.delivery.action import Action
    from otel_validation.delivery.lease import Delivery, GiveUpCause
    from otel_validation.delivery.observer import (
        Answered,
        Dispatched,
        LookLost,
        Orphaned,
        PauseChanged,
        Rechecking,
        Reported,
        Withdrawn,
    )
    from otel_validation.delivery.outcome import Outcome
    from otel_validation.validation.report import Report
    from otel_validation.validation.validator import CheckDetails, ValidationDetails
    from otel_validation.validation.verdict import ValidationResult

logger = logging.getLogger(__name__)

REMEMBERED_ORPHANS = 10_000
"""Orphaned attempts whose context is kept, to link what follows to them: the next attempt, a late report, a give-up."""

_PROPAGATOR = TraceContextTextMapPropagator()
_ERROR = Status(StatusCode.ERROR)
Attributes = Mapping[str, str | bool | int | float | list[str]]
NOTHING: Attributes = {}
Key = tuple[str, str]


@dataclass(slots=True)
class _Replay:
    span: Span
    context: Context
    replay_id: str
    last_ns: int
    steps: set[Key] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Parent:
    """What the children of a span share: the context they start in, the attributes that say whose they are."""

    context: Context
    attributes: Attributes


@dataclass(slots=True)
class _Step:
    span: Span
    inside: _Parent
    report: Span | None = None
    """The last report of its action, or of a look after it: what a validation is linked to."""


class Recorder(Observer, ValidationObserver):
    """Opens and ends the spans of replay, step, dispatch, report, validate, check, verdict, resend and give_up.

    `idle_s`: a replay that nobody ends (`end_replay`) ends after so long without a step in progress. Open spans are
    held here, since an open span that loses its last reference is collected silently.
    """

    def __init__(self, tracer_provider: TracerProvider | None = None, *, idle_s: float = 300.0) -> None:
        self._tracer = trace.get_tracer(semconv.SCOPE, tracer_provider=tracer_provider)
        self._idle_ns = round(idle_s * 1e9)
        self._replays: dict[str, _Replay] = {}
        self._idle: dict[str, None] = {}
        """Replays with no step in progress, the longest idle first: the timer must not walk those that are busy."""
        self._steps: dict[Key, _Step] = {}
        self._dispatches: dict[str, Span] = {}
        self._reports: dict[Key, Span] = {}
        self._validations: dict[Key, Span] = {}
        self._orphans: OrderedDict[str, SpanContext] = OrderedDict()

    # For the layers above

    def traceparent(self, token: str) -> str | None:
        """The W3C header of the dispatch span of the attempt with this token; None where there is no valid one."""
        span = self._dispatches.get(token)
        context = None if span is None else span.get_span_context()
        if context is None or not context.is_valid:
            return None
        ids = trace.format_trace_id(context.trace_id), trace.format_span_id(context.span_id)
        return f"00-{ids[0]}-{ids[1]}-{context.trace_flags:02x}"

    def start_replay(self, session_id: str, *, replay_id: str, wall_ns: int) -> str:
        """Open the replay's root span now rather than at its first dispatch; returns its trace id (32 hex digits)."""
        return trace.format_trace_id(self._open_replay(session_id, replay_id, wall_ns).span.get_span_context().trace_id)

    def trace_id(self, session_id: str) -> str | None:
        """The trace id of the session's replay in progress."""
        replay = self._replays.get(session_id)
        return None if replay is None else trace.format_trace_id(replay.span.get_span_context().trace_id)

    def end_replay(self, session_id: str, *, end: str, wall_ns: int | None = None) -> None:
        """The replay ended: `end` is a word such as `completed`, `cancelled`, `idle`, `shutdown`."""
        replay = self._replays.pop(session_id, None)
        if replay is None:
            return
        self._idle.pop(session_id, None)
        for key in list(replay.steps):
            self._end_step(key, replay.last_ns)
        replay.span.set_attribute(semconv.REPLAY_END, end)
        replay.span.end(wall_ns or replay.last_ns)

    def end_idle(self, wall_ns: int) -> None:
        """End the replays in which nothing has happened for `idle_s` and no step is in progress."""
        while (session_id := next(iter(self._idle), None)) is not None:
            if wall_ns - self._replays[session_id].last_ns < self._idle_ns:
                return
            self.end_replay(session_id, end="idle")

    def close(self) -> None:
        """The process ends: what is in progress is an error with a reason, nothing is left open."""
        for spans in (self._validations, self._reports):
            for key in list(spans):
                _end(spans.pop(key), None, semconv.ERROR_SHUTDOWN)
        for token in list(self._dispatches):
            self._end_dispatch(token, None, error=semconv.ERROR_SHUTDOWN)
        for session_id in list(self._replays):
            self.end_replay(session_id, end="shutdown")

    # What the engine says

    def dispatched(self, event: Dispatched) -> None:
        """Open the attempt's span under its step."""
        delivery, action = event.delivery, event.delivery.action
        if delivery.lease is None:
            return
        step = self._open_step(action, event.wall_ns)
        links = self._http_link() + self._attempt_links(delivery.former[-1:], semconv.LINK_PREVIOUS_ATTEMPT)
        self._dispatches[delivery.lease.token] = self._start(
            semconv.SPAN_DISPATCH,
            action,
            step,
            kind=SpanKind.PRODUCER,
            links=links,
            start_ns=event.wall_ns,
            attributes={
                semconv.DISPATCH_ATTEMPT: delivery.attempts,
                **({semconv.DISPATCH_RETRY: delivery.retry} if delivery.retry else {}),
                **({semconv.DISPATCH_REDELIVERED: True} if delivery.attempts > 1 else {}),
                semconv.LEASE_TIMEOUT: delivery.lease.timeout_s,
                semconv.MESSAGING_SYSTEM: semconv.SYSTEM,
                semconv.MESSAGING_OPERATION: "send",
                semconv.MESSAGING_MESSAGE_ID: semconv.text(action.action_id),
            },
        )

    def reported(self, event: Reported) -> None:
        """Open the report's span under its step."""
        action, report = event.delivery.action, event.report
        links = self._http_link() + self._attempt_links(event.delivery.tokens, semconv.LINK_ATTEMPT) + _remote(report)
        attributes: dict[str, str | bool | int | float] = {semconv.MESSAGING_OPERATION: "process"}
        if report.success is not None:
            attributes[semconv.REPORT_SUCCESS] = report.success
        key = (event.session_id, report.action_id)
        former = self._reports.pop(key, None)
        if former is not None:
            _end(former, event.wall_ns, semconv.ERROR_ABANDONED)
        inside = self._open_step(action, event.wall_ns)
        span = self._reports[key] = self._start(
            semconv.SPAN_REPORT,
            action,
            inside,
            kind=SpanKind.CONSUMER,
            links=links,
            start_ns=event.wall_ns,
            attributes=attributes,
        )
        self._steps[_key(action)].report = span

    def answered(self, event: Answered) -> None:
        """End the report's span; where it ended a look or settled an action, its attempts (and the step) too."""
        trace.get_current_span().set_attribute(semconv.REPORT_STATUS, event.status.value)
        key = (event.session_id, event.report.action_id)
        span = self._reports.pop(key, None)
        if span is not None:
            told = {} if event.outcome is None else _outcome_attributes(event.outcome)
            span.set_attributes({semconv.REPORT_STATUS: event.status.value, **told})
            span.end(event.wall_ns)
        if event.look is not None:
            self._end_dispatches(event.look, event.wall_ns)
        if event.delivery is not None:
            self._end_dispatches(event.delivery, event.wall_ns)
            self._end_step(_key(event.delivery.action), event.wall_ns)

    def rechecking(self, event: Rechecking) -> None:
        """The attempts were reported; the step goes on."""
        self._end_dispatches(event.delivery, event.wall_ns)

    def look_lost(self, event: LookLost) -> None:
        """End the look's span as an error, mark that nobody looked, and end the step."""
        self._end_orphan(_last_token(event.look), event.lateness_s, event.wall_ns)
        self._mark(event.look, event.wall_ns, cause=event.cause)
        self._end_dispatches(event.delivery, event.wall_ns)
        self._end_step(_key(event.delivery.action), event.wall_ns)

    def orphaned(self, event: Orphaned) -> None:
        """End the orphan's span as an error; a `resend` or `give_up` span says what follows."""
        orphan = event.orphan
        token = _last_token(orphan)
        if token not in self._dispatches and token not in self._orphans:
            return  # a dispatch span of somebody else's: SpanWatch marks it
        self._end_orphan(token, event.lateness_s, event.wall_ns)
        self._mark(orphan, event.wall_ns, cause=None if event.dead is None else event.dead.cause)
        if event.dead is not None:
            self._end_step(_key(orphan.action), event.wall_ns, error=semconv.ERROR_GIVE_UP)

    def pause_changed(self, event: PauseChanged) -> None:
        """An event on the replay's span."""
        replay = self._replays.get(event.session_id)
        if replay is None:
            return
        if event.pause is None:
            replay.span.add_event("resumed", timestamp=event.wall_ns)
        else:
            replay.span.add_event("paused", {semconv.PAUSE_REASON: event.pause.reason.value}, timestamp=event.wall_ns)

    def withdrawn(self, event: Withdrawn) -> None:
        """End what the cancelled deliveries left open, and the replay."""
        for delivery in event.deliveries:
            self._end_dispatches(delivery, event.wall_ns)
            self._end_step(_key(delivery.action), event.wall_ns)
        self.end_replay(event.session_id, end="cancelled", wall_ns=event.wall_ns)

    # What the Validator says

    def checked(self, details: CheckDetails) -> None:
        """A `check` span under the validation's."""
        finding = details.finding
        span = self._start(
            semconv.SPAN_CHECK,
            details.action,
            _Parent(_inside(self._open_validation(details.action, details.started_ns)), _whose(details.action)),
            name=f"{semconv.SPAN_CHECK} {finding.checker}",
            start_ns=details.started_ns,
            attributes={
                semconv.CHECKER: finding.checker,
                semconv.VERIFICATION_STATUS: finding.verdict.value,
                semconv.VERDICT_CONFIDENCE: round(finding.confidence, 4),
                semconv.VERDICT_VERIFIED: finding.verified,
                **({semconv.VERDICT_CATEGORY: finding.category.value} if finding.category else {}),
                **({semconv.ERROR_TYPE: details.failure} if details.failure else {}),
            },
        )
        if details.failure:
            span.set_status(_ERROR)
        span.end(details.ended_ns)

    def validated(self, details: ValidationDetails) -> None:
        """A `verdict` span, then the end of the validation's."""
        result, action = details.result, details.action
        attributes = _verdict_attributes(result)
        validation = self._open_validation(action, details.started_ns)
        parent = _Parent(_inside(validation), _whose(action))
        verdict = self._start(semconv.SPAN_VERDICT, action, parent, start_ns=details.ended_ns, attributes=attributes)
        verdict.end(details.ended_ns)
        validation.set_attributes(attributes)
        validation.end(details.ended_ns)
        self._validations.pop(_key(action), None)

    # Parts

    def _open_replay(self, session_id: str, replay_id: str, wall_ns: int) -> _Replay:
        replay = self._replays.get(session_id)
        if replay is not None and replay_id and replay.replay_id not in ("", replay_id):
            self.end_replay(session_id, end="superseded")
            replay = None
        if replay is None:
            attributes = {semconv.SESSION_ID: semconv.text(session_id)}
            if replay_id:
                attributes[semconv.REPLAY_ID] = semconv.text(replay_id)
            span = self._tracer.start_span(
                semconv.SPAN_REPLAY, context=Context(), start_time=wall_ns, attributes=attributes
            )
            replay = self._replays[session_id] = _Replay(span, _inside(span), replay_id, wall_ns)
        replay.last_ns = max(replay.last_ns, wall_ns)
        self._note_idle(session_id, replay)
        return replay

    def _note_idle(self, session_id: str, replay: _Replay) -> None:
        self._idle.pop(session_id, None)
        if not replay.steps:
            self._idle[session_id] = None

    def _open_step(self, action: Action, wall_ns: int) -> _Parent:
        key = _key(action)
        step = self._steps.get(key)
        if step is None:
            replay_id = action.payload.get("replay_id")
            replay = self._open_replay(action.session_id, replay_id if isinstance(replay_id, str) else "", wall_ns)
            parent = _Parent(replay.context, _whose(action))
            span = self._start(semconv.SPAN_STEP, action, parent, start_ns=wall_ns)
            step = self._steps[key] = _Step(span, _Parent(_inside(span), parent.attributes))
            replay.steps.add(key)
            self._idle.pop(key[0], None)
        return step.inside if action.look_of is None else _Parent(step.inside.context, _whose(action))

    def _open_validation(self, action: Action, started_ns: int) -> Span:
        key = _key(action)
        span = self._validations.get(key)
        if span is None:
            step = self._steps.get(key)
            report = None if step is None else step.report
            links = [_link(report.get_span_context(), semconv.LINK_REPORT)] if report is not None else []
            parent = _Parent(Context(), _whose(action)) if step is None else step.inside
            span = self._start(semconv.SPAN_VALIDATE, action, parent, links=links, start_ns=started_ns)
            self._validations[key] = span
        return span

    def _end_step(self, key: Key, wall_ns: int, *, error: str | None = None) -> None:
        step = self._steps.pop(key, None)
        replay = self._replays.get(key[0])
        if replay is not None:
            replay.steps.discard(key)
            replay.last_ns = max(replay.last_ns, wall_ns)
            self._note_idle(key[0], replay)
        if step is not None:
            _end(step.span, wall_ns, error)

    def _end_orphan(self, token: str, lateness_s: float, wall_ns: int) -> None:
        span = self._dispatches.get(token)
        if span is not None:
            span.set_attribute(semconv.DISPATCH_LATENESS, round(lateness_s, 6))
        self._end_dispatch(token, wall_ns, error=semconv.ERROR_LEASE_EXPIRED)

    def _mark(self, orphan: Delivery, wall_ns: int, *, cause: GiveUpCause | None) -> None:
        """A `resend` span, or `give_up` with its cause."""
        attributes: dict[str, str | bool | int | float] = {semconv.DISPATCH_ATTEMPT: orphan.attempts}
        if cause is not None:
            attributes[semconv.GIVE_UP_CAUSE] = cause.value
            attributes[semconv.ERROR_TYPE] = semconv.ERROR_GIVE_UP
        marker = self._start(
            semconv.SPAN_RESEND if cause is None else semconv.SPAN_GIVE_UP,
            orphan.action,
            self._open_step(orphan.action, wall_ns),
            links=self._attempt_links((_last_token(orphan),), semconv.LINK_ORPHAN),
            start_ns=wall_ns,
            attributes=attributes,
        )
        if cause is not None:
            marker.set_status(_ERROR)
        marker.end(wall_ns)

    def _end_dispatches(self, delivery: Delivery, wall_ns: int) -> None:
        for token in delivery.tokens:
            self._end_dispatch(token, wall_ns)

    def _end_dispatch(self, token: str, wall_ns: int | None, *, error: str | None = None) -> None:
        span = self._dispatches.pop(token, None)
        if span is None:
            return
        _end(span, wall_ns, error)
        if error is None:
            return
        self._orphans[token] = span.get_span_context()
        while len(self._orphans) > REMEMBERED_ORPHANS:
            self._orphans.popitem(last=False)

    def _start(
        self,
        operation: str,
        action: Action,
        parent: _Parent,
        *,
        start_ns: int,
        name: str | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
        links: Sequence[Link] = (),
        attributes: Attributes = NOTHING,
    ) -> Span:
        return self._tracer.start_span(
            name or semconv.span_name(operation, action.type),
            context=parent.context,
            kind=kind,
            links=links,
            start_time=start_ns,
            attributes={**parent.attributes, **attributes},
        )

    def _attempt_links(self, tokens: Sequence[str], kind: str) -> list[Link]:
        contexts = (
            self._dispatches[t].get_span_context() if t in self._dispatches else self._orphans.get(t) for t in tokens
        )
        return [_link(context, kind) for context in contexts if context is not None]

    @staticmethod
    def _http_link() -> list[Link]:
        context = trace.get_current_span().get_span_context()
        return [_link(context, semconv.LINK_HTTP)] if context.is_valid else []


def _inside(span: Span) -> Context:
    return trace.set_span_in_context(span, Context())


def _whose(action: Action) -> Attributes:
    look_of = action.look_of
    return {
        semconv.ACTION_ID: semconv.text(action.action_id),
        semconv.ACTION_TYPE: semconv.type_name(action.type),
        semconv.SESSION_ID: semconv.text(action.session_id),
        semconv.MACHINE_ID: semconv.text(action.machine_id),
        **({} if look_of is None else {semconv.LOOK_OF: semconv.text(look_of)}),
    }


def _last_token(delivery: Delivery) -> str:
    return delivery.tokens[-1] if delivery.tokens else ""


def _key(action: Action) -> Key:
    """The step's: a look belongs to that of the action it is after."""
    return action.session_id, action.look_of or action.action_id


def _link(context: SpanContext, kind: str) -> Link:
    return Link(context, {semconv.LINK_KIND: kind})


def _remote(report: Report) -> list[Link]:
    if not report.traceparent:
        return []
    context = _PROPAGATOR.extract({"traceparent": report.traceparent[:64]}, context=Context())
    remote = trace.get_current_span(context).get_span_context()
    return [_link(remote, semconv.LINK_EXECUTE)] if remote.is_valid else []


def _end(span: Span, wall_ns: int | None, error: str | None) -> None:
    if error is not None:
        span.set_attribute(semconv.ERROR_TYPE, error)
        span.set_status(_ERROR)
    span.end(wall_ns)


def _verdict_attributes(result: ValidationResult) -> Attributes:
    return {
        semconv.VERIFICATION_STATUS: result.verdict.value,
        semconv.VERDICT_CONFIDENCE: round(result.confidence, 4),
        semconv.VERDICT_VERIFIED: result.verified,
        semconv.VERDICT_FINDINGS: [f"{finding.checker}={finding.verdict.value}" for finding in result.findings],
        semconv.VERDICT_CONFLICT: result.conflict,
        **({semconv.VERDICT_CATEGORY: result.category.value} if result.category else {}),
    }


def _outcome_attributes(outcome: Outcome) -> dict[str, str | bool]:
    advised = outcome.advised
    return {
        semconv.VERIFICATION_STATUS: outcome.result.verdict.value,
        semconv.VERDICT_VERIFIED: outcome.result.verified,
        semconv.VERDICT_ROUTE: outcome.route.value,
        semconv.REPORT_OVERRIDDEN: outcome.overridden,
        **({} if advised in (None, outcome.route) else {semconv.VERDICT_ADVISED_ROUTE: advised.value}),
    }
