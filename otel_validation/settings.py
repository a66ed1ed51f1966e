"""Every `RPA_*` variable, one documented field each. Argument over environment over default."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AliasChoices, Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

Seconds = Annotated[float, Field(gt=0, le=366 * 86_400, allow_inf_nan=False)]
"""A duration: more than none, a year at most, a number."""

Radius = Annotated[float, Field(ge=24, le=400, allow_inf_nan=False)]
"""How far a region of interest reaches, in pixels at 100 %: a line of text at least, some of them at most."""

STREAM = "/api/v1/traces/stream/replay"
"""The seeds' prefix of the agents' endpoints."""


class Settings(BaseSettings):
    """What the plugin is told. Seconds are floats, sizes are bytes.

    Raises `pydantic.ValidationError` for a value that cannot be used: a typo is an error at start, not a default.
    """

    model_config = SettingsConfigDict(frozen=True, extra="forbid", populate_by_name=True, env_prefix="RPA_")

    watchdog_enabled: bool = True
    """`RPA_WATCHDOG_ENABLED`: 0 records leases and never resends (the seeds' kill switch)."""
    watchdog_scan_interval_s: Seconds = 10.0
    """`RPA_WATCHDOG_SCAN_INTERVAL_S`: the longest the timer sleeps; it wakes earlier, at the earliest deadline."""
    watchdog_orphan_timeout_s: Seconds = 30.0
    """`RPA_WATCHDOG_ORPHAN_TIMEOUT_S`: the default visibility timeout."""
    watchdog_max_resends: int = Field(
        default=2,
        ge=0,
        validation_alias=AliasChoices("watchdog_max_resends", "RPA_WATCHDOG_MAX_RESENDS", "RPA_WATCHDOG_MAX_RETRIES"),
    )
    """`RPA_WATCHDOG_MAX_RESENDS` (or `..._MAX_RETRIES`): resends after the first delivery."""
    watchdog_repush_position: Literal["head", "tail"] = "head"
    """`RPA_WATCHDOG_REPUSH_POSITION`: `head` keeps the order of steps, `tail` lets the host's queue go first."""
    watchdog_skip_types: Annotated[frozenset[str], NoDecode] = frozenset()
    """`RPA_WATCHDOG_SKIP_TYPES`: action types never resent, separated by commas."""
    watchdog_timeouts_s: Mapping[str, Seconds] = Field(default_factory=dict)
    """`RPA_WATCHDOG_TIMEOUTS_S`: visibility timeouts by action type, a JSON object such as `{"wait": 120}`."""
    lease_total_s: Seconds = 600.0
    """`RPA_LEASE_TOTAL_S`: the longest an attempt lives, however many heartbeats extend it."""

    validator_mode: Literal["enforce", "observe", "off"] = "enforce"
    """`RPA_VALIDATOR_MODE`: `enforce`, `observe` (record, change nothing) or `off`."""
    validator_enabled: bool = Field(
        default=True,
        validation_alias=AliasChoices("validator_enabled", "RPA_VALIDATOR_ENABLED", "RPA_VALIDATOR_V2_ENABLED"),
    )
    """`RPA_VALIDATOR_ENABLED` (or `..._V2_ENABLED`): 0 means `off`."""
    validator_accept_confidence: float = Field(default=0.70, ge=0, le=1)
    """`RPA_VALIDATOR_ACCEPT_CONFIDENCE`: a TERMINATE under it is not sure enough for its route."""
    validator_escalate_below: float = Field(
        default=0.55,
        ge=0,
        le=1,
        validation_alias=AliasChoices(
            "validator_escalate_below", "RPA_VALIDATOR_ESCALATE_BELOW", "RPA_VALIDATOR_ESCALATION_THRESHOLD"
        ),
    )
    """`RPA_VALIDATOR_ESCALATE_BELOW` (or `..._ESCALATION_THRESHOLD`): below it further checkers are asked."""
    validator_llm_judge_enabled: bool = True
    """`RPA_VALIDATOR_LLM_JUDGE_ENABLED`: 0 never asks a language model, where one is installed."""
    validator_force_verdict: Literal["complete", "continue", "terminate"] | None = None
    """`RPA_VALIDATOR_FORCE_VERDICT`: every report gets this verdict unseen, to try a host out; empty by default."""
    validator_rules: Path | None = None
    """`RPA_VALIDATOR_RULES`: a TOML file with your own matrix and routes over those that are built in."""
    validator_on_unverified: Literal["continue", "pause"] = "continue"
    """`RPA_VALIDATOR_ON_UNVERIFIED`: what a report with nothing to judge does, `continue` or `pause`."""
    validator_rechecks: int = Field(default=2, ge=0, le=10)
    """`RPA_VALIDATOR_RECHECKS`: fresh screenshots asked for before a `continue` pauses; 0 pauses at once."""
    validator_recheck_delay_s: Seconds = 1.5
    """`RPA_VALIDATOR_RECHECK_DELAY_S`: the wait before each of them."""
    validator_handoff_timeout_s: float = Field(default=20.0, gt=0, le=90, allow_inf_nan=False)
    """`RPA_VALIDATOR_HANDOFF_TIMEOUT_S`: the longest that the dialog hand-off (`instrument(handoff=...)`) may take."""
    validator_workers: int = Field(default=2, ge=1)
    """`RPA_VALIDATOR_WORKERS`: checks that run at once."""

    validator_ocr_roi_radius: Radius = 48.0
    """`RPA_VALIDATOR_OCR_ROI_RADIUS`: pixels (at 100 %) read above and under a click; 3.3 times that to its sides."""
    validator_ocr_roi_radius_click: Radius | None = None
    """`RPA_VALIDATOR_OCR_ROI_RADIUS_CLICK`: the same for clicks alone; by default the one above."""
    validator_ocr_roi_radius_type: Radius | None = None
    """`RPA_VALIDATOR_OCR_ROI_RADIUS_TYPE`: the same where a text was typed, with 10 times as many to the sides."""
    validator_ocr_suspect_confidence: float = Field(default=0.9, ge=0, le=1)
    """`RPA_VALIDATOR_OCR_SUSPECT_CONFIDENCE`: of a click on a foreign surface; 0.75 at most if told by looks."""
    validator_ocr_expected_confidence: float = Field(default=1.0, ge=0, le=1)
    """`RPA_VALIDATOR_OCR_EXPECTED_CONFIDENCE`: the most that the expected label under the click may have."""

    ocr_engine: Literal["ppocr", "rapidocr", "easyocr", "tesseract"] = "ppocr"
    """`RPA_OCR_ENGINE`: what reads the text of screenshots; `ppocr` ships with the package, the others are extras."""
    ocr_model_dir: Path | None = None
    """`RPA_OCR_MODEL_DIR`: a folder with your own weights for that engine; by default it finds its weights itself."""

    similarity_encoder: Path | None = None
    """`RPA_SIMILARITY_ENCODER`: a file with an image encoder for the checker `similarity` (`.onnx`, or TorchScript)."""
    image_max_pixels: int = Field(default=50_000_000, gt=0)
    """`RPA_IMAGE_MAX_PIXELS`: the largest screenshot that is decoded."""
    max_report_bytes: int = Field(default=32 * 2**20, gt=0)
    """`RPA_MAX_REPORT_BYTES`: the largest report body; a longer one is answered 413."""
    max_poll_answer_bytes: int = Field(default=16 * 2**20, gt=0)
    """`RPA_MAX_POLL_ANSWER_BYTES`: the largest poll answer of the host that is read; a longer one is not tracked."""
    max_reports_at_once: int = Field(default=16, ge=1)
    """`RPA_MAX_REPORTS_AT_ONCE`: report bodies held in memory at a time; more of them wait."""
    report_read_timeout_s: Seconds = 60.0
    """`RPA_REPORT_READ_TIMEOUT_S`: the longest the rest of a report body may take once it begins; then 408."""
    max_wait_s: float = Field(default=30.0, ge=0, le=3_600, allow_inf_nan=False)
    """`RPA_MAX_WAIT_S`: the longest a long poll (`wait_s`) is held."""

    api_token: SecretStr | None = None
    """`RPA_API_TOKEN`: the bearer token of the calls that the plugin answers itself, and of the reference server."""
    poll_path: str = f"{STREAM}/next"
    """`RPA_POLL_PATH`: where agents ask for work (GET)."""
    report_path: str = f"{STREAM}/result"
    """`RPA_REPORT_PATH`: where agents report (POST)."""
    progress_path: str = f"{STREAM}/progress"
    """`RPA_PROGRESS_PATH`: where agents send heartbeats (POST); answered by the plugin."""
    metrics_path: str = f"{STREAM}/watchdog/metrics"
    """`RPA_METRICS_PATH`: the watchdog's counters (GET); answered by the plugin."""
    replay_idle_s: Seconds = 300.0
    """`RPA_REPLAY_IDLE_S`: a replay whose host never says that it ended ends after so long without any action."""

    @field_validator("watchdog_skip_types", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return frozenset(filter(None, (part.strip() for part in value.split(",")))) if isinstance(value, str) else value

    @field_validator("validator_force_verdict", mode="before")
    @classmethod
    def _none_where_empty(cls, value: object) -> object:
        return (value.strip().lower() or None) if isinstance(value, str) else value

    @field_validator(
        "watchdog_repush_position", "validator_mode", "validator_on_unverified", "ocr_engine", mode="before"
    )
    @classmethod
    def _fold_case(cls, value: object) -> object:
        return value.strip().lower() if isinstance(value, str) else value
