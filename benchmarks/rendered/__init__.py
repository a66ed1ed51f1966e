"""Screens rendered with real browsers, window managers and panels, with ground truth from the page itself."""
