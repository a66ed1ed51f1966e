"""The one registry of span and attribute names (DESIGN section 5)."""

from __future__ import annotations

import re
from functools import lru_cache

SCOPE = "otel_validation"
"""The instrumentation scope of every span of this package."""

# Spans

SPAN_REPLAY = "replay"
SPAN_STEP = "step"
SPAN_DISPATCH = "dispatch"
SPAN_EXECUTE = "execute"
SPAN_REPORT = "report"
SPAN_VALIDATE = "validate"
SPAN_CHECK = "check"
SPAN_VERDICT = "verdict"
SPAN_RESEND = "resend"
SPAN_GIVE_UP = "give_up"

# Attributes of our own

ACTION_ID = "rpa.action.id"
ACTION_TYPE = "rpa.action.type"
SESSION_ID = "rpa.session.id"
MACHINE_ID = "rpa.machine.id"
LOOK_OF = "rpa.look.of"
REPLAY_ID = "rpa.replay.id"
DISPATCH_ATTEMPT = "rpa.dispatch.attempt"
DISPATCH_REDELIVERED = "rpa.dispatch.redelivered"
DISPATCH_RETRY = "rpa.dispatch.retry"
DISPATCH_LATENESS = "rpa.dispatch.lateness_s"
LEASE_TIMEOUT = "rpa.lease.visibility_timeout_s"
REPORT_STATUS = "rpa.report.status"
REPORT_SUCCESS = "rpa.report.success"
REPORT_OVERRIDDEN = "rpa.report.overridden"
VERDICT_CATEGORY = "rpa.verdict.failure_category"
VERDICT_CONFIDENCE = "rpa.verdict.confidence"
VERDICT_VERIFIED = "rpa.verdict.verified"
VERDICT_ROUTE = "rpa.verdict.route"
VERDICT_FINDINGS = "rpa.verdict.findings"
VERDICT_CONFLICT = "rpa.verdict.conflict"
VERDICT_ADVISED_ROUTE = "rpa.verdict.advised_route"
CHECKER = "rpa.checker"
GIVE_UP_CAUSE = "rpa.give_up.cause"
REPLAY_END = "rpa.replay.end"
PAUSE_REASON = "rpa.pause.reason"

# Attributes of OpenTelemetry's and Skyvern's conventions

ERROR_TYPE = "error.type"
MESSAGING_SYSTEM = "messaging.system"
MESSAGING_OPERATION = "messaging.operation.type"
MESSAGING_MESSAGE_ID = "messaging.message.id"
VERIFICATION_STATUS = "verification.status"

# Values

SYSTEM = "rpa"
ERROR_LEASE_EXPIRED = "lease_expired"
ERROR_GIVE_UP = "give_up"
ERROR_CHECKER = "checker_failed"
ERROR_SHUTDOWN = "shutdown"
ERROR_ABANDONED = "abandoned"

# Links say what they link to

LINK_KIND = "rpa.link.kind"
LINK_HTTP = "http"
LINK_PREVIOUS_ATTEMPT = "previous_attempt"
LINK_ATTEMPT = "attempt"
LINK_EXECUTE = "execute"
LINK_REPORT = "report"
LINK_ORPHAN = "orphan"

_TYPE = re.compile(r"[a-z][a-z0-9_]{0,39}")


LONGEST_VALUE = 256
"""Characters kept of an attribute's text: as many as an identifier may have."""


def text(value: str) -> str:
    """A text as an attribute's value: capped, and valid UTF-8 (a lone surrogate would lose its whole export batch)."""
    if len(value) <= LONGEST_VALUE and value.isascii():
        return value
    return value[:LONGEST_VALUE].encode("utf-8", "replace").decode("utf-8")


@lru_cache(maxsize=256)
def type_name(action_type: str) -> str:
    """The action type as it may appear in a span name: lower-case word characters, else `other`.

    Types come from hosts and clients: an unbounded or personal text must not become a span name.
    """
    return action_type if _TYPE.fullmatch(action_type) else "other"


def span_name(operation: str, action_type: str) -> str:
    """`dispatch click` for `dispatch` and `click`."""
    return f"{operation} {type_name(action_type)}"
