"""instrument() and uninstrument(): what they wire, refuse and undo."""

from __future__ import annotations

import logging

import anyio
import pytest
from fastapi import FastAPI
from http_kit import NEXT, Agent, StubChecker, a_site, body_of, click, exchange, in_process, legacy_host

from otel_validation import Plugin, Settings, instrument, uninstrument
from otel_validation.clock import SystemClock, VirtualClock
from otel_validation.delivery.observer import Dispatched, Observer
from otel_validation.errors import ConfigurationError, EncoderUnavailableError, OcrUnavailableError
from otel_validation.plugin import CHECKERS, default_validator, delivery_policy, routing_policy
from otel_validation.validation.routing import Mode, OnUnverified

pytestmark = pytest.mark.anyio


async def test_an_application_instrumented_twice_keeps_the_first_plugin(caplog):
    site = a_site()
    assert instrument(site.app) is site.plugin
    assert "instrumented already" in caplog.text
    assert len(site.app.user_middleware) == 1


async def test_an_application_that_has_started_is_refused():
    app = legacy_host()
    await exchange(app)
    with pytest.raises(ConfigurationError, match="has started already"):
        instrument(app)


async def test_the_middleware_goes_innermost_whatever_is_added_later():
    from starlette.middleware.gzip import GZipMiddleware

    site = a_site()
    site.app.add_middleware(GZipMiddleware)
    assert site.app.user_middleware[-1].kwargs == {"wiring": site.plugin.wiring}


async def test_uninstrumented_before_its_start_an_application_is_bare():
    app = legacy_host()
    a_site(app)
    uninstrument(app)
    assert app.user_middleware == []
    assert not hasattr(app.state, "otel_validation")
    app.state.queues["s"].append(click())
    assert b"delivery" not in body_of(await exchange(app))


async def test_uninstrumented_after_its_start_it_passes_everything_through_and_times_nothing():
    site = a_site(clock=SystemClock(), settings={"watchdog_orphan_timeout_s": 0.05})
    site.queue(click(), click("act_2"))
    async with in_process(site.app) as client:
        await Agent(client).poll()
        uninstrument(site.app)
        assert await Agent(client).poll() == {
            "action": click("act_2"),
            "replay_paused": False,
            "machine_id": "m",
        }
        await anyio.sleep(0.1)
        assert not site.plugin.watchdog.running
        assert site.plugin.counters.snapshot()["orphans_detected_total"] == 0
        answer = await client.post(NEXT.replace("next", "progress"), json={})
        assert answer.status_code == 404


async def test_uninstrumenting_is_harmless_where_there_is_nothing():
    app = FastAPI()
    uninstrument(app)
    uninstrument(app)


async def test_an_application_can_be_instrumented_again():
    site = a_site()
    uninstrument(site.app)
    again = instrument(site.app, Settings())
    assert again is not site.plugin
    assert len(site.app.user_middleware) == 1


async def test_a_plugin_without_an_application_serves_until_stopped():
    plugin = Plugin(Settings(validator_mode="off"), clock=VirtualClock())
    with anyio.fail_after(3):
        async with anyio.create_task_group() as group:
            group.start_soon(plugin.serve)
            await anyio.wait_all_tasks_blocked()
            assert plugin.watchdog.running
            plugin.stop()
    await plugin.serve()
    assert not plugin.watchdog.running


async def test_b10_a_second_serve_starts_no_second_loop_and_ends_no_span():
    site = a_site()
    site.queue(click())
    async with in_process(site.app) as client:
        token = (await Agent(client).poll())["delivery"]["token"]
        with anyio.fail_after(1):
            await site.plugin.serve()
            await site.plugin.watchdog.run()
        assert site.plugin.watchdog.running
        assert token in site.plugin.recorder._dispatches
    assert site.checker.warmed <= 1


async def test_a_disabled_watchdog_still_ends_idle_replays_and_opens_no_timer():
    site = a_site(settings={"watchdog_enabled": False, "watchdog_scan_interval_s": 0.01, "replay_idle_s": 1})
    site.queue(click())
    async with in_process(site.app) as client:
        await Agent(client).poll()
        await Agent(client).report()
        assert site.plugin.recorder.trace_id("s") is not None
        site.clock.advance(2)
        with anyio.fail_after(3):
            while site.plugin.recorder.trace_id("s") is not None:  # noqa: ASYNC110 - a timer of the plugin's
                await anyio.sleep(0.005)
        assert not site.plugin.watchdog.running


