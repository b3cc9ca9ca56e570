"""Ctrl-C is put off while a block is written, and then takes effect."""

import os
import signal

import pytest

from lanista.interrupt import finishing


@pytest.fixture(autouse=True)
def usual_handler():
    """Whoever started the tests may have told them to ignore Ctrl-C; nohup does."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_what_was_begun_is_finished_before_the_interrupt_takes_effect():
    done = []

    def interrupted():
        with finishing():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("finished")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert done == ["finished"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_without_an_interrupt_nothing_happens_and_the_handler_is_back():
    with finishing():
        pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_inside_is_not_hidden():
    with pytest.raises(ZeroDivisionError), finishing():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
