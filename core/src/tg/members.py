"""Members: the attributes and methods that objects of other libraries have, with what does the same for those of tg.

A row is the classes it is about, some names, and a text as in `tg.words`: the tests run what stands in `…`.
Of a variable, names that `tg.words` has and functions of tg are told as well: `x.unsqueeze`, `x.exp`.
"""

from __future__ import annotations

import functools
import sys
from typing import Final

from tg.errors import message, nearest
from tg.words import NEAR, instead

VARIABLE: Final = "Variable"  # the class of which names are looked up among functions too

ELSEWHERE: Final = (
    # variables: PyTorch, JAX, NumPy, PyTensor, TensorFlow
    ("Variable", "view", "`x.reshape(-1, 1)`"),
    ("Variable", "view_as reshape_as", "`x.reshape(y.shape)`"),
    ("Variable", "item tolist numpy data value values tobytes tofile dump",
     "`x.eval({x: [1.0, 2.0]})` has the value; `tg.function([x], x)` compiles what is asked for more than once"),
    ("Variable", "get_value get_test_value tag", "`tg.shared([1.0, 2.0])` has a value; an input has none"),
    ("Variable", "owner", "`x.op`, `x.inputs`"),
    ("Variable", "backward grad", "`tg.grad(cost, x)`"),
    ("Variable", "requires_grad requires_grad_ retain_grad is_leaf grad_fn",
     "any input can be asked for: `tg.grad(cost, x)`"),
    ("Variable", "register_hook", "tg.custom_vjp and `tg.grad_clip(x, -1.0, 1.0)` change gradients"),
    ("Variable", "to type_as", '`x.astype("float32")`; where it runs, a backend says: `tg.backend("perform")`'),
    ("Variable", "float double half bfloat16 int long short bool byte char type_",
     '`x.astype("float32")`, with the name of the dtype'),
    ("Variable", "cpu cuda mps is_cuda pin_memory",
     'where it runs, a backend says: `tg.function([x], x, backend="perform")`'),
    ("Variable", "contiguous is_contiguous strides stride flags base itemset ctypes data_ptr storage",
     "variables have no memory order: `x` itself"),
    ("Variable", "eq", "`x == y`"),
    ("Variable", "fill fill_ zero_ normal_ uniform_", "variables are immutable: `tg.full_like(x, 0.5)`"),
    ("Variable", "add_", "variables are immutable: `x + y`"),
    ("Variable", "sub_", "variables are immutable: `x - y`"),
    ("Variable", "mul_", "variables are immutable: `x * y`"),
    ("Variable", "div_", "variables are immutable: `x / y`"),
    ("Variable", "copy_ assign set_data resize resize_ put itemset_", "variables are immutable: `x.at[0].set(0.5)`"),
    ("Variable", "set_subtensor", "`x.at[0].set(0.5)`"),
    ("Variable", "inc_subtensor assign_add_", "`x.at[0].add(0.5)`"),
    ("Variable", "dim", "`x.ndim`"),
    ("Variable", "get_shape", "`x.shape`"),
    ("Variable", "assign_sub", "variables are immutable: `x - y`"),
    ("Variable", "numel nelement", "`x.size`"),
    ("Variable", "itemsize element_size", "`x.nbytes`, in all"),
    ("Variable", "broadcastable", "`x.type`"),
    ("Variable", "dimshuffle", "`m.transpose(1, 0)`, `x[:, None]`"),
    ("Variable", "is_sparse to_dense tocsr", "`x` is dense"),
    ("Variable", "H", "`m.conj().T`"),
    ("Variable", "byteswap newbyteorder", "`x.astype(\"int64\")`: byte orders are the machine's"),
    ("Variable", "apply_ map_", "`tg.vmap(lambda v: v * 2)(x)`"),
    ("Variable", "block_until_ready", "`x.eval({x: [1.0, 2.0]})` is there when it returns"),
    ("Variable", "iloc loc_", "`x[0]`"),
    # shared variables
    ("Shared", "value data read_value numpy item eval_ get borrow read tolist", "`state.get_value()`"),
    ("Shared", "assign copy_ set_data load fill_ put", "`state.set_value(1.5)`"),
    ("Shared", "assign_sub", "`tg.function([], [], updates={state: state - 1.0})` is a step"),
    ("Shared", "trainable initialized_value initializer", "`state.get_value()` has it from the start"),
    ("Shared", "assign_add add_ iadd", "`tg.function([], [], updates={state: state + 1.0})` is a step"),
    ("Shared", "zero_ zero", "`state.set_value(np.zeros_like(state.get_value()))`"),
    ("Shared", "container", "`state.get_value()`, `state.set_value(1.5)`"),
    # compiled functions
    ("Function", "lower as_text hlo mlir", "`f.source()` is the generated code, `tg.print(f)` the graph"),
    ("Function", "compile compiler_ir", "it is compiled: `f.compile_report()`"),
    ("Function", "save", "`tg.save(f, path)`"),
    ("Function", "export serialize", "`tg.save(f, path)` keeps it; tg.export writes it in formats of others"),
    ("Function", "fn vm input_storage output_storage python_function", "`f([1.0, 2.0])` is all of a call"),
    ("Function", "experimental_get_compiler_ir get_concrete_function", "`tg.print(f)`"),
    ("Function", "maker fgraph inner_function", "`f.graph`"),
    ("Function", "dprint debugprint print", "`tg.print(f)`"),
    ("Function", "grad backward", "`tg.function([x], tg.grad(cost, x))` is a function of its own"),
    ("Function", "get_shared variables parameters params", "`f.shared`"),
    ("Function", "outputs output_shape", "`f.graph.outputs`"),
    ("Function", "eval call apply forward run predict", "`f([1.0, 2.0])`"),
    ("Function", "time timeit cost_analysis trust_input", "`f.profile([1.0, 2.0])`"),
    ("Function", "clone", "`f.copy()`"),
    ("Function", "vmap map", "`tg.vmap(tg.exp)(m)`"),
    ("Function", "code", "`f.source()`"),
    # functions that compile themselves
    ("Jitted", "source report graph backend profile compile_report explain inference traceable pointer copy",
     "for arguments like some: `j.lower(np.ones(2)).{name}`"),
    ("Jitted", "trace compile eval_shape get_concrete_function", "`j.lower(np.ones(2))`"),
    ("Jitted", "clear_cache cache_info", "`j.functions`, one for each kind of arguments"),
    ("Jitted", "grad", "of its expression: `tg.grad(tg.sum(j(x)), x)`"),
    # places of updates
    ("Place", "apply", "`x.at[0].set(tg.exp(x[0]))`"),
    ("Place", "mul", "`x.at[0].multiply(2.0)`"),
    ("Place", "div", "`x.at[0].divide(2.0)`"),
    ("Place", "pow", "`x.at[0].power(2.0)`"),
    ("Place", "sub dec", "`x.at[0].subtract(2.0)`"),
    ("Place", "inc increment assign_add scatter_add", "`x.at[0].add(2.0)`"),
    ("Place", "assign replace put update", "`x.at[0].set(2.0)`"),
    ("IndexedUpdates", "set add multiply divide power min max subtract get", "an index says where: `x.at[0].{name}`"),
    # modules of networks
    ("Module", "train eval", "training is an argument of a call: `tg.nn.Dropout(0.5)(x, training=False)`"),
    ("Module", "parameters named_parameters trainable_variables trainable_weights weights_", "`tg.nn.params(model)`"),
    ("Module", "buffers named_buffers", "`tg.nn.state(model)` has the running statistics by path"),
    ("Module", "state_dict get_weights",
     "`{**tg.nn.params(model), **tg.nn.state(model)}` has all by path, tg.nn.save writes them"),
    ("Module", "load_state_dict set_weights", "`tg.nn.load(model, dict(tg.nn.params(model)))`"),
    ("Module", "forward call predict", "`model(np.ones((1, 3)))` calls it; a module defines __call__"),
    ("Module", "init build reset_parameters",
     "`tg.nn.randomized(tg.nn.Dense(3, 2), tg.random.key(0))` draws all weights"),
    ("Module", "apply",
     "`tg.nn.replaced(model, tg.nn.params(model))(np.ones((1, 3)))` is the model with other weights"),
    ("Module", "save_weights load_weights count_params get_layer trainable",
     "weights by path: `tg.nn.params(model)`, tg.nn.save and tg.nn.load, `tg.nn.count(model)`"),
    ("Module", "add add_module append extend",
     "`tg.nn.Sequential(tg.nn.Dense(3, 2), tg.nn.relu)` has its layers from the start"),
    ("Module", "children modules named_modules named_children layers_", "`model.parts`"),
    ("Module", "cuda cpu device",
     'backends have devices: `tg.function([x], x, backend=tg.backend("jax", device="cpu"))`'),
    ("Module", "to",
     ('backends have devices: `tg.function([x], x, backend=tg.backend("jax", device="cpu"))`; weights the dtype they '
     "are drawn in: `tg.nn.randomized(tg.nn.Dense(3, 2), tg.random.key(0), 'float64')`")),
    ("Module", "half float double",
     "weights have the dtype they are drawn in: `tg.nn.randomized(tg.nn.Dense(3, 2), tg.random.key(0), 'float64')`"),
    ("Module", "compile fit", "`tg.optimize.adam(tg.sum(x * state), state)` gives the updates of a step"),
    ("Module", "zero_grad", "gradients are computed where `tg.grad(cost, x)` asks"),
    ("Module", "tabulate", "`tg.nn.summary(model, tg.matrix('m'))`"),
    # streams of random numbers
    ("RandomStream", "randn", "`stream.normal(size=(3,))`"),
    ("RandomStream", "rand random_sample sample ranf uniform_", "`stream.uniform(size=(3,))`"),
    ("RandomStream", "randint random_integers", "`stream.integers(10, size=(3,))`"),
    ("RandomStream", "spawn split", "`stream.key()` is a key of its own"),
    ("RandomStream", "bytes", "`tg.random.bits(stream.key(), (3,))`"),
    # the configuration
    ("Configure", "floatX default_dtype", '`with tg.config(dtype="float32"): x = tg.vector("x")`'),
    ("Configure", "update set change_flags", '`with tg.config(backend="perform"): f = tg.function([x], x)`'),
    ("Configure", "device", 'backends have options: `tg.backend("jax", device="cpu")`'),
    ("Configure", "optimizer linker", '`with tg.config(mode="strict"): f = tg.function([x], x)`'),
    ("Configure", "compute_test_value jax_debug_nans", "`with tg.config(nan_guard=True): f = tg.function([x], x)`"),
    ("Configure", "jax_enable_x64 warn_float64", '`with tg.config(promotion="warn"): y = x * 2.0`'),
)  # fmt: skip


