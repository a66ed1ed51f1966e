"""The reference server's own business: replays, their queues, and what became of each action."""

from __future__ import annotations

import secrets
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from otel_validation.asgi.report import verdict_json
from otel_validation.delivery.keyed import KeyedSignals
from otel_validation.delivery.observer import Observer
from otel_validation.errors import OtelValidationError
from otel_validation.server.models import (
    ActionState,
    ActionView,
    ReplayRequest,
    ReplayStatus,
    ReplaySummary,
    ReplayView,
)
from otel_validation.validation.routing import Route

if TYPE_CHECKING:
    from otel_validation.delivery.lease import DeadLetter
    from otel_validation.delivery.observer import (
        Answered,
        Dispatched,
        LookLost,
        Orphaned,
        PauseChanged,
        Rechecking,
        Redriven,
        Withdrawn,
    )
    from otel_validation.delivery.outcome import Outcome

FINISHED_REPLAYS = 1_000
"""Ended replays that are remembered; the oldest go first."""
RERESOLVED = 1
"""Retries of an action whose target is resolved again (validator seed, section 5)."""
OUT = (ActionState.IN_FLIGHT, ActionState.WAITING, ActionState.RECHECKING)
"""Handed out, and not over."""


class Follow(Enum):
    """What follows from a settled report."""

    NOTHING = auto()
    ENDED = auto()
    """It was the replay's last."""
    NEEDS_HELP = auto()
    """The action failed for good: a person must look."""


class SessionBusyError(OtelValidationError):
    """Raised when a session has a replay in progress already."""

    def __init__(self, session_id: str, replay_id: str) -> None:
        super().__init__(f"the session runs replay {replay_id} already: cancel it first, or use another session")
        self.session_id = session_id
        self.replay_id = replay_id


class UnknownReplayError(OtelValidationError):
    """Raised when a call names a replay that is not there."""

    def __init__(self, replay_id: str) -> None:
        super().__init__(f"no replay {replay_id!r}")
        self.replay_id = replay_id


class ReplayOverError(OtelValidationError):
    """Raised when a dead letter is to be redriven whose replay has ended: its session may run another by now."""

    def __init__(self, dead_letter_id: str) -> None:
        super().__init__("the replay of this dead letter has ended: start a new replay with its action instead")
        self.dead_letter_id = dead_letter_id


