"""The same host with the plugin around it: two lines more, the host's file unchanged."""

from examples.legacy_host import create_host
from otel_validation import instrument

app = create_host()
instrument(app)
