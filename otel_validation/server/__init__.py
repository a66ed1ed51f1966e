"""The reference replay server."""