async def test_checkers_that_cannot_be_warmed_up_stop_nothing(caplog):
    class Broken(StubChecker):
        def warm_up(self) -> None:
            msg = "no weights"
            raise RuntimeError(msg)

    site = a_site(checker=Broken())
    site.queue(click())
    async with in_process(site.app) as client:
        with anyio.fail_after(3):
            while "could not be warmed up" not in caplog.text:  # noqa: ASYNC110 - a task of the plugin's
                await anyio.sleep(0.005)
        assert (await Agent(client).poll())["delivery"]["attempt"] == 1
        assert site.plugin.watchdog.running


async def test_nothing_is_warmed_up_where_nothing_is_judged():
    site = a_site(settings={"validator_mode": "off"})
    async with in_process(site.app):
        await anyio.wait_all_tasks_blocked()
    assert site.checker.warmed == 0


async def test_observers_hear_what_happens_and_one_that_fails_is_harmless(caplog):
    heard: list[str] = []

    class Loud(Observer):
        def dispatched(self, event: Dispatched) -> None:
            heard.append(event.session_id)
            msg = "broken"
            raise RuntimeError(msg)

    site = a_site(observers=[Loud()])
    site.queue(click())
    async with in_process(site.app) as client:
        assert (await Agent(client).poll())["delivery"]["attempt"] == 1
    assert heard == ["s"]
    assert "observer Loud failed in dispatched" in caplog.text


def test_settings_become_the_delivery_policy():
    policy = delivery_policy(
        Settings(
            watchdog_enabled=False,
            watchdog_orphan_timeout_s=7,
            watchdog_max_resends=5,
            watchdog_repush_position="tail",
            watchdog_skip_types=frozenset({"save"}),
            watchdog_timeouts_s={"wait": 90},
            lease_total_s=100,
        )
    )
    assert policy.enabled is False
    assert policy.visibility_timeout_s == 7
    assert policy.max_resends == 5
    assert policy.repush == "tail"
    assert policy.never_resend == {"save"}
    assert policy.timeouts_s["wait"] == 90
    assert policy.timeouts_s["ai_summarize"] == 90
    assert policy.total_lease_s == 100


def test_settings_become_the_routing_policy():
    policy = routing_policy(
        Settings(
            validator_mode="observe",
            validator_accept_confidence=0.5,
            validator_on_unverified="pause",
            validator_rechecks=1,
            validator_recheck_delay_s=0.5,
            validator_handoff_timeout_s=7,
        )
    )
    assert (policy.mode, policy.accept_confidence, policy.on_unverified) == (Mode.OBSERVE, 0.5, OnUnverified.PAUSE)
    assert (policy.rechecks, policy.recheck_delay_s, policy.handoff_timeout_s) == (1, 0.5, 7)
    assert routing_policy(Settings(validator_enabled=False, validator_mode="enforce")).mode is Mode.OFF


def test_the_default_validator_has_checkers_of_the_matrix():
    assert {"ocr_roi", "json_schema"} <= set(default_validator(Settings()).names) <= CHECKERS


def test_the_image_encoder_is_the_one_of_the_settings(tmp_path):
    with pytest.raises(EncoderUnavailableError, match="there is no file"):
        default_validator(Settings(similarity_encoder=tmp_path / "clip.onnx"))
    assert default_validator(Settings())._checkers["similarity"]._encoder is None


def test_the_ocr_engine_is_the_one_of_the_settings(tmp_path):
    with pytest.raises(OcrUnavailableError, match=str(tmp_path)):
        default_validator(Settings(ocr_model_dir=tmp_path))
    assert default_validator(Settings(ocr_engine="rapidocr"))._checkers["ocr_roi"]._engine.name == "rapidocr"


def test_the_journal_and_the_counters_are_wired(caplog):
    caplog.set_level(logging.WARNING, "otel_validation")
    plugin = Plugin(Settings())
    assert plugin.counters.snapshot()["orphans_detected_total"] == 0
    assert plugin.guard is plugin.wiring.guard
