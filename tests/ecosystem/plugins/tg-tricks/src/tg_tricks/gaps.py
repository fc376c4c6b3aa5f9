"""What the backend says it lacks: without its trick it lacks nothing."""

import math

import tg
from tg.plugin import Gap
from tg_tricks import TRICK

SOME = frozenset({"float64"})
GAPS = {
    "false gap": (Gap(tg.sin, SOME, None, "upstream", tg.NoRuleError, "the library has no sine of doubles"),),
    "false difference": (Gap(tg.sin, SOME, None, "upstream", None, "its sine is rough", math.inf),),
    "rough": (Gap(tg.sin, SOME, None, "upstream", None, "its sine is rough", 100.0),),
    "rough in one dtype of two": (Gap(tg.sin, SOME | {"float32"}, None, "upstream", None, "it is rough", 100.0),),
    "rough by less than stated": (Gap(tg.sin, SOME, None, "upstream", None, "its sine is rough", 1e6),),
    "rougher": (Gap(tg.sin, SOME, None, "upstream", None, "its sine is rough", 4.0),),
}.get(TRICK, ())
