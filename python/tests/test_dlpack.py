"""Arrays of other libraries, read and handed out where they lie: of numpy on the host, of PyTorch there and on a GPU."""

import gc
from pathlib import Path

import numpy as np
import pytest

from arrays import GPU_LIBRARIES, Elsewhere, Lent, Torch, aligned
from peers import peer
from warpplay.azero import Evaluator

# Two planes of 4 x 4, five actions: kernels under `simt` are slow.
SMALL = Path(__file__).parents[2] / "tests" / "golden" / "azero" / "libtorch_module.pt"


def positions(evaluator, n=3):
    random = np.random.default_rng(1)
    planes, rows, columns, actions = evaluator.shape
    observations, legal = aligned((n, planes, rows, columns), np.float32), aligned((n, actions), np.uint8)
    observations[...] = random.integers(0, 2, observations.shape)
    legal[...] = random.integers(0, 2, legal.shape)
    legal[:, 0] = 1
    return observations, legal


@pytest.mark.parametrize("device", ["cpu", "simt"])
@pytest.mark.parametrize("old", [False, True])
def test_positions_are_read_where_they_lie(device, old):
    evaluator = Evaluator(SMALL, device=device)
    observations, legal = positions(evaluator)
    values, policies = evaluator.evaluate(observations, legal)
    shared = evaluator.evaluate(Lent(observations, old), Lent(legal, old))
    assert [array.shape for array in shared] == [[3], [3, evaluator.shape[3]]]
    for array, expected in zip(shared, (values, policies)):
        assert array.__dlpack_device__() == (1, 0) and array.device == "cpu"
        found = np.from_dlpack(array)
        assert found.dtype == np.float32 and (found == expected).all() and (array.numpy() == expected).all()
    # Not by a copy of before: what is written is what the next call reads.
    observations[...] = 1 - observations
    turned = np.from_dlpack(evaluator.evaluate(Lent(observations, old), Lent(legal, old))[0])
    assert (turned == evaluator.evaluate(observations, legal)[0]).all() and (turned != values).any()


def test_an_array_is_handed_out_without_a_copy_and_outlives_its_object():
    evaluator = Evaluator(SMALL, device="simt")
    array = evaluator.evaluate(*map(Lent, positions(evaluator)))[1]
    first, second = np.from_dlpack(array), np.from_dlpack(array)
    assert first.ctypes.data == second.ctypes.data
    kept = first.copy()
    del array, evaluator, second
    gc.collect()
    assert (first == kept).all()
    assert np.allclose(first.sum(axis=1), 1)


def test_a_capsule_that_nobody_takes_frees_what_it_holds():
    evaluator = Evaluator(SMALL, device="cpu")
    array = evaluator.evaluate(*map(Lent, positions(evaluator)))[0]
    for version in (None, (0, 8), (1, 0), (2, 5)):
        capsule = array.__dlpack__(max_version=version)
        name = "dltensor_versioned" if version and version[0] >= 1 else "dltensor"
        assert f'"{name}"' in repr(capsule)
        del capsule
    assert len(np.from_dlpack(array)) == 3


def test_a_producers_memory_is_kept_no_longer_than_the_call():
    import sys

    evaluator = Evaluator(SMALL, device="simt")
    observations, legal = positions(evaluator)
    counts = sys.getrefcount(observations), sys.getrefcount(legal)
    evaluator.evaluate(Lent(observations), Lent(legal))
    with pytest.raises(ValueError):
        evaluator.evaluate(Lent(observations), Lent(legal[:2]))
    gc.collect()
    assert (sys.getrefcount(observations), sys.getrefcount(legal)) == counts


