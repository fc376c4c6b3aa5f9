# Where each name comes from: written by `make stub`.

from typing import Any

from tg import data as data
from tg import dims as dims
from tg import distributions as distributions
from tg import eager as eager
from tg import errors as errors
from tg import fft as fft
from tg import integrate as integrate
from tg import interpolate as interpolate
from tg import linalg as linalg
from tg import masked as masked
from tg import nn as nn
from tg import optimize as optimize
from tg import random as random
from tg import signal as signal
from tg import sparse as sparse
from tg import special as special
from tg import tree as tree
from tg.configuration import config as config
from tg.errors import AssertionFailed as AssertionFailed
from tg.errors import AxisError as AxisError
from tg.errors import BackendUnavailable as BackendUnavailable
from tg.errors import BoundsError as BoundsError
from tg.errors import DebugError as DebugError
from tg.errors import DomainError as DomainError
from tg.errors import DtypeError as DtypeError
from tg.errors import FileError as FileError
from tg.errors import GradientError as GradientError
from tg.errors import InputError as InputError
from tg.errors import LengthError as LengthError
from tg.errors import LimitError as LimitError
from tg.errors import LinAlgError as LinAlgError
from tg.errors import NonFiniteError as NonFiniteError
from tg.errors import NoRuleError as NoRuleError
from tg.errors import NotDifferentiable as NotDifferentiable
from tg.errors import OptionError as OptionError
from tg.errors import PluginError as PluginError
from tg.errors import RangeError as RangeError
from tg.errors import RewriteError as RewriteError
from tg.errors import ShapeError as ShapeError
from tg.errors import SymbolicError as SymbolicError
from tg.errors import TextError as TextError
from tg.errors import TgError as TgError
from tg.exports.write import export as export
from tg.files.loading import load as load
from tg.files.saving import save as save
from tg.functions.backends import backend as backend
from tg.functions.backends import backends as backends
from tg.functions.backends import release_memory as release_memory
from tg.functions.bisect import Bisection as Bisection
from tg.functions.bisect import bisect as bisect
from tg.functions.check import check as check
from tg.functions.check_grad import GradientCheck as GradientCheck
from tg.functions.check_grad import check_grad as check_grad
from tg.functions.compiled import Function as Function
from tg.functions.explain import explain as explain
from tg.functions.explanation import Explanation as Explanation
from tg.functions.jit import jit as jit
from tg.functions.make import evaluate as evaluate
from tg.functions.make import function as function
from tg.functions.map_over import map_over as map_over
from tg.functions.pipeline import pipeline as pipeline
from tg.functions.shared import Shared as Shared
from tg.functions.shared import shared as shared
from tg.functions.show import parse as parse
from tg.functions.show import print as print
from tg.functions.show import to_text as to_text
from tg.functions.updating import with_updates as with_updates
from tg.functions.verdict import Verdict as Verdict
from tg.functions.verdict import Verdicts as Verdicts
from tg.gradient.api import grad as grad
from tg.gradient.api import jvp as jvp
from tg.gradient.api import value_and_grad as value_and_grad
from tg.gradient.api import vjp as vjp
from tg.gradient.mapped import apply_along_axis as apply_along_axis
from tg.gradient.mapped import vectorize as vectorize
from tg.gradient.matrices import hessian as hessian
from tg.gradient.matrices import hvp as hvp
from tg.gradient.matrices import jacobian as jacobian
from tg.gradient.vmap import vmap as vmap
from tg.graph.frozen import FrozenGraph as FrozenGraph
from tg.graph.loc import created_at as created_at
from tg.graph.nodes import Constant as Constant
from tg.graph.nodes import Variable as Variable
from tg.graph.op import Op as Op
from tg.ops.arranging import atleast_1d as atleast_1d
from tg.ops.arranging import atleast_2d as atleast_2d
from tg.ops.arranging import atleast_3d as atleast_3d
from tg.ops.arranging import broadcast_arrays as broadcast_arrays
from tg.ops.arranging import broadcast_shapes as broadcast_shapes
from tg.ops.arranging import flatten as flatten
from tg.ops.arranging import fliplr as fliplr
from tg.ops.arranging import flipud as flipud
from tg.ops.arranging import join_dims as join_dims
from tg.ops.arranging import meshgrid as meshgrid
from tg.ops.arranging import ndim as ndim
from tg.ops.arranging import permute_dims as permute_dims
from tg.ops.arranging import roll as roll
from tg.ops.arranging import rot90 as rot90
from tg.ops.arranging import shape as shape
from tg.ops.arranging import size as size
from tg.ops.arranging import split_dims as split_dims
from tg.ops.assumptions import assert_ as assert_
from tg.ops.assumptions import assume as assume
from tg.ops.bits import packbits as packbits
from tg.ops.bits import unpackbits as unpackbits
from tg.ops.calculus import clip as clip
from tg.ops.calculus import diff as diff
from tg.ops.calculus import ediff1d as ediff1d
from tg.ops.calculus import interp as interp
from tg.ops.calculus import piecewise as piecewise
from tg.ops.calculus import polyval as polyval
from tg.ops.calculus import select as select
from tg.ops.calculus import trapezoid as trapezoid
from tg.ops.contraction import dot as dot
from tg.ops.contraction import inner as inner
from tg.ops.contraction import kron as kron
from tg.ops.contraction import matmul as matmul
from tg.ops.contraction import matvec as matvec
from tg.ops.contraction import outer as outer
from tg.ops.contraction import tensordot as tensordot
from tg.ops.contraction import vecdot as vecdot
from tg.ops.contraction import vecmat as vecmat
from tg.ops.control import call as call
from tg.ops.control import grad_clip as grad_clip
from tg.ops.control import grad_scale as grad_scale
from tg.ops.control import stop_gradient as stop_gradient
from tg.ops.conversion import asarray as asarray
from tg.ops.conversion import astype as astype
from tg.ops.conversion import copy as copy
from tg.ops.conversion import from_dlpack as from_dlpack
from tg.ops.conversion import fromfunction as fromfunction
from tg.ops.creation import arange as arange
from tg.ops.creation import empty as empty
from tg.ops.creation import empty_like as empty_like
from tg.ops.creation import eye as eye
from tg.ops.creation import full as full
from tg.ops.creation import full_like as full_like
from tg.ops.creation import geomspace as geomspace
from tg.ops.creation import indices as indices
from tg.ops.creation import linspace as linspace
from tg.ops.creation import logspace as logspace
from tg.ops.creation import one_hot as one_hot
from tg.ops.creation import ones as ones
from tg.ops.creation import ones_like as ones_like
from tg.ops.creation import vander as vander
from tg.ops.creation import zeros as zeros
from tg.ops.creation import zeros_like as zeros_like
from tg.ops.cumulative import cummax as cummax
from tg.ops.cumulative import cummin as cummin
from tg.ops.cumulative import cumprod as cumprod
from tg.ops.cumulative import cumsum as cumsum
from tg.ops.cumulative import cumulative_prod as cumulative_prod
from tg.ops.cumulative import cumulative_sum as cumulative_sum
from tg.ops.cumulative import logcumsumexp as logcumsumexp
from tg.ops.custom import checkpoint as checkpoint
from tg.ops.custom import custom_jvp as custom_jvp
from tg.ops.custom import custom_vjp as custom_vjp
from tg.ops.diagonal import diag as diag
from tg.ops.diagonal import diagflat as diagflat
from tg.ops.diagonal import diagonal as diagonal
from tg.ops.diagonal import fill_diagonal as fill_diagonal
from tg.ops.diagonal import identity as identity
from tg.ops.diagonal import trace as trace
from tg.ops.diagonal import tri as tri
from tg.ops.diagonal import tril as tril
from tg.ops.diagonal import tril_indices as tril_indices
from tg.ops.diagonal import triu as triu
from tg.ops.diagonal import triu_indices as triu_indices
from tg.ops.einsum import einsum as einsum
from tg.ops.elementwise.arithmetic import divmod as divmod
from tg.ops.elementwise.arithmetic import fma as fma
from tg.ops.elementwise.arithmetic import fmax as fmax
from tg.ops.elementwise.arithmetic import fmin as fmin
from tg.ops.elementwise.arithmetic import heaviside as heaviside
from tg.ops.elementwise.arithmetic import positive as positive
from tg.ops.elementwise.arithmetic import relu as relu
from tg.ops.elementwise.cast import cast as cast
from tg.ops.elementwise.comparison import allclose as allclose
from tg.ops.elementwise.comparison import array_equal as array_equal
from tg.ops.elementwise.comparison import isclose as isclose
from tg.ops.elementwise.comparison import nan_to_num as nan_to_num
from tg.ops.elementwise.complex import angle as angle
from tg.ops.elementwise.exponential import log_sigmoid as log_sigmoid
from tg.ops.elementwise.exponential import logit as logit
from tg.ops.elementwise.rounding import round as round
from tg.ops.elementwise.trigonometric import deg2rad as deg2rad
from tg.ops.elementwise.trigonometric import rad2deg as rad2deg
from tg.ops.four_bits import pack_int4 as pack_int4
from tg.ops.four_bits import unpack_int4 as unpack_int4
from tg.ops.grids import diag_indices as diag_indices
from tg.ops.grids import diag_indices_from as diag_indices_from
from tg.ops.grids import ix_ as ix_
from tg.ops.grids import mask_indices as mask_indices
from tg.ops.grids import mgrid as mgrid
from tg.ops.grids import ogrid as ogrid
from tg.ops.grids import tril_indices_from as tril_indices_from
from tg.ops.grids import triu_indices_from as triu_indices_from
from tg.ops.groups import dequantize_groups as dequantize_groups
from tg.ops.histogram import bincount as bincount
from tg.ops.histogram import histogram as histogram
from tg.ops.histogram import histogram2d as histogram2d
from tg.ops.histogram import histogram_bin_edges as histogram_bin_edges
from tg.ops.histogram import histogramdd as histogramdd
from tg.ops.indexing import flip as flip
from tg.ops.indexing import take as take
from tg.ops.insertion import delete as delete
from tg.ops.insertion import insert as insert
from tg.ops.integer_products import integer_matmul as integer_matmul
from tg.ops.iteration import associative_scan as associative_scan
from tg.ops.iteration import cond as cond
from tg.ops.iteration import fori_loop as fori_loop
from tg.ops.iteration import map as map
from tg.ops.iteration import reduce as reduce
from tg.ops.iteration import scan as scan
from tg.ops.iteration import switch as switch
from tg.ops.iteration import while_loop as while_loop
from tg.ops.joining import append as append
from tg.ops.joining import array_split as array_split
from tg.ops.joining import block_diag as block_diag
from tg.ops.joining import column_stack as column_stack
from tg.ops.joining import dsplit as dsplit
from tg.ops.joining import dstack as dstack
from tg.ops.joining import hsplit as hsplit
from tg.ops.joining import hstack as hstack
from tg.ops.joining import pack as pack
from tg.ops.joining import repeat as repeat
from tg.ops.joining import split as split
from tg.ops.joining import tile as tile
from tg.ops.joining import trim_zeros as trim_zeros
from tg.ops.joining import unpack as unpack
from tg.ops.joining import unstack as unstack
from tg.ops.joining import vsplit as vsplit
from tg.ops.joining import vstack as vstack
from tg.ops.norm import norm as norm
from tg.ops.numbers import bitwise_count as bitwise_count
from tg.ops.numbers import fabs as fabs
from tg.ops.numbers import float_power as float_power
from tg.ops.numbers import fmod as fmod
from tg.ops.numbers import frexp as frexp
from tg.ops.numbers import gcd as gcd
from tg.ops.numbers import iscomplex as iscomplex
from tg.ops.numbers import isneginf as isneginf
from tg.ops.numbers import isposinf as isposinf
from tg.ops.numbers import isreal as isreal
from tg.ops.numbers import lcm as lcm
from tg.ops.numbers import ldexp as ldexp
from tg.ops.numbers import logaddexp2 as logaddexp2
from tg.ops.numbers import modf as modf
from tg.ops.numbers import sort_complex as sort_complex
from tg.ops.numbers import spacing as spacing
from tg.ops.numbers import unwrap as unwrap
from tg.ops.padding import pad as pad
from tg.ops.places import choose as choose
from tg.ops.places import put_along_axis as put_along_axis
from tg.ops.places import ravel_multi_index as ravel_multi_index
from tg.ops.places import take_along_axis as take_along_axis
from tg.ops.places import unravel_index as unravel_index
from tg.ops.polynomials import poly as poly
from tg.ops.polynomials import polyadd as polyadd
from tg.ops.polynomials import polyder as polyder
from tg.ops.polynomials import polydiv as polydiv
from tg.ops.polynomials import polyfit as polyfit
from tg.ops.polynomials import polyint as polyint
from tg.ops.polynomials import polymul as polymul
from tg.ops.polynomials import polysub as polysub
from tg.ops.polynomials import roots as roots
from tg.ops.quantiles import median as median
from tg.ops.quantiles import nanmedian as nanmedian
from tg.ops.quantiles import nanpercentile as nanpercentile
from tg.ops.quantiles import nanquantile as nanquantile
from tg.ops.quantiles import percentile as percentile
from tg.ops.quantiles import quantile as quantile
from tg.ops.quantization import dequantize as dequantize
from tg.ops.quantization import fake_quantize as fake_quantize
from tg.ops.quantization import quantize as quantize
from tg.ops.recurrence import recurrence as recurrence
from tg.ops.recurrence import until as until
from tg.ops.reduction import all as all
from tg.ops.reduction import any as any
from tg.ops.reduction import argmax as argmax
from tg.ops.reduction import argmin as argmin
from tg.ops.reduction import count_nonzero as count_nonzero
from tg.ops.reduction import max as max
from tg.ops.reduction import min as min
from tg.ops.reduction import prod as prod
from tg.ops.reduction import ptp as ptp
from tg.ops.reduction import sum as sum
from tg.ops.rewritten import apply_over_axes as apply_over_axes
from tg.ops.rewritten import array_equiv as array_equiv
from tg.ops.rewritten import block as block
from tg.ops.rewritten import copyto as copyto
from tg.ops.rewritten import cross as cross
from tg.ops.rewritten import place as place
from tg.ops.rewritten import put as put
from tg.ops.rewritten import putmask as putmask
from tg.ops.rewritten import resize as resize
from tg.ops.rewritten import rollaxis as rollaxis
from tg.ops.rewritten import vdot as vdot
from tg.ops.selection import argwhere as argwhere
from tg.ops.selection import compress as compress
from tg.ops.selection import extract as extract
from tg.ops.selection import flatnonzero as flatnonzero
from tg.ops.selection import isin as isin
from tg.ops.selection import nonzero as nonzero
from tg.ops.selection import unique as unique
from tg.ops.selection import unique_all as unique_all
from tg.ops.selection import unique_counts as unique_counts
from tg.ops.selection import unique_inverse as unique_inverse
from tg.ops.selection import unique_values as unique_values
from tg.ops.sets import intersect1d as intersect1d
from tg.ops.sets import setdiff1d as setdiff1d
from tg.ops.sets import setxor1d as setxor1d
from tg.ops.sets import union1d as union1d
from tg.ops.shape import array as array
from tg.ops.shape import broadcast_to as broadcast_to
from tg.ops.shape import concatenate as concatenate
from tg.ops.shape import expand_dims as expand_dims
from tg.ops.shape import matrix_transpose as matrix_transpose
from tg.ops.shape import moveaxis as moveaxis
from tg.ops.shape import named as named
from tg.ops.shape import ravel as ravel
from tg.ops.shape import reshape as reshape
from tg.ops.shape import same_shape as same_shape
from tg.ops.shape import specify_shape as specify_shape
from tg.ops.shape import squeeze as squeeze
from tg.ops.shape import stack as stack
from tg.ops.shape import swapaxes as swapaxes
from tg.ops.shape import transpose as transpose
from tg.ops.sharding import shard as shard
from tg.ops.sharding import stage as stage
from tg.ops.sliding import convolve as convolve
from tg.ops.sliding import correlate as correlate
from tg.ops.slopes import gradient as gradient
from tg.ops.softmax import log_softmax as log_softmax
from tg.ops.softmax import logsumexp as logsumexp
from tg.ops.softmax import softmax as softmax
from tg.ops.sorting import argpartition as argpartition
from tg.ops.sorting import argsort as argsort
from tg.ops.sorting import digitize as digitize
from tg.ops.sorting import lexsort as lexsort
from tg.ops.sorting import partition as partition
from tg.ops.sorting import searchsorted as searchsorted
from tg.ops.sorting import sort as sort
from tg.ops.sorting import topk as topk
from tg.ops.statistics import average as average
from tg.ops.statistics import corrcoef as corrcoef
from tg.ops.statistics import cov as cov
from tg.ops.statistics import mean as mean
from tg.ops.statistics import nanargmax as nanargmax
from tg.ops.statistics import nanargmin as nanargmin
from tg.ops.statistics import nancumprod as nancumprod
from tg.ops.statistics import nancumsum as nancumsum
from tg.ops.statistics import nanmax as nanmax
from tg.ops.statistics import nanmean as nanmean
from tg.ops.statistics import nanmin as nanmin
from tg.ops.statistics import nanprod as nanprod
from tg.ops.statistics import nanstd as nanstd
from tg.ops.statistics import nansum as nansum
from tg.ops.statistics import nanvar as nanvar
from tg.ops.statistics import std as std
from tg.ops.statistics import var as var
from tg.ops.wrapped import debug_print as debug_print
from tg.ops.wrapped import wrap as wrap
from tg.quantization.groups import quantize_groups as quantize_groups
from tg.quantization.transform import quantized as quantized
from tg.types.mesh import Mesh as Mesh
from tg.types.names import bfloat16 as bfloat16
from tg.types.names import bool as bool
from tg.types.names import complex64 as complex64
from tg.types.names import complex128 as complex128
from tg.types.names import e as e
from tg.types.names import euler_gamma as euler_gamma
from tg.types.names import float16 as float16
from tg.types.names import float32 as float32
from tg.types.names import float64 as float64
from tg.types.names import inf as inf
from tg.types.names import int8 as int8
from tg.types.names import int16 as int16
from tg.types.names import int32 as int32
from tg.types.names import int64 as int64
from tg.types.names import nan as nan
from tg.types.names import newaxis as newaxis
from tg.types.names import pi as pi
from tg.types.names import uint8 as uint8
from tg.types.names import uint16 as uint16
from tg.types.names import uint32 as uint32
from tg.types.names import uint64 as uint64
from tg.types.tensor_type import TensorType as TensorType
from tg.variables.constructors import dim as dim
from tg.variables.constructors import matrix as matrix
from tg.variables.constructors import scalar as scalar
from tg.variables.constructors import tensor as tensor
from tg.variables.constructors import vector as vector
from tg.variables.conversion import as_variable as as_variable
from tg.variables.conversion import constant as constant
from tg.variables.kinds import can_cast as can_cast
from tg.variables.kinds import finfo as finfo
from tg.variables.kinds import iinfo as iinfo
from tg.variables.kinds import iscomplexobj as iscomplexobj
from tg.variables.kinds import isdtype as isdtype
from tg.variables.kinds import isrealobj as isrealobj
from tg.variables.kinds import promote_types as promote_types
from tg.variables.kinds import result_type as result_type
from tg.variables.like import TensorLike
from tg.viewer.view import view as view

