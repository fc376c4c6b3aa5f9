# %% [markdown]
# # A JAX user ports a transformer
#
# A small causal transformer as it is written in JAX, moved line by line: the same pytree of weights, the same losses,
# the same gradients, and the training of one continued by the other.

# %%
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import tg

VOCABULARY, WIDTH, HEADS, LENGTH = 27, 32, 4, 16

# %% [markdown]
# The model in JAX.


# %%
def init(key):
    names = ("embed", "place", "qkv", "out", "up", "down")
    shapes = ((VOCABULARY, WIDTH), (LENGTH, WIDTH), (WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 64), (64, WIDTH))
    keys = jax.random.split(key, len(names))
    return {n: jax.random.normal(k, s) * s[0] ** -0.5 for n, k, s in zip(names, keys, shapes, strict=True)}


def norm(x):
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)


def forward(p, tokens):
    x = p["embed"][tokens] + p["place"]
    q, k, v = jnp.split(norm(x) @ p["qkv"], 3, axis=-1)
    q, k, v = (a.reshape(*a.shape[:-1], HEADS, -1).swapaxes(-2, -3) for a in (q, k, v))
    scores = q @ k.swapaxes(-1, -2) / jnp.sqrt(WIDTH // HEADS)
    scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -jnp.inf)
    mixed = (jax.nn.softmax(scores) @ v).swapaxes(-2, -3).reshape(x.shape)
    x = x + mixed @ p["out"]
    x = x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"]
    return norm(x) @ p["embed"].T


def loss(p, tokens, targets):
    logits = jax.nn.log_softmax(forward(p, tokens))
    return -jnp.take_along_axis(logits, targets[..., None], -1).mean()


# %% [markdown]
# The same in tg. What has changed: `jnp` and `jax.nn` are `tg` and `tg.nn`, keys of shapes are the same, and
# attention is one function. `gelu` of JAX is the approximation by tanh. And an index out of bounds, which JAX clips
# in silence, is an error in tg: `mode="clip"` asks for JAX's way, so that the program can run inside of JAX, where
# nothing can raise.


# %%
def tg_norm(x):
    return tg.nn.layer_norm(x)


def tg_forward(p, tokens):
    x = tg.take(p["embed"], tokens, 0, mode="clip") + p["place"]
    q, k, v = tg.split(tg_norm(x) @ p["qkv"], 3, axis=-1)
    q, k, v = (a.reshape((*a.shape[:-1], HEADS, WIDTH // HEADS)).swapaxes(-2, -3) for a in (q, k, v))
    mixed = tg.nn.scaled_dot_product_attention(q, k, v, is_causal=True).swapaxes(-2, -3).reshape(x.shape)
    x = x + mixed @ p["out"]
    x = x + tg.nn.gelu(tg_norm(x) @ p["up"], "tanh") @ p["down"]
    return tg_norm(x) @ p["embed"].T


def tg_loss(p, tokens, targets):
    logits = tg.log_softmax(tg_forward(p, tokens), axis=-1)
    return -tg.mean(tg.take_along_axis(logits, targets[..., None], -1, mode="clip"))


# %% [markdown]
# Both on the same weights and the same text, in float32.

# %%
text = "the quick brown fox jumps over the lazy dog and runs into the dark green forest to hide from the rain "
codes = np.array([26 if c == " " else ord(c) - 97 for c in text * 3])
windows = np.stack([codes[k : k + LENGTH + 1] for k in range(0, 200, 5)]).astype("int32")
tokens, targets = windows[:, :-1], windows[:, 1:]

weights = init(jax.random.key(0))
p = {name: tg.tensor(name, "float32", w.shape) for name, w in weights.items()}
t, u = tg.tensor("tokens", "int32", (None, LENGTH)), tg.tensor("targets", "int32", (None, LENGTH))
cost = tg_loss(p, t, u)
ours = tg.function([p, t, u], tg.value_and_grad(cost, p), backend="jax")

value, slopes = ours(tg.tree.to(weights, "numpy"), tokens, targets)
expected, expected_slopes = jax.value_and_grad(loss)(weights, tokens, targets)
print(value, expected)
assert np.isclose(value, expected, rtol=1e-5)
assert all(np.allclose(slopes[name], expected_slopes[name], atol=1e-5) for name in weights)

# %% [markdown]
# `traceable` puts tg's program into JAX's: here JAX's optimizer loop trains tg's loss, beside its own.


# %%
def train(loss, steps=60):
    @jax.jit
    def step(p):
        value, slope = jax.value_and_grad(loss)(p)
        return value, jax.tree.map(lambda w, g: w - 0.5 * g, p, slope)

    p, losses = weights, []
    for _ in range(steps):
        value, p = step(p)
        losses.append(float(value))
    return np.array(losses), p


inside = tg.function([p, t, u], cost, backend="jax").traceable()
theirs, _ = train(lambda p: loss(p, tokens, targets))
with jax.enable_x64(True):  # lengths and indices of tg have 64 bits; weights stay float32
    both, trained = train(lambda p: inside(p, tokens, targets))
print(theirs[[0, -1]], both[[0, -1]])
assert np.allclose(theirs, both, rtol=2e-2)

# %% [markdown]
# And tg alone goes on, on another backend, with Adam as updates of shared variables.

# %%
shared = {name: tg.shared(np.asarray(w), name) for name, w in trained.items()}
again = tg_loss(shared, t, u)
step = tg.function([t, u], again, updates=tg.optimize.adam(again, shared, learning_rate=3e-3), backend="c")
further = [float(step(tokens, targets)) for _ in range(60)]
assert np.isclose(further[0], loss(trained, tokens, targets), rtol=1e-4)
assert further[-1] < 0.5 * further[0]

# %%
fig, ax = plt.subplots()
ax.plot(theirs, lw=3, alpha=0.4, label="JAX")
ax.plot(both, "--", label="tg inside of JAX")
ax.plot(np.arange(60, 120), further, label="tg on C, Adam")
ax.set(xlabel="step", ylabel="nats a character")
ax.legend()
