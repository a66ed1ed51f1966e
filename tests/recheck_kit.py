"""Actions whose effect was not seen, and the looks that follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from delivery_kit import (
    NOT_SEEN,
    Desk,
    ScriptedJudge,
    a_desk,
    a_report,
    an_action,
)

from otel_validation.validation.routing import RoutingPolicy

if TYPE_CHECKING:
    from otel_validation.delivery.engine import Ticket
    from otel_validation.delivery.outcome import ReportOutcome
    from otel_validation.validation.report import Report

ONCE = RoutingPolicy(rechecks=1)


def a_desk_that_sees_nothing(**more) -> Desk:
    return a_desk(judge=ScriptedJudge(NOT_SEEN), **more)


async def unconfirmed(desk: Desk, action_id: str = "a", fields: dict | None = None, **more) -> ReportOutcome:
    """Hand `a` out and report it, with a screenshot that does not show its effect."""
    desk.host_has(an_action(action_id, **(fields or {})))
    ticket = await desk.take()
    more = {"token": ticket.lease.token, "screenshot_after": "first", **more}
    return await desk.engine.report(a_report(action_id, **more))


async def look(desk: Desk) -> Ticket:
    """Wait for the look and take it."""
    desk.clock.advance(1.5)
    return await desk.take()


def seen(ticket: Ticket, shot: str | None = "fresh", **more) -> Report:
    """The report of a look."""
    more.setdefault("token", ticket.lease.token)
    return a_report(ticket.delivery.action.action_id, screenshot_after=shot, **more)
