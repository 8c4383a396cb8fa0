"""What the tests of shared arrays have in common."""

import os

import numpy as np
import pytest

import warpplay
from peers import peer


class Lent:
    """An array as a library shows it that is not numpy: by DLPack alone, in the form of before version 1.0 where `old`. What it was asked is kept."""

    def __init__(self, array, old=False):
        self.array, self.old, self.asked = array, old, []

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **asked):
        self.asked.append(asked)
        if self.old and "max_version" in asked:
            raise TypeError("unexpected keyword argument 'max_version'")
        return self.array.__dlpack__(**asked)


class Elsewhere(Lent):
    """An array that says it lies on another device."""

    def __init__(self, array, kind=2, number=3):
        super().__init__(array)
        self.place = (kind, number)

    def __dlpack_device__(self):
        return self.place


def aligned(shape, dtype, beside=0):
    """Zeros at a multiple of 256 bytes, or `beside` it."""
    n = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(n + 512, np.uint8)
    start = -memory.ctypes.data % 256 + beside
    return memory[start : start + n].view(dtype).reshape(shape)


def on_gpu(is_there):
    """Skips the test where the other library or this one has no GPU; a failure where one is demanded."""
    if is_there and any(device["backend"] == "cuda" for device in warpplay.devices()):
        return
    # As in the suite of Rust.
    assert os.environ.get("WARPPLAY_REQUIRE_GPU") != "1", "a GPU is demanded, and none is there"
    pytest.skip("needs a GPU")


class Torch:
    """PyTorch on a GPU."""

    def __init__(self):
        self.torch = peer("torch")
        on_gpu(self.torch.cuda.is_available())

    def put(self, array):
        return self.torch.from_numpy(array).cuda()

    def take(self, array):
        return self.torch.from_dlpack(array)

    def host(self, tensor):
        return tensor.cpu().numpy()

    def address(self, tensor):
        return tensor.data_ptr()


class Cupy:
    """CuPy."""

    def __init__(self):
        self.cupy = peer("cupy")
        on_gpu(self.cupy.cuda.is_available())

    def put(self, array):
        return self.cupy.asarray(array)

    def take(self, array):
        return self.cupy.from_dlpack(array)

    def host(self, array):
        return self.cupy.asnumpy(array)

    def address(self, array):
        return array.data.ptr


class Jax:
    """JAX on a GPU."""

    def __init__(self):
        self.jax = peer("jax")
        try:
            self.gpu = self.jax.devices("cuda")[0]
        except RuntimeError:
            self.gpu = None
        on_gpu(self.gpu is not None)

    def put(self, array):
        return self.jax.device_put(array, self.gpu).block_until_ready()

    def take(self, array):
        return self.jax.dlpack.from_dlpack(array)

    def host(self, array):
        return np.asarray(array)

    def address(self, array):
        return array.unsafe_buffer_pointer()


GPU_LIBRARIES = [pytest.param(library, id=library.__name__.lower()) for library in (Torch, Cupy, Jax)]
