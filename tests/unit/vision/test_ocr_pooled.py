"""Models that one thread at a time may use: how many are made, who gets them, what becomes of a broken one."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from otel_validation.errors import OcrUnavailableError
from otel_validation.vision.ocr.engine import TextBox
from otel_validation.vision.ocr.pooled import Pool, PooledEngine

WAIT_S = 10.0


class Model:
    """Notices two threads in it at once."""

    def __init__(self):
        self.free = threading.Lock()

    def use(self):
        assert self.free.acquire(blocking=False), "two threads in one model"
        self.free.release()


def test_a_model_is_made_when_it_is_needed_and_used_again():
    made = []
    pool = Pool(lambda: made.append(Model()) or made[-1], size=3)
    assert made == []
    for _ in range(5):
        with pool.one() as model:
            assert model is made[0]
    assert len(made) == 1


def test_threads_at_once_get_models_of_their_own_and_no_more_than_the_size():
    made, inside, most = [], threading.Semaphore(0), 3
    pool = Pool(lambda: made.append(Model()) or made[-1], size=most)
    leave, used = threading.Event(), []

    def work():
        with pool.one() as model:
            used.append(model)
            inside.release()
            assert leave.wait(WAIT_S)
            model.use()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(most):
        assert inside.acquire(timeout=WAIT_S)
    assert not inside.acquire(blocking=False), "a fourth got in"
    assert len({id(model) for model in used}) == most
    leave.set()
    for thread in threads:
        thread.join(WAIT_S)
    assert len(used) == 8
    assert len(made) == most


def test_a_model_whose_use_raised_is_not_used_again():
    pool, used = Pool(Model, size=1), []

    def break_one():
        with pool.one() as model:
            used.append(model)
            raise RuntimeError

    for _ in range(2):
        with pytest.raises(RuntimeError):
            break_one()
    assert used[0] is not used[1]


def test_a_model_that_cannot_be_made_blocks_nobody():
    def fail():
        raise LookupError

    pool = Pool(fail, size=1)
    for _ in range(3):
        with pytest.raises(LookupError), pool.one():
            pass


class Engine(PooledEngine[str]):
    name = "made-up"

    def __init__(self, load, **options):
        super().__init__(**options)
        self._load = load

    def _load(self):
        raise NotImplementedError

    def _lines(self, model, image):
        return [TextBox(model, (0, 0, 9, 9), 1.0)]


def test_whatever_loading_raises_says_that_the_engine_is_unavailable():
    def load():
        raise RuntimeError("no such file: weights.bin")

    with pytest.raises(OcrUnavailableError, match=r"made-up is installed.*RuntimeError: no such file") as caught:
        Engine(load).warm_up()
    assert caught.value.engine == "made-up"


def test_an_error_that_says_what_to_install_is_left_as_it_is():
    def load():
        raise OcrUnavailableError("made-up", "install it")

    with pytest.raises(OcrUnavailableError, match=r"^install it$"):
        Engine(load).warm_up()


def test_an_image_in_which_nothing_can_be_read_does_not_load_anything():
    engine = Engine(lambda: pytest.fail("loaded"))
    assert engine.read(np.zeros((2, 300, 3), np.uint8)) == []
    assert engine.read(np.zeros((9, 9), np.uint8)) == []


def test_one_model_for_each_core_by_default():
    import os

    assert Engine(str)._pool._slots._initial_value == os.cpu_count()
    assert Engine(str, instances=1)._pool._slots._initial_value == 1
