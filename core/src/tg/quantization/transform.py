"""`tg.quantized`: functions whose products have packed weights, with floats or integers for activations."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from tg.configuration import current
from tg.errors import InputError, OptionError, message
from tg.functions.backends import choose
from tg.functions.compiled import Function
from tg.functions.make import function
from tg.functions.shared import Shared
from tg.graph import loc as locs
from tg.graph.nodes import apply, as_size_variable
from tg.graph.traversal import ancestors, inputs_of, key_of, sorted_applies
from tg.ops.groups import FORMATS
from tg.ops.shape import AxisLength
from tg.quantization.activations import checked_kind
from tg.quantization.calibration import calls_of, output_errors, ranges_of
from tg.quantization.change import Change, changed
from tg.quantization.report import Layer, QuantizationReport
from tg.quantization.sites import sites
from tg.quantization.skipping import skipped
from tg.quantization.weights import checked_format

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from tg.functions.backends import BackendChoice
    from tg.graph.nodes import Variable
    from tg.quantization.sites import Site
    from tg.quantization.weights import Packed
    from tg.types.choices import ActivationFormat, WeightFormat


def quantized(
    f: Function | tuple[Any, Any],
    weights: WeightFormat = "int8",
    activations: ActivationFormat | None = None,
    *,
    calibrate: Iterable[Any] | None = None,
    skip: str | Collection[str] = (),
    backend: str | BackendChoice | None = None,
) -> Function:
    """A function whose products and convolutions have packed weights in place of shared variables and constants.

    The weights are those of this moment, in new shared variables: the memory of the old ones is free once nothing else
    holds them. Rows of tables that are read by indices (embeddings) are packed alike. Weights that the function updates
    stay as they are, and so does what is inside of loops and branches. `q.report` has the errors of each layer.

    Args:
        f: a compiled function, or a pair of inputs and outputs as `tg.function` takes them.
        weights: "int8" or "int4", a scale for each channel of the result; or a format of groups with scales of their
            own: "q8_0", "q4_0", "q4_1", "q5_0", "q4_k", "q6_k", as `tg.quantize_groups` packs them. Rows that are no
            multiple of 256 have q5_0 in place of q4_k, q8_0 in place of q6_k.
        activations: None: floats, the weights are unpacked as they are read. "int8" or "uint8": the other factor is
            quantised too, and products are of integers with exact sums; a number as the scale for each row, computed
            as the program runs, or, with `calibrate`, one for all from the least and largest values there.
        calibrate: arguments of calls: tuples by position, dicts by name, or an array for a function of one input.
        skip: names of weights or modules (paths, as `tg.nn.params` has them) that stay as they are, with * and ? as in
            file names: "head" is "head.weight" too.
        backend: as `tg.function`; that of f by default.
    Raises:
        InputError: there is no product with weights; nothing has a name that is to be skipped; weights that are not
            finite; calibration without data.
        OptionError: another format, or integers for activations with weights in groups.
        NoRuleError: as `tg.function`.
    Example:
        >>> import numpy as np, tg
        >>> net = tg.nn.Sequential(tg.nn.Dense(64, 32), tg.relu, tg.nn.Dense(32, 10))
        >>> model, x = tg.nn.randomized(net, tg.random.key(0)), tg.matrix("x", "float32")
        >>> f = tg.function([x], model(x))
        >>> q = tg.quantized(f, "q8_0", skip="2")
        >>> images = np.ones((5, 64), "float32")
        >>> float(abs(q(images) - f(images)).max()) < 0.01
        True
        >>> q.report
        <report of 1 quantised layers of 2: 8,192 bytes -> 2,176>
    """
    form, kind = checked_format("quantized", weights), checked_kind("quantized", activations)
    if kind is not None and form in FORMATS:
        text = f"quantized: activations: found {kind!r} beside weights in groups, needed None"
        raise OptionError(message(text, hint='weights="int8" or "int4" has a scale for each channel'))
    source = f if isinstance(f, Function) else function(*f, backend="perform")
    request = source.request.written or source.request
    default = source.programs.choice if isinstance(f, Function) else choose(None, current().backend)
    choice = default if backend is None else choose(backend, default.name)
    places = sites(request.results, request.targets)
    if not places:
        hint = "weights are shared variables or constants, and not updated by the function"
        raise InputError(message("quantized: found no product with weights", hint=hint))
    chosen = [site for site, is_left in zip(places, skipped(places, skip), strict=True) if not is_left]
    calls = calls_of(request, calibrate)
    ranges = ranges_of(request, choice, chosen, calls) if kind is not None and calls is not None else None
    packs: dict[Any, Packed] = {}
    changes = [changed(site, form, kind, None if ranges is None else ranges[k], packs) for k, site in enumerate(chosen)]
    errors = None if calls is None else output_errors(request, choice, changes, calls)
    results = with_changes(request.results, changes)
    report = _report(places, changes, errors, results)
    sources = tuple(v for v in inputs_of(results) if isinstance(v, Shared))
    own = {id(v) for v in request.inputs}
    new = dataclasses.replace(
        request,
        sources=tuple(s for s in sources if id(s) not in own),
        results=tuple(results),
        options=dataclasses.replace(request.options, choice=choice),
        report=report,
    )
    return Function(new.retyped)


def with_changes(outputs: Sequence[Variable], changes: Sequence[Change]) -> list[Variable]:
    """The outputs with changed products; lengths of weights are constants, so that nothing else reads the weights."""
    by_node = {id(change.site.node): change for change in changes}
    lengths = _lengths(changes)
    done: dict[tuple[int, int], Variable] = {}

    def value(v: Variable) -> Variable:
        return done.get(key_of(v), v)

    with locs.at(None):
        for node, results in sorted_applies(outputs):
            operands = [value(v) for v in node.inputs]
            change, op = by_node.get(id(node)), node.op
            locs.fix(node.loc)
            if change is not None:
                fresh: Sequence[Variable] = (change.result(operands),)
            elif isinstance(op, AxisLength) and id(node.inputs[0]) in lengths:
                fresh = (as_size_variable(lengths[id(node.inputs[0])][op.axis]),)
            elif all(a is b for a, b in zip(operands, node.inputs, strict=True)):
                continue
            else:
                fresh = apply(op, operands)
            for k, (old, new) in enumerate(zip(results, fresh, strict=True)):
                done[id(node), k + 1] = new
                if old is not None and new.apply is not None:
                    new.name = new.name or old.name
        return [value(v) for v in outputs]


def _lengths(changes: Sequence[Change]) -> Mapping[int, tuple[int, ...]]:
    """The shapes of the shared variables below weights that are replaced, by id."""
    leaves = ancestors([change.site.weights for change in changes])
    return {id(v): v.snapshot.shape for v in leaves if isinstance(v, Shared)}


def _report(
    places: Sequence[Site], changes: Sequence[Change], errors: Sequence[float] | None, results: Sequence[Variable]
) -> QuantizationReport:
    by_node = {id(change.site.node): k for k, change in enumerate(changes)}
    layers = []
    for site in places:
        k = by_node.get(id(site.node))
        if k is None:
            size = site.weights.type.numpy_dtype.itemsize
            layers.append(Layer(site.name, site.kind, site.rows().shape, "", 8.0 * size))
            continue
        change = changes[k]
        packed = change.packed
        output = None if errors is None else errors[k]
        layers.append(
            Layer(site.name, site.kind, packed.array.shape, packed.format, packed.bits, change.weight_error, output)
        )
    before = {id(v): v for v in ancestors([c.site.weights for c in changes]) if isinstance(v, Shared)}
    left = {id(v) for v in inputs_of(results)}
    packs = {id(change.packed.levels): change.packed for change in changes}
    sizes = {number: v.snapshot.nbytes for number, v in before.items()}
    after = sum(packed.nbytes for packed in packs.values())
    return QuantizationReport(tuple(layers), sum(sizes.values()), after, sum(sizes[n] for n in sizes if n in left))