__version__: str
__array_api_version__: str

def __array_namespace_info__() -> Any: ...
def absolute(x: TensorLike, /) -> Variable: ...
def add(x: TensorLike, y: TensorLike, /) -> Variable: ...
def arccos(x: TensorLike, /) -> Variable: ...
def arccosh(x: TensorLike, /) -> Variable: ...
def arcsin(x: TensorLike, /) -> Variable: ...
def arcsinh(x: TensorLike, /) -> Variable: ...
def arctan(x: TensorLike, /) -> Variable: ...
def arctan2(x: TensorLike, y: TensorLike, /) -> Variable: ...
def arctanh(x: TensorLike, /) -> Variable: ...
def beta(x: TensorLike, y: TensorLike, /) -> Variable: ...
def betainc(a: TensorLike, b: TensorLike, x: TensorLike, /) -> Variable: ...
def betaincinv(a: TensorLike, b: TensorLike, p: TensorLike, /) -> Variable: ...
def betaln(x: TensorLike, y: TensorLike, /) -> Variable: ...
def binom(n: TensorLike, k: TensorLike, /) -> Variable: ...
def bitwise_and(x: TensorLike, y: TensorLike, /) -> Variable: ...
def bitwise_invert(x: TensorLike, /) -> Variable: ...
def bitwise_or(x: TensorLike, y: TensorLike, /) -> Variable: ...
def bitwise_xor(x: TensorLike, y: TensorLike, /) -> Variable: ...
def cbrt(x: TensorLike, /) -> Variable: ...
def ceil(x: TensorLike, /) -> Variable: ...
def complex(x: TensorLike, y: TensorLike, /) -> Variable: ...
def conjugate(x: TensorLike, /) -> Variable: ...
def copysign(x: TensorLike, y: TensorLike, /) -> Variable: ...
def cos(x: TensorLike, /) -> Variable: ...
def cosh(x: TensorLike, /) -> Variable: ...
def digamma(x: TensorLike, /) -> Variable: ...
def divide(x: TensorLike, y: TensorLike, /) -> Variable: ...
def equal(x: TensorLike, y: TensorLike, /) -> Variable: ...
def erf(x: TensorLike, /) -> Variable: ...
def erfc(x: TensorLike, /) -> Variable: ...
def erfcinv(x: TensorLike, /) -> Variable: ...
def erfcx(x: TensorLike, /) -> Variable: ...
def erfinv(x: TensorLike, /) -> Variable: ...
def exp(x: TensorLike, /) -> Variable: ...
def exp2(x: TensorLike, /) -> Variable: ...
def expm1(x: TensorLike, /) -> Variable: ...
def factorial(x: TensorLike, /) -> Variable: ...
def floor(x: TensorLike, /) -> Variable: ...
def floor_divide(x: TensorLike, y: TensorLike, /) -> Variable: ...
def gamma(x: TensorLike, /) -> Variable: ...
def gammainc(a: TensorLike, x: TensorLike, /) -> Variable: ...
def gammaincc(a: TensorLike, x: TensorLike, /) -> Variable: ...
def gammainccinv(a: TensorLike, q: TensorLike, /) -> Variable: ...
def gammaincinv(a: TensorLike, p: TensorLike, /) -> Variable: ...
def gammaln(x: TensorLike, /) -> Variable: ...
def gammasgn(x: TensorLike, /) -> Variable: ...
def greater(x: TensorLike, y: TensorLike, /) -> Variable: ...
def greater_equal(x: TensorLike, y: TensorLike, /) -> Variable: ...
def hyp2f1(a: TensorLike, b: TensorLike, c: TensorLike, z: TensorLike, /) -> Variable: ...
def hypot(x: TensorLike, y: TensorLike, /) -> Variable: ...
def i0(x: TensorLike, /) -> Variable: ...
def i0e(x: TensorLike, /) -> Variable: ...
def i1(x: TensorLike, /) -> Variable: ...
def i1e(x: TensorLike, /) -> Variable: ...
def imag(x: TensorLike, /) -> Variable: ...
def inverse_mills(x: TensorLike, /) -> Variable: ...
def isfinite(x: TensorLike, /) -> Variable: ...
def isinf(x: TensorLike, /) -> Variable: ...
def isnan(x: TensorLike, /) -> Variable: ...
def iv(v: TensorLike, x: TensorLike, /) -> Variable: ...
def ive(v: TensorLike, x: TensorLike, /) -> Variable: ...
def j0(x: TensorLike, /) -> Variable: ...
def j1(x: TensorLike, /) -> Variable: ...
def jv(v: TensorLike, x: TensorLike, /) -> Variable: ...
def kv(v: TensorLike, x: TensorLike, /) -> Variable: ...
def kve(v: TensorLike, x: TensorLike, /) -> Variable: ...
def left_shift(x: TensorLike, y: TensorLike, /) -> Variable: ...
def less(x: TensorLike, y: TensorLike, /) -> Variable: ...
def less_equal(x: TensorLike, y: TensorLike, /) -> Variable: ...
def log(x: TensorLike, /) -> Variable: ...
def log10(x: TensorLike, /) -> Variable: ...
def log1mexp(x: TensorLike, /) -> Variable: ...
def log1p(x: TensorLike, /) -> Variable: ...
def log2(x: TensorLike, /) -> Variable: ...
def log_beta_tail(a: TensorLike, b: TensorLike, w: TensorLike, /) -> Variable: ...
def log_cosh(x: TensorLike, /) -> Variable: ...
def log_gamma_lower(a: TensorLike, x: TensorLike, /) -> Variable: ...
def log_gamma_upper(a: TensorLike, x: TensorLike, /) -> Variable: ...
def log_ndtr(x: TensorLike, /) -> Variable: ...
def logaddexp(x: TensorLike, y: TensorLike, /) -> Variable: ...
def logical_and(x: TensorLike, y: TensorLike, /) -> Variable: ...
def logical_not(x: TensorLike, /) -> Variable: ...
def logical_or(x: TensorLike, y: TensorLike, /) -> Variable: ...
def logical_xor(x: TensorLike, y: TensorLike, /) -> Variable: ...
def matern_3_2(r: TensorLike, u: TensorLike, /) -> Variable: ...
def matern_5_2(r: TensorLike, u: TensorLike, /) -> Variable: ...
def maximum(x: TensorLike, y: TensorLike, /) -> Variable: ...
def minimum(x: TensorLike, y: TensorLike, /) -> Variable: ...
def multiply(x: TensorLike, y: TensorLike, /) -> Variable: ...
def ndtr(x: TensorLike, /) -> Variable: ...
def ndtri(x: TensorLike, /) -> Variable: ...
def ndtri_exp(x: TensorLike, /) -> Variable: ...
def negative(x: TensorLike, /) -> Variable: ...
def nextafter(x: TensorLike, y: TensorLike, /) -> Variable: ...
def not_equal(x: TensorLike, y: TensorLike, /) -> Variable: ...
def owens_t(h: TensorLike, a: TensorLike, /) -> Variable: ...
def poch(z: TensorLike, m: TensorLike, /) -> Variable: ...
def polygamma(n: TensorLike, x: TensorLike, /) -> Variable: ...
def power(x: TensorLike, y: TensorLike, /) -> Variable: ...
def real(x: TensorLike, /) -> Variable: ...
def reciprocal(x: TensorLike, /) -> Variable: ...
def remainder(x: TensorLike, y: TensorLike, /) -> Variable: ...
def right_shift(x: TensorLike, y: TensorLike, /) -> Variable: ...
def rint(x: TensorLike, /) -> Variable: ...
def sech(x: TensorLike, /) -> Variable: ...
def sigmoid(x: TensorLike, /) -> Variable: ...
def sign(x: TensorLike, /) -> Variable: ...
def signbit(x: TensorLike, /) -> Variable: ...
def sin(x: TensorLike, /) -> Variable: ...
def sinc(x: TensorLike, /) -> Variable: ...
def sinh(x: TensorLike, /) -> Variable: ...
def softplus(x: TensorLike, /) -> Variable: ...
def sqrt(x: TensorLike, /) -> Variable: ...
def square(x: TensorLike, /) -> Variable: ...
def stdtr(n: TensorLike, t: TensorLike, /) -> Variable: ...
def stdtrit(n: TensorLike, p: TensorLike, /) -> Variable: ...
def subtract(x: TensorLike, y: TensorLike, /) -> Variable: ...
def tan(x: TensorLike, /) -> Variable: ...
def tanh(x: TensorLike, /) -> Variable: ...
def trigamma(x: TensorLike, /) -> Variable: ...
def trunc(x: TensorLike, /) -> Variable: ...
def where(condition: TensorLike, x: TensorLike, y: TensorLike, /) -> Variable: ...
def xlog1py(x: TensorLike, y: TensorLike, /) -> Variable: ...
def xlogy(x: TensorLike, y: TensorLike, /) -> Variable: ...
def zeta(s: TensorLike, q: TensorLike, /) -> Variable: ...

abs = absolute
acos = arccos
acosh = arccosh
amax = max
amin = min
around = round
asin = arcsin
asinh = arcsinh
atan = arctan
atan2 = arctan2
atanh = arctanh
bitwise_left_shift = left_shift
bitwise_not = bitwise_invert
bitwise_right_shift = right_shift
concat = concatenate
conj = conjugate
degrees = rad2deg
expit = sigmoid
fix = trunc
invert = bitwise_invert
mod = remainder
pow = power
radians = deg2rad
true_divide = divide
