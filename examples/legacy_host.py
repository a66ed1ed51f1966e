"""A replay server as they exist in the field: its own queue, two endpoints, and no idea of otel_validation.

Run it bare with `uvicorn examples.legacy_host:app`, instrumented with `uvicorn examples.instrumented_host:app`.
"""

from collections import defaultdict, deque
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict

STREAM = "/api/v1/traces/stream/replay"


class ReplayResultReport(BaseModel):
    """What agents post; unknown fields are kept."""

    model_config = ConfigDict(extra="allow")

    session_id: str
    action_id: str
    success: bool
    error: str | None = None


def create_host() -> FastAPI:
    """The application; `app.state.queues` and `app.state.results` are its own business."""
    app = FastAPI(title="legacy replay server")
    app.state.queues = defaultdict(deque)
    app.state.results = []

    @app.get(f"{STREAM}/next")
    async def get_next_action(session_id: str, machine_id: str = "default") -> dict[str, Any]:
        queue = app.state.queues[session_id]
        return {"action": queue.popleft() if queue else None, "replay_paused": False, "machine_id": machine_id}

    @app.post(f"{STREAM}/result")
    async def report_action_result(report: ReplayResultReport) -> dict[str, Any]:
        app.state.results.append(report.model_dump())
        return {"received": report.action_id, "success": report.success}

    @app.post("/enqueue/{session_id}")
    async def enqueue(session_id: str, actions: list[dict[str, Any]]) -> dict[str, int]:
        app.state.queues[session_id].extend(actions)
        return {"queued": len(app.state.queues[session_id])}

    return app


app = create_host()
