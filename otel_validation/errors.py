"""One root for every exception of the package; the data is on attributes, the message says what to do."""

from __future__ import annotations


class OtelValidationError(Exception):
    """Root of every exception that this package raises on purpose."""


class ConfigurationError(OtelValidationError):
    """Raised when settings contradict each other or name something that is not there."""


class UnknownSessionError(OtelValidationError):
    """Raised when an operator's call names a session that never dispatched anything."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"no session {session_id!r}: nothing was dispatched in it")
        self.session_id = session_id


class UnknownDeadLetterError(OtelValidationError):
    """Raised when a redrive names a dead letter that does not exist (or was redriven already)."""

    def __init__(self, dead_letter_id: str) -> None:
        super().__init__(f"no dead letter {dead_letter_id!r}: list them first, it may have been redriven")
        self.dead_letter_id = dead_letter_id


class ImageError(OtelValidationError):
    """Raised when bytes cannot be used as a screenshot; `reason` is a short word fit for a span."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class UnplacedError(OtelValidationError):
    """Raised when nobody can say which pixel of a screenshot an action went to; `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class UnusableExpectationError(OtelValidationError):
    """Raised when what a host declares of an action's outcome cannot be used; `reason` says why and quotes nothing."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class OcrUnavailableError(OtelValidationError):
    """Raised when an OCR engine cannot be loaded; the message names what to install."""

    def __init__(self, engine: str, message: str) -> None:
        super().__init__(message)
        self.engine = engine


class EncoderUnavailableError(OtelValidationError):
    """Raised when an image encoder cannot be loaded or used; the message says what to install or to change."""


class AgentRefusedError(OtelValidationError):
    """Raised when the server answers an agent with 401 or 403: no retry helps, the token has to be changed."""

    def __init__(self, status: int) -> None:
        super().__init__(
            f"the server refuses this agent (HTTP {status}): set RPA_API_TOKEN (or the `token` argument) to the "
            "token that the server was started with"
        )
        self.status = status
