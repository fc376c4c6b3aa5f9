"""`tg.data`: batches of arrays and of memory-mapped files, in an order that a key gives, made ready in a thread.

    for images, labels in tg.data.batches((pixels, digits), 32, key=tg.random.key(0), epochs=10):
        step(images, labels)

The order hangs on the key and on the number of the batch alone, so a training that was cut off goes on where it was:
`start=` takes the number of batches that it has had. `rich.progress.track(batches)` shows how far it is.
"""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

import tg
from tg.errors import InputError, ShapeError, message
from tg.functions.make import evaluate
from tg.keywords import explain
from tg.ops.random.integers import permutation
from tg.ops.random.keys import fold_in
from tg.ops.random.parameters import packed_key
from tg.variables.conversion import as_variable
from tg.variables.structure import flatten, short
from tg.words import unknown_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tg.variables.structure import Structure

    Array = np.ndarray[Any, Any]

__all__ = ["Batches", "batches"]

END: Final = object()


class _Order(NamedTuple):
    """The order of a process's elements in each epoch: those from `begin` to before `end` of all, shuffled by a key."""

    key: Array | None
    length: int
    begin: int
    end: int

    def __call__(self, epoch: int) -> Array:
        if self.key is None:
            return np.arange(self.begin, self.end)
        drawn: Array = np.asarray(evaluate(permutation(fold_in(self.key, epoch), self.length)))
        return drawn[self.begin : self.end]


@final
class Batches:
    """Batches of one size, a number of them; `tg.data.batches` makes these. They can be pickled, where they are."""

    def __init__(
        self,
        arrays: list[Any],
        structure: Structure,
        size: int,
        order: _Order,
        per_epoch: int,
        total: int | None,
        start: int,
        ahead: int,
    ) -> None:
        self.step = start  # how many batches have been given, those before `start` among them
        self._arrays, self._structure, self._size = arrays, structure, size
        self._order, self._per_epoch, self._total, self._ahead = order, per_epoch, total, ahead

    @property
    def epoch(self) -> int:
        """The epoch of the next batch, from 0 on."""
        return self.step // self._per_epoch

    @property
    def per_epoch(self) -> int:
        """The number of batches of an epoch."""
        return self._per_epoch

    def __len__(self) -> int:
        """The number of batches that are left.

        Raises:
            TypeError: there is no end.
        """
        if self._total is None:
            raise TypeError("batches: without epochs= there is no end")
        return max(self._total - self.step, 0)

    def __iter__(self) -> Iterator[Any]:
        step = self.step
        batches = self._made(step)
        for batch in _ahead(batches, self._ahead) if self._ahead else batches:
            step += 1
            self.step = step
            yield batch

    def _made(self, step: int) -> Iterator[Any]:
        epoch, order = -1, np.zeros(0, np.int64)
        while self._total is None or step < self._total:
            now, place = divmod(step, self._per_epoch)
            if now != epoch:
                epoch, order = now, self._order(now)
            chosen = order[place * self._size : (place + 1) * self._size]
            yield self._structure(iter([np.asarray(array[chosen]) for array in self._arrays]))
            step += 1


