"""Model files with random changes: each loads to a function with the right golden values, or is refused by tg.

    python -m tests.fuzz_files --count 100000 --seed 0

Each change is made in one of several small files: bytes flipped, removed, repeated, cut off; members exchanged, dropped
or of another file; sizes and offsets of headers; values of the manifest and of headers of arrays; tokens of the text.
Half of them are given the sums and sizes that then are right, so that they come as far as what is behind these. Files
are loaded on the reference in processes of their own, whose memory is limited; one that dies or hangs is found.
"""

from __future__ import annotations

import argparse
import collections
import functools
import itertools
import json
import multiprocessing
import random
import re
import resource
import signal
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import tg
from tests.files import members_of
from tg.errors import TgError
from tg.files.archive import write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MEMORY = 3 << 30  # bytes of address space of a process
SECONDS = 20  # of one file
TOLD = 5_000  # files between two lines
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2, 7, 1 << 31, 1 << 62, 1 << 70, 0.5, "", "x", "*", "..", [], {}, [0], [[]], ["*"], "float32",
)  # fmt: skip


def functions() -> Iterator[Any]:
    """The functions whose files are changed."""
    n = tg.dim("n")
    x, w = tg.matrix("x", shape=(n, 2)), tg.shared([1.0, 2.0], "w")
    y = tg.sum(tg.exp(x @ w))
    yield tg.function([{"x": x}], {"y": y, "g": [tg.grad(y, w)]}, updates={w: w * 0.5}, backend="perform")
    v, i = tg.vector("v", "float32"), tg.vector("i", "int64")
    table = tg.constant(np.arange(100.0, dtype="float32"))
    total = tg.scan(lambda s, r: (s * 0.5 + r, s), tg.constant(np.float32(0)), v)[0]
    yield tg.function([v, i], [total, table[i] + v[:3]], backend="perform", defaults={i: [1, 2, 3]})
    key = tg.random.RandomStream(3).key()
    m = tg.matrix("m", "complex64", shape=(2, 2))
    draws = tg.random.normal(key, shape=(2,))
    yield {
        "draw": tg.function([], draws, backend="perform"),
        "matrix": tg.function([m], tg.linalg.inv(m + 3 * tg.eye(2)), backend="perform"),
    }


def write_files(folder: Path) -> list[Path]:
    """The files that are changed."""
    paths = []
    for k, f in enumerate(functions()):
        paths.append(folder / f"{k}.tg")
        tg.save(f, paths[-1])
    return paths


def changed_bytes(content: bytes, rng: random.Random) -> bytes:
    """Bytes with one to four changes."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data)) if data else 0
        match rng.randrange(6):
            case 0 if data:
                data[at] ^= 1 << rng.randrange(8)
            case 1 if data:
                data[at] = rng.randrange(256)
            case 2:
                del data[at : at + rng.choice((1, 4, 64, 1000))]
            case 3:
                data[at:at] = data[at : at + rng.choice((1, 8, 100))]
            case 4:
                del data[at:]
            case _:
                size = rng.choice((1, 2, 4, 8))
                number = rng.choice((0, 1, 0xFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 62, rng.getrandbits(64)))
                data[at : at + size] = (number & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    return bytes(data)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """The places in a value of JSON: what holds one, and its key there."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key
        yield from places(inner)


def changed_json(content: bytes, rng: random.Random) -> bytes:
    """JSON with values that are other ones, gone, or exchanged."""
    value = json.loads(content)
    for _ in range(rng.randint(1, 3)):
        every = list(places(value))
        if not every:
            break
        holder, key = rng.choice(every)
        match rng.randrange(4):
            case 0:
                holder[key] = rng.choice(VALUES)
            case 1:
                del holder[key]
            case 2:
                other, name = rng.choice(every)
                holder[key] = json.loads(json.dumps(other[name]))
            case _ if type(holder[key]) is int:
                holder[key] += rng.choice((-1, 1, 64))
            case _:
                holder[key] = [holder[key]]
    return json.dumps(value).encode()


def changed_header(content: bytes, rng: random.Random) -> bytes:
    """A member of safetensors with another header."""
    length = int.from_bytes(content[:8], "little")
    text = changed_json(content[8 : 8 + length], rng)
    return len(text).to_bytes(8, "little") + text + content[8 + length :]


TOKEN = re.compile(rb"%\w+|@\w+|[A-Za-z_]\w*|-?\d[\d.e+-]*|[()\[\]{},:=?]|\"[^\"]*\"|\n")


def changed_text(content: bytes, rng: random.Random) -> bytes:
    """A text with tokens that are others of the text, other numbers, or gone."""
    tokens = [m.span() for m in TOKEN.finditer(content)]
    for _ in range(rng.randint(1, 3)):
        start, end = rng.choice(tokens)
        one, other = rng.choice(tokens)
        new = rng.choice((content[one:other], b"", b"0", b"-1", b"5", b"1000", b"%0", b"float32", b"?", b"nan"))
        content = content[:start] + new + content[end:]
        tokens = [m.span() for m in TOKEN.finditer(content)] or [(0, 0)]
    return content


