"""Which outputs may lie in the memory of inputs: what a pair must be like, and what reads the input when."""

import tg
from tg.graph.function_graph import freeze
from tg.link.schedule import Run, schedule
from tg_native.fusion.fused import fuse
from tg_native.fusion.fusion import Choices
from tg_native.plan.donation import VIEWS, Donation, Written, readers_of_inputs

ROWS = Choices(ends=lambda node, graph: True, rows=True)


def order_of(graph, pairs):
    """The nodes as they run where the outputs of some pairs come last."""
    makers = {n: k for k, node in enumerate(graph.nodes) for n in node.outputs}
    readers = readers_of_inputs(graph, {j for _, j in pairs})
    last = {makers[n]: readers[j] - {makers[n]} for k, j in pairs if (n := graph.outputs[k]) in makers}
    return [step.node for step in schedule(graph, makers, last) if isinstance(step, Run)]


def pairs_of(inputs, outputs, wanted=None, choices=None):
    """The legal pairs of a program, by default of those of each output and the input in its place.

    Args:
        choices: what loops may have where the program is fused.
    """
    graph = freeze(inputs, outputs)
    if choices is not None:
        graph = fuse(graph, choices)
    donation = Donation(graph, [(k, k) for k in range(len(outputs))] if wanted is None else wanted)
    order = order_of(graph, donation.pairs)
    roots = {j: frozenset((j,)) for j in range(graph.arity)}
    for k in order:
        node = graph.nodes[k]
        if isinstance(node.op, VIEWS):
            roots.update((n, roots.get(node.inputs[0], frozenset())) for n in node.outputs)
    views = {n for node in graph.nodes if isinstance(node.op, VIEWS) for n in node.outputs}
    direct = {k: n for k, n in enumerate(graph.outputs) if n >= graph.arity and n not in views}
    return donation.legal(donation.pairs, Written(order, roots, direct))


def variables():
    return tg.matrix("w"), tg.matrix("g"), tg.vector("v")


def test_an_elementwise_step_may_write_where_it_has_read():
    w, g, v = variables()
    assert pairs_of([w, g], [w - g]) == ((0, 0),)
    assert pairs_of([w, v], [w - v]) == ((0, 0),)
    assert pairs_of([w, v], [w - v], choices=ROWS) == ((0, 0),)
    assert pairs_of([w], [tg.exp(w) * 2.0], choices=ROWS) == ((0, 0),)
    assert pairs_of([w, g], [w - g, g]) == ((0, 0), (1, 1))


def test_pairs_have_one_dtype_and_one_shape():
    w, g, v = variables()
    assert pairs_of([w], [tg.cast(w, "float32")]) == ()
    assert pairs_of([w], [tg.sum(w, axis=1)]) == ()
    assert pairs_of([w], [w[1:] * 2.0]) == ()
    assert pairs_of([v, w], [w - v]) == ()
    assert pairs_of([w, g], [tg.exp(g)]) == ()  # its lengths may be others
    assert pairs_of([w, g], [tg.exp(g), w + g], [(0, 0)]) == ((0, 0),)  # they are made sure of


def test_each_input_serves_one_output():
    w, g, _ = variables()
    assert pairs_of([w, g], [w + g, w - g], [(0, 0), (1, 0), (1, 1)], choices=ROWS) == ((0, 0), (1, 1))
    assert pairs_of([w], [w + 1.0], [(3, 0), (0, 3), (0, 0)]) == ((0, 0),)


def test_places_that_move_are_declined():
    w, _, v = variables()
    for moved in (w.T + tg.zeros_like(w), w + w.T, w + w[0], w - w[:, 0][:, None], w[::-1] * w):
        assert pairs_of([w], [moved]) == ()
        assert pairs_of([w], [moved], choices=ROWS) == ()
    assert pairs_of([v], [tg.reshape(tg.reshape(v, (-1, 1)) * 2.0, v.shape)]) == ((0, 0),)


def test_what_is_read_later_is_declined():
    w, g, _ = variables()
    assert pairs_of([w, g], [w + g, w * g]) == ((1, 1),)
    assert pairs_of([w, g], [w + g, w * g], choices=ROWS) == ((0, 0), (1, 1))
    assert pairs_of([w, g], [g, w]) == ()
    assert pairs_of([w], [w * 2.0, w[1:]]) == ()
    assert pairs_of([w, g], [tg.matmul(w, g.T) + tg.zeros((1, 1)), g * 2.0], [(1, 1)]) == ((1, 1),)
    assert pairs_of([w], [w / tg.sum(w)]) == ((0, 0),)


def test_what_indexed_updates_begin_with():
    w, _, v = variables()
    i = tg.vector("i", dtype="int64")
    assert pairs_of([v, i], [v.at[i].add(1.0)]) == ((0, 0),)
    assert pairs_of([v, i], [v.at[i].add(1.0)], choices=ROWS) == ((0, 0),)
    assert pairs_of([v], [v.at[1:].set(2.0)]) == ((0, 0),)
    assert pairs_of([v], [v.at[1:].set(v[:-1])]) == ()
    assert pairs_of([v, i], [v.at[i].add(v[i])]) == ((0, 0),)  # gathered into memory of their own before
    assert pairs_of([w], [w.at[0].set(w[1])]) == ()


def test_a_row_is_read_before_it_is_written():
    w, _, _ = variables()
    total = tg.sum(w, axis=1)[:, None]
    assert pairs_of([w], [w / total], choices=ROWS) == ((0, 0),)
    y = w / total
    again = tg.sum(tg.abs(w - tg.sum(w * y, axis=1)[:, None]), axis=1)
    assert pairs_of([w], [y, again], choices=ROWS) == ()


def test_what_overwrites_comes_behind_what_reads_and_before_what_does_not():
    w, g, v = variables()
    graph = freeze([w, g, v], [w + g, tg.exp(w) * tg.exp(g), tg.sinh(tg.cosh(v))])
    order = order_of(graph, [(0, 0)])
    names = [graph.nodes[k].op.name for k in order]
    assert [*map(names.index, ("exp", "add", "multiply"))] == sorted(map(names.index, ("exp", "add", "multiply")))
    assert max(k for k, node in enumerate(order) if 0 in graph.nodes[node].inputs) == names.index("add")
    assert names.index("add") < names.index("cosh") < names.index("sinh")
    assert sorted(order) == list(range(len(graph.nodes)))


def test_each_layer_is_updated_before_the_next_gradient():
    x, layers = tg.matrix("x", shape=(3, 4)), [tg.matrix(f"w{k}", shape=(4, 4)) for k in range(5)]
    y = x
    for w in layers:
        y = tg.tanh(y @ w.T)
    updated = [w - 0.1 * slope for w, slope in zip(layers, tg.grad(tg.sum(y), layers), strict=True)]
    graph = freeze([*layers, x], updated)
    order = order_of(graph, [(k, k) for k in range(5)])
    makers = {n: at for at, node in enumerate(order) for n in graph.nodes[node].outputs}
    writes = [makers[graph.outputs[k]] for k in range(5)]
    products = [at for at, node in enumerate(order) if graph.nodes[node].op.name == "MatMul"]
    assert writes[1:] == sorted(writes[1:], reverse=True)
    for at in writes:
        assert at - max(p for p in products if p < at) <= 4  # scaled and subtracted at once
    readers = readers_of_inputs(graph, range(5))
    assert all(writes[k] == max(order.index(node) for node in readers[k]) for k in range(5))
