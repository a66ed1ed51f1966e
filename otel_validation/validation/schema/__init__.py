"""Schemas of what a report carries: those of the action types, and JSON Schemas that hosts give."""
