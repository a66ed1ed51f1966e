"""Reports: each is judged once, settles its action at most once, and always gets an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from otel_validation.delivery.judging import pause_for
from otel_validation.delivery.keyed import KeyedLocks, KeyedSignals
from otel_validation.delivery.observer import Answered, Observers, PauseChanged, Reported
from otel_validation.delivery.outcome import Outcome, ReportOutcome, ReportStatus
from otel_validation.delivery.session import Session, Standing

if TYPE_CHECKING:
    from otel_validation.clock import Clock
    from otel_validation.delivery.judging import Judging
    from otel_validation.delivery.lease import Delivery
    from otel_validation.delivery.policy import DeliveryPolicy
    from otel_validation.delivery.store import Store
    from otel_validation.validation.report import Report


class Reports:
    """The engine's way of taking a report."""

    def __init__(
        self,
        store: Store,
        judging: Judging,
        *,
        policy: DeliveryPolicy,
        clock: Clock,
        observers: Observers,
        news: KeyedSignals,
    ) -> None:
        self._store = store
        self._judging = judging
        self._policy = policy
        self._clock = clock
        self._observers = observers
        self._news = news
        self._locks = KeyedLocks()

    async def take(self, report: Report) -> ReportOutcome:
        """Judge and settle. Identical reports at the same time are judged once; never raises for what a client sent.

        Once begun it is finished, even where the caller is cancelled (a client that closed its socket).
        """
        with anyio.CancelScope(shield=True):
            async with self._locks.hold((report.session_id, report.action_id)):
                answer = await self._take(report)
        return answer

    async def _take(self, report: Report) -> ReportOutcome:
        if not await self._store.known(report.session_id):
            return self._answered(report, ReportOutcome(status=ReportStatus.UNKNOWN))
        now = self._clock.now()
        async with self._store.session(report.session_id) as session:
            standing = session.standing(report.action_id, report.token)
            if standing in (Standing.SETTLED, Standing.LATE_DEAD, Standing.UNKNOWN):
                refused = self._refuse(session, report, standing)
            else:
                refused = None
                delivery = session.hold_for_judging(report.action_id, until=now + self._policy.judging_s)
        if refused is not None:
            return self._answered(report, refused)
        self._observers.reported(
            Reported(session_id=report.session_id, wall_ns=self._clock.wall_ns(), delivery=delivery, report=report)
        )
        return await self._settle(report, await self._judging.outcome(delivery.action, report))

    async def _settle(self, report: Report, outcome: Outcome) -> ReportOutcome:
        now = self._clock.now()
        pause = pause_for(outcome, now)
        async with self._store.session(report.session_id) as session:
            status, settled = session.settle(report.action_id, report.token, outcome)
            if settled is None and status is ReportStatus.STALE_REJECTED:
                session.note_late_report(report.action_id)
            kept = (session.settled or {}).get(report.action_id)
            paused = settled is not None and pause is not None and session.hold(pause)
        answer = ReportOutcome(
            status=status,
            outcome=kept.outcome if kept is not None else outcome if status is ReportStatus.STALE_REJECTED else None,
            attempt=kept.attempts if kept is not None else 0,
            retry=kept.retry if kept is not None else 0,
        )
        self._answered(report, answer, settled)
        if paused:
            self._observers.pause_changed(
                PauseChanged(session_id=report.session_id, wall_ns=self._clock.wall_ns(), pause=pause)
            )
        self._news.notify(report.session_id)
        return answer

    def _refuse(self, session: Session, report: Report, standing: Standing) -> ReportOutcome:
        status = session.refusal(standing)
        if standing is Standing.LATE_DEAD:
            session.note_late_report(report.action_id)
        kept = (session.settled or {}).get(report.action_id) if status is ReportStatus.DUPLICATE else None
        if kept is None:
            return ReportOutcome(status=status)
        return ReportOutcome(status=status, outcome=kept.outcome, attempt=kept.attempts, retry=kept.retry)

    def _answered(self, report: Report, answer: ReportOutcome, settled: Delivery | None = None) -> ReportOutcome:
        self._observers.answered(
            Answered(
                session_id=report.session_id,
                wall_ns=self._clock.wall_ns(),
                report=report,
                status=answer.status,
                outcome=answer.outcome,
                delivery=settled,
            )
        )
        return answer
