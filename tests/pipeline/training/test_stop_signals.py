"""TERM and INT are noted once, and only while asked for."""

import os
import signal
import threading

import pytest

from pipeline.training.stop_signals import StopSignals


@pytest.fixture(autouse=True)
def _usual_handlers():
    """A shell's background jobs, and so what CI starts there, inherit a SIGINT that is ignored."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_the_first_signal_is_noted(number, code):
    with StopSignals() as stop:
        assert not stop.is_requested()
        os.kill(os.getpid(), number)
        assert stop.is_requested()
        assert stop.exit_code == code


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_a_second_later_has_its_usual_effect(monkeypatch, first):
    now = [0.0]
    monkeypatch.setattr("pipeline.training.stop_signals.time.monotonic", lambda: now[0])
    with StopSignals() as stop:
        os.kill(os.getpid(), first)
        now[0] = 0.5
        os.kill(os.getpid(), signal.SIGINT)  # the same wish by another way
        now[0] = 1.5
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        assert stop.is_requested()


def test_the_usual_handlers_are_back_after_it():
    with StopSignals():
        pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_an_ignored_signal_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with StopSignals() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert not stop.is_requested()


def test_outside_the_main_thread_it_does_nothing():
    asked = []

    def work():
        with StopSignals() as stop:
            asked.append((stop.is_requested(), signal.getsignal(signal.SIGTERM)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert asked == [(False, signal.SIG_DFL)]
