"""Keywords: the names that other libraries have for arguments, with those of tg: `dim`, `lr`, `attn_mask`.

A row is a name here, and others of the same thing. What is told to a call with one of the others is the first name of
the first row whose first name the function takes. Functions of tg.nn and tg.optimize are put behind one that asks
(`explain`, `explained`), which costs 0.1 µs where programs are made; compiled functions know nothing of it.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import itertools
import re
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tg.errors import InputError, message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

F = TypeVar("F", bound="Callable[..., Any]")

NEAR: Final = 0.8  # how much of a name a guess has to share, as difflib counts: `learning_rat`

ELSEWHERE: Final = (  # a name here, and what PyTorch, JAX, Flax, Optax, Keras and SciPy call it
    ("axis", "dim dims batch_first time_major"),
    ("axes", "dim dims axis reduction_axes normalized_shape"),
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
    ("x", "input inputs operand a"),
    ("q", "query"),
    ("k", "key"),
    ("v", "value"),
    ("w", "weight filters kernel"),
    ("memory", "key value encoder_output"),
    ("mask", "attn_mask key_padding_mask attention_mask src_mask bias"),
    ("state", "h0 hx initial_state initial_carry"),
    ("lengths", "seq_lengths sequence_length"),
    ("key", "rng rngs prng_key generator"),
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
    ("n", "num_classes classes"),
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

REST: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
UNKNOWN: Final = re.compile(r"got an unexpected keyword argument '(\w+)'")


def explain(names: dict[str, Any], public: Iterable[str]) -> None:
    """Functions of a module, put in place of those by which it got them, that tell of keywords as `instead` does.

    Args:
        names: those of the module, which keeps everything else.
        public: which to put.
    """
    wrappers: dict[int, Any] = {}
    for name in public:
        f = names[name]
        if type(f) is FunctionType and not hasattr(f, "__wrapped__"):
            if id(f) not in wrappers:
                wrappers[id(f)] = explained(f)
                wrappers[id(f)].__module__ = names["__name__"]  # where pickle finds it
            names[name] = wrappers[id(f)]


def explained(f: F) -> F:
    """A function that tells of keywords as `instead` does; those that several modules have are made so where they are.

    So `tg.nn.softmax` is `tg.softmax`.
    """

    @functools.wraps(f)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return f(*args, **kwargs)
        except TypeError as error:
            told = instead(f.__name__, [f], kwargs, error)
            if told is None:
                raise
            raise told from None

    return called  # type: ignore[return-value]


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
    right += difflib.get_close_matches(name, own, 1, NEAR)
    return InputError(message(f"{what}: keyword: found {name}, needed {right[0]}")) if right else None


def _keywords(f: Callable[..., Any]) -> list[str]:
    return [k for k, p in inspect.signature(f).parameters.items() if p.kind not in REST]
