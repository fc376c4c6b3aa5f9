# %% [markdown]
# # A graph network
#
# Who belongs to which community, by whom one knows, where few say it themselves. A layer sums messages over edges by
# `x.at[target].add`, which SciPy's sparse product confirms; the network without edges is what it has to beat.

# %%
import sys

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import scipy.sparse

import tg

sys.path.insert(0, "../../examples/networks")  # of tg's repository
import graph as example

data = example.drawn(0)
print(f"{len(data.features)} nodes, {data.edges.shape[1]} edges, {len(data.told)} say their group")

# %% [markdown]
# The sum over neighbours: a scatter here, a product with the adjacency matrix there.

# %%
x, edges = tg.matrix("x", "float32", shape=(None, 8)), tg.matrix("edges", "int64", shape=(2, None))
total = tg.zeros(x.shape, "float32").at[edges[1]].add(x[edges[0]])
f = tg.function([x, edges], [total, tg.grad(tg.sum(total**2), x)], backend="c")
found, slope = f(data.features, data.edges)

adjacency = scipy.sparse.coo_array((np.ones(data.edges.shape[1]), (data.edges[1], data.edges[0])), (600, 600)).tocsr()
assert np.allclose(found, adjacency @ data.features, atol=1e-4)
assert np.allclose(slope, 2 * adjacency.T @ (adjacency @ data.features), rtol=1e-4, atol=1e-3)

# %% [markdown]
# Training on forty nodes, and the same network with the edges taken away.

# %%
with_edges = example.train("c", data)
alone = example.train("c", data._replace(edges=data.edges[:, :0]))
print(f"right about others: {with_edges.accuracy:.1%}, without edges {alone.accuracy:.1%}, by chance 25 %")
assert with_edges.accuracy > alone.accuracy + 0.15

# %% [markdown]
# Communities without any learning, by modularity, as a second opinion.

# %%
network = nx.Graph(data.edges.T.tolist())
parts = nx.community.greedy_modularity_communities(network, cutoff=4, best_n=4)
purity = sum(np.bincount(data.groups[list(part)]).max() for part in parts) / network.number_of_nodes()
print(f"greedy modularity: {purity:.1%}")

# %%
where = nx.spring_layout(network, seed=1, iterations=30)
places = np.array([where.get(k, (np.nan, np.nan)) for k in range(600)])
fig, (left, right) = plt.subplots(1, 2)
left.plot(*places[data.edges].transpose(2, 0, 1), color="0.85", lw=0.2, zorder=0)
left.scatter(*places.T, c=data.groups, s=6, cmap="tab10")
left.set(xticks=[], yticks=[], title="groups")
right.plot(with_edges.losses, label="with edges")
right.plot(alone.losses, label="without")
right.set(xlabel="step", ylabel="loss of those who are told")
right.legend()
