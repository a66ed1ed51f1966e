"""Fixtures that every kind of test shares."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--engine NAME`: the OCR engines' suite on that engine alone."""
    parser.addoption("--engine", action="append", default=[], metavar="NAME", help="this OCR engine, which must load")


@pytest.fixture
def anyio_backend() -> str:
    """Asynchronous tests run on asyncio; the delivery core's run on trio as well (see its conftest)."""
    return "asyncio"
