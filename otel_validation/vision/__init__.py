"""Seeing: images, text, surfaces, OCR engines."""
