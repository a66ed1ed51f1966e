"""Where installed packages are, without importing them."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def folder_of(package: str) -> Path | None:
    """The folder of an installed top-level package; None where there is none. Nothing is imported."""
    try:
        spec = importlib.util.find_spec(package)
    except ValueError:  # a module that was put into sys.modules by hand has no spec
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))