class ActionTooLargeError(OtelValidationError):
    """Raised when a new replay holds an action that no poll's answer can carry."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"an action is larger than {limit} bytes: see RPA_MAX_POLL_ANSWER_BYTES")
        self.limit = limit


@dataclass(slots=True)
class Step:
    """One action of a replay."""

    payload: Mapping[str, Any]
    state: ActionState = ActionState.QUEUED
    attempts: int = 0
    retries: int = 0
    outcome: Outcome | None = None

    def view(self) -> ActionView:
        """As an operator sees it."""
        outcome = self.outcome
        return ActionView(
            action_id=self.payload["action_id"],
            type=self.payload["type"],
            state=self.state,
            attempts=self.attempts,
            retries=self.retries,
            verdict=verdict_json(outcome.result) if outcome is not None else None,
            route=outcome.route.value if outcome is not None else None,
            error=outcome.error if outcome is not None else None,
        )


@dataclass(slots=True)
class Replay:
    """A replay in progress or ended."""

    replay_id: str
    workflow: str
    session_id: str
    machine_id: str
    steps: dict[str, Step]
    queue: deque[str]
    status: ReplayStatus = ReplayStatus.RUNNING
    message: str | None = None
    trace_id: str | None = None

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.status in (ReplayStatus.COMPLETED, ReplayStatus.CANCELLED)

    @property
    def all_done(self) -> bool:
        """Whether nothing is left to do or to wait for."""
        return not any(step.state in (ActionState.QUEUED, *OUT) for step in self.steps.values())

    def view(self) -> ReplayView:
        """As an operator sees it."""
        return ReplayView(
            replay_id=self.replay_id,
            workflow=self.workflow,
            session_id=self.session_id,
            machine_id=self.machine_id,
            status=self.status,
            message=self.message,
            trace_id=self.trace_id,
            actions=[step.view() for step in self.steps.values()],
        )

    def summary(self) -> ReplaySummary:
        """As a line of a list."""
        return ReplaySummary(
            replay_id=self.replay_id,
            workflow=self.workflow,
            session_id=self.session_id,
            machine_id=self.machine_id,
            status=self.status,
            message=self.message,
            done=sum(step.state is ActionState.DONE for step in self.steps.values()),
            actions=len(self.steps),
        )


@dataclass(slots=True)
class ReplayBook(Observer):
    """All replays of this process. As an observer of the engine it keeps what operators ask for up to date."""

    replays: OrderedDict[str, Replay] = field(default_factory=OrderedDict)
    running: dict[str, Replay] = field(default_factory=dict)
    news: KeyedSignals = field(default_factory=KeyedSignals)

    def create(self, request: ReplayRequest) -> Replay:
        """Queue a replay; raises SessionBusyError where its session has one in progress."""
        busy = self.running.get(request.session_id)
        if busy is not None:
            raise SessionBusyError(request.session_id, busy.replay_id)
        replay_id = secrets.token_hex(8)
        steps = {a["action_id"]: Step({**a, "replay_id": replay_id}) for a in request.actions}
        replay = Replay(replay_id, request.workflow, request.session_id, request.machine_id, steps, deque(steps))
        self.replays[replay_id] = self.running[request.session_id] = replay
        self.news.notify(request.session_id)
        return replay

    def get(self, replay_id: str) -> Replay:
        """The replay; raises UnknownReplayError."""
        try:
            return self.replays[replay_id]
        except KeyError:
            raise UnknownReplayError(replay_id) from None

    def all(self) -> Iterable[Replay]:
        """Every replay remembered, oldest first."""
        return self.replays.values()

    def next_action(self, session_id: str, machine_id: str) -> Mapping[str, Any] | None:
        """Take the session's next action; None where there is none for this machine."""
        replay = self.running.get(session_id)
        if replay is None or not replay.queue or replay.machine_id != machine_id or self.paused(session_id):
            return None
        return replay.steps[replay.queue.popleft()].payload

    def paused(self, session_id: str) -> bool:
        """Whether the session's replay waits for a person."""
        replay = self.running.get(session_id)
        return replay is not None and replay.status is ReplayStatus.PAUSED

    def belongs_elsewhere(self, session_id: str, machine_id: str) -> bool:
        """Whether the session runs a replay for another machine."""
        replay = self.running.get(session_id)
        return replay is not None and replay.machine_id != machine_id

    def settle(self, session_id: str, action_id: str, outcome: Outcome) -> Follow:
        """What the server does with a settled report; nothing where the action is not out (a duplicate).

        A wrong target is resolved again and tried once more; any other failure pauses the replay for a person.
        """
        replay, step = self._step(session_id, action_id)
        if replay is None or step is None or step.state not in OUT:
            return Follow.NOTHING
        if outcome.success:
            step.state = ActionState.DONE
        elif outcome.route is Route.RETRY_WITH_RERESOLVE and step.retries < RERESOLVED:
            step.retries += 1
            step.state = ActionState.QUEUED
            step.payload = {**step.payload, "reresolve": True}
            replay.queue.appendleft(action_id)
            self.news.notify(session_id)
        else:
            step.state = ActionState.FAILED
            return Follow.NEEDS_HELP
        if not replay.all_done:
            return Follow.NOTHING
        self._close(replay, ReplayStatus.COMPLETED)
        return Follow.ENDED

    def resume(self, replay: Replay) -> Replay | None:
        """A person let the replay go on; it is returned where nothing was left to do."""
        replay.status, replay.message = ReplayStatus.RUNNING, None
        self.news.notify(replay.session_id)
        return self._close(replay, ReplayStatus.COMPLETED) if replay.all_done else None

    def must_run(self, letter: DeadLetter) -> None:
        """Raises ReplayOverError where the dead letter's replay is not in progress any more."""
        action = letter.delivery.action
        replay = self.running.get(action.session_id)
        if replay is None or replay.replay_id != action.payload.get("replay_id"):
            raise ReplayOverError(letter.dead_letter_id)

    def cancel(self, replay: Replay) -> None:
        """End the replay and drop its queue."""
        replay.queue.clear()
        for step in replay.steps.values():
            if step.state in (ActionState.QUEUED, *OUT):
                step.state = ActionState.CANCELLED
        self._close(replay, ReplayStatus.CANCELLED)

    # What the engine says

    def dispatched(self, event: Dispatched) -> None:
        """An attempt left."""
        _, step = self._step(event.session_id, event.delivery.action.action_id)
        if step is not None:
            step.state = ActionState.IN_FLIGHT
            step.attempts += 1

    def answered(self, event: Answered) -> None:
        """A report settled the action, its own or a look's; the handler decides what follows."""
        if event.delivery is None:
            return
        _, step = self._step(event.session_id, event.delivery.action.action_id)
        if step is not None:
            step.outcome = event.outcome

    def rechecking(self, event: Rechecking) -> None:
        """Its report did not confirm the action: a look follows, of which no step is known here."""
        delivery = event.delivery
        _, step = self._step(event.session_id, delivery.action.action_id)
        if step is not None and delivery.recheck is not None:
            step.state, step.outcome = ActionState.RECHECKING, delivery.recheck.outcome

    def look_lost(self, event: LookLost) -> None:
        """Nobody looked: there is no report that the handler could decide on. The session is paused."""
        _, step = self._step(event.session_id, event.delivery.action.action_id)
        if step is not None:
            step.state, step.outcome = ActionState.FAILED, event.outcome

    def orphaned(self, event: Orphaned) -> None:
        """A lease expired."""
        _, step = self._step(event.session_id, event.orphan.action.action_id)
        if step is not None:
            step.state = ActionState.WAITING if event.dead is None else ActionState.DEAD

    def pause_changed(self, event: PauseChanged) -> None:
        """The session was paused or resumed."""
        replay = self.running.get(event.session_id)
        if replay is None:
            return
        replay.status = ReplayStatus.RUNNING if event.pause is None else ReplayStatus.PAUSED
        replay.message = None if event.pause is None else event.pause.message
        self.news.notify(event.session_id)

    def withdrawn(self, event: Withdrawn) -> None:
        """An operator cancelled the session's deliveries."""
        for delivery in event.deliveries:
            _, step = self._step(event.session_id, delivery.action.action_id)
            if step is not None:
                step.state = ActionState.CANCELLED

    def redriven(self, event: Redriven) -> None:
        """A dead letter waits again."""
        _, step = self._step(event.session_id, event.delivery.action.action_id)
        if step is not None:
            step.state = ActionState.WAITING

    # Parts

    def _step(self, session_id: str, action_id: str) -> tuple[Replay | None, Step | None]:
        replay = self.running.get(session_id)
        return replay, replay.steps.get(action_id) if replay is not None else None

    def _close(self, replay: Replay, status: ReplayStatus) -> Replay:
        replay.status, replay.message = status, None
        self.running.pop(replay.session_id, None)
        self.replays.move_to_end(replay.replay_id)
        self.news.notify(replay.session_id)
        ended = [r.replay_id for r in self.replays.values() if r.over]
        for replay_id in ended[: max(0, len(ended) - FINISHED_REPLAYS)]:
            del self.replays[replay_id]
        return replay
