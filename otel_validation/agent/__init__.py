"""The agent SDK: poll, execute once, report until answered (docs/agent.md)."""

from otel_validation.agent.backoff import Backoff
from otel_validation.agent.client import ActionRun, AgentClient
from otel_validation.agent.execution import UNSET, ActionContext, Execution, Screen, Signal
from otel_validation.agent.ledger import Ledger
from otel_validation.agent.report import ReportAnswer
from otel_validation.errors import AgentRefusedError

__all__ = [
    "UNSET",
    "ActionContext",
    "ActionRun",
    "AgentClient",
    "AgentRefusedError",
    "Backoff",
    "Execution",
    "Ledger",
    "ReportAnswer",
    "Screen",
    "Signal",
]
