"""Leases, their engine, and the watchdog."""
