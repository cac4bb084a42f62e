"""What signals ask for, and when it reaches the code; `tests/cli/test_signals.py` sends real ones."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from signal import SIGHUP, SIGINT, SIGTERM

import pytest

from autotune import interruption
from autotune.interruption import STOP_NOW_S, TERMINATION_S, Terminated, Wish, at_most, finishing, held, remaining_s


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    interruption.begin()
    yield
    interruption.begin()


@pytest.mark.parametrize(
    ("signals", "now", "at_once", "status", "ends_s"),
    [
        ((), False, False, 130, None),
        ((SIGINT,), False, False, 130, None),
        ((SIGINT, SIGINT), True, False, 130, 1 + STOP_NOW_S),
        ((SIGINT, SIGINT, SIGINT), True, True, 130, 1 + STOP_NOW_S),
        ((SIGTERM,), False, False, 143, TERMINATION_S),
        ((SIGHUP,), False, False, 129, TERMINATION_S),
        ((SIGTERM, SIGHUP, SIGTERM), False, False, 143, TERMINATION_S),  # as a scheduler and a shell together do it
        ((SIGINT, SIGTERM), False, False, 143, 1 + TERMINATION_S),
        ((SIGTERM, SIGINT), True, False, 143, 1 + STOP_NOW_S),
        ((SIGTERM, SIGINT, SIGINT), True, True, 143, 1 + STOP_NOW_S),
        ((SIGINT, SIGINT, SIGTERM), True, False, 143, 1 + STOP_NOW_S),
    ],
)
def test_what_signals_one_second_apart_ask_for(signals, now, at_once, status, ends_s):
    wish = Wish()
    for at_s, signum in enumerate(signals):
        wish.add(signum, float(at_s))
    assert (wish.asked, wish.now, wish.at_once) == (bool(signals), now, at_once)
    assert (wish.status, wish.ends_s) == (status, ends_s)


@pytest.mark.parametrize(("signum", "kind"), [(SIGINT, KeyboardInterrupt), (SIGTERM, Terminated), (SIGHUP, Terminated)])
def test_without_a_section_it_is_raised_where_it_arrives(signum, kind):
    with pytest.raises(KeyboardInterrupt) as seen:
        interruption.arrive(signum)
    assert type(seen.value) is kind


def test_what_is_held_is_done_whole_however_often_it_is_asked_to_end():
    done = []

    def work():
        with held():
            with held():
                for _ in range(3):
                    interruption.arrive(SIGINT)
                done.append("inner")
            done.append("outer")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["inner", "outer"]


def test_a_wish_is_raised_once():
    with pytest.raises(KeyboardInterrupt), held():
        interruption.arrive(SIGINT)
    with held(), finishing():
        pass


def test_finishing_outlives_a_first_signal_and_not_a_second():
    done = []

    def work():
        with finishing():
            interruption.arrive(SIGINT)
            with held():
                done.append("a line of the record")
            interruption.arrive(SIGINT)
            done.append("too late")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["a line of the record"]


def test_an_error_of_its_own_is_seen_behind_the_wish():
    def work():
        with held():
            interruption.arrive(SIGINT)
            raise OSError("no space left")

    with pytest.raises(KeyboardInterrupt) as seen:
        work()
    assert isinstance(seen.value.__context__, OSError)


def test_a_termination_while_something_ends_already_is_only_a_deadline():
    with pytest.raises(KeyboardInterrupt):
        interruption.arrive(SIGINT)
    assert (remaining_s(), at_most(45.0)) == (None, 45.0)
    interruption.arrive(SIGTERM)
    left_s = remaining_s()
    assert left_s is not None
    assert 0 < left_s < TERMINATION_S
    assert at_most(45.0) <= left_s
    assert at_most(0.5) == 0.5


def test_nothing_is_raised_once_everything_is_left():
    interruption.leave()
    interruption.arrive(SIGINT)
    interruption.arrive(SIGTERM)
    assert interruption.wish().status == 143


def test_sections_of_other_threads_hold_nothing():
    """Signals are the main thread's."""
    inside, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with held(), finishing():
            inside.set()
            go_on.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(10)
    with pytest.raises(KeyboardInterrupt):
        interruption.arrive(SIGINT)
    go_on.set()
    thread.join()
