"""The public names: what is here is a promise."""

import otel_validation

PUBLIC = [
    "Action",
    "DeliveryPolicy",
    "Engine",
    "FailureCategory",
    "Finding",
    "MemoryStore",
    "Observer",
    "OtelValidationError",
    "Plugin",
    "Point",
    "Report",
    "ReportOutcome",
    "ReportStatus",
    "Route",
    "Settings",
    "ValidationResult",
    "Validator",
    "Verdict",
    "Watchdog",
    "instrument",
    "uninstrument",
]


def test_the_public_names_are_frozen_sorted_and_there():
    assert otel_validation.__all__ == PUBLIC
    assert sorted(PUBLIC, key=lambda name: (name[0].islower(), name)) == PUBLIC
    assert all(hasattr(otel_validation, name) for name in PUBLIC)


def test_the_package_is_typed_and_has_a_version():
    from importlib.resources import files

    assert files("otel_validation").joinpath("py.typed").is_file()
    assert otel_validation.__version__.count(".") == 2
