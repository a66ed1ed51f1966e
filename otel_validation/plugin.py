"""The composition root: `instrument(app)` wires everything, `uninstrument(app)` undoes it."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

import anyio
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider as SdkTracerProvider
from starlette.middleware import Middleware

from otel_validation.asgi.guard import Authorize, Guard
from otel_validation.asgi.middleware import ReplayMiddleware
from otel_validation.asgi.wiring import Wiring
from otel_validation.checkers.dialog_presence import DialogPresenceChecker
from otel_validation.checkers.json_schema import JsonSchemaChecker
from otel_validation.checkers.ocr_roi import OcrRoiChecker, OcrRoiOptions
from otel_validation.checkers.pixel_diff import PixelDiffChecker
from otel_validation.checkers.similarity import SimilarityChecker
from otel_validation.checkers.title_bar import TitleBarChecker
from otel_validation.checkers.window_focus import WindowFocusChecker
from otel_validation.clock import Clock, SystemClock
from otel_validation.delivery.counters import Counters, Journal
from otel_validation.delivery.engine import Engine
from otel_validation.delivery.policy import DEFAULT_TIMEOUTS_S, DeliveryPolicy, RepushPosition
from otel_validation.delivery.watchdog import Watchdog
from otel_validation.errors import ConfigurationError
from otel_validation.settings import Settings
from otel_validation.stores.memory import MemoryStore
from otel_validation.tracing.recorder import Recorder
from otel_validation.tracing.spanwatch import SpanWatch
from otel_validation.validation.matrix import JUDGE, MATRIX
from otel_validation.validation.routing import Mode, OnUnverified, RoutingPolicy
from otel_validation.validation.rules import Rules, load_rules
from otel_validation.validation.subject import ReportSubject
from otel_validation.validation.validator import ValidationObserver, Validator
from otel_validation.validation.verdict import Verdict
from otel_validation.vision.encoder import FileEncoder
from otel_validation.vision.ocr.registry import make_engine

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider
    from starlette.applications import Starlette

    from otel_validation.delivery.judging import Handoff
    from otel_validation.delivery.observer import Observer
    from otel_validation.delivery.store import Store
    from otel_validation.validation.checker import Checker

logger = logging.getLogger(__name__)

CHECKERS = frozenset(name for row in MATRIX.values() for name in row.checkers) - {JUDGE}
"""The checkers that rules may name."""


class Plugin:
    """The parts, wired: `engine`, `validator`, `watchdog`, `recorder`, `counters`.

    Also usable without an application: `async with anyio.create_task_group() as tg: tg.start_soon(plugin.serve)`.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        store: Store | None = None,
        validator: Validator | None = None,
        observers: Iterable[Observer] = (),
        tracer_provider: TracerProvider | None = None,
        authorize: Authorize | None = None,
        handoff: Handoff | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self.clock = clock or SystemClock()
        self.recorder = Recorder(tracer_provider, idle_s=self.settings.replay_idle_s)
        self.counters = Counters()
        self.validator = validator or default_validator(self.settings)
        self.validator.observe(self.recorder)
        policy = delivery_policy(self.settings)
        self.engine = Engine(
            store or MemoryStore(),
            judge=self.validator.validate,
            glance=self.validator.glance,
            handoff=handoff,
            policy=policy,
            routing=routing_policy(self.settings),
            clock=self.clock,
            observer=self.recorder,
        )
        for observer in (self.counters, Journal(max_resends=policy.max_resends), *observers):
            self.engine.observers.add(observer)
        self.watchdog = Watchdog(
            self.engine,
            max_sleep_s=self.settings.watchdog_scan_interval_s,
            clock=self.clock,
            chores=lambda: self.recorder.end_idle(self.clock.wall_ns()),
        )
        self.spanwatch = SpanWatch(
            self.engine,
            clock=self.clock,
            max_sleep_s=self.settings.watchdog_scan_interval_s,
            tracer_provider=tracer_provider,
        )
        self._tracer_provider = tracer_provider
        self._joined = False
        self.join_provider()
        self.guard = Guard(self.settings.api_token, authorize)
        self.active = True
        self._serving = False
        self.wiring = Wiring(
            engine=self.engine,
            settings=self.settings,
            guard=self.guard,
            traceparent=self.recorder.traceparent,
            counters=self.counters.snapshot,
            serve=self.serve,
            serving=lambda: self._serving,
            active=lambda: self.active,
        )

    async def serve(self) -> None:
        """Run the timer and warm the checkers up, until cancelled or `stop`; then end the spans that are open.

        Returns at once where it runs already.
        """
        if self._serving or not self.active:
            return
        self._serving = True
        self.join_provider()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._warm_up)
                group.start_soon(self.spanwatch.run)
                await self._keep_time()
        finally:
            self._serving = False
            self.recorder.close()

    def stop(self) -> None:
        """End `serve`, for good; what the plugin was asked for passes through untouched from now on."""
        self.active = False
        self.watchdog.stop()
        self.spanwatch.watchdog.stop()
        self.spanwatch.processor.shutdown()

    def join_provider(self) -> None:
        """Add the span processor to the user's TracerProvider, once: the one given, else the global one if it is set.

        Called here and again when serving starts: a host may set its provider after `instrument(app)`.
        """
        provider = self._tracer_provider or trace.get_tracer_provider()
        if not self._joined and isinstance(provider, SdkTracerProvider):
            provider.add_span_processor(self.spanwatch.processor)
            self._joined = True

    async def _keep_time(self) -> None:
        await self.watchdog.run()
        while self.active:
            # No leases to time: the watchdog is disabled. Idle replays end all the same.
            await anyio.sleep(self.settings.watchdog_scan_interval_s)
            self.recorder.end_idle(self.clock.wall_ns())

    async def _warm_up(self) -> None:
        if routing_policy(self.settings).mode is Mode.OFF or self.validator.warm:
            return
        try:
            await self.validator.warm_up()
        except Exception:
            logger.exception("the checkers could not be warmed up: reports will not be confirmed")


