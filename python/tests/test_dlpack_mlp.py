"""Perceptrons with arrays of other libraries: images that are classified where they lie, training sets and weights that are copied."""

import gc
import sys

import numpy as np
import pytest

import warpplay
from arrays import GPU_LIBRARIES, Elsewhere, Lent, Torch, aligned
from peers import peer
from warpplay.mlp import Classifier, Network, Trainer


def network(sizes=(32, 7, 5), seed=3):
    random = np.random.default_rng(seed)
    return Network(
        [(random.normal(size=(n, m)).astype(np.float32), random.normal(size=m).astype(np.float32)) for n, m in zip(sizes, sizes[1:])]
    )


def images(n=40, rows=4, columns=8):
    found = aligned((n, rows, columns), np.uint8)
    found[...] = np.random.default_rng(5).integers(0, 256, found.shape)
    return found


@pytest.mark.parametrize("device", ["cpu", "simt"])
@pytest.mark.parametrize("columns", [8, 9])
def test_images_are_read_where_they_lie(device, columns):
    # Lines of 32 bytes are read as they are, those of 36 are copied on the device.
    classifier = Classifier(network((4 * columns, 7, 5)), device=device)
    array = images(columns=columns)
    for call, dtype, shape in [("logits", "float32", [40, 5]), ("predict_proba", "float32", [40, 5]), ("predict", "int32", [40])]:
        method = getattr(classifier, call)
        expected, shared = method(array), method(Lent(array))
        assert isinstance(shared, warpplay.Array) and (shared.dtype, shared.shape) == (dtype, shape)
        assert (np.from_dlpack(shared) == expected).all() and (shared.numpy() == expected).all()
        assert np.from_dlpack(shared).dtype == dtype and shared.__dlpack_device__() == (1, 0)
        # What is written is what the next call reads.
        array[...] = 255 - array
        turned = np.from_dlpack(method(Lent(array)))
        assert (turned == method(array)).all() and (turned != expected).any()


@pytest.mark.parametrize("device", ["cpu", "simt"])
def test_probabilities_are_the_softmax_of_the_logits(device):
    classifier = Classifier(network(), device=device)
    logits = classifier.logits(images()).astype(np.float64)
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    # Some roundings of single precision, of numbers below 1.
    assert np.abs(classifier.predict_proba(images()) - powers / powers.sum(axis=1, keepdims=True)).max() < 1e-6
    assert (classifier.predict(images()) == logits.argmax(axis=1)).all()


@pytest.mark.parametrize("device", ["cpu", "simt"])
def test_no_images_have_no_classes(device):
    classifier = Classifier(network(), device=device)
    none = images()[:0]
    assert classifier.predict(none).shape == (0,) and classifier.predict_proba(none).shape == (0, 5)
    assert classifier.predict(Lent(none)).shape == [0] and classifier.predict_proba(Lent(none)).numpy().shape == (0, 5)
    assert np.from_dlpack(classifier.logits(Lent(none))).shape == (0, 5)


def test_a_producers_memory_is_kept_no_longer_than_the_call():
    classifier = Classifier(network(), device="simt")
    array = images()
    count = sys.getrefcount(array)
    logits = classifier.logits(Lent(array))
    with pytest.raises(ValueError):
        classifier.logits(Lent(array[:, :, :3]))
    gc.collect()
    assert sys.getrefcount(array) == count and logits.shape == [40, 5]


def test_what_is_not_allowed_is_told():
    classifier = Classifier(network(), device="simt")
    with pytest.raises(TypeError, match="images is a list: an array of numpy is expected, or an object with __dlpack__"):
        classifier.predict([[0]])
    with pytest.raises(TypeError, match="images has values of float32, expected uint8"):
        classifier.predict(images().astype(np.float32))
    with pytest.raises(TypeError, match="images has values of float32, expected uint8 or bool"):
        classifier.predict(Lent(images().astype(np.float32)))
    with pytest.raises(ValueError, match="images has the shape .40, 32., expected 3 dimensions"):
        classifier.predict(Lent(images().reshape(40, 32)))
    with pytest.raises(ValueError, match="images are of 4 x 7 pixels, the network has 32 inputs"):
        classifier.logits(Lent(np.ascontiguousarray(images()[:, :, :7])))
    with pytest.raises(ValueError, match="images does not lie in the order of its indices: make it contiguous first"):
        classifier.predict_proba(Lent(images()[:, ::-1]))
    with pytest.raises(ValueError, match="images lies on cuda:3, this object works on cpu"):
        classifier.predict(Elsewhere(images()))
    with pytest.raises(ValueError, match="borrowed memory: expected at an address that is a multiple of 256"):
        classifier.predict(Lent(aligned((1, 4, 8), np.uint8, beside=32)))
    with pytest.raises(ValueError, match="weights of layer 1 lies on cuda:3, expected in the host's memory: copy it there"):
        Network([(Elsewhere(np.zeros((2, 2), np.float32)), np.zeros(2, np.float32))])
    with pytest.raises(ValueError, match="labels lies on cuda:3, expected in the host's memory"):
        Trainer(images(), Elsewhere(np.zeros(40, np.uint8)), device="cpu")
    with pytest.raises(TypeError, match="bias of layer 1 has values of float64, expected float32"):
        Network([(np.zeros((2, 2), np.float32), np.zeros(2))])


