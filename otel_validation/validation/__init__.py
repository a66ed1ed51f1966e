"""The Validator: verdicts, matrix, routing."""
