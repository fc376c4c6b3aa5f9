"""The engines that run networks: each makes a function without arguments that computes a row once, NumPy out.

One thread. Weights lie where the engine has its arrays; images and labels are NumPy's where it takes these.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from native import built
from network_peers import Jax, Mlx, Torch, by_gpt, by_resnet, by_vit
from network_rows import DECODED, NETWORKS, SQUARE, Row, gpt, resnet, vit

import tg

if TYPE_CHECKING:
    from collections.abc import Callable

    Call = Callable[[], list[Any]]

RATE, MOMENTUM = 1e-4, 0.9
POSITION = 100  # of a decoded token; later ones follow


def logits_of(row: Row) -> tuple[Callable[..., Any], Any]:
    """A network by a peer's functions, and its kind."""
    kind = NETWORKS[row.network].kind
    return (by_vit, kind._replace(pixels=row.pixels)) if row.network.startswith("ViT") else (by_resnet, kind)


def is_learnt(name: str) -> bool:
    return "running" not in name


def of_tg(choice: str, row: Row) -> Call:
    """A row by tg: weights are shared variables, what a step changes are their updates."""
    name, *options = choice.split()
    backend = tg.backend(name, **{key: value == "True" for key, value in (o.split("=") for o in options)})
    if row.task == "convolution":
        return _convolution(backend, row)
    if row.task == "decoding":
        return _decoding(backend)
    kind = NETWORKS[row.network].kind
    is_vit = row.network.startswith("ViT")
    kind = kind._replace(pixels=row.pixels) if is_vit else kind
    weights = NETWORKS[row.network].weights(row.pixels)
    p = {name: tg.shared(w, name, shape=w.shape) for name, w in weights.items()}
    x, labels = row.images()
    side = row.pixels if is_vit or row.task == "training" else None
    images = tg.tensor("images", "float32", (None, 3, side, side))
    if row.task == "inference":
        logits = vit.vit(images, p, kind) if is_vit else resnet.resnet(images, p, kind)
        f = tg.function([images], logits, backend=backend, inference=True)
        return lambda: [f(x)]
    given = tg.vector("labels", "int64")
    logits = vit.vit(images, p, kind) if is_vit else resnet.resnet(images, p, kind, training=True)
    loss = tg.nn.cross_entropy(logits, given)
    updates = {}
    for name, slope in tg.grad(loss, {name: v for name, v in p.items() if is_learnt(name)}).items():
        speed = tg.shared(np.zeros_like(weights[name]), f"speed of {name}", shape=weights[name].shape)
        updates[speed] = MOMENTUM * speed + slope
        updates[p[name]] = p[name] - RATE * updates[speed]
    f = tg.function([images, given], loss, updates=updates, backend=backend)
    return lambda: [f(x, labels)]