def instrument(
    app: Starlette,
    settings: Settings | None = None,
    *,
    store: Store | None = None,
    validator: Validator | None = None,
    observers: Iterable[Observer] = (),
    tracer_provider: TracerProvider | None = None,
    authorize: Authorize | None = None,
    handoff: Handoff | None = None,
    clock: Clock | None = None,
) -> Plugin:
    """Put leases, verdicts and traces around an existing Starlette or FastAPI replay server.

    `settings` defaults to the `RPA_*` environment. `store` defaults to the in-memory one, `validator` to every checker
    of the matrix, `tracer_provider` to the global one. `observers` hear what the engine does; `authorize` decides who
    gets what the plugin answers itself (see `asgi.guard`); `handoff` deals with a dialog that is in the way of an
    action, and says whether it is gone. Instrumenting an application twice returns the first plugin.

    The middleware goes innermost, so that the host's own middleware (authentication, CORS, compression) keeps its
    say. Raises ConfigurationError where the application has started already, and OcrUnavailableError where the OCR
    engine that the settings name is not installed.
    """
    known = getattr(app.state, "otel_validation", None)
    if isinstance(known, Plugin) and known.active:
        logger.warning("this application is instrumented already: the first plugin stays")
        return known
    if app.middleware_stack is not None:
        msg = "the application has started already: call instrument(app) where it is built, before its first request"
        raise ConfigurationError(msg)
    plugin = Plugin(
        settings,
        store=store,
        validator=validator,
        observers=observers,
        tracer_provider=tracer_provider,
        authorize=authorize,
        handoff=handoff,
        clock=clock,
    )
    app.user_middleware.append(Middleware(ReplayMiddleware, wiring=plugin.wiring))
    app.state.otel_validation = plugin
    return plugin