def test_what_is_not_allowed_is_told():
    evaluator = Evaluator(SMALL, device="simt")
    observations, legal = positions(evaluator)
    a, b = Lent(observations), Lent(legal)
    with pytest.raises(TypeError, match="two arrays of numpy are expected, or two objects with __dlpack__"):
        evaluator.evaluate(observations, b)
    with pytest.raises(TypeError, match="observations is a list and legal a ndarray"):
        evaluator.evaluate([1.0], legal)
    with pytest.raises(TypeError, match="observations has values of float64, expected float32"):
        evaluator.evaluate(Lent(observations.astype(np.float64)), b)
    with pytest.raises(TypeError, match="legal has values of .* expected uint8 or bool"):
        evaluator.evaluate(a, Lent(legal.astype(np.int8)))
    with pytest.raises(ValueError, match="observations does not lie in the order of its indices"):
        evaluator.evaluate(Lent(observations[:, :, ::-1]), b)
    with pytest.raises(ValueError, match="legal has the shape .2, 5., expected .3, 5."):
        evaluator.evaluate(a, Lent(legal[:2]))
    with pytest.raises(ValueError, match="observations: borrowed memory: expected at an address that is a multiple of 256"):
        evaluator.evaluate(Lent(aligned(observations.shape, np.float32, beside=64)), b)
    with pytest.raises(ValueError, match="option batch: 0 is not allowed .1 to 128"):
        evaluator.evaluate(Lent(observations[:0]), Lent(legal[:0]))

    for device in ("simt", "cpu"):
        with pytest.raises(ValueError, match="observations lies on cuda:3, this object works on cpu"):
            Evaluator(SMALL, device=device).evaluate(Elsewhere(observations), b)

    class Used(Lent):
        def __dlpack__(self, **asked):
            capsule = super().__dlpack__(**asked)
            np.from_dlpack(type("Once", (), {"__dlpack__": lambda *_, **__: capsule, "__dlpack_device__": lambda _: (1, 0)})())
            return capsule

    with pytest.raises(BufferError, match="was already used, or is not of DLPack"):
        evaluator.evaluate(Used(observations), b)
    array = evaluator.evaluate(a, b)[0]
    # A mask may be of truth values too.
    assert (evaluator.evaluate(a, Lent(legal.view(np.bool_)))[0].numpy() == array.numpy()).all()
    with pytest.raises(BufferError, match="not copied elsewhere"):
        array.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="without a copy"):
        array.__dlpack__(copy=True)


def test_a_device_of_another_kind_is_refused():
    evaluator = Evaluator(SMALL, device="cpu")
    observations, legal = positions(evaluator)
    # kDLROCM, and a GPU.
    with pytest.raises(ValueError, match="observations lies on DLPack's kind 10, number 0, this object works on cpu"):
        evaluator.evaluate(Elsewhere(observations, 10, 0), Lent(legal))
    with pytest.raises(ValueError, match="legal lies on cuda:3, this object works on cpu"):
        evaluator.evaluate(Lent(observations), Elsewhere(legal))


@pytest.mark.parametrize("device", ["cpu", "simt"])
def test_no_stream_is_asked_for_on_the_host(device):
    # The standard has a stream for the host's memory be None.
    evaluator = Evaluator(SMALL, device=device)
    lent = [Lent(array) for array in positions(evaluator)]
    evaluator.evaluate(*lent)
    assert [array.asked for array in lent] == [[{"max_version": (1, 0)}]] * 2


def test_an_array_lies_where_others_take_it_without_a_copy():
    array = Evaluator(SMALL, device="cpu").evaluate(*map(Lent, positions(Evaluator(SMALL, device="cpu"))))[1]
    assert np.from_dlpack(array).ctypes.data % 64 == 0
    assert array.dtype == "float32" and repr(array) == "warpplay.Array(shape=[3, 5], dtype=float32, device=\"cpu\")"


def test_tensors_of_pytorch_on_the_host():
    torch = peer("torch")
    evaluator = Evaluator(device="cpu")
    observations, legal = positions(evaluator)
    values, policies = evaluator.evaluate(observations, legal)
    found = evaluator.evaluate(torch.from_numpy(observations), torch.from_numpy(legal == 1))
    assert (torch.from_dlpack(found[0]).numpy() == values).all()
    assert (torch.from_dlpack(found[1]).numpy() == policies).all()


def test_arrays_of_jax_on_the_host():
    jax = peer("jax")
    evaluator = Evaluator(device="cpu")
    observations, legal = positions(evaluator)
    values, policies = evaluator.evaluate(observations, legal)
    cpu = jax.devices("cpu")[0]
    found = evaluator.evaluate(jax.device_put(observations, cpu), jax.device_put(legal, cpu))
    taken = [jax.dlpack.from_dlpack(array) for array in found]
    assert (np.asarray(taken[0]) == values).all() and (np.asarray(taken[1]) == policies).all()
    # Without a copy.
    assert taken[1].unsafe_buffer_pointer() == np.from_dlpack(found[1]).ctypes.data


