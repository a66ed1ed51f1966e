"""Dispatch spans that user code opens by hand are watched as the plugin's own."""

from __future__ import annotations

import threading

import anyio
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, Decision, ParentBased, StaticSampler, TraceIdRatioBased
from opentelemetry.trace import SpanKind

from otel_validation import Action, Observer, Plugin, Settings
from otel_validation.clock import VirtualClock
from otel_validation.delivery.outcome import Pause
from otel_validation.tracing.processor import Opened
from otel_validation.tracing.sampler import DispatchSampler

pytestmark = pytest.mark.anyio
OFF = Settings(validator_mode="off")


class Rig:
    """A plugin on a virtual clock, and a tracer of the user's."""

    def __init__(self, sampler=None) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(sampler=sampler) if sampler else TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.clock = VirtualClock()
        self.plugin = Plugin(OFF, tracer_provider=self.provider, clock=self.clock)
        self.tracer = self.provider.get_tracer("user.code")

    def open(self, action_id="a1", session_id="s1", **attributes):
        names = {"rpa.action.id": action_id, "rpa.session.id": session_id, **attributes}
        return self.tracer.start_span("dispatch click", kind=SpanKind.PRODUCER, attributes=names)

    async def pass_time(self, seconds: float) -> None:
        await self.plugin.spanwatch.expire()
        self.clock.advance(seconds)
        await self.plugin.spanwatch.expire()

    def ended(self, name: str):
        return [s for s in self.exporter.get_finished_spans() if s.name == name]

    def count(self, key: str) -> float:
        return self.plugin.counters.snapshot()[key]


@pytest.fixture
def rig() -> Rig:
    return Rig()


async def test_a_span_open_for_30_s_is_an_orphan_and_ends_as_an_error(rig):
    span = rig.open()
    await rig.pass_time(29.9)
    assert span.is_recording()
    await rig.pass_time(0.2)
    assert not span.is_recording()
    (orphan,) = rig.ended("dispatch click")
    assert orphan.attributes["error.type"] == "lease_expired"
    assert not orphan.status.is_ok
    assert not orphan.status.is_unset
    (resend,) = rig.ended("resend click")
    assert [link.context.span_id for link in resend.links] == [orphan.context.span_id]
    assert rig.count("orphans_resent_total") == 1


async def test_a_span_that_ends_in_time_is_no_orphan(rig):
    rig.open().end()
    await rig.pass_time(100)
    assert rig.count("orphans_detected_total") == 0
    assert await rig.plugin.spanwatch.in_flight() == 0


async def test_the_third_open_attempt_gives_up_and_pauses_the_session(rig):
    for _ in range(3):
        rig.open()
        await rig.pass_time(30.1)
    assert rig.count("orphans_resent_total") == 2
    assert rig.count("orphans_giveup_total") == 1
    assert len(rig.ended("give_up click")) == 1
    assert isinstance(await rig.plugin.engine.poll("s1"), Pause)
    assert not isinstance(await rig.plugin.engine.poll("s2"), Pause)


async def test_an_orphan_that_nobody_dispatches_again_is_given_up(rig):
    rig.open()
    await rig.pass_time(30.1)
    await rig.pass_time(90)
    assert rig.count("orphans_giveup_total") == 1


async def test_the_markers_hang_under_the_parent_of_the_orphan(rig):
    with rig.tracer.start_as_current_span("job") as job:
        rig.open()
    await rig.pass_time(31)
    (resend,) = rig.ended("resend click")
    assert resend.parent.span_id == job.get_span_context().span_id


async def test_the_visibility_timeout_of_the_span_counts(rig):
    span = rig.open(**{"rpa.lease.visibility_timeout_s": 120.0})
    await rig.pass_time(119)
    assert span.is_recording()
    await rig.pass_time(2)
    assert not span.is_recording()


async def test_several_open_spans_of_a_session_are_each_watched(rig):
    spans = [rig.open(f"a{i}") for i in range(5)]
    spans[2].end()
    await rig.pass_time(31)
    assert rig.count("orphans_detected_total") == 4


async def test_a_span_without_an_action_id_stands_for_itself(rig):
    rig.tracer.start_span("dispatch click")
    rig.tracer.start_span("dispatch click")
    await rig.pass_time(31)
    assert rig.count("orphans_detected_total") == 2


async def test_other_spans_are_not_watched(rig):
    rig.tracer.start_span("dispatcher")
    rig.tracer.start_span("redispatch click")
    await rig.pass_time(31)
    assert rig.count("orphans_detected_total") == 0


async def test_the_plugins_own_dispatch_is_counted_once(rig):
    await rig.plugin.engine.dispatch(Action("a1", "click", "s1", "m1", {}))
    await rig.pass_time(30.1)
    assert await rig.plugin.spanwatch.in_flight() == 0
    await rig.plugin.engine.expire()
    assert rig.count("orphans_detected_total") == 1


