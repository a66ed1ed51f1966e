"""The demo's scenes: a recorded agent, a real server on loopback, and what each scene must come to."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import anyio
import httpx
import uvicorn

from otel_validation.agent import ActionContext, AgentClient, Execution
from otel_validation.errors import OtelValidationError
from otel_validation.server.app import create_app
from otel_validation.server.listen import listen

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

    from otel_validation.settings import Settings

ORPHAN_TIMEOUT_S = 2.0
"""The demo's lease; in production it is 30 s."""
PATIENCE_S = 25.0
"""The longest a scene may take before it counts as failed."""


class NotReadyError(OtelValidationError):
    """Raised when the demo's server does not become ready: its checkers cannot be loaded."""

    def __init__(self) -> None:
        super().__init__(f"the server was not ready within {PATIENCE_S:g} s: `otel-validation doctor` says why")


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """One recorded action, and what the agent's screen looked like."""

    action: Mapping[str, Any]
    before: bytes
    after: bytes
    position: tuple[float, float]
    success: bool


class Recording:
    """The recorded replay that ships with the package: real screens of a rendered web application."""

    def __init__(self) -> None:
        folder = files("otel_validation.cli").joinpath("demo_data")
        recorded = json.loads(folder.joinpath("replay.json").read_text("utf-8"))
        screens = {s[key] for s in recorded["steps"] for key in ("before", "after")}
        images = {name: folder.joinpath(name).read_bytes() for name in screens}
        self.workflow: str = recorded["workflow"]
        self._steps = {
            step["name"]: RecordedStep(
                action=step["action"],
                before=images[step["before"]],
                after=images[step["after"]],
                position=(step["actual_position"]["x_pct"], step["actual_position"]["y_pct"]),
                success=step["success"],
            )
            for step in recorded["steps"]
        }

    def steps(self, *names: str) -> list[RecordedStep]:
        """The steps of these names."""
        return [self._steps[name] for name in names]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a scene came to: the replay as the server shows it, and how often the agent executed each action."""

    replay: Mapping[str, Any]
    executions: Mapping[str, int]
    letters: Sequence[Mapping[str, Any]]

    @property
    def last(self) -> Mapping[str, Any]:
        """The last action that was handed out."""
        handed = [a for a in self.replay["actions"] if a["state"] != "queued"]
        last: Mapping[str, Any] = handed[-1]
        return last

    @property
    def verdict(self) -> str:
        """The last action's verdict, with its category."""
        verdict = self.last["verdict"]
        if verdict is None:
            return "none"
        return "/".join(filter(None, (verdict["verdict"], verdict["failure_category"])))


@dataclass(frozen=True, slots=True)
class Scene:
    """One scene: its steps, what goes wrong on the way, and what must come out."""

    name: str
    title: str
    steps: tuple[str, ...]
    expected: str
    came_out: Callable[[Outcome], bool]
    loses_answers: int = 0
    dies: bool = False


def _all_complete(outcome: Outcome) -> bool:
    verdicts = [(a["verdict"] or {}).get("verdict") for a in outcome.replay["actions"]]
    return outcome.replay["status"] == "completed" and all(v == "complete" for v in verdicts)


def _stopped(outcome: Outcome, category: str) -> bool:
    queued = [a for a in outcome.replay["actions"] if a["state"] == "queued"]
    paused = outcome.replay["status"] == "paused_need_help"
    return paused and outcome.verdict == f"terminate/{category}" and len(queued) == 1


SCENES = (
    Scene(
        name="right-clicks",
        title="four right clicks",
        steps=("notes", "imagerie", "biologie", "valider"),
        expected="complete, replay completed",
        came_out=_all_complete,
    ),
    Scene(
        name="address-bar",
        title='expected "Imagerie", the click is in the address bar, the agent says success',
        steps=("barre-adresse", "biologie"),
        expected="terminate/wrong_application, replay paused, next action held back",
        came_out=lambda outcome: _stopped(outcome, "wrong_application"),
    ),
    Scene(
        name="neighbour-tab",
        title='expected "Imagerie", the click is on the tab "Biologie"',
        steps=("onglet-voisin", "notes"),
        expected="terminate/wrong_target (tried once more), replay paused, next action held back",
        came_out=lambda outcome: _stopped(outcome, "wrong_target"),
    ),
    Scene(
        name="lost-answer",
        title="the answer with the action never reaches the agent",
        steps=("prescriptions",),
        expected="resent once, executed once, complete",
        came_out=lambda outcome: (
            _all_complete(outcome) and outcome.last["attempts"] == 2 and list(outcome.executions.values()) == [1]
        ),
        loses_answers=1,
    ),
    Scene(
        name="dead-agent",
        title="the agent takes the action and dies",
        steps=("imagerie",),
        expected="given up (agent_dead), replay paused",
        came_out=lambda outcome: (
            outcome.replay["status"] == "paused_need_help"
            and outcome.last["state"] == "dead"
            and [letter["cause"] for letter in outcome.letters] == ["agent_dead"]
        ),
        dies=True,
    ),
)


