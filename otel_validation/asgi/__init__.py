"""Pure ASGI: what passes through, what is read, what is answered."""
