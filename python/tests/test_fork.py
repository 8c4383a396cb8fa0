"""A child of a fork has neither threads nor a driver's context of its parent, and is told so in place of waiting for ever."""

import os
import traceback
import warnings

import numpy as np
import pytest

import warpplay
from arrays import Lent, aligned
from warpplay.mcts import Search
from warpplay.mlp import Classifier, Network, Trainer

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def in_a_child(check):
    """Runs `check` in a child, whose exit code says whether it held."""
    with warnings.catch_warnings():
        # Python 3.12 and later, and JAX, warn of forks beside threads: this is what is tested.
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        code = 1
        try:
            check()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def told(call):
    with pytest.raises(warpplay.WarpplayError, match="this process was forked after warpplay was imported"):
        call()


def test_calls_of_a_child_are_told():
    network = Network([(np.ones((4, 2), np.float32), np.zeros(2, np.float32))])
    images = aligned((3, 2, 2), np.uint8)
    classifier = Classifier(network, device="simt")
    of_simt = classifier.logits(Lent(images))
    of_cpu = Classifier(network, device="cpu").logits(Lent(images))

    def check():
        told(lambda: classifier.predict(images))
        told(lambda: classifier.logits(Lent(images)))
        told(lambda: Classifier(network, device="cpu"))
        told(lambda: Search(device="cpu"))
        told(lambda: Trainer(images, np.zeros(3, np.uint8), device="cpu"))
        # What lies on a device is the parent's.
        told(of_simt.numpy)
        told(of_simt.__dlpack__)
        # The host's memory is the child's too.
        assert (np.from_dlpack(of_cpu) == 0).all() and of_cpu.numpy().shape == (3, 2)

    in_a_child(check)
    assert of_simt.numpy().shape == (3, 2)


def test_modules_that_only_hold_arrays_work_in_a_child():
    def check():
        layers = Network([(np.ones((4, 2), np.float32), np.zeros(2, np.float32))]).layers
        assert layers[0][0].shape == (4, 2)

    in_a_child(check)
