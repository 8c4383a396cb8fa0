"""Searches: equal on back ends, stopped by a caller, and what they refuse."""

import json
import os
import signal
import threading
import time

import pytest

import warpplay
from warpplay.mcts import Search

SMALL = dict(n_trees=2, n_playouts=32, steps=20, seed=1)


def counts(report):
    return [(action["name"], action["n"], action["wins"]) for action in report["actions"]]


@pytest.mark.parametrize("game", ["connect4", "connect4_8x8", "gomoku", "gomoku_free", "gomoku_19", "checkers"])
def test_the_kernels_find_what_the_cpu_finds(game):
    options = dict(SMALL, steps=2 if game.startswith("gomoku") else 20)
    found = [Search(game, device=device, **options).run() for device in ("cpu", "simt")]
    assert counts(found[0]) == counts(found[1])
    assert json.loads(json.dumps(found[0]))["options"]["n_trees"] == 2


def test_a_win_in_one_is_found():
    # Three of a colour lie side by side in columns 1 to 3.
    report = Search(device="cpu", **SMALL).run("112233")
    assert report["best"]["name"] == "4"


def test_the_report_has_the_moves():
    for game, moves in (("connect4", "4453"), ("gomoku", "h8i9"), ("checkers", "a3b4")):
        assert Search(game, device="cpu", **dict(SMALL, steps=1)).run(moves)["moves"] == moves
    with pytest.raises(warpplay.WarpplayError, match="position of connect4 is finished .the first player has won"):
        Search(device="cpu", **SMALL).run("1122334")


def test_what_calls_nothing_is_refused_at_once():
    with pytest.raises(TypeError, match="progress is a int: a function is expected"):
        Search(device="cpu", **SMALL).run(progress=3)


def test_what_is_not_allowed_is_told():
    with pytest.raises(TypeError, match="^trees is not an option; allowed are .*n_trees"):
        Search(device="cpu", trees=2)
    with pytest.raises(ValueError, match="option n_trees"):
        Search(device="cpu", n_trees="many")
    with pytest.raises(ValueError, match="option n_trees: 0 is not allowed"):
        Search(device="cpu", n_trees=0)
    with pytest.raises(ValueError, match="option game: chess is not allowed .connect4, connect4_8x8, gomoku, gomoku_free, gomoku_19, checkers"):
        Search("chess")
    with pytest.raises(ValueError, match="option n_playouts: 100 is not allowed .a power of two"):
        Search(device="cpu", n_playouts=100)
    for memory in (0.0, 1e-9):
        with pytest.raises(ValueError, match="option device_memory_gb: .* is not allowed"):
            Search(device="cpu", device_memory_gb=memory)
    with pytest.raises(ValueError, match="option ucb_c: NaN is not allowed"):
        Search(device="cpu", ucb_c=float("nan"))
    with pytest.raises(ValueError, match="option seconds: inf is not allowed"):
        Search(device="cpu", seconds=float("inf"), steps=1)
    with pytest.raises(TypeError, match="option n_trees: a object is not a value"):
        Search(device="cpu", n_trees=object())
    with pytest.raises(ValueError, match="49|9"):
        Search(device="cpu", **SMALL).run("49")
    with pytest.raises((ValueError, warpplay.WarpplayError), match="tpu"):
        Search(device="tpu")


def test_progress_ends_a_search_and_its_error_is_the_callers():
    search = Search(device="cpu", seconds=60.0)
    seen = []

    def stop(progress):
        seen.append(progress)
        return len(seen) < 3

    start = time.monotonic()
    report = search.run(progress=stop)
    assert time.monotonic() - start < 30
    assert len(seen) == 3 and seen[0]["steps"] <= seen[2]["steps"]
    assert report["best"]["n"] > 0

    def fail(_):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        search.run(progress=fail)


def test_ctrl_c_ends_a_search():
    # A shell that starts this in the background has the signal ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    search = Search(device="cpu", seconds=60.0)
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        search.run()
    assert time.monotonic() - start < 10


def test_other_threads_run_meanwhile():
    ticks = []
    ended = threading.Event()

    def tick():
        while not ended.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.01)

    thread = threading.Thread(target=tick)
    thread.start()
    Search(device="cpu", threads=1, seconds=0.5).run()
    ended.set()
    thread.join()
    assert len(ticks) > 10


def test_devices_are_listed():
    assert {"cpu", "simt"} <= {str(device["backend"]) for device in warpplay.devices()}
