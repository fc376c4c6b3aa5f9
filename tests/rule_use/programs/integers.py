"""Integers: bits, hashes, dates, images and grids, as their sources write them."""

import tg
from tests.replay.program import program

U32, U64, I64, U8 = "uint32[?]", "uint64[?]", "int64[?]", "uint8[?, ?]"


def xorshift(x):
    """Marsaglia's xorshift of 64 bits (Marsaglia 2003)."""
    x = x ^ (x << 13)
    x = x ^ (x >> 7)
    return x ^ (x << 17)


def popcount(v):
    """The number of bits that are set (Bit Twiddling Hacks, in parallel)."""
    v = v - ((v >> 1) & 0x55555555)
    v = (v & 0x33333333) + ((v >> 2) & 0x33333333)
    return (((v + (v >> 4)) & 0x0F0F0F0F) * 0x01010101) >> 24


def murmur_finalizer(h):
    """The last step of MurmurHash3 (Appleby 2011)."""
    h = h ^ (h >> 16)
    h = h * 0x85EBCA6B
    h = h ^ (h >> 13)
    h = h * 0xC2B2AE35
    return h ^ (h >> 16)


def fnv(data):
    """FNV-1a over bytes (Fowler, Noll and Vo)."""
    start = tg.constant(0x811C9DC5, dtype="uint32")
    return tg.scan(lambda h, b: ((h ^ b) * 16777619, None), start, data)[0]


def tricks(v, w):
    """A power of two? The lowest bit, without it, the mean without overflow, opposite signs (Bit Twiddling Hacks)."""
    return (v & (v - 1)) == 0, v & -v, v & (v - 1), (v & w) + ((v ^ w) >> 1), (v ^ w) < 0


def gray(v):
    """A Gray code and its inverse (Knuth 7.2.1.1)."""
    g = v ^ (v >> 1)
    b = g
    for k in (1, 2, 4, 8, 16):
        b = b ^ (b >> k)
    return g, b


def reversed_bits(v):
    """The bits the other way round (Hacker's Delight, sec. 7-1)."""
    v = ((v >> 1) & 0x55555555) | ((v & 0x55555555) << 1)
    v = ((v >> 2) & 0x33333333) | ((v & 0x33333333) << 2)
    v = ((v >> 4) & 0x0F0F0F0F) | ((v & 0x0F0F0F0F) << 4)
    return (v << 24) | ((v & 0xFF00) << 8) | ((v >> 8) & 0xFF00) | (v >> 24)


def swapped(a, b):
    """Exchange without a third place, and the same by masks (Hacker's Delight, sec. 2-20)."""
    a = a ^ b
    b = a ^ b
    a = a ^ b
    mask = -tg.cast(a < b, "int64")
    return a, b, b ^ ((a ^ b) & mask), a & ~mask | b & mask


def flags(mode):
    """Permissions of a file: set, cleared, toggled, asked for (the Python documentation of os.stat)."""
    return mode | 0o400, mode & ~0o022, mode ^ 0o111, (mode & 0o111) != 0, ~(~mode | 0o007)


def colours(rgb):
    """Packed colours apart, made grey and packed again (Pillow's convert)."""
    r, g, b = (rgb >> 16) & 255, (rgb >> 8) & 255, rgb & 255
    grey = (r * 299 + g * 587 + b * 114) // 1000
    return (grey << 16) | (grey << 8) | grey


def days(y, m, d):
    """Days since 1970 of a date (Hinnant, days_from_civil)."""
    y = y - tg.cast(m <= 2, "int64")
    era = tg.where(y >= 0, y, y - 399) // 400
    yoe = y - era * 400
    doy = (153 * (m + tg.where(m > 2, -3, 9)) + 2) // 5 + d - 1
    doe = yoe * 365 + yoe // 4 - yoe // 100 + doy
    return era * 146097 + doe - 719468


