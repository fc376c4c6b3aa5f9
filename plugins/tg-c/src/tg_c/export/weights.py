"""Weights of a library: one file in the form of safetensors, each array at a multiple of 64 bytes, or the same as C.

The library knows where each array lies, and looks at nothing in the file but the header, which must be the one that it
was written with. Arrays named `__align__.…` fill the gaps.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ALIGNMENT: Final = 64
INSIDE: Final = 1 << 18  # bytes up to which weights are in the library unless an option says otherwise
NAMES: Final = {
    "bool": "BOOL",
    **{f"int{bits}": f"I{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"U{bits}" for bits in (8, 16, 32, 64)},
    "bfloat16": "BF16",
    **{f"float{bits}": f"F{bits}" for bits in (16, 32, 64)},
    "complex64": "C64",
    "complex128": "F64",  # real and imaginary parts along one more axis
}
WORDS: Final = 8  # to a line


class Blob(NamedTuple):
    """The bytes of a file of weights, how many of them are its header, and where each array begins."""

    data: bytes
    header: int
    places: Mapping[str, int]

    @property
    def mark(self) -> int:
        """FNV-1a of the header, 64 bits."""
        return fnv(self.data[: self.header])


def fnv(data: bytes) -> int:
    """FNV-1a of bytes, 64 bits."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def blob(arrays: Mapping[str, np.ndarray[Any, Any]]) -> Blob:
    """The file of named arrays."""
    entries: dict[str, Any] = {"__metadata__": {"format": "tg-c", "alignment": str(ALIGNMENT)}}
    parts: list[bytes] = []
    places: dict[str, int] = {}
    at = 0
    for name, array in arrays.items():
        dtype, shape = array.dtype.name, list(array.shape)
        shape += [2] if dtype == "complex128" else []
        entries[name] = {"dtype": NAMES[dtype], "shape": shape, "data_offsets": [at, at + array.nbytes]}
        places[name] = at
        parts.append(np.ascontiguousarray(array).tobytes())
        at += array.nbytes
        gap = -at % ALIGNMENT
        if gap:
            entries[f"__align__.{len(places)}"] = {"dtype": "U8", "shape": [gap], "data_offsets": [at, at + gap]}
            parts.append(bytes(gap))
            at += gap
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    header = 8 + len(text)
    data = b"".join((len(text).to_bytes(8, "little"), text, *parts))
    return Blob(data, header, {name: header + place for name, place in places.items()})


def as_c(name: str, data: bytes) -> str:
    """The same bytes as C."""
    words = np.frombuffer(data + bytes(-len(data) % 8), "<u8")
    lines = [", ".join(f"0x{word:x}" for word in words[k : k + WORDS]) for k in range(0, len(words), WORDS)]
    text = ",\n  ".join(lines)
    head = f'#include <stdint.h>\n\n#include "{name}.h"\n\n#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__'
    error = '#error "the words below are bytes in little-endian order"\n#endif'
    declared = f'__attribute__((visibility("hidden"))) extern const uint64_t {name}_weights_words[{len(words)}];'
    body = f"__attribute__((aligned(64))) const uint64_t {name}_weights_words[{len(words)}] = {{\n  {text},\n}};\n"
    return f"/* The weights of {name}: the bytes of a safetensors file. */\n{head}\n{error}\n{declared}\n{body}"


def mapping(name: str) -> str:
    """The C that maps a file of weights."""
    return _MAPPING.replace("@name", name).replace("@NAME", name.upper())


def numbered(arrays: Sequence[np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
    """Constants of the program, which have no names."""
    return {f"constant.{k}": array for k, array in enumerate(arrays)}


_MAPPING: Final = """\
/* Files of weights: mapped where the system maps files, read elsewhere. A program that has the bytes in its memory
   fills @name_weights itself, and needs nothing of this file. */
#if defined __unix__ || defined __APPLE__
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "@name.h"

int @name_open(@name_weights *weights, const char *path) {
  struct stat status;
  const int file = open(path, O_RDONLY);
  weights->bytes = 0;
  weights->size = 0;
  if (file < 0) return @NAME_NO_FILE;
  void *bytes = MAP_FAILED;
  if (fstat(file, &status) == 0 && status.st_size > 0)
    bytes = mmap(0, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (bytes == MAP_FAILED) return @NAME_NO_FILE;
  weights->bytes = (const unsigned char *)bytes;
  weights->size = (int64_t)status.st_size;
  const int code = @name_check(weights);
  if (code != @NAME_OK) @name_close(weights);
  return code;
}

void @name_close(@name_weights *weights) {
  if (weights->bytes) munmap((void *)(uintptr_t)weights->bytes, (size_t)weights->size);
  weights->bytes = 0;
  weights->size = 0;
}
#else
#include <stdio.h>
#include <stdlib.h>

#include "@name.h"

int @name_open(@name_weights *weights, const char *path) {
  FILE *file = fopen(path, "rb");
  weights->bytes = 0;
  weights->size = 0;
  if (!file) return @NAME_NO_FILE;
  unsigned char *bytes = malloc(@NAME_WEIGHTS_BYTES);
  const size_t size = bytes ? fread(bytes, 1, @NAME_WEIGHTS_BYTES, file) : 0;
  fclose(file);
  weights->bytes = bytes;
  weights->size = (int64_t)size;
  const int code = @name_check(weights);
  if (code != @NAME_OK) @name_close(weights);
  return code;
}

void @name_close(@name_weights *weights) {
  free((void *)(uintptr_t)weights->bytes);
  weights->bytes = 0;
  weights->size = 0;
}
#endif
"""
