"""Reports: each is judged once, settles its action at most once, and always gets an answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio

from otel_validation.delivery.evidence import Evidence
from otel_validation.delivery.judging import pause_for
from otel_validation.delivery.keyed import KeyedLocks, KeyedSignals
from otel_validation.delivery.look import Recheck
from otel_validation.delivery.observer import Answered, Observers, PauseChanged, Rechecking, Reported
from otel_validation.delivery.outcome import Outcome, ReportOutcome, ReportStatus
from otel_validation.delivery.standing import JUDGED, Settlement, Standing
from otel_validation.validation.expectation import is_secret

if TYPE_CHECKING:
    from otel_validation.clock import Clock
    from otel_validation.delivery.action import Action
    from otel_validation.delivery.judging import Judging
    from otel_validation.delivery.lease import Delivery
    from otel_validation.delivery.outcome import Pause, Settled
    from otel_validation.delivery.policy import DeliveryPolicy
    from otel_validation.delivery.session import Session
    from otel_validation.delivery.store import Store
    from otel_validation.validation.report import Report


@dataclass(frozen=True, slots=True)
class _Ended:
    """What a report led to: in its session, as its answer, and the pause that it began."""

    settlement: Settlement
    answer: ReportOutcome
    pause: Pause | None


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
        self._evidence = Evidence()
        self._locks = KeyedLocks()

    async def take(self, report: Report) -> ReportOutcome:
        """Judge and settle. Identical reports at the same time are judged once; never raises for what a client sent.

        A judgement that has begun is finished, even where the caller is cancelled (a client that closed its socket).
        """
        async with self._locks.hold((report.session_id, report.action_id)):
            return await self._take(report)

    def forget(self, action: Action) -> None:
        """The action ended otherwise: whatever is kept of its reports goes."""
        self._evidence.drop(action)

    async def _take(self, report: Report) -> ReportOutcome:
        if not await self._store.known(report.session_id):
            return self._answered(report, ReportOutcome(status=ReportStatus.UNKNOWN))
        now = self._clock.now()
        refused = ended = None
        async with self._store.session(report.session_id) as session:
            standing = session.standing(report.action_id, report.token)
            if standing not in JUDGED:
                refused = self._refuse(session, report, standing)
            else:
                delivery = session.live[report.action_id]
                about = session.reported_on(delivery)
                report = _seeable(about.action, report)
                outcome = self._judging.glance(about.action, report) if about.recheck is None else None
                if outcome is not None:
                    ended = self._end(session, report, outcome, pause_for(outcome, now))
                else:
                    delivery = session.hold_for_judging(report.action_id, until=now + self._policy.judging_s)
        if refused is not None:
            return self._answered(report, refused)
        self._observers.reported(
            Reported(session_id=report.session_id, wall_ns=self._clock.wall_ns(), delivery=delivery, report=report)
        )
        if ended is not None:
            return self._tell(report, about, ended)
        return await self._judge(report, about, late=standing is Standing.LATE_SUPERSEDED)

    async def _judge(self, report: Report, about: Delivery, *, late: bool) -> ReportOutcome:
        with anyio.CancelScope(shield=True):
            evidence = None
            if about.recheck is None:
                outcome = await self._judging.outcome(about.action, report, late=late)
            else:
                evidence = self._seen(about.action, about.recheck, report)
                outcome = await self._judge_again(about.action, about.recheck, evidence, late=late)
            now = self._clock.now()
            recheck = None if outcome.next_look is None else self._recheck(about, report, outcome, now)
            async with self._store.session(report.session_id) as session:
                ended = self._end(session, report, outcome, pause_for(outcome, now), recheck=recheck, judged=evidence)
        return self._tell(report, about, ended)

    def _seen(self, action: Action, recheck: Recheck, look: Report) -> Report | None:
        """The action's own report with what the look shows; None where the look shows nothing.

        Nor is anything judged where a part of the first report's evidence is gone (a restart, another process): what
        is left may say the opposite. A click is judged on the screen that it met, the one before it.
        """
        report = self._evidence.of(action) if recheck.more_evidence else recheck.report
        if report is None or look.screenshot_after is None:
            return None
        return replace(report, screenshot_after=look.screenshot_after, window=look.window or report.window)

    async def _judge_again(self, action: Action, recheck: Recheck, evidence: Report | None, *, late: bool) -> Outcome:
        """The outcome by a look; what was known before, and a pause, where the look gives nothing to judge."""
        if evidence is None:
            return recheck.outcome.final()
        outcome = await self._judging.outcome(action, evidence, rechecked=recheck.number, late=late)
        return outcome if outcome.result.validated else recheck.outcome.final()

    @staticmethod
    def _end(
        session: Session,
        report: Report,
        outcome: Outcome,
        pause: Pause | None,
        *,
        recheck: Recheck | None = None,
        judged: Report | None = None,
    ) -> _Ended:
        """Settle, or look again where `recheck` is given, as far as the token still allows it."""
        done = session.settle(report.action_id, report.token, outcome, recheck)
        if done.status is ReportStatus.STALE_REJECTED:
            session.note_late_report(report.action_id)
        kept = session.remembered(report.action_id)
        paused = done.settled is not None and pause is not None and session.hold(pause)
        answer = _answer(done.status, kept, judged)
        if kept is None and done.status is ReportStatus.STALE_REJECTED:
            answer = ReportOutcome(status=done.status, outcome=outcome.final())
        return _Ended(done, answer, pause if paused else None)

    def _tell(self, report: Report, about: Delivery, ended: _Ended) -> ReportOutcome:
        """Everybody who listens, once it is durable."""
        done = ended.settlement
        self._answered(report, ended.answer, done)
        if done.rechecking is not None:
            self._look_again(report, done.rechecking)
        elif done.look is not None:
            self._evidence.drop(about.action)
        if ended.pause is not None:
            self._observers.pause_changed(
                PauseChanged(session_id=report.session_id, wall_ns=self._clock.wall_ns(), pause=ended.pause)
            )
        self._news.notify(report.session_id)
        return ended.answer

    def _recheck(self, about: Delivery, report: Report, outcome: Outcome, now: float) -> Recheck:
        not_before = now + self._judging.routing.recheck_delay_s
        if about.recheck is not None:
            return about.recheck.again(outcome, not_before)
        return Recheck(
            number=1,
            not_before=not_before,
            report=report.bare(),
            outcome=outcome,
            more_evidence=report.has_more_evidence,
        )

    def _look_again(self, report: Report, rechecking: Delivery) -> None:
        if rechecking.recheck is not None and rechecking.recheck.number == 1:
            self._evidence.keep(report)
        self._observers.rechecking(
            Rechecking(session_id=report.session_id, wall_ns=self._clock.wall_ns(), delivery=rechecking)
        )

    def _refuse(self, session: Session, report: Report, standing: Standing) -> ReportOutcome:
        status = session.refusal(standing)
        if standing is Standing.LATE_DEAD:
            session.note_late_report(report.action_id)
        return _answer(status, session.remembered(report.action_id) if status is ReportStatus.DUPLICATE else None)

    def _answered(self, report: Report, answer: ReportOutcome, done: Settlement | None = None) -> ReportOutcome:
        self._observers.answered(
            Answered(
                session_id=report.session_id,
                wall_ns=self._clock.wall_ns(),
                report=report,
                status=answer.status,
                outcome=answer.outcome,
                delivery=None if done is None else done.settled,
                look=None if done is None else done.look,
            )
        )
        return answer


def _seeable(action: Action, report: Report) -> Report:
    """What anybody gets to see of a report, and what may be kept of it: of a secret's nothing that it carries."""
    return report.without_contents() if is_secret(action) else report


def _answer(status: ReportStatus, kept: Settled | None, judged: Report | None = None) -> ReportOutcome:
    if kept is None:
        return ReportOutcome(status=status)
    return ReportOutcome(
        status=status,
        outcome=kept.outcome,
        attempt=kept.attempts,
        retry=kept.retry,
        look_of=kept.look_of,
        judged=judged,
    )