def changed_members(members: dict[str, bytes], others: dict[str, bytes], rng: random.Random) -> dict[str, bytes]:
    """Members with changes that their sums fit."""
    name = rng.choice([n for n in members for _ in range(2 if n.endswith(("json", ".tg")) else 1)])
    match rng.randrange(8):
        case 0:
            del members[name]
        case 1:
            members[name] = others.get(name, b"")
        case 2:
            second = rng.choice(list(members))
            members[name], members[second] = members[second], members[name]
        case 3:
            members[name] = changed_bytes(members[name], rng)
        case _:
            change = {"json": changed_json, "tg": changed_text, "safetensors": changed_header}[name.rpartition(".")[2]]
            members[name] = change(members[name], rng)
    return members


def mutant(paths: list[Path], target: Path, seed: int) -> None:
    """Write the file of a seed."""
    rng = random.Random(seed)
    path = rng.choice(paths)
    if rng.random() < 0.4:
        target.write_bytes(changed_bytes(path.read_bytes(), rng))
        return
    members = changed_members(members_of(path), members_of(rng.choice(paths)), rng)
    write(target, {n: [c] for n, c in members.items()}, {n: len(c) for n, c in members.items()})


def outcome_of(form: Format, path: Path) -> str:
    """What becomes of a file: "loaded", or the class of the error of tg; anything else is raised."""
    try:
        form.load(path)
    except TgError as error:
        return type(error).__name__
    return "loaded"


@dataclass(frozen=True)
class Format:
    """A format whose files are changed: what writes some into a folder, changes one by a seed, and loads it."""

    write: Callable[[Path], list[Path]]
    mutant: Callable[[list[Path], Path, int], None]
    load: Callable[[Path], object]


FILES = Format(write_files, mutant, functools.partial(tg.load, backend="perform"))


def run(form: Format, seeds: range, paths: list[Path], folder: Path, results: Any) -> None:
    """Load the files of seeds, in a process with a limit."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _late)
    target = folder / f"mutant{seeds.start}"
    for seed in seeds:
        form.mutant(paths, target, seed)
        results.put((seed, "began"))
        signal.alarm(SECONDS)
        try:
            kind = outcome_of(form, target)
        except BaseException as error:  # noqa: BLE001 (which is what is looked for)
            kind = f"fault: {type(error).__name__}: {str(error)[:200]}"
        signal.alarm(0)
        results.put((seed, kind))


def _late(*_: object) -> None:
    text = f"{SECONDS} seconds"
    raise TimeoutError(text)


def fuzz(
    form: Format, count: int, seed: int, processes: int = 1, tell: Callable[[str], object] = print
) -> collections.Counter[str]:
    """Change and load files; how many came to what. A fault is told with its seed."""
    counts: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = form.write(folder)
        context = multiprocessing.get_context("spawn")
        ends = [seed + count * k // processes for k in range(processes + 1)]
        pending = [range(a, b) for a, b in itertools.pairwise(ends)]
        workers = [_Worker(context, form, seeds, paths, folder) for seeds in pending]
        while workers:
            for worker in list(workers):
                for kind in worker.outcomes():
                    counts[kind.partition(":")[0]] += 1
                    if sum(counts.values()) % TOLD == 0:
                        tell(f"{sum(counts.values())} files, {counts['fault']} faults")
                    if kind.startswith("fault"):
                        tell(kind)
                if worker.is_done:
                    workers.remove(worker)
            time.sleep(0.05)
    return counts


class _Worker:
    """A process that loads the files of seeds, begun again behind a seed at which it died."""

    def __init__(self, context: Any, form: Format, seeds: range, paths: list[Path], folder: Path) -> None:
        self.context, self.form, self.seeds, self.paths, self.folder = context, form, seeds, paths, folder
        self.next, self.begun = seeds.start, time.monotonic()
        self.is_done = not seeds
        self._start()

    def _start(self) -> None:
        self.results = self.context.SimpleQueue()
        rest = range(self.next, self.seeds.stop)
        args = (self.form, rest, self.paths, self.folder, self.results)
        self.process = self.context.Process(target=run, args=args)
        self.process.start()
        self.begun = time.monotonic() + 60  # for imports

    def outcomes(self) -> Iterator[str]:
        """What has come to an end since the last time."""
        while not self.results.empty():
            seed, kind = self.results.get()
            self.begun = max(self.begun, time.monotonic())
            if kind != "began":
                self.next = seed + 1
                yield f"fault: seed {seed}: {kind}" if kind.startswith("fault") else kind
        is_late = time.monotonic() - self.begun > 3 * SECONDS
        if self.next >= self.seeds.stop:
            self.process.join()
            self.is_done = True
        elif is_late or not self.process.is_alive():
            if not self.results.empty():
                return
            self.process.kill()
            self.process.join()
            yield f"fault: seed {self.next}: {'hangs' if is_late else f'dies with {self.process.exitcode}'}"
            self.next += 1
            if self.next < self.seeds.stop:
                self._start()
            else:
                self.is_done = True


def main(form: Format, about: str | None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    arguments = parser.parse_args()
    begun = time.monotonic()
    tell = functools.partial(print, flush=True)
    counts = fuzz(form, arguments.count, arguments.seed, arguments.processes, tell)
    for kind, number in counts.most_common():
        tell(f"{kind}: {number}")
    tell(f"{sum(counts.values())} files, seed {arguments.seed}, {time.monotonic() - begun:.0f} s")
    return int(counts["fault"] > 0)


if __name__ == "__main__":
    sys.exit(main(FILES, __doc__))
