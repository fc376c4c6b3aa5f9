# %% [markdown]
# # A custom backend
#
# A backend is a linker: it is given a closed table of nodes, and makes something that can be called. This one writes a
# Python function of NumPy's calls, is compared with the reference, and says what it lacks at the user's line.

# %%
import functools
import time

import matplotlib.pyplot as plt
import numpy as np

import tg
from tg.graph.function_graph import FunctionGraph
from tg.link.linker import Executable, Linker, Request

# %% [markdown]
# The table: values by number, inputs first, then constants, then what nodes compute, in order.

# %%
x = tg.vector("x")
table = FunctionGraph.of([x], [tg.exp(-x * x) * tg.cos(4 * x) + 1]).freeze()
for node in table.nodes:
    print(f"{node.outputs} = {node.op.name}{node.inputs}")

# %% [markdown]
# The backend: a rule for each op that it knows, and a function that is written line by line.


# %%
class Written(Executable):
    def __init__(self, graph, request):
        lines = [f"def program({', '.join(f'v{i}' for i in range(graph.arity))}):"]
        names = {f"v{graph.arity + k}": c.data for k, c in enumerate(graph.constants)}
        for number, node in enumerate(graph.nodes):
            function = request.rule(node.op, graph, number)
            has_fields = isinstance(node.op.rule_key, type)  # then the rule is given the op first
            names[f"f{number}"] = functools.partial(function, node.op) if has_fields else function
            operands = ", ".join(f"v{i}" for i in node.inputs)
            lines.append(f"    v{node.outputs[0]} = f{number}({operands})  # {node.op.name}")
        lines.append(f"    return [{', '.join(f'v{i}' for i in graph.outputs)}]")
        self.text = "\n".join(lines)
        exec(self.text, names)
        self.program = names["program"]

    def run(self, arrays):
        return self.program(*arrays), ()

    def source(self):
        return self.text


class WritingLinker(Linker):
    def compile(self, graph, request):
        return Written(graph, request)


RULES = {tg.exp: np.exp, tg.cos: np.cos, tg.multiply: np.multiply, tg.add: np.add, tg.negative: np.negative}
request = Request("mine", None, RULES.get)
program = WritingLinker().compile(table, request)
print(program.source())

# %% [markdown]
# What it computes is what NumPy computes, and the reference.

# %%
places = np.linspace(-3, 3, 300)
(ours,), status = program.run([places])
assert np.array_equal(ours, np.exp(-places * places) * np.cos(4 * places) + 1)
assert np.allclose(ours, tg.function([x], tg.exp(-x * x) * tg.cos(4 * x) + 1, backend="perform")(places))

# %% [markdown]
# A gradient needs nothing more: it is made of the same functions, and one rule is missing for it.

# %%
slope = FunctionGraph.of([x], [tg.grad(tg.sum(tg.exp(-x * x) * tg.cos(4 * x)), x)]).freeze()
try:
    WritingLinker().compile(slope, request)
except tg.NoRuleError as error:
    print(error)

# %% [markdown]
# Two functions are missing. What has fields, such as the length of an axis, is an op: its meaning in NumPy,
# `perform`, is a rule that is always right.


# %%
def rule(key):
    if isinstance(key, type):
        return lambda op, *arrays: op.perform(*arrays)[0]
    return {**RULES, tg.sin: np.sin, tg.subtract: np.subtract}.get(key)


complete = WritingLinker().compile(slope, Request("mine", None, rule))
((derivative,), _) = complete.run([places])
exact = np.exp(-(places**2)) * (-2 * places * np.cos(4 * places) - 4 * np.sin(4 * places))
print(abs(derivative - exact).max())
assert np.allclose(derivative, exact, atol=1e-12)

# %% [markdown]
# It is right, and as slow as Python; `tg new-backend` makes a distribution of such a start, with the conformance suite.

# %%
counts = np.logspace(1, 6, 11).astype(int)
compiled = tg.function([x], tg.exp(-x * x) * tg.cos(4 * x) + 1, backend="c")
seconds = {"this one": [], "c": []}
for n in counts:
    values = np.linspace(-3, 3, n)
    for name, call, argument in (("this one", program.run, [values]), ("c", compiled, values)):
        call(argument)
        times = []
        for _ in range(5):
            start = time.perf_counter()
            call(argument)
            times.append(time.perf_counter() - start)
        seconds[name].append(min(times))
fig, (left, right) = plt.subplots(1, 2)
left.plot(places, ours)
left.plot(places, derivative, "--")
left.set(xlabel="x", title="computed by it")
for name, measured in seconds.items():
    right.loglog(counts, 1e6 * np.array(measured), "o-", ms=3, label=name)
right.set(xlabel="elements", title="µs a call")
right.legend()