def uninstrument(app: Starlette) -> None:
    """Take the plugin out; requests pass through untouched from now on. Its timer ends, leases in flight are forgotten.

    Does nothing for an application that is not instrumented.
    """
    plugin = getattr(app.state, "otel_validation", None)
    if not isinstance(plugin, Plugin):
        return
    plugin.stop()
    app.user_middleware[:] = [m for m in app.user_middleware if m.kwargs.get("wiring") is not plugin.wiring]
    del app.state.otel_validation


def default_validator(
    settings: Settings, *, observer: ValidationObserver | None = None, budgeted: bool = True
) -> Validator:
    """The Validator with every checker that is built in, and the OCR engine that the settings name.

    Where it is not `budgeted`, every check has all the time that it takes: nobody waits for a lease.

    Raises ConfigurationError for rules that cannot be used; OcrUnavailableError or EncoderUnavailableError, which say
    what to install, where that engine or its weights, or the encoder's file, are not there.
    """
    encoder = settings.similarity_encoder
    ocr = make_engine(settings.ocr_engine, model_dir=settings.ocr_model_dir)
    checkers: list[Checker] = [
        JsonSchemaChecker(),
        DialogPresenceChecker(ocr),
        TitleBarChecker(ocr),
        WindowFocusChecker(ocr),
        OcrRoiChecker(ocr, options=ocr_roi_options(settings)),
        PixelDiffChecker(),
        SimilarityChecker(None if encoder is None else FileEncoder(encoder)),
    ]
    force, matrix = settings.validator_force_verdict, rules(settings).matrix
    return Validator(
        [c for c in checkers if settings.validator_llm_judge_enabled or c.name != JUDGE],
        subject=partial(ReportSubject, pixel_budget=settings.image_max_pixels),
        matrix=matrix if budgeted else {kind: row.unhurried() for kind, row in matrix.items()},
        escalate_below=settings.validator_escalate_below,
        force=None if force is None else Verdict(force),
        observer=observer,
        workers=settings.validator_workers,
    )


def ocr_roi_options(settings: Settings) -> OcrRoiOptions:
    """How the text under a click is read, as the settings ask for."""
    radius = settings.validator_ocr_roi_radius
    click, typing = settings.validator_ocr_roi_radius_click, settings.validator_ocr_roi_radius_type
    return OcrRoiOptions(
        click_radius=radius if click is None else click,
        typing_radius=radius if typing is None else typing,
        suspect_confidence=settings.validator_ocr_suspect_confidence,
        expected_confidence=settings.validator_ocr_expected_confidence,
    )


def rules(settings: Settings) -> Rules:
    """The matrix and the routes: those that are built in, or the operator's file over them."""
    if settings.validator_rules is None:
        return Rules()
    return load_rules(settings.validator_rules, checkers=CHECKERS)


def delivery_policy(settings: Settings) -> DeliveryPolicy:
    """The delivery rules that the settings ask for."""
    return DeliveryPolicy(
        enabled=settings.watchdog_enabled,
        visibility_timeout_s=settings.watchdog_orphan_timeout_s,
        timeouts_s={**DEFAULT_TIMEOUTS_S, **settings.watchdog_timeouts_s},
        max_resends=settings.watchdog_max_resends,
        repush=RepushPosition(settings.watchdog_repush_position),
        never_resend=settings.watchdog_skip_types,
        total_lease_s=settings.lease_total_s,
    )


def routing_policy(settings: Settings) -> RoutingPolicy:
    """The routing rules that the settings ask for."""
    return RoutingPolicy(
        mode=Mode(settings.validator_mode) if settings.validator_enabled else Mode.OFF,
        accept_confidence=settings.validator_accept_confidence,
        on_unverified=OnUnverified(settings.validator_on_unverified),
        routes=rules(settings).routes,
        rechecks=settings.validator_rechecks,
        recheck_delay_s=settings.validator_recheck_delay_s,
        handoff_timeout_s=settings.validator_handoff_timeout_s,
    )
