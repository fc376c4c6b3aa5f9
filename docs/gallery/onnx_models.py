# %% [markdown]
# # ONNX, out and in
#
# A trained network becomes a model that ONNX Runtime runs, and a model of ONNX becomes an expression again, which is
# differentiated. ONNX Runtime is the oracle for both ways.

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import onnx
import onnxruntime

import tg
from tg.demo.digits import load

digits = load()
images, labels = digits.images.astype("float32"), digits.labels
net = tg.nn.Sequential(tg.nn.Dense(64, 32), tg.relu, tg.nn.Dense(32, 10))
model = tg.nn.randomized(net, tg.random.key(0))

# %% [markdown]
# Training, on C.

# %%
x, y = tg.tensor("x", "float32", (tg.dim("batch"), 64)), tg.vector("y", "int64")
loss = tg.nn.cross_entropy(model(x), y)
updates = tg.optimize.adam(loss, tg.nn.params(model), learning_rate=3e-3)
step = tg.function([x, y], loss, updates=updates, backend="c")
for batch, truth in tg.data.batches(
    (images[:1400], labels[:1400].astype("int64")), 64, key=tg.random.key(1), epochs=15
):
    step(batch, truth)

scores = tg.function([x], {"scores": tg.softmax(model(x), axis=-1)}, backend="c", name="digits")
right = np.mean(scores(images[1400:])["scores"].argmax(1) == labels[1400:])
print(f"{right:.1%} of the digits that it has not seen")

# %% [markdown]
# Out: a file that any runtime of ONNX reads.

# %%
path = Path(tempfile.mkdtemp()) / "digits.onnx"
tg.export(scores, path, "onnx")
print(onnx.printer.to_text(onnx.load(path).graph).partition("\n")[0])
print([node.op_type for node in onnx.load(path).graph.node])
session = onnxruntime.InferenceSession(path)
(theirs,) = session.run(["scores"], {"x": images[1400:]})
print("largest difference", abs(theirs - scores(images[1400:])["scores"]).max())
assert np.allclose(theirs, scores(images[1400:])["scores"], atol=1e-5)

# %% [markdown]
# In: the file as an expression of its inputs, with its weights. A derivative says which pixels matter.

# %%
import tg_onnx

read = tg_onnx.load(path)
print(read)

# %%
pixels, probability = read.inputs["x"], read.outputs["scores"]
g = tg.function([pixels], [probability, tg.grad(tg.sum(tg.log(tg.max(probability, axis=-1))), pixels)], backend="c")
found, slopes = g(images[1400:1420])
assert np.allclose(found, theirs[:20], atol=1e-5)

k, h = 0, 1e-2
shifted = images[1400:1401] + h * np.sign(slopes[:1])
before, after = (session.run(None, {"x": v})[0][0].max() for v in (images[1400:1401], shifted))
print(f"along the derivative the largest score goes from {before:.5f} to {after:.5f}")
assert after >= before

# %%
fig, axes = plt.subplots(2, 10, figsize=(6.4, 1.6))
for k in range(10):
    axes[0, k].imshow(images[1400 + k].reshape(8, 8), cmap="gray_r")
    axes[0, k].set_title(str(found[k].argmax()), fontsize=9)
    axes[1, k].imshow(slopes[k].reshape(8, 8), cmap="RdBu")
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
