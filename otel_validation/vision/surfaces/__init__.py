"""Surfaces that are not the application: the browser's own chrome, the OS's bars."""

from otel_validation.vision.surfaces.browser import COARSER
from otel_validation.vision.surfaces.finder import SurfaceFinder
from otel_validation.vision.surfaces.surface import Surface

__all__ = ["COARSER", "Surface", "SurfaceFinder"]
