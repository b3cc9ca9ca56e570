"""Ctrl-C is put off while a block is written, and then takes effect."""

import io
import os
import signal

import pytest

from lanista.interrupt import finishing, stopping


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


class Interrupted(io.RawIOBase):
    """A stream in the middle of whose first write Ctrl-C comes."""

    writes = 0

    def writable(self):
        return True

    def write(self, data):
        self.writes += 1
        if self.writes == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return len(data)


def test_an_interrupt_in_the_middle_of_a_sentence_is_told_and_stops_the_run(capfd):
    stream = io.TextIOWrapper(io.BufferedWriter(Interrupted()), line_buffering=True)
    with stopping(lambda sentence: print(sentence, file=stream)) as stopped:
        print("update 1", file=stream)
        assert stopped()
    assert "Stopping after this iteration, and saving" in capfd.readouterr().err