class LossyTransport(httpx.AsyncHTTPTransport):
    """A network that loses the first answers with an action: the server has sent them, the agent gets an error."""

    def __init__(self, losses: int) -> None:
        super().__init__()
        self._losses = losses

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Pass on, or lose the answer."""
        response = await super().handle_async_request(request)
        if self._losses and request.method == "GET":
            body = await response.aread()
            if json.loads(body).get("action") is not None:
                self._losses -= 1
                msg = "the connection was cut while the answer was on its way"
                raise httpx.ReadError(msg, request=request)
        return response


@dataclass(slots=True)
class RecordedAgent:
    """Executes actions by showing what was recorded; counts how often it does."""

    steps: Mapping[str, RecordedStep]
    dies: bool = False
    executions: dict[str, int] = field(default_factory=dict)
    taken: anyio.Event = field(default_factory=anyio.Event)

    async def execute(self, context: ActionContext) -> Execution:
        """Show the recorded screens."""
        self.taken.set()
        if self.dies:
            await anyio.sleep_forever()
        self.executions[context.action_id] = self.executions.get(context.action_id, 0) + 1
        step = self.steps[context.action_id]
        return Execution(
            success=step.success,
            actual_position=step.position,
            screenshot_before=step.before,
            screenshot_after=step.after,
        )


@dataclass(frozen=True, slots=True)
class Stage:
    """A running reference server, and how to reach it."""

    url: str
    http: httpx.AsyncClient
    provider: TracerProvider
    recording: Recording

    async def play(self, scene: Scene) -> Outcome:
        """Play one scene in a session of its own, until its replay ends or pauses."""
        steps = self.recording.steps(*scene.steps)
        session_id, machine_id = f"demo-{scene.name}", f"poste-{scene.name}"
        created = await self._json(
            "POST",
            "/api/v1/replays",
            {
                "workflow": self.recording.workflow,
                "session_id": session_id,
                "machine_id": machine_id,
                "actions": [step.action for step in steps],
            },
        )
        recorded = RecordedAgent({step.action["action_id"]: step for step in steps}, dies=scene.dies)
        async with httpx.AsyncClient(transport=LossyTransport(scene.loses_answers), timeout=10.0) as http:
            agent = AgentClient(
                self.url,
                session_id=session_id,
                machine_id=machine_id,
                execute=recorded.execute,
                http=http,
                poll_interval_s=0.2,
                tracer_provider=self.provider,
            )
            async with anyio.create_task_group() as group:
                group.start_soon(agent.run)
                if scene.dies:
                    await recorded.taken.wait()
                    group.cancel_scope.cancel()
                else:
                    await self._ended(created["replay_id"])
                    group.cancel_scope.cancel()
        replay = await self._ended(created["replay_id"])
        letters = await self._json("GET", "/api/v1/dead-letters")
        mine = [letter for letter in letters if letter["session_id"] == session_id]
        return Outcome(replay, recorded.executions, mine)

    async def counters(self) -> Mapping[str, float]:
        """The watchdog's counters."""
        answer = await self._json("GET", "/api/v1/traces/stream/replay/watchdog/metrics")
        counters: Mapping[str, float] = answer["watchdog"]
        return counters

    async def _ended(self, replay_id: str) -> Mapping[str, Any]:
        with anyio.move_on_after(PATIENCE_S):
            while True:
                replay: Mapping[str, Any] = await self._json("GET", f"/api/v1/replays/{replay_id}")
                if replay["status"] != "running":
                    return replay
                await anyio.sleep(0.1)
        return replay

    async def _json(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401
        answer = await self.http.request(method, path, json=body)
        answer.raise_for_status()
        return answer.json()


@asynccontextmanager
async def stage(settings: Settings, provider: TracerProvider) -> AsyncIterator[Stage]:
    """A reference server on a free loopback port, ready."""
    with listen("127.0.0.1", 0) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        app = create_app(settings, tracer_provider=provider)
        server = _QuietServer(uvicorn.Config(app, log_level="critical", reset_contextvars=True))
        async with anyio.create_task_group() as group, httpx.AsyncClient(base_url=url, timeout=10.0) as http:
            group.start_soon(_serve, server, listener)
            await _until_ready(http)
            try:
                yield Stage(url, http, provider, Recording())
            finally:
                server.should_exit = True


class _QuietServer(uvicorn.Server):
    """Leaves signals to the demo: Ctrl-C ends the whole of it, not the server under it first."""

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        return nullcontext()


async def _serve(server: uvicorn.Server, listener: socket.socket) -> None:
    await server.serve(sockets=[listener])


async def _until_ready(http: httpx.AsyncClient) -> None:
    with anyio.move_on_after(PATIENCE_S):
        while True:
            if await _is_ready(http):
                return
            await anyio.sleep(0.1)
    raise NotReadyError


async def _is_ready(http: httpx.AsyncClient) -> bool:
    try:
        return (await http.get("/readyz")).is_success
    except httpx.HTTPError:
        return False
