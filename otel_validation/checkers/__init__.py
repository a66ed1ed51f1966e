"""One module a checker."""
