"""A delivery core with its clock in hand: engine, store, host queue and a judge that does as it is told."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from otel_validation.clock import VirtualClock
from otel_validation.delivery.action import Action
from otel_validation.delivery.engine import Engine, Forward, PollAnswer, Ticket
from otel_validation.delivery.observer import HOOKS, Event, Observer
from otel_validation.stores.memory import MemoryStore
from otel_validation.validation.report import Report
from otel_validation.validation.verdict import FailureCategory, Finding, ValidationResult, Verdict

if TYPE_CHECKING:
    from otel_validation.delivery.judging import Handoff
    from otel_validation.delivery.policy import DeliveryPolicy
    from otel_validation.delivery.session import Session
    from otel_validation.validation.routing import RoutingPolicy

COMPLETE = ValidationResult(verdict=Verdict.COMPLETE, confidence=0.95, reasoning="seen")
WRONG_APPLICATION = ValidationResult(
    verdict=Verdict.TERMINATE, confidence=0.9, reasoning="bar", category=FailureCategory.WRONG_APPLICATION
)
DIALOG = ValidationResult(
    verdict=Verdict.TERMINATE, confidence=0.9, reasoning="box", category=FailureCategory.UNEXPECTED_DIALOG
)
NOT_SEEN = ValidationResult(verdict=Verdict.CONTINUE, confidence=0.5, reasoning="not seen")
NOTHING_TO_JUDGE = ValidationResult(
    verdict=Verdict.CONTINUE, confidence=0.0, reasoning="nothing", verified=False, validated=False
)


def an_action(action_id: str = "a", kind: str = "click", session_id: str = "s", **fields: Any) -> Action:
    payload = {"action_id": action_id, "type": kind, **fields}
    action = Action.from_json(payload, session_id=session_id, machine_id="m")
    assert action is not None
    return action


def a_report(
    action_id: str = "a", token: str | None = None, *, success: bool | None = True, session_id: str = "s", **more: Any
) -> Report:
    return Report(session_id=session_id, action_id=action_id, token=token, success=success, **more)


class Recorder(Observer):
    """Keeps every event, by hook."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Event]] = []

    def of(self, hook: str) -> list[Any]:
        return [event for name, event in self.events if name == hook]


def _recording(hook: str) -> Callable[[Recorder, Event], None]:
    def record(self: Recorder, event: Event) -> None:
        self.events.append((hook, event))

    return record


for _hook in HOOKS:
    setattr(Recorder, _hook, _recording(_hook))


class Broken(Observer):
    """Every hook raises, as an exporter gone wrong would."""


def _fail(self: Broken, event: Event) -> None:
    raise RuntimeError(type(event).__name__)


for _hook in HOOKS:
    setattr(Broken, _hook, _fail)


@dataclass
class ScriptedJudge:
    """Answers `result`, after `meanwhile` where there is one; keeps what it was given."""

    result: ValidationResult = COMPLETE
    meanwhile: Callable[[], Awaitable[None]] | None = None
    given: list[tuple[Action, Report]] = field(default_factory=list)

    @property
    def calls(self) -> int:
        return len(self.given)

    def glance(self, action: Action, report: Report) -> ValidationResult | None:
        if self.result.validated:
            return None
        self.given.append((action, report))
        return self.result

    async def __call__(self, action: Action, report: Report) -> ValidationResult:
        self.given.append((action, report))
        if self.meanwhile is not None:
            await self.meanwhile()
        return self.result


@dataclass
class Desk:
    """One server: `queue` is the host's own, `poll` what a drop-in host's agent gets."""

    engine: Engine
    clock: VirtualClock
    store: MemoryStore
    seen: Recorder
    judge: ScriptedJudge
    queues: dict[str, deque[Action]] = field(default_factory=dict)

    def host_has(self, *actions: Action) -> None:
        for action in actions:
            self.queues.setdefault(action.session_id, deque()).append(action)

    async def poll(self, session_id: str = "s") -> Ticket | PollAnswer | None:
        """A ticket, a pause, Held, or None where there is nothing to do."""
        answer = await self.engine.poll(session_id)
        if not isinstance(answer, Forward):
            return answer
        queue = self.queues.get(session_id)
        if queue:
            return await self.engine.dispatch(queue.popleft())
        return await self.engine.dispatch_waiting(session_id) if answer.waiting else None

    async def take(self, session_id: str = "s") -> Ticket:
        """Poll, and be sure to get an action."""
        answer = await self.poll(session_id)
        assert isinstance(answer, Ticket), answer
        return answer

    async def after(self, seconds: float) -> None:
        """Let time pass, and the watchdog look."""
        self.clock.advance(seconds)
        await self.engine.expire()

    async def session(self, session_id: str = "s") -> Session:
        async with self.engine.inspect(session_id) as session:
            return session

    async def state(self, action_id: str = "a", session_id: str = "s") -> str:
        """Where the action is: its delivery state, or `nowhere`."""
        session = await self.session(session_id)
        if action_id in session.live:
            return session.live[action_id].state.value
        if action_id in (session.dead or {}):
            return "dead"
        settled = (session.settled or {}).get(action_id)
        return "nowhere" if settled is None else "cancelled" if settled.outcome is None else "settled"


def a_desk(
    *,
    policy: DeliveryPolicy | None = None,
    routing: RoutingPolicy | None = None,
    judge: ScriptedJudge | None = None,
    now: float = 1_000.0,
    store: MemoryStore | None = None,
    handoff: Handoff | None = None,
) -> Desk:
    clock, seen, judge = VirtualClock(now), Recorder(), judge or ScriptedJudge()
    store = store or MemoryStore()
    numbers = count(1)
    engine = Engine(
        store,
        judge=judge,
        glance=judge.glance,
        handoff=handoff,
        policy=policy,
        routing=routing,
        clock=clock,
        observer=seen,
        new_token=lambda: f"t{next(numbers)}",
    )
    return Desk(engine, clock, store, seen, judge)


def a_finding(verdict=Verdict.COMPLETE, confidence=0.9, *, verified=True, category=None, checker="it"):
    return Finding(
        checker=checker,
        verdict=verdict,
        confidence=confidence,
        reasoning=f"{verdict.value} {confidence}",
        category=category,
        verified=verified,
    )
