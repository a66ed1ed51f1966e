"""Spans: names, recorder, processor."""
