"""The sum of cubes in NumPy."""

import numpy as np

from tg.plugin import RuleProtocol, Rules
from tg_thirdparty.cubes import CubeSum


def cube_sum(op, x):
    return np.sum(x**3)


RULES = Rules(RuleProtocol("array", 2), {CubeSum: cube_sum})
