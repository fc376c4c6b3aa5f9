"""Networks as C libraries: ResNet-18 with its weights in a file, and a GPT whose caches are the library's state."""

import shutil
from ctypes import CDLL, Structure, addressof, byref, c_int64, c_void_p, create_string_buffer

import numpy as np
import pytest
from networks import gpt, resnet

import tg
from tests.unit.tg_c.libraries.build import run

pytestmark = [
    pytest.mark.long(minutes=2),
    pytest.mark.skipif(not (shutil.which("cmake") and shutil.which("gcc")), reason="cmake or gcc is not installed"),
]


def shared(arrays):
    return {name: tg.shared(array, name, shape=array.shape) for name, array in arrays.items()}


def test_resnet_18_without_weights_is_less_than_300_kilobytes(tmp_path):
    kind = resnet.KINDS[18]
    images = tg.tensor("images", "float32", (1, 3, 224, 224))
    logits = resnet.resnet(images, shared(resnet.random_weights(kind)), kind)
    f = tg.function([images], {"logits": logits}, name="resnet18")
    example = np.random.default_rng(1).normal(size=images.type.shape).astype("float32")
    folder = tg.export(f, tmp_path / "resnet18", "c", example=[example], levels=("x86-64-v3", "x86-64-v4"))
    run("cmake", "-S", folder, "-B", tmp_path / "build", "-DBUILD_SHARED_LIBS=ON", "-DCMAKE_C_FLAGS=-Werror")
    run("cmake", "--build", tmp_path / "build")
    assert "100% tests passed" in run("ctest", "--test-dir", tmp_path / "build")
    library = tmp_path / "build/libresnet18.so"
    run("strip", library)
    assert library.stat().st_size < 300_000


def test_a_gpt_continues_a_text_as_in_python(tmp_path):
    kind = gpt.Kind(tokens=300, positions=64, layers=3, heads=4, width=64)
    weights, caches = shared(gpt.random_weights(kind)), shared(gpt.no_past(kind))
    token, position = tg.tensor("token", "int64", (1,)), tg.scalar("position", "int64")
    logits, written = gpt.gpt_step(token, position, caches, weights, kind)
    updates = {caches[name]: written[name] for name in caches}
    f = tg.function([token, position], {"next": tg.argmax(logits, axis=1)}, updates=updates, name="gpt")
    folder = tg.export(f, tmp_path / "gpt", "c", example=[np.array([5]), 0])
    text = (folder / "gpt.c").read_text()
    assert "memcpy" not in text[text.index("int gpt_run(") :]  # caches are written where they lie
    run("cmake", "-S", folder, "-B", tmp_path / "build", "-DBUILD_SHARED_LIBS=ON")
    run("cmake", "--build", tmp_path / "build")
    library = CDLL(str(tmp_path / "build/libgpt.so"))

    class Inputs(Structure):
        _fields_ = (("token", c_void_p), ("position", c_int64))

    mapped, following = (c_int64 * 2)(), c_int64()
    assert library.gpt_open(mapped, str(folder / "gpt.safetensors").encode()) == 0
    state = create_string_buffer(sum(array.nbytes for array in gpt.no_past(kind).values()))
    library.gpt_init(state, mapped)
    library.gpt_arena_bytes.restype = c_int64
    size = library.gpt_arena_bytes()
    arena = create_string_buffer(max(size, 1))
    by_c, by_python = [5], [5]
    for k in range(12):
        number = c_int64(by_c[-1])
        inputs, outputs = Inputs(addressof(number), k), (c_void_p * 1)(addressof(following))
        code = library.gpt_run(mapped, state, byref(inputs), outputs, arena, c_int64(size), None)
        assert code == 0
        by_c.append(following.value)
        by_python.append(int(f(np.array(by_python[-1:]), k)["next"][0]))
    library.gpt_close(mapped)
    assert by_c == by_python
