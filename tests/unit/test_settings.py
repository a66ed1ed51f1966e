"""Every variable is read, under each of its names; a value that cannot be used is an error, not a default."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from otel_validation.settings import STREAM, Settings


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch):
    for name in [name for name in os.environ if name.startswith("RPA_")]:
        monkeypatch.delenv(name)


SEEDS = [
    ("RPA_WATCHDOG_ENABLED", "0", "watchdog_enabled", False),
    ("RPA_WATCHDOG_ENABLED", "1", "watchdog_enabled", True),
    ("RPA_WATCHDOG_ENABLED", "false", "watchdog_enabled", False),
    ("RPA_WATCHDOG_SCAN_INTERVAL_S", "2.5", "watchdog_scan_interval_s", 2.5),
    ("RPA_WATCHDOG_ORPHAN_TIMEOUT_S", "45", "watchdog_orphan_timeout_s", 45.0),
    ("RPA_WATCHDOG_MAX_RESENDS", "0", "watchdog_max_resends", 0),
    ("RPA_WATCHDOG_MAX_RETRIES", "4", "watchdog_max_resends", 4),
    ("RPA_WATCHDOG_REPUSH_POSITION", "tail", "watchdog_repush_position", "tail"),
    ("RPA_WATCHDOG_REPUSH_POSITION", " HEAD ", "watchdog_repush_position", "head"),
    ("RPA_VALIDATOR_ENABLED", "0", "validator_enabled", False),
    ("RPA_VALIDATOR_V2_ENABLED", "false", "validator_enabled", False),
    ("RPA_VALIDATOR_ESCALATE_BELOW", "0.4", "validator_escalate_below", 0.4),
    ("RPA_VALIDATOR_ESCALATION_THRESHOLD", "0.4", "validator_escalate_below", 0.4),
    ("RPA_VALIDATOR_LLM_JUDGE_ENABLED", "false", "validator_llm_judge_enabled", False),
    ("RPA_VALIDATOR_FORCE_VERDICT", "", "validator_force_verdict", None),
    ("RPA_VALIDATOR_FORCE_VERDICT", "TERMINATE", "validator_force_verdict", "terminate"),
    ("RPA_VALIDATOR_ACCEPT_CONFIDENCE", "0.9", "validator_accept_confidence", 0.9),
    ("RPA_VALIDATOR_OCR_ROI_RADIUS", "60", "validator_ocr_roi_radius", 60.0),
    ("RPA_VALIDATOR_OCR_ROI_RADIUS_CLICK", "80", "validator_ocr_roi_radius_click", 80.0),
    ("RPA_VALIDATOR_OCR_ROI_RADIUS_TYPE", "120", "validator_ocr_roi_radius_type", 120.0),
    ("RPA_VALIDATOR_OCR_SUSPECT_CONFIDENCE", "0.85", "validator_ocr_suspect_confidence", 0.85),
    ("RPA_VALIDATOR_OCR_EXPECTED_CONFIDENCE", "0.90", "validator_ocr_expected_confidence", 0.9),
]
OURS = [
    ("RPA_WATCHDOG_SKIP_TYPES", "save, type_secret,,", "watchdog_skip_types", frozenset({"save", "type_secret"})),
    ("RPA_WATCHDOG_SKIP_TYPES", "", "watchdog_skip_types", frozenset()),
    ("RPA_WATCHDOG_TIMEOUTS_S", '{"wait": 120}', "watchdog_timeouts_s", {"wait": 120.0}),
    ("RPA_LEASE_TOTAL_S", "900", "lease_total_s", 900.0),
    ("RPA_VALIDATOR_MODE", "Observe", "validator_mode", "observe"),
    ("RPA_VALIDATOR_ON_UNVERIFIED", "pause", "validator_on_unverified", "pause"),
    ("RPA_VALIDATOR_RULES", "rules.toml", "validator_rules", Path("rules.toml")),
    ("RPA_VALIDATOR_RECHECKS", "0", "validator_rechecks", 0),
    ("RPA_VALIDATOR_RECHECK_DELAY_S", "0.5", "validator_recheck_delay_s", 0.5),
    ("RPA_VALIDATOR_HANDOFF_TIMEOUT_S", "5", "validator_handoff_timeout_s", 5.0),
    ("RPA_VALIDATOR_WORKERS", "3", "validator_workers", 3),
    ("RPA_OCR_ENGINE", "EasyOCR", "ocr_engine", "easyocr"),
    ("RPA_OCR_MODEL_DIR", "/srv/weights", "ocr_model_dir", Path("/srv/weights")),
    ("RPA_SIMILARITY_ENCODER", "clip.onnx", "similarity_encoder", Path("clip.onnx")),
    ("RPA_IMAGE_MAX_PIXELS", "1000", "image_max_pixels", 1000),
    ("RPA_MAX_REPORT_BYTES", "1000", "max_report_bytes", 1000),
    ("RPA_MAX_POLL_ANSWER_BYTES", "1000", "max_poll_answer_bytes", 1000),
    ("RPA_MAX_REPORTS_AT_ONCE", "1", "max_reports_at_once", 1),
    ("RPA_REPORT_READ_TIMEOUT_S", "5", "report_read_timeout_s", 5.0),
    ("RPA_MAX_WAIT_S", "0", "max_wait_s", 0.0),
    ("RPA_POLL_PATH", "/a", "poll_path", "/a"),
    ("RPA_REPORT_PATH", "/b", "report_path", "/b"),
    ("RPA_PROGRESS_PATH", "/c", "progress_path", "/c"),
    ("RPA_METRICS_PATH", "/d", "metrics_path", "/d"),
    ("RPA_REPLAY_IDLE_S", "60", "replay_idle_s", 60.0),
]


@pytest.mark.parametrize(("variable", "value", "field", "expected"), SEEDS + OURS)
def test_each_variable_is_read(monkeypatch, variable, value, field, expected):
    monkeypatch.setenv(variable, value)
    assert getattr(Settings(), field) == expected


def test_the_defaults_are_the_seeds():
    settings = Settings()
    assert settings.watchdog_enabled is True
    assert settings.watchdog_scan_interval_s == 10
    assert settings.watchdog_orphan_timeout_s == 30
    assert settings.watchdog_max_resends == 2
    assert settings.watchdog_repush_position == "head"
    assert settings.validator_accept_confidence == 0.70
    assert settings.validator_escalate_below == 0.55
    assert settings.validator_force_verdict is None
    assert (settings.validator_rechecks, settings.validator_recheck_delay_s) == (2, 1.5)
    assert settings.poll_path == f"{STREAM}/next"
    assert settings.report_path == f"{STREAM}/result"
    assert settings.metrics_path == f"{STREAM}/watchdog/metrics"
    assert settings.api_token is None


def test_every_field_has_a_variable_that_a_test_sets():
    tested = {field for _, _, field, _ in SEEDS + OURS} | {"api_token"}
    assert tested == set(Settings.model_fields)


def test_an_argument_wins_over_the_environment(monkeypatch):
    monkeypatch.setenv("RPA_WATCHDOG_MAX_RESENDS", "5")
    assert Settings(watchdog_max_resends=1).watchdog_max_resends == 1


def test_resends_win_over_their_older_name(monkeypatch):
    monkeypatch.setenv("RPA_WATCHDOG_MAX_RETRIES", "5")
    monkeypatch.setenv("RPA_WATCHDOG_MAX_RESENDS", "1")
    assert Settings().watchdog_max_resends == 1


def test_the_token_is_not_shown(monkeypatch):
    monkeypatch.setenv("RPA_API_TOKEN", "geheim")
    settings = Settings()
    assert settings.api_token is not None
    assert settings.api_token.get_secret_value() == "geheim"
    assert "geheim" not in repr(settings)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("RPA_WATCHDOG_ENABLED", "maybe"),
        ("RPA_WATCHDOG_SCAN_INTERVAL_S", "0"),
        ("RPA_WATCHDOG_SCAN_INTERVAL_S", "nan"),
        ("RPA_WATCHDOG_ORPHAN_TIMEOUT_S", "-1"),
        ("RPA_WATCHDOG_ORPHAN_TIMEOUT_S", "inf"),
        ("RPA_WATCHDOG_ORPHAN_TIMEOUT_S", "1e300"),
        ("RPA_WATCHDOG_ORPHAN_TIMEOUT_S", "30s"),
        ("RPA_WATCHDOG_MAX_RESENDS", "-1"),
        ("RPA_WATCHDOG_MAX_RETRIES", "1.5"),
        ("RPA_WATCHDOG_REPUSH_POSITION", "middle"),
        ("RPA_WATCHDOG_TIMEOUTS_S", '{"wait": 0}'),
        ("RPA_WATCHDOG_TIMEOUTS_S", '{"wait": "long"}'),
        ("RPA_LEASE_TOTAL_S", "inf"),
        ("RPA_VALIDATOR_MODE", "on"),
        ("RPA_VALIDATOR_ACCEPT_CONFIDENCE", "1.1"),
        ("RPA_VALIDATOR_ON_UNVERIFIED", "stop"),
        ("RPA_VALIDATOR_WORKERS", "0"),
        ("RPA_VALIDATOR_OCR_ROI_RADIUS", "5"),
        ("RPA_VALIDATOR_OCR_ROI_RADIUS_TYPE", "4000"),
        ("RPA_VALIDATOR_OCR_SUSPECT_CONFIDENCE", "85"),
        ("RPA_OCR_ENGINE", "paddle"),
        ("RPA_IMAGE_MAX_PIXELS", "0"),
        ("RPA_MAX_REPORT_BYTES", "-1"),
        ("RPA_MAX_REPORTS_AT_ONCE", "0"),
        ("RPA_MAX_WAIT_S", "inf"),
        ("RPA_MAX_WAIT_S", "nan"),
    ],
)
def test_a_value_that_cannot_be_used_is_an_error(monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    with pytest.raises(ValidationError):
        Settings()


def test_json_that_is_broken_is_an_error(monkeypatch):
    monkeypatch.setenv("RPA_WATCHDOG_TIMEOUTS_S", "wait=120")
    with pytest.raises(ValueError, match="watchdog_timeouts_s"):
        Settings()


def test_an_unknown_argument_is_an_error():
    with pytest.raises(ValidationError):
        Settings(watchdog_max_resend=1)


def test_settings_do_not_change():
    with pytest.raises(ValidationError):
        Settings().watchdog_enabled = False


def test_every_field_is_documented_with_its_variable():
    import ast
    import inspect

    from otel_validation import settings

    body = next(
        node for node in ast.parse(inspect.getsource(settings)).body if getattr(node, "name", "") == "Settings"
    ).body
    for node, following in itertools.pairwise(body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            text = ast.literal_eval(following.value)
            assert f"`RPA_{node.target.id.upper()}`" in text, node.target.id
