"""Leases of dispatch spans that somebody else opened: the same rules, in a store of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, NonRecordingSpan, Status, StatusCode

from otel_validation.delivery.engine import Engine
from otel_validation.delivery.observer import Dispatched, Observer, Orphaned, Scanned
from otel_validation.delivery.watchdog import Watchdog
from otel_validation.stores.memory import MemoryStore
from otel_validation.tracing import semconv
from otel_validation.tracing.processor import Closed, DispatchSpanProcessor, Opened

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import Span
    from opentelemetry.trace import TracerProvider

    from otel_validation.clock import Clock


class SpanWatch(Engine):
    """Watches dispatch spans opened by hand: one still open when its lease ends is an orphan.

    The orphan's span ends as an error and a `resend` or `give_up` span follows it. The observers of `main` are told
    (`Observer.orphaned`), as of any orphan: whoever opened the span resends by dispatching the action again, which
    opens the next attempt's span. After the last allowed attempt, or where nobody dispatches it again, the action is
    given up and its session is paused in `main`.

    An action that `main` itself delivers is left to `main`. `processor` is to be added to the user's TracerProvider.
    """

    def __init__(
        self, main: Engine, *, clock: Clock, max_sleep_s: float, tracer_provider: TracerProvider | None
    ) -> None:
        super().__init__(MemoryStore(), policy=replace(main.policy, serial=False), clock=clock)
        self._main = main
        self._tracer = trace.get_tracer(semconv.SCOPE, tracer_provider=tracer_provider)
        self._open: dict[str, Opened] = {}
        self._given_up: list[str] = []
        self.watchdog = Watchdog(self, max_sleep_s=max_sleep_s, clock=clock)
        self.processor = DispatchSpanProcessor(self.watchdog.nudge, active=main.policy.enabled)
        self.observers.add(_Told(self))
        main.observers.add(_Taken(self))

    async def run(self) -> None:
        """The timer; see `Watchdog.run`."""
        await self.watchdog.run()

    async def expire(self, *, timer: bool = False) -> Scanned | None:
        """Take in what the processor noted, then expire what is due."""
        await self._take_in()
        scanned = await super().expire(timer=timer)
        for session_id in self._given_up:
            await self.resume(session_id)
            await self._main.give_up_elsewhere(session_id)
        self._given_up.clear()
        return scanned

    async def _take_in(self) -> None:
        inbox = self.processor.inbox
        while inbox:
            note = inbox.popleft()
            if isinstance(note, Closed):
                self._open.pop(note.token, None)
                await self.forget(note.token)
            elif not await self._delivered_by_main(note):
                self._open[note.token] = note
                await self.dispatch(note.action, token=note.token)

    async def _delivered_by_main(self, note: Opened) -> bool:
        if not await self._main.knows(note.action.session_id):
            return False
        async with self._main.inspect(note.action.session_id) as session:
            return note.action.action_id in session.live

    def taken_by_main(self, event: Dispatched) -> None:
        """`main` delivers this action: spans of it are not watched."""
        action = event.delivery.action
        for token, opened in list(self._open.items()):
            if (opened.action.session_id, opened.action.action_id) == (action.session_id, action.action_id):
                self.processor.inbox.append(Closed(token))

    def mark(self, event: Orphaned) -> None:
        """End the orphan's span, mark what follows, and tell the observers of `main`."""
        token = event.orphan.lease.token if event.orphan.lease is not None else ""
        opened = self._open.pop(token, None)
        if opened is not None:
            self._mark_span(opened.span, event)
        if event.dead is not None:
            self._given_up.append(event.session_id)
        self._main.observers.orphaned(event)

    def _mark_span(self, span: Span, event: Orphaned) -> None:
        span.set_attribute(semconv.ERROR_TYPE, semconv.ERROR_LEASE_EXPIRED)
        span.set_status(Status(StatusCode.ERROR))
        operation = semconv.SPAN_RESEND if event.dead is None else semconv.SPAN_GIVE_UP
        parent = trace.set_span_in_context(NonRecordingSpan(span.parent), Context()) if span.parent else Context()
        action = event.orphan.action
        marker = self._tracer.start_span(
            semconv.span_name(operation, action.type),
            context=parent,
            links=[Link(span.get_span_context(), {semconv.LINK_KIND: semconv.LINK_ORPHAN})],
            start_time=event.wall_ns,
            attributes={
                semconv.ACTION_ID: action.action_id,
                semconv.SESSION_ID: action.session_id,
                semconv.DISPATCH_ATTEMPT: event.orphan.attempts,
            },
        )
        if event.dead is not None:
            marker.set_attribute(semconv.GIVE_UP_CAUSE, event.dead.cause.value)
            marker.set_status(Status(StatusCode.ERROR))
        marker.end(event.wall_ns)
        span.end(event.wall_ns)


class _Told(Observer):
    def __init__(self, watch: SpanWatch) -> None:
        self._watch = watch

    def orphaned(self, event: Orphaned) -> None:
        self._watch.mark(event)


class _Taken(Observer):
    def __init__(self, watch: SpanWatch) -> None:
        self._watch = watch

    def dispatched(self, event: Dispatched) -> None:
        self._watch.taken_by_main(event)
