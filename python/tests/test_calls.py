"""One call at a time, and Ctrl-C in the middle of a step."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import warpplay
from warpplay.azero import Evaluator
from warpplay.mcts import Search
from warpplay.mlp import Trainer


def test_a_second_call_is_told_that_the_object_is_in_use():
    search = Search(device="cpu", n_trees=1, n_playouts=1, seconds=60.0)
    running, ended = threading.Event(), threading.Event()

    def progress(_):
        running.set()
        return not ended.is_set()

    thread = threading.Thread(target=lambda: search.run(progress=progress))
    thread.start()
    assert running.wait(30)
    with pytest.raises(warpplay.WarpplayError, match="this object is in use: a call of another thread"):
        search.run()
    # What cannot change is told meanwhile.
    assert search.options["n_trees"] == 1
    ended.set()
    thread.join()
    assert search.run(progress=lambda _: False)["options"]["n_trees"] == 1


def test_threads_with_an_object_each_do_not_meet():
    found = []

    def play():
        found.append(Search(device="cpu", n_trees=1, n_playouts=1, steps=50, seed=1).run()["best"]["n"])

    threads = [threading.Thread(target=play) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1 and len(found) == 4


def test_an_object_that_is_in_use_may_be_asked_again_from_its_own_progress():
    evaluator = Evaluator(device="cpu")
    planes, rows, columns, actions = evaluator.shape
    observations, legal = np.zeros((1, planes, rows, columns), np.float32), np.ones((1, actions), np.uint8)
    seen = []
    search = Search(device="cpu", n_trees=1, n_playouts=1, seconds=60.0)

    def progress(_):
        # Another object works; this one is in use.
        seen.append(evaluator.evaluate(observations, legal)[0].shape)
        with pytest.raises(warpplay.WarpplayError, match="in use"):
            search.run()
        return False

    search.run(progress=progress)
    assert seen == [(1,)]


def test_ctrl_c_is_heard_in_the_middle_of_a_step():
    # A step of 40 GFLOP or so: seconds on a few cores.
    random = np.random.default_rng(1)
    images = random.integers(0, 256, (1024, 16, 16)).astype(np.uint8)
    labels = random.integers(0, 10, 1024).astype(np.uint8)
    trainer = Trainer(images, labels, device="cpu", threads=1, hidden=[2048, 2048], batch=1024, epochs=1)
    # A shell that starts this in the background has the signal ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    assert time.monotonic() - start < 0.3 + 1 + 2, "the signal, the grace, and room for a busy machine"
    # The step ends by itself, and then the object is free, as it was after its last step.
    deadline = time.monotonic() + 120
    while True:
        try:
            layers = trainer.network().layers
            break
        except warpplay.WarpplayError as error:
            assert "in use" in str(error) and time.monotonic() < deadline
            time.sleep(0.05)
    assert [weights.shape for weights, _ in layers] == [(256, 2048), (2048, 2048), (2048, 10)]
