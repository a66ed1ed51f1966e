"""Leases, verdicts and OpenTelemetry traces for RPA replay servers."""

from otel_validation.delivery.action import Action, Point
from otel_validation.delivery.engine import Engine
from otel_validation.delivery.observer import Observer
from otel_validation.delivery.outcome import ReportOutcome, ReportStatus
from otel_validation.delivery.policy import DeliveryPolicy
from otel_validation.delivery.watchdog import Watchdog
from otel_validation.errors import OtelValidationError
from otel_validation.plugin import Plugin, instrument, uninstrument
from otel_validation.settings import Settings
from otel_validation.stores.memory import MemoryStore
from otel_validation.validation.report import Report
from otel_validation.validation.routing import Route
from otel_validation.validation.validator import Validator
from otel_validation.validation.verdict import FailureCategory, Finding, ValidationResult, Verdict

__version__ = "0.1.0"

__all__ = [
    "Action",
    "DeliveryPolicy",
    "Engine",
    "FailureCategory",
    "Finding",
    "MemoryStore",
    "Observer",
    "OtelValidationError",
    "Plugin",
    "Point",
    "Report",
    "ReportOutcome",
    "ReportStatus",
    "Route",
    "Settings",
    "ValidationResult",
    "Validator",
    "Verdict",
    "Watchdog",
    "instrument",
    "uninstrument",
]
