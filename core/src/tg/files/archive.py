"""The zip of a model file: members stored one behind the other, the data of each at a multiple of 64 bytes.

Any program that knows zip reads it. Here it is read strictly: the members that the format has and no others, stored, of
the sizes that they say, none on top of another, each with the sum of its bytes.
"""

from __future__ import annotations

import mmap
import re
import struct
import zipfile
import zlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tg.errors import FileError, message

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

ALIGNMENT: Final = 64
MANIFEST: Final = "manifest.json"
WEIGHTS: Final = "weights.safetensors"
GOLDEN: Final = "golden.safetensors"
NAME: Final = re.compile(r"manifest\.json|weights\.safetensors|golden\.safetensors|functions/\d{1,4}\.tg")
MOST: Final = 1024  # members
LARGEST_TEXT: Final = 1 << 26  # bytes of a member that is read whole: texts and the manifest

_LOCAL: Final = struct.Struct("<4s5H3L2H")
_PADDING: Final = struct.Struct("<HH")
_PADDING_ID: Final = 0x5447  # of the extra field, which fills up to the next multiple of 64


class Member(NamedTuple):
    """The place of a member's data in the file, and the sum of its bytes."""

    offset: int
    size: int
    crc: int


def write(path: Path, members: Mapping[str, Iterable[bytes | memoryview]], sizes: Mapping[str, int]) -> None:
    """Write a zip of members, each given in parts that together have the size that is said."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, parts in members.items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.file_size = sizes[name]
            is_large = sizes[name] * 1.05 > zipfile.ZIP64_LIMIT
            start = archive.fp.tell()  # type: ignore[union-attr]
            header = start + _LOCAL.size + len(name) + (20 if is_large else 0) + _PADDING.size
            padding = -header % ALIGNMENT
            info.extra = _PADDING.pack(_PADDING_ID, padding) + bytes(padding)
            with archive.open(info, "w", force_zip64=is_large) as file:
                for part in parts:
                    file.write(part)


class Archive:
    """A model file that is mapped into memory: its members, which are views of the file."""

    def __init__(self, path: Path) -> None:
        """Map a file.

        Raises:
            FileError: there is none, or it is no zip as model files are.
        """
        self.path = path
        try:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                infos = zipfile.ZipFile(file).infolist()
        except OSError as error:
            raise self.refusal(error.strerror or str(error)) from error
        except Exception as error:
            raise self.refusal(f"found no zip: {error}", hint="tg.save(f, path) writes model files") from error
        self.members = self._members(infos)
        if MANIFEST not in self.members:
            raise self.refusal(f"found no {MANIFEST}", hint="tg.save(f, path) writes model files")

    @property
    def size(self) -> int:
        """The bytes of the file."""
        return len(self._map)

    def refusal(self, fact: str, hint: str | None = None) -> FileError:
        """The error about this file."""
        return FileError(message(f"load: {self.path}: {fact}", hint=hint))

    def _members(self, infos: list[zipfile.ZipInfo]) -> dict[str, Member]:
        if len(infos) > MOST:
            raise self.refusal(f"found {len(infos)} members, needed at most {MOST}")
        members: dict[str, Member] = {}
        for info in infos:
            name = info.orig_filename
            if NAME.fullmatch(name) is None or name in members:
                raise self.refusal(f"found the member {name[:80]!r}, needed one of the format, once")
            if (
                info.compress_type != zipfile.ZIP_STORED
                or info.flag_bits & ~0x800
                or info.file_size != info.compress_size
            ):
                raise self.refusal(f"{name}: found a member that is packed or encrypted, needed it stored")
            members[name] = Member(self._data(info), info.file_size, info.CRC)
        end = 0
        for name, member in sorted(members.items(), key=lambda pair: pair[1].offset):
            if member.offset < end or member.offset + member.size > len(self._map):
                raise self.refusal(
                    f"{name}: found bytes {member.offset} to {member.offset + member.size}, which it has not"
                )
            end = member.offset + member.size
        return members

    def _data(self, info: zipfile.ZipInfo) -> int:
        """The offset of a member's data, which its own header says."""
        start = info.header_offset
        if start < 0 or start + _LOCAL.size > len(self._map):
            raise self.refusal(f"{info.filename}: found its header outside of the file")
        signature, *_, name, extra = _LOCAL.unpack_from(self._map, start)
        found_name = self._map[start + _LOCAL.size : start + _LOCAL.size + name]
        if signature != b"PK\x03\x04" or found_name != info.orig_filename.encode():
            raise self.refusal(f"{info.filename}: found another header than the directory says")
        return start + _LOCAL.size + int(name) + int(extra)

    def text(self, name: str) -> str:
        """A member that is text, as a whole, its sum checked.

        Raises:
            FileError: it is missing, too large, damaged or no UTF-8.
        """
        self.check(name)
        member = self.members[name]
        if member.size > LARGEST_TEXT:
            raise self.refusal(f"{name}: found {member.size} bytes, needed at most {LARGEST_TEXT}")
        try:
            return self._map[member.offset : member.offset + member.size].decode()
        except UnicodeDecodeError as error:
            raise self.refusal(f"{name}: {error}") from error

    def data(self, name: str) -> memoryview:
        """The bytes of a member, in place.

        Raises:
            FileError: it is missing.
        """
        member = self._member(name)
        return memoryview(self._map)[member.offset : member.offset + member.size]

    def check(self, name: str) -> None:
        """Compare a member with the sum of its bytes.

        Raises:
            FileError: it is missing, or has another.
        """
        if zlib.crc32(self.data(name)) != self._member(name).crc:
            raise self.refusal(f"{name}: found bytes that were changed since the file was written")

    def _member(self, name: str) -> Member:
        member = self.members.get(name)
        if member is None:
            raise self.refusal(f"found no member {name!r}")
        return member


def parts_of(text: str) -> list[Any]:
    """A text as the parts of a member."""
    return [text.encode()]
