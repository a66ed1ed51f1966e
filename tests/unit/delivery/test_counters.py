"""The seeds' counters and log lines."""

from __future__ import annotations

import logging
import re

import pytest
from delivery_kit import (
    COMPLETE,
    NOT_SEEN,
    NOTHING_TO_JUDGE,
    WRONG_APPLICATION,
    Desk,
    ScriptedJudge,
    a_desk,
    a_report,
    an_action,
)

from otel_validation.delivery.counters import WATCHDOG_KEYS, Counters, Journal, printable
from otel_validation.delivery.observer import Scanned
from otel_validation.delivery.policy import DeliveryPolicy
from otel_validation.validation.routing import RoutingPolicy

pytestmark = pytest.mark.anyio


def counted(desk: Desk) -> Counters:
    counters = Counters()
    desk.engine.observers.add(counters)
    return counters


async def orphan(desk: Desk, times: int = 1) -> None:
    desk.host_has(an_action(machine_id="m"))
    for _ in range(times):
        await desk.take()
        await desk.after(31)


async def test_nothing_yet_is_zero_under_every_seed_name():
    snapshot = Counters().snapshot()
    assert {*WATCHDOG_KEYS, "last_scan_ts", "last_scan_duration_ms", "current_in_flight_count"} <= snapshot.keys()
    assert set(snapshot.values()) == {0}


async def test_orphans_resends_and_give_ups():
    desk = a_desk()
    counters = counted(desk)
    await orphan(desk, 3)
    snapshot = counters.snapshot()
    assert snapshot["orphans_detected_total"] == 3
    assert snapshot["orphans_resent_total"] == 2
    assert snapshot["orphans_giveup_total"] == 1
    assert snapshot["scans_total"] == 3
    assert snapshot["scans_failed_total"] == 0
    assert snapshot["last_scan_ts"] == desk.clock.wall_ns() / 1e9
    assert snapshot["last_scan_duration_ms"] >= 0


async def test_a_resend_that_nobody_polls_for_is_one_orphan_and_one_give_up():
    desk = a_desk()
    counters = counted(desk)
    await orphan(desk)
    await desk.after(61)
    snapshot = counters.snapshot()
    assert snapshot["orphans_detected_total"] == 1
    assert snapshot["orphans_resent_total"] == 1
    assert snapshot["orphans_giveup_total"] == 1


@pytest.mark.parametrize(
    ("result", "key", "overriding"),
    [
        (None, "verdicts_complete_total", 0),
        (WRONG_APPLICATION, "verdicts_terminate_total", 1),
        (NOT_SEEN, "verdicts_continue_total", 1),
        (NOTHING_TO_JUDGE, "reports_not_judged_total", 0),
    ],
)
async def test_a_verdict_is_counted_once_whatever_is_sent_again(result, key, overriding):
    judge = ScriptedJudge() if result is None else ScriptedJudge(result)
    desk = a_desk(judge=judge, routing=RoutingPolicy(rechecks=0))
    counters = counted(desk)
    desk.host_has(an_action())
    ticket = await desk.take()
    for _ in range(3):
        await desk.engine.report(a_report(token=ticket.lease.token))
    await desk.engine.report(a_report("other"))
    snapshot = counters.snapshot()
    assert snapshot[key] == 1
    assert snapshot["verdicts_overriding_total"] == overriding
    assert snapshot["reports_accepted_total"] == 1
    assert snapshot["reports_duplicate_total"] == 2
    assert snapshot["reports_unknown_total"] == 1


async def recheck(desk: Desk) -> None:
    """Report `a` and its first look, neither of which shows anything, and take the second look."""
    desk.judge.result = NOT_SEEN
    desk.host_has(an_action(replay_id="rep_1"))
    report = a_report(token=(await desk.take()).lease.token, screenshot_after="x")
    for _ in range(2):
        await desk.engine.report(report)
        desk.clock.advance(1.5)
        ticket = await desk.take()
        report = a_report(ticket.delivery.action.action_id, ticket.lease.token, screenshot_after="x")


