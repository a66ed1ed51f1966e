"""What engines share that find and read lines at once, with models that one thread at a time may use."""

from __future__ import annotations

import os
import threading
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

import cv2
import numpy as np

from otel_validation.errors import OcrUnavailableError
from otel_validation.vision.ocr.engine import OcrEngine, TextBox, nearest

if TYPE_CHECKING:
    from otel_validation.vision.ocr.engine import Pixels

T = TypeVar("T")

SMALLEST_SIDE = 3
"""Pixels: nothing can be read in an image that is thinner, and some libraries fail on one."""


class Pool(Generic[T]):
    """Instances of something that one thread at a time may use: made when they are called for, at most `size`."""

    def __init__(self, make: Callable[[], T], *, size: int) -> None:
        self._make = make
        self._slots = threading.BoundedSemaphore(size)
        self._idle: deque[T] = deque()

    @contextmanager
    def one(self) -> Iterator[T]:
        """An instance for this thread alone; waits where `size` of them are in use."""
        with self._slots:
            try:
                instance = self._idle.pop()
            except IndexError:
                instance = self._make()
            yield instance
            # An instance whose use raised is dropped: nobody knows the state that it was left in.
            self._idle.append(instance)


class PooledEngine(OcrEngine, Generic[T]):
    """Reads the whole image, then sorts. A backend fills `_load` and `_lines`; `T` is its loaded model.

    `instances` bounds how many models are loaded, and so how many reads run at once (by default one for each core);
    they are loaded when they are needed, never more than there are concurrent reads.
    """

    def __init__(self, *, instances: int | None = None) -> None:
        self._pool: Pool[T] = Pool(self._loaded, size=instances or os.cpu_count() or 1)

    def warm_up(self) -> None:
        """Load the weights and run once; raises OcrUnavailableError with what to install."""
        image = np.full((96, 320, 3), 255, np.uint8)
        cv2.putText(image, "warm", (20, 60), cv2.FONT_HERSHEY_SIMPLEX, 1.0, (0, 0, 0), 2)
        self.read(image)

    def read(
        self, image: Pixels, *, near: tuple[float, float] | None = None, limit: int | None = None
    ) -> list[TextBox]:
        """Read the lines of `image`, top to bottom; with `near`, nearest first and at most `limit` of them."""
        if image.ndim != 3 or min(image.shape[:2]) < SMALLEST_SIDE:
            return []
        with self._pool.one() as model:
            lines = self._lines(model, image)
        return nearest(lines, near, limit)

    def _loaded(self) -> T:
        try:
            return self._load()
        except OcrUnavailableError:
            raise
        except Exception as error:
            reason = f"{self.name} is installed and cannot be loaded: {type(error).__name__}: {error}"
            raise OcrUnavailableError(self.name, reason) from error

    @abstractmethod
    def _load(self) -> T:
        """Load one model. Whatever it raises becomes an OcrUnavailableError."""

    @abstractmethod
    def _lines(self, model: T, image: Pixels) -> list[TextBox]:
        """Every line that `model` finds in `image`, in any order; an empty list where there is none."""