def test_a_tensor_of_pytorch_goes_to_jax_by_way_of_an_evaluation():
    torch, jax = peer("torch"), peer("jax")
    evaluator = Evaluator(device="cpu")
    observations, legal = positions(evaluator)
    values = evaluator.evaluate(torch.from_numpy(observations), torch.from_numpy(legal))[0]
    assert (np.asarray(jax.dlpack.from_dlpack(values)) == torch.from_dlpack(values).numpy()).all()


@pytest.mark.parametrize("library", GPU_LIBRARIES)
def test_arrays_on_a_gpu_are_read_and_handed_out_there(library):
    library = library()
    evaluator = Evaluator(device="cuda")
    observations, legal = positions(evaluator)
    values, policies = evaluator.evaluate(observations, legal)
    on_gpu = library.put(observations), library.put(legal)
    shared = evaluator.evaluate(*on_gpu)
    found = [library.take(array) for array in shared]
    assert [array.device for array in shared] == ["cuda:0"] * 2
    # The same kernels on the same numbers.
    assert (library.host(found[0]) == values.astype(np.float32)).all()
    assert (library.host(found[1]) == policies.astype(np.float32)).all()
    # Without a copy: two arrays of one result are one memory, which outlives it.
    again = library.take(shared[1])
    assert library.address(again) == library.address(found[1])
    del shared, again
    gc.collect()
    assert (library.host(found[1]) == policies.astype(np.float32)).all()
    with pytest.raises(ValueError, match="observations lies on cpu, this object works on cuda:0"):
        evaluator.evaluate(Lent(observations), Lent(legal))
    with pytest.raises(ValueError, match="observations lies on cuda:0, this object works on cpu"):
        Evaluator(device="cpu").evaluate(*on_gpu)


def test_what_pytorch_writes_to_a_result_every_taker_sees():
    torch = Torch().torch
    evaluator = Evaluator(device="cuda")
    policies = evaluator.evaluate(*(torch.from_numpy(array).cuda() for array in positions(evaluator)))[1]
    before = policies.numpy()
    torch.from_dlpack(policies).add_(1)
    assert np.allclose(policies.numpy(), before + 1)


def test_work_of_pytorchs_stream_comes_first():
    torch = Torch().torch
    evaluator = Evaluator(device="cuda")
    observations, legal = positions(evaluator)
    expected = evaluator.evaluate(observations, legal)[0].astype(np.float32)
    masks = torch.from_numpy(legal).cuda()
    values = torch.from_numpy(observations).cuda()
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    for _ in range(20):
        with torch.cuda.stream(stream):
            late = torch.zeros_like(values)
            # Some ten milliseconds, then the numbers: a reader that does not wait sees zeros.
            torch.cuda._sleep(20_000_000)
            late.copy_(values)
            found = torch.from_dlpack(evaluator.evaluate(late, masks)[0])
        assert (found.cpu().numpy() == expected).all()


def test_memory_of_a_gpu_is_given_back():
    torch = Torch().torch
    evaluator = Evaluator(device="cuda", max_batch=1024)
    planes, rows, columns, actions = evaluator.shape
    observations = torch.ones((1024, planes, rows, columns), device="cuda")
    legal = torch.ones((1024, actions), dtype=torch.uint8, device="cuda")
    for _ in range(3):
        torch.from_dlpack(evaluator.evaluate(observations, legal)[1])
    free = torch.cuda.mem_get_info()[0]
    for _ in range(50):
        torch.from_dlpack(evaluator.evaluate(observations, legal)[1])
    # Fifty results are 200 MiB.
    assert free - torch.cuda.mem_get_info()[0] < 32 << 20


def test_numpy_takes_an_array_as_it_is():
    evaluator = Evaluator(device="cpu")
    observations, legal = evaluator.observe()
    values, policies = evaluator.evaluate(Lent(observations), Lent(legal))
    assert len(values) == 1 and len(policies) == 1
    found = np.asarray(policies)
    assert found.shape == (1, 512) and found.dtype == np.float32 and (found == policies.numpy()).all()
    assert np.asarray(policies, np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="the array is copied for numpy"):
        policies.__array__(copy=False)
