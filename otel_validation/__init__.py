"""Leases, verdicts and OpenTelemetry traces for RPA replay servers."""