@pytest.mark.parametrize("span_first", [True, False])
async def test_a_hosts_own_span_of_an_action_that_the_plugin_delivers_is_left_to_the_plugin(rig, span_first):
    action = Action("a1", "click", "s1", "m1", {})
    if span_first:
        rig.open()
        await rig.plugin.spanwatch.expire()
    await rig.plugin.engine.dispatch(action)
    if not span_first:
        rig.open()
    await rig.pass_time(30.1)
    await rig.plugin.engine.expire()
    assert rig.count("orphans_detected_total") == 1
    assert rig.count("orphans_resent_total") == 1


async def test_a_lost_reference_is_still_noticed(rig):
    rig.open()  # nothing else holds it
    await rig.pass_time(31)
    assert len(rig.ended("dispatch click")) == 1


@pytest.mark.parametrize(
    "sampler", [ALWAYS_OFF, TraceIdRatioBased(0.0), ParentBased(ALWAYS_OFF), StaticSampler(Decision.DROP)]
)
async def test_the_dispatch_sampler_keeps_dropped_spans_visible_and_unexported(sampler):
    rig = Rig(DispatchSampler(sampler))
    for _ in range(3):
        rig.open()
        await rig.pass_time(30.1)
    assert rig.count("orphans_giveup_total") == 1
    assert rig.exporter.get_finished_spans() == ()


def test_the_dispatch_sampler_leaves_other_spans_to_the_inner_one():
    sampler = DispatchSampler(ALWAYS_OFF)
    assert sampler.should_sample(None, 1, "validate click").decision is Decision.DROP
    assert sampler.should_sample(None, 1, "dispatch click").decision is Decision.RECORD_ONLY
    assert "AlwaysOff" in sampler.get_description()


async def test_the_timer_is_woken_from_another_thread():
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    orphaned = anyio.Event()

    class Seen(Observer):
        def orphaned(self, event):
            orphaned.set()

    settings = Settings(validator_mode="off", watchdog_scan_interval_s=3600)
    plugin = Plugin(settings, tracer_provider=provider, observers=[Seen()])
    tracer = provider.get_tracer("user.code")
    async with anyio.create_task_group() as group:
        group.start_soon(plugin.serve)
        await anyio.wait_all_tasks_blocked()
        attributes = {"rpa.action.id": "a1", "rpa.lease.visibility_timeout_s": 0.05}
        thread = threading.Thread(target=lambda: tracer.start_span("dispatch click", attributes=attributes))
        thread.start()
        with anyio.fail_after(5):
            await orphaned.wait()
        group.cancel_scope.cancel()
    thread.join()
    assert [s.name for s in exporter.get_finished_spans()][-1] == "dispatch click"


async def test_callbacks_do_not_grow_or_raise_after_shutdown(rig):
    rig.plugin.stop()
    rig.open().end()
    assert not rig.plugin.spanwatch.processor.inbox


async def test_a_disabled_watchdog_notes_no_spans():
    provider = TracerProvider()
    plugin = Plugin(Settings(validator_mode="off", watchdog_enabled=False), tracer_provider=provider)
    provider.get_tracer("user.code").start_span("dispatch click").end()
    assert not plugin.spanwatch.processor.inbox


async def test_what_nobody_takes_in_is_bounded(rig, monkeypatch, caplog):
    monkeypatch.setattr("otel_validation.tracing.processor.LONGEST_INBOX", 10)
    for number in range(100):
        rig.open(f"a{number}").end()
    assert len(rig.plugin.spanwatch.processor.inbox) <= 11
    assert len([r for r in caplog.records if "are not watched" in r.message]) == 1
    await rig.plugin.spanwatch.expire()
    rig.open("later")
    await rig.pass_time(31)
    assert rig.count("orphans_detected_total") == 1


async def test_the_inbox_keeps_an_open_span_alive(rig):
    rig.open()
    (note,) = rig.plugin.spanwatch.processor.inbox
    assert isinstance(note, Opened)
    assert note.span.is_recording()


async def test_a_provider_set_after_instrumenting_is_joined_when_serving_starts(monkeypatch):
    plugin = Plugin(OFF)
    late = TracerProvider()
    monkeypatch.setattr("otel_validation.plugin.trace.get_tracer_provider", lambda: late)
    async with anyio.create_task_group() as group:
        group.start_soon(plugin.serve)
        await anyio.wait_all_tasks_blocked()
        late.get_tracer("user.code").start_span("dispatch click", attributes={"rpa.action.id": "a1"})
        await anyio.wait_all_tasks_blocked()
        assert await plugin.spanwatch.in_flight() == 1
        group.cancel_scope.cancel()
