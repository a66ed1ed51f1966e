"""OCR engines behind one protocol."""
