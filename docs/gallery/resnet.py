# %% [markdown]
# # A PyTorch user ports a ResNet, and ships it to C++
#
# A trained network of PyTorch with residual blocks and batch norms: its `state_dict` as it is, the same numbers, then a
# C++ program that needs neither PyTorch nor Python, with the same numbers again.

# %%
import subprocess
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

import tg

torch.manual_seed(0)
torch.set_num_threads(1)
images, labels = load_digits(return_X_y=True)
images = (images.reshape(-1, 1, 8, 8) / 16).astype("float32")

# %% [markdown]
# The network in PyTorch, trained for a few epochs.


# %%
class Block(nn.Module):
    def __init__(self, inner, outer, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False), nn.BatchNorm2d(outer)
        self.conv2, self.bn2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False), nn.BatchNorm2d(outer)
        self.short, self.bn3 = nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer)

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(y)) + self.bn3(self.short(x)))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = Block(1, 16, 1), Block(16, 32, 2), nn.Linear(32, 10)

    def forward(self, x):
        return self.head(self.second(self.first(x)).mean((2, 3)))


theirs = ResNet()
optimizer = torch.optim.Adam(theirs.parameters(), 3e-3)
x, y = torch.from_numpy(images[:1200]), torch.from_numpy(labels[:1200])
losses = []
for _ in range(4):
    for batch in torch.randperm(1200).split(60):
        loss = nn.functional.cross_entropy(theirs(x[batch]), y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
theirs.eval()
with torch.no_grad():
    expected = theirs(torch.from_numpy(images[1200:])).numpy()
print(f"{np.mean(expected.argmax(1) == labels[1200:]):.1%} of the digits that it has not seen")

# %% [markdown]
# The port: modules with the same attributes, so that the weights have the same names.


# %%
class TgBlock(tg.nn.Module):
    def __init__(self, inner, outer, stride):
        self.conv1, self.bn1 = (
            tg.nn.Conv(inner, outer, (3, 3), stride=stride, padding=1, bias=False),
            tg.nn.BatchNorm(outer),
        )
        self.conv2, self.bn2 = tg.nn.Conv(outer, outer, (3, 3), padding=1, bias=False), tg.nn.BatchNorm(outer)
        self.short, self.bn3 = tg.nn.Conv(inner, outer, (1, 1), stride=stride, bias=False), tg.nn.BatchNorm(outer)

    def __call__(self, x):
        y = tg.relu(self.bn1(self.conv1(x), training=False))
        return tg.relu(self.bn2(self.conv2(y), training=False) + self.bn3(self.short(x), training=False))


class TgResNet(tg.nn.Module):
    def __init__(self):
        self.first, self.second, self.head = TgBlock(1, 16, 1), TgBlock(16, 32, 2), tg.nn.Dense(32, 10)

    def __call__(self, x):
        return self.head(tg.mean(self.second(self.first(x)), axis=(2, 3)))


state = {name: value for name, value in theirs.state_dict().items() if not name.endswith("num_batches_tracked")}
ours = tg.nn.load(TgResNet(), state)
pictures = tg.tensor("images", "float32", (tg.dim("n"), 1, 8, 8))
f = tg.function([pictures], {"logits": ours(pictures)}, name="digits", backend="c")
found = f(images[1200:])["logits"]
print("largest difference to PyTorch", abs(found - expected).max())
assert np.allclose(found, expected, atol=1e-4)

# %% [markdown]
# `tg.export` writes a C library with the weights in it, a header for C++, and golden values.

# %%
folder = Path(tempfile.mkdtemp())
tg.export(f, folder / "digits", "c", example={"images": images[1200:1202]})
print(sorted(file.name for file in (folder / "digits").iterdir()))

program = """
#include <cstdio>
#include <vector>
#include "digits.hpp"

int main() {
  std::vector<float> images(64 * 20);
  std::FILE *file = std::fopen("images.bin", "rb");
  if (std::fread(images.data(), sizeof(float), images.size(), file) != images.size()) return 1;
  digits::program program;
  const digits::outputs results = program({images.data()}, {20});
  for (int i = 0; i < 200; i++) std::printf("%.9g\\n", results.logits[i]);
}
"""
written = (folder / "service.cpp").write_text(program)

# %% [markdown]
# Compiled by the system's compilers and run: twenty images from a file, logits as text.

# %%
images[1200:1220].tofile(folder / "images.bin")
(folder / "CMakeLists.txt").write_text("""
cmake_minimum_required(VERSION 3.16)
project(service LANGUAGES C CXX)
set(CMAKE_CXX_STANDARD 17)
add_subdirectory(digits)
add_executable(service service.cpp)
target_link_libraries(service PRIVATE digits::digits)
""")
for command in (["cmake", "-B", "build"], ["cmake", "--build", "build"]):
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
said = subprocess.run([folder / "build/service"], cwd=folder, check=True, capture_output=True, text=True).stdout
shipped = np.array(said.split(), "float32").reshape(20, 10)
print("largest difference to PyTorch", abs(shipped - expected[:20]).max())
assert np.allclose(shipped, expected[:20], atol=1e-4)

# %%
fig, axes = plt.subplots(2, 10, figsize=(6.4, 1.8))
for ax, image, logits in zip(axes.flat, images[1200:1220], shipped, strict=True):
    ax.imshow(image[0], cmap="gray_r")
    ax.set(xticks=[], yticks=[])
    ax.set_title(str(logits.argmax()), fontsize=9)