def missing(value: object, name: str) -> AttributeError:
    """The exception for an attribute that an object does not have, with what to do instead.

    Of its own, such as a slot that is not set, it is told without: rewriting asks for these at each node.
    """
    text = f"{type(value).__name__!r} object has no attribute {name!r}"
    if name.startswith("_") or hasattr(type(value), name):
        return AttributeError(text, name=name)
    kinds = tuple(kind.__name__ for kind in type(value).__mro__)
    own = tuple(member for member in dir(value) if not member.startswith("_"))
    return AttributeError(message(text, hint=_hint(kinds, name, own)), name=name)


@functools.lru_cache(maxsize=1024)
def _hint(kinds: tuple[str, ...], name: str, own: tuple[str, ...]) -> str | None:
    """The advice about a name that objects of these classes do not have; None if there is none."""
    rows = _rows()
    for kind in kinds:
        if (kind, name) in rows:
            return rows[kind, name]
    if VARIABLE in kinds:
        functions = sys.modules["tg"]
        if name in dir(functions) and callable(getattr(functions, name)):
            return f"tg.{name} is a function: tg.{name}(x)"
        if (word := instead(name)) is not None:
            return word
    near = nearest(name, own, 1, NEAR)
    return f"{near[0]} exists" if near else None


@functools.cache
def _rows() -> dict[tuple[str, str], str]:
    """The text for each class and name."""
    return {
        (kind, name): text.replace("{name}", name)
        for kinds, names, text in ELSEWHERE
        for kind in kinds.split()
        for name in names.split()
    }