def test_weights_are_taken_however_they_lie():
    random = np.random.default_rng(1)
    for weights in (random.normal(size=(3, 4)), random.normal(size=(4, 3)).T, random.normal(size=(6, 8))[::-2, 1::2], np.zeros((3, 4))[:, ::-1]):
        weights = np.array(weights, np.float32, order="K") if weights.base is None else weights.astype(np.float32, order="K")
        for view in (weights, weights[::-1], weights[:, ::-1]):
            layer = Network([(Lent(view), Lent(np.arange(4, dtype=np.float32)[::-1]))]).layers[0]
            assert (layer[0] == view).all() and (layer[1] == [3, 2, 1, 0]).all()


def training(convert, **options):
    random = np.random.default_rng(2)
    pictures, labels = random.integers(0, 256, (64, 2, 8)).astype(np.uint8), random.integers(0, 3, 64).astype(np.uint8)
    arrays = [convert(array) for array in (pictures, labels, pictures[:16], labels[:16])]
    options = {"device": "cpu", "hidden": [8], "epochs": 2, "batch": 8, **options}
    trainer = Trainer(arrays[0], arrays[1], test_images=arrays[2], test_labels=arrays[3], **options)
    # A training has a copy of its own.
    del arrays
    gc.collect()
    return [(epoch["loss"], epoch["test_loss"]) for epoch in trainer.run()["epochs"]]


def test_a_training_set_of_another_library_is_the_same_set():
    expected = training(lambda array: array)
    assert training(Lent) == expected
    # In any order.
    assert training(lambda array: Lent(np.asfortranarray(array))) == expected


def test_tensors_of_pytorch_on_the_host():
    torch = peer("torch")
    assert training(torch.from_numpy) == training(lambda array: array)
    linear = torch.nn.Linear(32, 5)
    model = Network([(linear.weight.detach().T, linear.bias.detach())])
    classifier = Classifier(model, device="cpu")
    pictures = torch.from_numpy(images())
    logits = torch.from_dlpack(classifier.logits(pictures))
    with torch.no_grad():
        expected = linear(pictures.reshape(40, 32).float() / 255)
    # Some dozen roundings of single precision, of numbers about 1.
    assert (logits - expected).abs().max() < 2e-6
    assert torch.from_dlpack(classifier.predict(pictures)).dtype == torch.int32


def test_arrays_of_jax_on_the_host():
    jax = peer("jax")
    cpu = jax.devices("cpu")[0]
    put = lambda array: jax.device_put(array, cpu)
    assert training(put) == training(lambda array: array)
    classifier = Classifier(network(), device="cpu")
    logits = classifier.logits(put(images()))
    taken = jax.dlpack.from_dlpack(logits)
    assert (np.asarray(taken) == classifier.logits(images())).all()
    assert taken.unsafe_buffer_pointer() == np.from_dlpack(logits).ctypes.data
    assert (np.asarray(jax.dlpack.from_dlpack(classifier.predict(put(images())))) == classifier.predict(images())).all()


@pytest.mark.parametrize("library", GPU_LIBRARIES)
@pytest.mark.parametrize("engine", ["auto", "layers"])
@pytest.mark.parametrize("columns", [8, 9])
def test_images_on_a_gpu_are_read_there(library, engine, columns):
    library = library()
    classifier = Classifier(network((4 * columns, 7, 5)), device="cuda", engine=engine)
    array = images(columns=columns)
    on_gpu = library.put(array)
    for call in ("logits", "predict_proba", "predict"):
        shared = getattr(classifier, call)(on_gpu)
        assert shared.device == "cuda:0"
        # The same kernels on the same numbers.
        assert (library.host(library.take(shared)) == getattr(classifier, call)(array)).all()
    with pytest.raises(ValueError, match="images lies on cuda:0, this object works on cpu"):
        Classifier(network((4 * columns, 7, 5)), device="cpu").predict(on_gpu)
    with pytest.raises(ValueError, match="images lies on cpu, this object works on cuda:0"):
        classifier.predict(Lent(array))


@pytest.mark.parametrize("library", GPU_LIBRARIES)
def test_a_training_set_on_a_gpu_is_the_same_set(library):
    library = library()
    assert training(library.put, device="cuda") == training(lambda array: array, device="cuda")
    with pytest.raises(ValueError, match="images lies on cuda:0, expected in the host's memory"):
        training(library.put)


def test_images_that_pytorchs_stream_still_writes_are_waited_for():
    torch = Torch().torch
    classifier = Classifier(network(), device="cuda")
    values = torch.from_numpy(images()).cuda()
    expected = classifier.logits(images())
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    for _ in range(20):
        with torch.cuda.stream(stream):
            late = torch.zeros_like(values)
            # Some ten milliseconds, then the numbers: a reader that does not wait sees zeros.
            torch.cuda._sleep(20_000_000)
            late.copy_(values)
            found = torch.from_dlpack(classifier.logits(late))
        assert (found.cpu().numpy() == expected).all()
