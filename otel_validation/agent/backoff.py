"""How long to wait before the next try."""

from __future__ import annotations

import random
from dataclasses import dataclass

_RANDOM = random.SystemRandom()
_LARGEST_EXPONENT = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Exponential and capped, the upper half at random, so that agents cut off together do not return together."""

    initial_s: float = 0.25
    """Longest wait after the first failure, in seconds."""
    cap_s: float = 10.0
    """Longest wait of all, in seconds: what a report waits at most once the server is back."""

    def delay_s(self, failures: int, *, at_least_s: float = 0.0) -> float:
        """Seconds to wait after `failures` failures in a row (1 or more).

        `at_least_s` is what the server asked for (`Retry-After`); it is heeded up to the cap.
        """
        ceiling = min(self.cap_s, self.initial_s * 2.0 ** min(failures - 1, _LARGEST_EXPONENT))
        return max(_RANDOM.uniform(ceiling / 2, ceiling), min(at_least_s, self.cap_s))