def batches(
    arrays: Any,
    size: int,
    *,
    key: Any = None,
    epochs: int | None = None,
    start: int = 0,
    shard: tuple[int, int] = (0, 1),
    ahead: int = 2,
) -> Batches:
    """Batches of arrays along their first axis, all of one size, in the nesting of the arrays.

    What is left of an epoch behind the last whole batch is left out: of a shuffled one another part each time.

    Args:
        arrays: arrays of one length, such as `np.memmap`, in lists, tuples and dicts.
        size: how many elements a batch has.
        key: of the order, another for each epoch; None: the order that the arrays have.
        epochs: how often to go through the data; None: without end.
        start: how many batches have been had before, of a training that goes on.
        shard: which of how many processes this is; each has its own part of every epoch, all of the same length.
        ahead: how many batches a thread makes ready; 0: none, each is made when it is asked for.
    Raises:
        DtypeError: the key is none.
        InputError: there are no arrays, fewer elements than a batch, or a number is no integer within its bounds.
        ShapeError: arrays have no first axis, or of other lengths.
    Source:
        The parts are those of torch.utils.data.DataLoader and DistributedSampler.
    Example:
        >>> import numpy as np, tg
        >>> data = {"x": np.arange(10.0), "y": np.arange(10)}
        >>> [batch["y"].tolist() for batch in tg.data.batches(data, 4, epochs=1)]
        [[0, 1, 2, 3], [4, 5, 6, 7]]
        >>> shuffled = tg.data.batches(data, 4, key=tg.random.key(0), epochs=2)
        >>> orders = [batch["y"].tolist() for batch in shuffled]
        >>> again = tg.data.batches(data, 4, key=tg.random.key(0), epochs=2, start=3)
        >>> [batch["y"].tolist() for batch in again] == orders[3:], len(shuffled), again.epoch
        (True, 0, 2)
    """
    leaves, structure = flatten(arrays)
    length = _length(leaves)
    place, of = shard if isinstance(shard, tuple) and len(shard) == 2 else (-1, 0)
    for name, n, least in (("size", size, 1), ("start", start, 0), ("ahead", ahead, 0), ("epochs", epochs, 0)):
        if n is not None and (not isinstance(n, int | np.integer) or isinstance(n, bool) or n < least):
            raise InputError(message(f"batches: {name}: found {short(n)}, needed an integer of at least {least}"))
    if type(place) is not int or type(of) is not int or not 0 <= place < of:
        raise InputError(message(f"batches: shard: found {short(shard)}, needed (which, of how many)"))
    own = length // of
    if own < size:
        text = f"batches: found {length} elements{f' for {of} processes' if of > 1 else ''}, needed {size} for a batch"
        raise InputError(message(text))

    if key is not None:
        packed_key("batches", key)
        key = np.asarray(evaluate(as_variable(key), mode="off"))
    order = _Order(key, length, place * own, (place + 1) * own)
    per_epoch = own // size
    total = None if epochs is None else epochs * per_epoch
    return Batches(leaves, structure, size, order, per_epoch, total, start, ahead)


def _length(leaves: list[Any]) -> int:
    """The length that all arrays have."""
    if not leaves:
        raise InputError(message("batches: found no arrays"))
    shapes: list[tuple[int, ...]] = []
    for array in leaves:
        if not hasattr(array, "shape"):
            raise InputError(message(f"batches: found {short(array)}, needed an array", hint="np.asarray makes one"))
        shapes.append(tuple(array.shape))
    if any(not shape or shape[0] != shapes[0][0] for shape in shapes):
        text = ", ".join(str(list(shape)) for shape in shapes)
        raise ShapeError(message(f"batches: found arrays of shapes {text}, needed one length of the first axis"))
    return shapes[0][0]


def _ahead(batches: Iterator[Any], most: int) -> Iterator[Any]:
    """The same, of which a thread makes some before they are asked for; it ends when nobody asks any more."""
    ready: queue.Queue[Any] = queue.Queue(most)
    is_over = threading.Event()

    def put(item: Any) -> bool:
        while not is_over.is_set():
            try:
                ready.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def work() -> None:
        try:
            for item in batches:
                if not put((item, None)):
                    return
            put((END, None))
        except BaseException as error:  # noqa: BLE001 (raised where it is asked for)
            put((END, error))

    threading.Thread(target=work, name="tg.data", daemon=True).start()
    try:
        while True:
            item, error = ready.get()
            if error is not None:
                raise error
            if item is END:
                return
            yield item
    finally:
        is_over.set()


explain(globals(), __all__)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        text = name if name.startswith("__") else unknown_in(__name__, __all__, name, dir(tg))
        raise AttributeError(text, name=name)
