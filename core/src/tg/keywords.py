"""Keywords: the names that other libraries have for arguments, with those of tg: `dim`, `lr`, `attn_mask`.

A row is a name here, and others of the same thing. What is told to a call with one of the others is the first name of
the first row whose first name the function takes. Functions of tg.nn and tg.optimize are put behind one that asks
(`explain`, `explained`), which costs 0.1 µs where programs are made; compiled functions know nothing of it.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import re
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tg.callers import is_direct
from tg.errors import InputError, TgError, message, nearest
from tg.hints import hinted
from tg.refusals import RAW_ERRORS, refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

F = TypeVar("F", bound="Callable[..., Any]")
K = TypeVar("K")

NEAR: Final = 0.8  # how much of a name a guess has to share, as difflib counts: `learning_rat`

OPTIMIZER: Final = (
    "tg.optimize.{}(loss, params, learning_rate=…) gives updates for tg.function"  # Optax and PyTorch: no loss
)
ELSEWHERE: Final = (  # a name here, and those of NumPy, SciPy, PyTorch, JAX, Flax, Optax, PyTensor, TensorFlow, Keras
    ("axis", "dim dims axes batch_first time_major reduction_indices dimension"),
    ("axes", "dim dims axis reduction_axes normalized_shape perm permutation"),
    ("axis1", "dim0 dim1"),
    ("axis2", "dim1 dim2"),
    ("keepdims", "keepdim keep_dims"),
    ("dtype", "type output_dtype out_type preferred_element_type"),
    # making functions, derivatives
    ("backend", "device target engine platform"),
    ("outputs", "output y fn f"),
    ("inputs", "params args"),
    ("mode", "optimize optimizer linker"),
    ("on_unused_input", "on_unused"),
    ("donate", "donate_argnums donate_argnames"),
    ("static_argnames", "static static_args"),
    ("checkpointing", "remat checkpoint"),
    ("cost", "loss objective outputs"),
    ("wrt", "argnums inputs sources argnum xs"),
    ("disconnected", "disconnected_inputs allow_unused unconnected_gradients return_disconnected"),
    ("tangents", "eval_points v"),
    ("cotangents", "grad_outputs output_gradients v"),
    ("in_axes", "in_dims"),
    ("out_axes", "out_dims"),
    # loops and branches
    ("init", "init_val initial carry initializer outputs_info loop_vars"),
    ("xs", "elems sequences inputs"),
    ("length", "n_steps size"),
    ("reverse", "go_backwards"),
    ("body", "body_fun body_fn fn"),
    ("cond", "cond_fun cond_fn"),
    ("max_steps", "maximum_iterations"),
    ("then", "true_fun true_fn then_branch"),
    ("otherwise", "false_fun false_fn else_branch"),
    ("pred", "condition predicate"),
    # arrays
    ("initial", "start init_value"),
    ("fill_value", "value fill"),
    ("num", "steps n"),
    ("indices", "idx ind ids"),
    ("indices_or_sections", "num_or_size_splits splits_size sections n_splits"),
    ("reps", "repeats multiples"),
    ("shift", "shifts"),
    ("offset", "diagonal k"),
    ("k", "diagonal"),
    ("decimals", "digits ndigits"),
    ("min", "a_min x_min clip_value_min"),
    ("max", "a_max x_max clip_value_max"),
    ("full_matrices", "some"),
    ("bc_type", "bc boundary"),
    ("UPLO", "uplo lower"),
    ("ddof", "unbiased"),
    ("condition", "cond mask"),
    ("seed", "random_state rng"),
    ("largest", "descending"),
    ("descending", "direction reverse"),
    ("arrays", "values tensors tensors_list"),
    ("minlength", "num_bins"),
    # random numbers
    ("shape", "size sample_shape output_shape newshape new_shape target_shape"),
    ("loc", "mean mu location"),
    ("scale", "std sigma stddev sd"),
    ("low", "minval a lower"),
    ("high", "maxval b upper"),
    ("eps", "epsilon eps_"),
    ("bias", "use_bias"),
    ("layout", "data_format channels_last data_layout"),
    # layers
    ("inner", "in_features in_channels input_size in_size"),
    ("outer", "out_features out_channels output_size out_size features filters units"),
    ("channels", "num_features num_channels input_size"),
    ("groups", "num_groups feature_group_count"),
    ("shape", "normalized_shape"),
    ("number", "num_embeddings num_layers depth"),
    ("width", "embedding_dim embed_dim hidden_size d_model features qkv_features query_size model_dim"),
    ("heads", "num_heads nhead n_heads"),
    ("hidden", "dim_feedforward hidden_size intermediate_size mlp_dim"),
    ("layers", "num_layers"),
    ("dropout", "dropout_rate dropout_p rate drop p"),
    ("affine", "use_scale elementwise_affine"),
    ("p", "rate drop_rate dropout_rate drop norm_degree"),
    ("window", "kernel_size window_shape pool_size filter_size"),
    ("stride", "strides window_strides"),
    ("dilation", "dilations dilation_rate kernel_dilation rhs_dilation"),
    ("size", "output_size target_shape"),
    ("factor", "upscale_factor downscale_factor block_size"),
    ("method", "mode interpolation"),
    # calls
    ("x", "input inputs operand a input_tensor tensor"),
    ("q", "query quantile"),
    ("k", "key"),
    ("v", "value"),
    ("w", "weight filters kernel"),
    ("memory", "key value encoder_output"),
    ("mask", "attn_mask key_padding_mask attention_mask src_mask bias"),
    ("state", "h0 hx initial_state initial_carry"),
    ("lengths", "seq_lengths sequence_length"),
    ("key", "rng rngs prng_key generator random_state"),
    ("training", "train is_training deterministic inference"),
    ("mean", "running_mean"),
    ("var", "running_var"),
    # losses
    ("logits", "input inputs predictions y_pred"),
    ("labels", "target targets y_true"),
    ("targets", "target labels y_true"),
    ("y", "target targets labels y_true"),
    ("target", "targets labels y_true"),
    ("delta", "beta"),
    ("beta", "delta"),
    ("negative_slope", "alpha"),
    ("n", "num_classes classes depth"),
    ("classes", "num_classes n"),
    # optimizers, schedules, solvers
    ("learning_rate", "lr step_size stepsize"),
    ("b1", "betas beta1 beta_1 beta"),
    ("b2", "beta2 beta_2"),
    ("decay", "alpha rho"),
    ("rho", "decay alpha"),
    ("max_norm", "clip_norm clipnorm max_value"),
    ("gradients", "grads updates"),
    ("params", "parameters weights"),
    ("init_value", "initial_learning_rate learning_rate lr base_lr"),
    ("peak_value", "max_lr peak_lr"),
    ("transition_steps", "step_size total_steps decay_steps num_steps"),
    ("decay_steps", "T_max total_steps"),
    ("decay_rate", "gamma"),
    ("boundaries", "milestones"),
    ("f", "fun func fn"),
    ("x0", "init_params x_init initial_guess"),
    ("maxiter", "max_iter max_steps maximum_iterations"),
    ("tol", "rtol gtol xtol tolerance"),
)

INSTEAD: Final = (  # keywords that stand for something that has another form here: of which functions, all for *
    ("function jit", "profile", "`f.profile([1.0, 2.0])` times the parts of a call"),
    ("function jit", "allow_input_downcast", "`f(np.ones(2).astype(x.dtype))` converts on purpose"),
    ("function", "no_default_updates", "`tg.function([x], x, updates={state: state})` keeps a value"),
    ("function", "accept_inplace rebuild_strict trust_input", "`tg.function([x], x)` needs no such option"),
    ("function", "static_argnums static_argnames",
     "`tg.jit(lambda v, n: v * n, static_argnames=['n'])` has such arguments"),
    ("function", "static_shapes", '`tg.function([w], w)`, of inputs with a shape: `tg.vector("w", shape=(3,))`'),
    ("jit", "inline keep_unused abstracted_axes in_shardings out_shardings fullgraph dynamic options input_signature",
     "`tg.jit(tg.exp)` needs no such option"),
    ("jit", "donate donate_argnums updates givens", "tg.function has it: `tg.function([x], tg.exp(x), donate=[x])`"),
    ("grad value_and_grad vjp jvp jacobian hessian", "create_graph retain_graph materialize_grads is_grads_batched",
     "gradients are expressions: `tg.grad(tg.sum(tg.grad(cost, x)), x)`"),
    ("grad value_and_grad", "has_aux",
     "other results are beside it: `tg.function([x], [tg.grad(cost, x), tg.exp(x)])`"),
    ("grad value_and_grad", "grad_outputs", "`tg.vjp(x * s, x, y)`"),
    ("scan map fori_loop while_loop reduce", "non_sequences args shared loop_vars operand",
     "what a step uses is captured as it is: `tg.scan(lambda c, v: (c + s * v, c), s, x)`"),
    ("scan map fori_loop while_loop", "unroll parallel_iterations strict swap_memory back_prop infer_shape",
     "`tg.scan(lambda c, v: (c + v, c), s, x)` needs no such option"),
    ("scan", "truncate_gradient", "`tg.scan(lambda c, v: (tg.stop_gradient(c) + v, c), s, x)`"),
    ("scan", "return_list allow_gc return_updates", "`tg.scan(lambda c, v: (c + v, c), s, x)` needs no such option"),
    ("cumsum cumprod", "exclusive", "`tg.cumsum(x) - x` leaves out the element itself"),
    ("cumsum cumprod", "reverse", "`tg.flip(tg.cumsum(tg.flip(x)))`"),
    ("topk", "sorted", "`tg.topk(x, 2)` is in order"),
    ("matmul", "transpose_a transpose_b adjoint_a adjoint_b", "`m.mT @ m`"),
    ("take", "batch_dims", "`tg.take_along_axis(m, i[:, None], axis=1)`"),
    ("one_hot", "on_value off_value", "`tg.where(tg.one_hot(i, 2) > 0, 2.0, -1.0)`"),
    ("grad", "persistent watch_accessed_variables", "`tg.grad(cost, x)` needs no such option"),
    ("grad", "add_names", "`tg.grad(cost, x)` needs no such option"),
    ("cond switch", "operand inputs", "operands follow the functions: `tg.cond(s > 0, tg.exp, tg.sqrt, x)`"),
    ("vmap", "axis_name axis_size spmd_axis_name randomness chunk_size", "`tg.vmap(tg.sum)(m)` needs no such option"),
    ("get_value", "borrow return_internal_type", "it is a copy: `state.get_value()`"),
    ("set_value", "borrow", "it is copied: `state.set_value(1.5)`"),
    ("shared", "borrow allow_downcast strict broadcastable", "its dtype is said: `tg.shared(1.5, dtype=x.dtype)`"),
    ("*", "out", "results are new variables: `y = tg.exp(x)`"),
    ("*", "where", "`tg.where(mask, tg.exp(x), x)`"),
    ("*", "dtype out_type", '`tg.exp(x.astype("float32"))`'),
    ("*", "axis", "it works element by element; along an axis `tg.max(m, axis=0)`"),
    ("*", "casting subok order signature like", "`tg.exp(x)` needs no such option"),
    ("*", "inplace", "variables are immutable: `x = tg.exp(x)`"),
    ("*", "requires_grad", "any input can be asked for: `tg.grad(cost, x)`"),
    ("*", "device pin_memory memory_format sharding", 'where it runs, a backend says: `tg.backend("perform")`'),
    ("*", "name", 'inputs have names: `tg.vector("x")`'),
    ("*", "precision preferred_element_type", 'backends have options: `tg.function([x], x, backend="perform")`'),
    ("*", "broadcastable", '`tg.matrix("m", shape=(1, None))`'),
)  # fmt: skip

REST: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
UNKNOWN: Final = re.compile(r"got an unexpected keyword argument '(\w+)'")
EXCESS: Final = re.compile(r"takes (?:from \d+ to )?\d+ positional arguments? but \d+ .*(?:was|were) given")
LACKING: Final = re.compile(r"missing \d+ required (?:positional|keyword-only) arguments?: (.*)")


def explain(names: dict[str, Any], public: Iterable[str]) -> None:
    """Functions and classes of a module that tell of keywords as `instead` does, in place of those which it imported.

    Args:
        names: those of the module, which keeps everything else.
        public: which to put.
    """
    for name in public:
        f = names[name]
        if isinstance(f, type):
            hinted(f)
        if type(f) is FunctionType:
            names[name] = explained(f, names["__name__"])
        elif isinstance(f, type) and type(f.__dict__.get("__init__")) is FunctionType:
            f.__init__ = explained(f.__init__)  # type: ignore[misc]


def with_told_methods(kind: type[K]) -> type[K]:
    """A class whose public methods tell of keywords as `instead` does."""
    for name, f in list(vars(kind).items()):
        if type(f) is FunctionType and not name.startswith("_"):
            setattr(kind, name, explained(f))
    return kind


def explained(f: F, module: str | None = None) -> F:
    """A function that tells of keywords as `instead` does; the same one wherever it is asked of the same function.

    So `tg.nn.softmax` is `tg.softmax`.

    Args:
        module: which module has it, where pickle is to find it; None for the one that defines it.
    """
    if f.__code__ is _CODE:
        return f
    if f not in _WRAPPERS:
        _WRAPPERS[f] = _explained(hinted(f))
        if module is not None:
            _WRAPPERS[f].__module__ = module
    return _WRAPPERS[f]  # type: ignore[no-any-return]


def _explained(f: Callable[..., Any]) -> Any:
    what = f.__name__ if f.__name__ != "__init__" else f.__qualname__.split(".")[-2]

    @functools.wraps(f)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return f(*args, **kwargs)
        except TgError as error:
            error.trim()
            raise
        except RAW_ERRORS as error:
            told: TgError | None = None
            if isinstance(error, TypeError):
                told = unfit(what, [f], args, kwargs, error)
            if told is None and is_direct():
                told = refusal(what, f, args, kwargs, error)
            if told is None:
                raise
            raise told from (error if told.shows_all else None)

    return called


_WRAPPERS: Final[dict[Any, Any]] = {}
_CODE: Final = _explained(len).__code__


def instead(
    what: str, functions: Iterable[Callable[..., Any]], kwargs: Iterable[str], error: TypeError
) -> InputError | None:
    """The exception for a call with a keyword that nothing takes, if there is another name for it, or a similar one.

    Args:
        what: the name of what was called.
        functions: what takes the keywords, one after another.
        kwargs: those of the call.
        error: what was raised by it.
    """
    match = UNKNOWN.search(str(error)) if type(error) is TypeError else None
    if match is None or match[1] not in kwargs:
        return None
    name, own = match[1], list(itertools.chain(*map(_keywords, functions)))
    if name in own:  # what it calls does not take it
        return None
    right = [here for here, others in ELSEWHERE if here in own and name in others.split()]
    hint = None if right else without_counterpart(what, name)
    right += [] if hint else nearest(name, own, 1, NEAR)
    if not right and hint is None:
        return None
    return InputError(
        message(f"{what}: keyword: found {name}, needed {right[0] if right else ', '.join(own)}", hint=hint)
    )


def lacking(
    what: str, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], error: TypeError
) -> InputError | None:
    """The exception for a call that leaves out what a function has no default for; None where something else is wrong.

    Args:
        what: the name of what was called.
        args, kwargs: those of the call.
        error: what was raised by it.
    """
    match = LACKING.search(str(error)) if type(error) is TypeError else None
    if match is None:
        return None
    signature, names = inspect.signature(f), re.findall(r"'(\w+)'", match[1])
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        needed = [k for k, p in signature.parameters.items() if p.default is p.empty and p.kind not in REST]
        shown = [k for k in needed if k != "self"]
        if set(names) <= set(shown):
            text = f"{what}: found no {', '.join(names)}, needed {', '.join(shown)}"
            hint = OPTIMIZER.format(what) if shown == ["loss", "params"] else None
            return InputError(message(text, hint=hint))
    return None


def excess(
    what: str, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], error: TypeError
) -> InputError | None:
    """The exception for a call with more arguments by position than a function takes; None where all else is wrong.

    Args:
        what: the name of what was called.
        args, kwargs: those of the call.
        error: what was raised by it.
    """
    if type(error) is not TypeError or not EXCESS.search(str(error)):
        return None
    parameters = list(inspect.signature(f).parameters.values())
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    by_place = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    by_name = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    hidden = int(by_place[:1] == ["self"])
    if len(args) <= len(by_place):  # a function that it calls got too many
        return None
    most = len(by_place) - hidden
    needed = f"{most}: {', '.join(by_place[hidden:])}" if most else "none"
    text = f"{what}: found {len(args) - hidden} arguments by position, needed at most {needed}"
    return InputError(message(text, hint=f"by name: {', '.join(by_name)}" if by_name else None))


def unfit(
    what: str, functions: list[Callable[..., Any]], args: tuple[Any, ...], kwargs: dict[str, Any], error: TypeError
) -> InputError | None:
    """The exception for a call that does not fit a signature: a name, too few arguments, or too many.

    Args:
        what: the name of what was called.
        functions: what takes the keywords, one after another: the first takes the call.
        args, kwargs: those of the call.
        error: what was raised by it.
    """
    f = functions[0]
    return (
        instead(what, functions, kwargs, error)
        or lacking(what, f, args, kwargs, error)
        or excess(what, f, args, kwargs, error)
    )


def without_counterpart(what: str, keyword: str) -> str | None:
    """Advice on a keyword for which a function has no other name; None where there is none."""
    for functions, keywords, text in INSTEAD:
        if keyword in keywords.split() and (functions == "*" or what in functions.split()):
            return text
    return None


def _keywords(f: Callable[..., Any]) -> list[str]:
    return [k for k, p in inspect.signature(f).parameters.items() if p.kind not in REST]
