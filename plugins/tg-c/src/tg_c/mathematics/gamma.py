"""The logarithm of the gamma function, digamma and trigamma.

For x >= 4 by Stirling's series with polynomials of 1/x^2 in the place of the divergent ones; below by recurrence from
an interval where a polynomial serves: for the logarithm [0.75, 2.5], where it is (t - 1) (t - 2) R(t), and for digamma
[1, 3], where it is (t - t0) R(t) with its zero t0. So they are right to the last digits beside these zeros too. For
x < 0, libm computes the logarithm, and digamma and trigamma follow from 1 - x, at most 6 units off: beside the zeros of
digamma there, units of the terms.

Source:
    NIST Digital Library of Mathematical Functions, 5.5.1, 5.5.4, 5.11.1, 5.11.2, 5.15.5, 5.15.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_c.mathematics.kernel import Kernel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg_c.mathematics.kernel import Data

LGAMMA: Final = """\
const @I low = x < 4;
  @T p = x, near = x;
  const int some = @any(low);
  const @I below = x < (@P)0.75;
  if (some) {
    const @I once = x >= (@P)2.5, twice = x >= (@P)3.5;
    const @T a = @select(below, x, x - 1 - @number(once) - @number(twice));
    p = @select(once, x - 1, @all(1)) * @select(twice, x - 2, @all(1));
    p = @select(low, @select(below, x, p), x);
    near = a * (a - 1) * @R(a - (@P)0.5);
  }
  const @T l = @log(p), i = 1 / x;
  @T y = @fma(x - (@P)0.5, l - 1, @fma(i, @W(i * i), @all(@CONSTANT)));
  if (some) y = @select(low, near + @select(below, -l, l), y);
  const @I left = x < 0;
  if (@any(left)) y = @redone(left, y, x);
  return y;"""
DIGAMMA: Final = """\
const @I left = x < 0;
  const @T a = @select(left, 1 - x, x);
  const @I low = a < 4, below = a < 1, above = a >= 3;
  const int some = @any(low);
  @T shift = @all(1), divisor = a;
  if (some) {
    shift = @select(low, @number(above) - @number(below), shift);
    divisor = @select(above, @select(low, a - 1, a), @select(below, a, @all(1)));
  }
  const @T i = shift / divisor;
  @T y = @log(a) - @fma(i * i, @W(i * i), i * (@P)0.5);
  if (some) {
    const @T t = a - shift;
    y = @select(low, @fma((t - @ZERO) - @ZERO_REST, @R(t - 2), i), y);
  }
  if (@any(left)) {
    const @T r = x - @rint(x), size = @fabs(r);
    const @I far = size > (@P)0.25;
    const @T u = @tan(@PI * @select(far, (@P)0.5 - size, size)), slope = @PI * @copysign(@select(far, u, 1 / u), r);
    y = @select(left, @select(r == 0, @all(@NAN), y - slope), y);
  }
  return y;"""
TRIGAMMA: Final = """\
const @I left = x < 0;
  const @T a = @select(left, 1 - x, x);
  const @I low = a < 4;
  const @T t = @select(low, a + 4, a), i = 1 / t, s = i * i;
  @T y = @fma(s, @fma(i, @W(s), @all((@P)0.5)), i);
  if (@any(low)) {
    const @T b = (a + 1) * (a + 1), c = (a + 2) * (a + 2), d = (a + 3) * (a + 3);
    y = @select(low, 1 / (a * a) + (y + (b * c + d * (b + c)) / (b * c * d)), y);
  }
  if (@any(left)) {
    const @T u = @PI / @sin(@PI * (x - @rint(x)));
    y = @select(left, u * u - y, y);
  }
  return y;"""

LOGARITHM: Final[Mapping[str, Data]] = {
    "f64": {
        "CONSTANT": 0.41893853320467274,  # log(2 pi) / 2 - 1 / 2
        "R": (
            0.4831289505409809, -0.14595989591430616, 0.06291140107456612, -0.031308487500996234,
            0.01679709863106338, -0.00942562244929768, 0.00544645784968765, -0.0032120740561835015,
            0.0019229160273954685, -0.0011644147622650958, 0.0007115237547324883, -0.00043799282476235363,
            0.00027126423392324347, -0.00016890478324208278, 0.0001056982578558409, -6.629297385266319e-05,
            4.147991037091481e-05, -2.6356444717462498e-05, 1.7537073857158296e-05, -1.103253440655042e-05,
            5.3054650781468205e-06, -3.072740071407118e-06, 4.3493652103846385e-06, -3.859689924630676e-06,
            3.9792136681026207e-07, 1.2459302473942887e-06, 1.2969567852873758e-07, -1.146014643111593e-06,
            6.915281079514107e-07, -1.3394089456621099e-07,
        ),
        "W": (
            0.08333333333333331, -0.002777777777757918, 0.000793650786476244, -0.0005952368994418683,
            0.0008416400760276712, -0.0019112430010546065, 0.006179404587993383, -0.023860893139885077,
            0.08236121030549906, -0.1616828411868063,
        ),
    }
}  # fmt: skip
FIRST: Final[Mapping[str, Data]] = {
    "f64": {
        "PI": 3.141592653589793,
        "ZERO": 1.4616321449683622,
        "ZERO_REST": 9.549995429965697e-17,
        "R": (
            0.7853075386041053, -0.2607389546830014, 0.10899991701762615, -0.049551032917669255,
            0.023447309597731718, -0.011338432553487137, 0.005552254171165627, -0.0027395728801625583,
            0.0013581421928626303, -0.000675313403117232, 0.0003364323560788711, -0.0001678149555305015,
            8.377976986571702e-05, -4.1847304899825434e-05, 2.0891339809974623e-05, -1.0437606369732588e-05,
            5.269627654435108e-06, -2.6417043490439035e-06, 1.2104082617509829e-06, -5.931691084695993e-07,
            4.6364937087418606e-07, -2.455075049249367e-07, -5.801693831231817e-08, 3.983214906091047e-08,
            1.1627427542314975e-07, -6.37656659379487e-08, -3.5984168337610505e-08, 1.9724167174192235e-08,
            1.0241481783821279e-08, -5.3596719649585516e-09,
        ),
        "W": (
            0.08333333333333234, -0.0083333333325248, 0.003968253740013798, -0.004166634522214873,
            0.007573122892986047, -0.020956333774088055, 0.07864321844811464, -0.332594996582907,
            1.191889690080066, -2.3493021785990007,
        ),
    }
}  # fmt: skip
SECOND: Final[Mapping[str, Data]] = {
    "f64": {
        "PI": 3.141592653589793,
        "W": (
            0.16666666666664898, -0.03333333331892377, 0.02380951972713883, -0.03333275591640139,
            0.07570998880831384, -0.25063023973309, 1.08036430880289, -5.019363260644462,
            19.019603298545817, -38.690847899917195,
        ),
    }
}  # fmt: skip

KERNELS: Final = {
    "lgamma": Kernel(LGAMMA, LOGARITHM, error=4.0),
    "digamma": Kernel(DIGAMMA, FIRST, error=4.0),
    "trigamma": Kernel(TRIGAMMA, SECOND, error=4.0),
}