async def test_a_recheck_is_counted_and_its_verdict_once_where_it_settles():
    desk = a_desk()
    counters = counted(desk)
    await recheck(desk)
    snapshot = counters.snapshot()
    assert snapshot["rechecks_total"] == 2
    assert snapshot["reports_accepted_total"] == 2
    assert not [key for key in snapshot if key.startswith("verdicts_")]
    desk.judge.result = COMPLETE
    (name,) = [name for name in (await desk.session()).live if "~look2" in name]
    for _ in range(2):
        await desk.engine.report(a_report(name, screenshot_after="x"))
    snapshot = counters.snapshot()
    assert (snapshot["verdicts_complete_total"], snapshot["verdicts_overriding_total"]) == (1, 0)
    assert (snapshot["reports_accepted_total"], snapshot["reports_duplicate_total"]) == (3, 1)
    assert snapshot["rechecks_total"] == 2


async def test_a_lost_look_is_an_orphan_and_no_give_up_and_settles_its_verdict(caplog):
    caplog.set_level(logging.INFO, "otel_validation.watchdog")
    desk = a_desk(policy=DeliveryPolicy(max_resends=0))
    counters = counted(desk)
    desk.engine.observers.add(Journal(max_resends=0))
    await recheck(desk)
    await desk.after(31)
    snapshot = counters.snapshot()
    assert (snapshot["looks_lost_total"], snapshot["orphans_detected_total"]) == (1, 1)
    assert (snapshot["orphans_giveup_total"], snapshot["orphans_resent_total"]) == (0, 0)
    assert (snapshot["verdicts_continue_total"], snapshot["verdicts_overriding_total"]) == (1, 1)
    line = caplog.records[0].getMessage()
    assert re.fullmatch(
        r"\[BUS\] lea:look_lost action_id=a look=a~look2-[0-9a-f]{8} sent=1 session=s machine=m replay=rep_1 "
        r"cause=agent_dead",
        line,
    )


async def test_a_failed_scan_and_what_is_in_flight():
    counters = Counters()
    counters.scanned(
        Scanned(
            session_id="", wall_ns=2_500_000_000, orphans=1, resent=1, given_up=0, failed=2, in_flight=7, elapsed_s=0.25
        )
    )
    snapshot = counters.snapshot()
    assert snapshot["scans_failed_total"] == 1
    assert snapshot["last_scan_ts"] == 2.5
    assert snapshot["last_scan_duration_ms"] == 250
    assert snapshot["current_in_flight_count"] == 7
    assert snapshot["current_orphan_count"] == 1


async def test_the_journal_speaks_the_seeds_words(caplog):
    caplog.set_level(logging.INFO, "otel_validation.watchdog")
    desk = a_desk()
    desk.engine.observers.add(Journal(max_resends=2))
    desk.host_has(an_action("act_17", replay_id="rep_1", target_spec={"by_text": "Durand Paul"}))
    for _ in range(3):
        await desk.take()
        await desk.after(31)
    lines = [record.getMessage() for record in caplog.records if record.name == "otel_validation.watchdog"]
    where = "session=s machine=m replay=rep_1"
    assert lines[0] == f"[BUS] lea:dispatch_orphan_resent action_id=act_17 resent=1/2 age=31.0s {where}"
    assert lines[2] == f"[BUS] lea:dispatch_orphan_resent action_id=act_17 resent=2/2 age=62.0s {where}"
    assert lines[4] == (
        f"[BUS] lea:dispatch_orphan_giveup action_id=act_17 resent=2 age_total=93.0s {where} cause=report_lost"
    ) or re.fullmatch(r"\[BUS\] lea:dispatch_orphan_giveup action_id=act_17 .* cause=\w+", lines[4])
    assert lines[1].startswith("[METRIC] watchdog orphans=1 resent=1 gaveup=0 failed=0 in_flight=0 elapsed_ms=")
    assert "Durand" not in caplog.text


async def test_a_scan_that_found_nothing_is_not_logged(caplog):
    caplog.set_level(logging.INFO)
    desk = a_desk()
    desk.engine.observers.add(Journal(max_resends=2))
    await desk.engine.expire(timer=True)
    assert caplog.records == []


@pytest.mark.parametrize(
    ("identifier", "shown"),
    [
        ("act_1", "act_1"),
        ("é", "é"),
        ("a\n[BUS] forged", "'a\\n[BUS] forged'"),
        ("\x1b[31m", "'\\x1b[31m'"),
        ("\ud800", "'\\ud800'"),
        ("", "''"),
        (5, "5"),
        ({"a": 1}, "{'a': 1}"),
        ("x" * 100, "x" * 64),
    ],
)
async def test_an_identifier_is_one_line_of_a_log(identifier, shown):
    assert printable(identifier) == shown
