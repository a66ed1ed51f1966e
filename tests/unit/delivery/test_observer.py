from __future__ import annotations

import logging

import pytest
from delivery_kit import HOOKS, Broken, Recorder

from otel_validation.delivery.observer import Event, Observer, Observers

EVENT = Event(session_id="s", wall_ns=0)


@pytest.mark.parametrize("hook", HOOKS)
def test_each_hook_is_a_no_op_until_overridden(hook):
    assert getattr(Observer(), hook)(EVENT) is None


@pytest.mark.parametrize("hook", HOOKS)
def test_everybody_is_told_in_order_whatever_the_others_do(hook, caplog):
    first, last = Recorder(), Recorder()
    observers = Observers([first, Broken()])
    observers.add(last)
    with caplog.at_level(logging.ERROR):
        getattr(observers, hook)(EVENT)
    assert first.events == last.events == [(hook, EVENT)]
    assert f"observer Broken failed in {hook}" in caplog.text