def date(z):
    """The date of days since 1970 (Hinnant, civil_from_days), and the day of the week."""
    z = z + 719468
    era = z // 146097
    doe = z - era * 146097
    yoe = (doe - doe // 1460 + doe // 36524 - doe // 146096) // 365
    doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
    mp = (5 * doy + 2) // 153
    m = mp + tg.where(mp < 10, 3, -9)
    return yoe + era * 400 + tg.cast(m <= 2, "int64"), m, doy - (153 * mp + 2) // 5 + 1, (z + 3) % 7


def leap(y):
    """Leap years, and the lengths of February (the Python documentation of calendar)."""
    is_leap = (y % 4 == 0) & ((y % 100 != 0) | (y % 400 == 0))
    return is_leap, 28 + tg.cast(is_leap, "int64")


def easter(y):
    """Easter Sunday (Meeus, ch. 8)."""
    a, b, c = y % 19, y // 100, y % 100
    d, e = b // 4, b % 4
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = c // 4, c % 4
    ell = (32 + 2 * e + 2 * i - h - k) % 7
    m = (a + 11 * h + 22 * ell) // 451
    return (h + ell - 7 * m + 114) // 31, (h + ell - 7 * m + 114) % 31 + 1


def clock(seconds):
    """Seconds to hours, minutes and seconds, and back."""
    h, rest = seconds // 3600, seconds % 3600
    m, s = rest // 60, rest % 60
    return h, m, s, h * 3600 + m * 60 + s


def padded(n):
    """Sizes rounded up to blocks of 64, and the blocks (memory allocators)."""
    up = (n + 63) // 64 * 64
    return up, up - n, (n + 63) & ~63, tg.maximum(n // 64, 1)


def grid(k, w):
    """Cells of a grid by their numbers: row, column, the number again, neighbours that wrap (game of life)."""
    row, column = k // w, k % w
    return row * w + column, row * w + (column + 1) % w, (row + 1) % w * w + column


def life(cells):
    """A step of Conway's game of life (Gardner 1970)."""
    n = sum(tg.roll(tg.roll(cells, i, axis=0), j, axis=1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
    return tg.cast((n == 3) | ((cells == 1) & (n == 2)), "int64")


def threshold(image, t):
    """A thresholded image, its inverse, and the share of what is bright (OpenCV's threshold)."""
    bright = image > t
    return (
        tg.where(bright, 255, 0),
        tg.where(~bright, 255, 0),
        tg.mean(tg.cast(bright, "float64")),
        ~(image <= t) & bright,
    )


def morphology(mask):
    """Erosion, dilation, opening and the edge by windows of three (Serra 1982)."""

    def shifts(x, combine, out):
        p = tg.pad(x, ((1, 1), (1, 1)), constant_values=out)
        n, m = x.shape
        found = p[1 : n + 1, 1 : m + 1]
        for i, j in ((0, 1), (2, 1), (1, 0), (1, 2)):
            found = combine(found, p[i : i + n, j : j + m])
        return found

    eroded = shifts(mask, tg.logical_and, True)
    dilated = shifts(mask, tg.logical_or, False)
    return eroded, dilated, shifts(eroded, tg.logical_or, False), mask & ~eroded, dilated ^ mask


def invert_image(image):
    """A negative, contrast, and brightness that saturates, of bytes (OpenCV's tutorial on basic operations)."""
    wide = tg.cast(image, "int64")
    return 255 - image, tg.cast(tg.clip(wide * 3 // 2 - 20, 0, 255), "uint8"), tg.minimum(tg.maximum(wide + 40, 0), 255)


def collatz(n):
    """Steps of the Collatz sequence by a loop (Lagarias 1985)."""
    return tg.while_loop(
        lambda c: c[0] > 1,
        lambda c: (tg.where(c[0] % 2 == 0, c[0] // 2, 3 * c[0] + 1), c[1] + 1),
        (n, tg.zeros_like(n)),
    )


def luhn(digits):
    """The check digit of card numbers (ISO/IEC 7812)."""
    doubled = digits[:, ::2] * 2
    return (tg.sum(doubled // 10 + doubled % 10, axis=1) + tg.sum(digits[:, 1::2], axis=1)) % 10 == 0


def powers_mod(x, n):
    """Remainders of powers of two, signs by parity, and halves (quadrature rules, wavelets)."""
    return x % 8, x // 8 * 8 + x % 8, 1 - 2 * (n % 2), tg.where(n % 2 == 1, -1, 1) * x, x // 2 // 2


PROGRAMS = (
    program("xorshift", xorshift, x=U64),
    program("popcount", popcount, v=U32),
    program("murmur", murmur_finalizer, h=U32),
    program("FNV-1a", fnv, data=U32),
    program("bit tricks", tricks, v=I64, w=I64),
    program("Gray code", gray, v=U32),
    program("reversed bits", reversed_bits, v=U32),
    program("exchange by xor", swapped, a=I64, b=I64),
    program("file modes", flags, mode=I64),
    program("packed colours", colours, rgb="uint32[?, ?]"),
    program("days of dates", days, y=I64, m=I64, d=I64),
    program("dates of days", date, z=I64),
    program("leap years", leap, y=I64),
    program("Easter", easter, y=I64),
    program("clock", clock, seconds=I64),
    program("blocks", padded, n=I64),
    program("grid", grid, k=I64, w="int64[]"),
    program("game of life", life, cells="int64[?, ?]"),
    program("threshold", threshold, image=U8, t="uint8[]"),
    program("morphology", morphology, mask="bool[?, ?]"),
    program("negative", invert_image, image=U8),
    program("Collatz", collatz, n="int64[]"),
    program("Luhn", luhn, digits="int64[?, 16]"),
    program("remainders", powers_mod, x=I64, n=I64),
)