def _convolution(backend: Any, row: Row) -> Call:
    arrays = row.convolved()
    x, w, dy = (tg.tensor(name, "float32", (None, *a.shape[1:])) for name, a in zip("xwd", arrays, strict=True))
    _, _, window, stride, _ = row.shape
    y = tg.nn.conv2d(x, w, stride=stride, padding=window // 2)
    if row.part == "forward":
        f = tg.function([x, w], y, backend=backend)
        return lambda: [f(*arrays[:2])]
    operand, other = (x, w) if row.part == "input" else (w, x)
    f = tg.function([other, operand, dy], tg.vjp(y, operand, dy), backend=backend, on_unused_input="ignore")
    a, b, c = arrays if row.part == "weight" else (arrays[1], arrays[0], arrays[2])
    return lambda: [f(a, b, c)]


def _decoding(backend: Any) -> Call:
    weights = gpt.random_weights(DECODED)
    p = {name: tg.shared(w, name, shape=w.shape) for name, w in weights.items()}
    caches = {name: tg.shared(c, name, shape=c.shape) for name, c in gpt.no_past(DECODED).items()}
    token, position = tg.tensor("token", "int64", (1,)), tg.scalar("position", "int64")
    logits, written = gpt.gpt_step(token, position, caches, p, DECODED)
    updates = {caches[name]: v for name, v in written.items()}
    f = tg.function([token, position], logits, updates=updates, backend=backend)
    return _steps(lambda token, position: f(np.array([token]), position))


def _steps(step: Callable[[int, int], Any]) -> Call:
    """A step at one position after the other, from POSITION on; the token is that of the position."""
    count = [0]

    def call() -> list[Any]:
        position = POSITION + count[0] % (DECODED.positions - POSITION)
        count[0] += 1
        return [step(position, position)]

    return call


def of_torch(row: Row, memory_format: str = "") -> Call:
    """A row by PyTorch, eager."""
    xp = Torch(memory_format)
    torch = xp.torch
    if row.task == "convolution":
        return _convolution_of_torch(xp, row)
    if row.task == "decoding":
        return _decoding_of_torch(xp)
    network, kind = logits_of(row)
    x, labels = map(xp.array, row.images())
    p = {name: xp.weight(w) for name, w in NETWORKS[row.network].weights(row.pixels).items()}
    if row.task == "inference":

        def infer() -> list[Any]:
            with torch.inference_mode():
                return [network(xp, x, p, kind, training=False).numpy()]

        return infer
    learnt = [v.requires_grad_() for name, v in p.items() if is_learnt(name)]
    optimizer = torch.optim.SGD(learnt, lr=RATE, momentum=MOMENTUM)

    def step() -> list[Any]:
        loss = xp.cross_entropy(network(xp, x, p, kind, training=True), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return [loss.detach().numpy()]

    return step


def _convolution_of_torch(xp: Any, row: Row) -> Call:
    x, w, dy = map(xp.array, row.convolved())
    _, _, window, stride, _ = row.shape
    pads = [window // 2] * 2
    if row.part == "forward":
        return lambda: [xp.f.conv2d(x, w, None, stride, pads).numpy()]
    mask = [row.part == "input", row.part == "weight", False]
    backward = xp.torch.ops.aten.convolution_backward
    arguments = dy, x, w, None, [stride] * 2, pads, [1, 1], False, [0, 0], 1, mask
    return lambda: [next(g for g in backward(*arguments) if g is not None).numpy()]


def _decoding_of_torch(xp: Any) -> Call:
    p = {name: xp.array(w) for name, w in gpt.random_weights(DECODED).items()}
    caches = {name: xp.array(c) for name, c in gpt.no_past(DECODED).items()}

    def step(token: int, position: int) -> Any:
        with xp.torch.inference_mode():
            return by_gpt(xp, xp.torch.tensor([token]), position, caches, p, DECODED)[0].numpy()

    return _steps(step)


def of_jax(row: Row) -> Call:
    """A row by JAX, compiled, with channels behind."""
    xp = Jax()
    jax = xp.jax
    if row.task == "decoding":
        p = {name: xp.array(w) for name, w in gpt.random_weights(DECODED).items()}
        caches = [{name: xp.array(c) for name, c in gpt.no_past(DECODED).items()}]

        def f(token: Any, position: Any, caches: Any, p: Any) -> Any:
            return by_gpt(xp, token, position, caches, p, DECODED)

        fast = jax.jit(f, donate_argnums=2)

        def decode(token: int, position: int) -> Any:
            logits, caches[0] = fast(np.array([token]), position, caches[0], p)
            return np.asarray(logits)

        return _steps(decode)
    network, kind = logits_of(row)
    x, labels = row.images()
    x = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    p = {name: xp.weight(w) for name, w in NETWORKS[row.network].weights(row.pixels).items()}
    if row.task == "inference":
        infer = jax.jit(lambda p, x: network(xp, x, p, kind, training=False))
        return lambda: [np.asarray(infer(p, x))]

    def loss(learnt: Any, x: Any, labels: Any) -> Any:
        return xp.cross_entropy(network(xp, x, learnt, kind, training=True), labels)

    def step(learnt: Any, speeds: Any, x: Any, labels: Any) -> Any:
        cost, slopes = jax.value_and_grad(loss)(learnt, x, labels)
        speeds = {name: MOMENTUM * speeds[name] + slope for name, slope in slopes.items()}
        return {name: v - RATE * speeds[name] for name, v in learnt.items()}, speeds, cost

    learnt = {name: v for name, v in p.items() if is_learnt(name)}
    state = [(learnt, {name: xp.jnp.zeros_like(v) for name, v in learnt.items()})]
    fast_step = jax.jit(step, donate_argnums=(0, 1))

    def train() -> list[Any]:
        learnt, speeds, cost = fast_step(*state[0], x, labels)
        state[0] = learnt, speeds
        return [np.asarray(cost)]

    return train


def of_mlx(row: Row) -> Call:
    """A row by MLX on the processor; with its own conv2d."""
    xp = Mlx()
    mx = xp.mx
    if row.task == "decoding":
        p = {name: xp.array(w) for name, w in gpt.random_weights(DECODED).items()}
        caches = {name: xp.array(c) for name, c in gpt.no_past(DECODED).items()}

        def decode(token: int, position: int) -> Any:
            logits, after = by_gpt(xp, mx.array([token]), position, caches, p, DECODED)
            caches.update(after)
            mx.eval(logits, caches)
            return np.array(logits)

        return _steps(decode)
    network, kind = logits_of(row)
    x, labels = row.images()
    images, given = mx.array(np.ascontiguousarray(x.transpose(0, 2, 3, 1))), mx.array(labels)
    p = {name: xp.weight(w) for name, w in NETWORKS[row.network].weights(row.pixels).items()}
    if row.task == "inference":
        return lambda: [np.array(network(xp, images, p, kind, training=False))]
    state = {name: v for name, v in p.items() if is_learnt(name)}
    speeds = {name: mx.zeros_like(v) for name, v in state.items()}
    both = mx.value_and_grad(lambda learnt: xp.cross_entropy(network(xp, images, learnt, kind, training=True), given))

    def train() -> list[Any]:
        cost, slopes = both(state)
        for name, slope in slopes.items():
            speeds[name] = MOMENTUM * speeds[name] + slope
            state[name] = state[name] - RATE * speeds[name]
        mx.eval(cost, state, speeds)
        return [np.array(cost)]

    return train


def of_onnxruntime(row: Row) -> Call:
    """Inference by onnxruntime, of what torch.onnx exports in a process of its own."""
    if row.task != "inference":
        raise NotImplementedError("inference only")
    import onnxruntime

    path = Path(os.environ.get("TG_CACHE_DIR", tempfile.gettempdir())) / f"{row.network.replace('/', '')}.onnx"
    if not path.exists():
        subprocess.run([sys.executable, __file__, row.network, path], check=True, capture_output=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    (x, _), name = row.images(), session.get_inputs()[0].name
    return lambda: session.run(None, {name: x})


def export(name: str, path: str) -> None:
    """Write a network of any number of images as ONNX."""
    import torch

    row = Row("inference", name, 2)
    xp, (network, kind) = Torch(), logits_of(row)

    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.places = {}
            for k, (weight, w) in enumerate(NETWORKS[name].weights(row.pixels).items()):
                self.register_buffer(f"w{k}", xp.weight(w))
                self.places[weight] = f"w{k}"

        def forward(self, x: Any) -> Any:
            p = {weight: getattr(self, place) for weight, place in self.places.items()}
            return network(xp, x, p, kind, training=False)

    x = torch.from_numpy(row.images()[0])
    made = torch.onnx.export(Module(), (x,), dynamo=True, verbose=False, dynamic_shapes=({0: torch.export.Dim("n")},))
    made.save(path)


def of_memory(row: Row, *, copies: bool) -> Call:
    """Of decoding: the weights' bytes copied by memcpy, or read by a scalar product."""
    if row.task != "decoding":
        raise NotImplementedError("decoding only")
    values = np.ones(sum(w.size for w in gpt.random_weights(DECODED).values()), np.float32)
    if not copies:
        halves = values[: values.size // 2], values[values.size // 2 :][: values.size // 2]
        return lambda: [np.dot(*halves)]
    target = np.empty_like(values)
    return lambda: [np.copyto(target, values)]


def of_product(row: Row) -> Call:
    """A product of matrices by NumPy's BLAS: of squares, or the one that a convolution of columns is."""
    if row.task not in ("product", "convolution"):
        raise NotImplementedError("products only")
    m, k, n = (SQUARE,) * 3 if row.task == "product" else row.product()
    draw = np.random.default_rng(1)
    x, y = (draw.normal(size=shape).astype(np.float32) for shape in ((m, k), (k, n)))
    z = np.empty((m, n), np.float32)
    return lambda: [np.dot(x, y, out=z)]


def of_processor(row: Row) -> Call:
    """As many operations as the product of squares has, by multiply-adds in registers."""
    if row.task != "product":
        raise NotImplementedError("products only")
    unit = ctypes.CDLL(built("fma.c", os.environ.get("TG_CACHE_DIR", tempfile.gettempdir())))
    run, out = unit.multiply_add, ctypes.c_float()
    run.restype, run.argtypes = ctypes.c_long, (ctypes.c_long, ctypes.c_void_p)
    steps = 2 * SQUARE**3 // run(1, ctypes.byref(out))
    return lambda: [run(steps, ctypes.byref(out))]


RAW: dict[str, Callable[[Row], Call]] = {
    "torch": of_torch,
    "torch channels_last": lambda row: of_torch(row, "channels_last"),
    "jax": of_jax,
    "mlx": of_mlx,
    "onnxruntime": of_onnxruntime,
    "memcpy": lambda row: of_memory(row, copies=True),
    "read": lambda row: of_memory(row, copies=False),
    "sgemm": of_product,
    "multiply-adds": of_processor,
}


def compiled(engine: str, row: Row) -> Call:
    """A row by the engine of this name: one of RAW, or tg-BACKEND (with options)."""
    return of_tg(engine.removeprefix("tg-"), row) if engine.startswith("tg-") else RAW[engine](row)


if __name__ == "__main__":
    export(*sys.argv[1:])
