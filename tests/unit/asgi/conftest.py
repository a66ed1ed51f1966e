"""No timer begins in the middle of a test that does not ask for one."""

from __future__ import annotations

import pytest

from otel_validation.asgi import middleware

SOON_S = middleware.LAZY_START_S


@pytest.fixture(autouse=True)
def no_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polls sweep: a timer that starts lazily would begin just where a slow test's loop ends."""
    monkeypatch.setattr(middleware, "LAZY_START_S", 60.0)


@pytest.fixture
def lazy_timer(no_timer: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The timer as users have it."""
    monkeypatch.setattr(middleware, "LAZY_START_S", SOON_S)
