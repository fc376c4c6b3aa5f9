"""Compile C source into a shared object with the system's C compiler, through the cache.

The source goes in through stdin and includes no header, so a compilation takes what the compiler itself takes: about
20 ms. The compiler is the one that `CC` names, else the first of cc, gcc and clang on the PATH.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shlex
import shutil
import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, final

from tg import BackendUnavailable, TgError
from tg.backend import Span, annotate, cpu, message
from tg_c.cache import UNITS
from tg_c.objects import count, divided

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from subprocess import Popen
    from types import FrameType

    from tg_c.objects import Loop
    from tg_native.show.patience import Patience

__all__ = ["CompileError", "Compiler", "Flags", "compile_unit", "compiler", "level_for", "macros", "opened"]

T = TypeVar("T")

CANDIDATES = ("cc", "gcc", "clang")

# Nothing here changes a value, NaN, infinity and the sign of zero included: of what -ffast-math implies, only what
# concerns errno and the floating-point exception flags, which no unit reads.
SEMANTICS = (
    "-ffp-contract=off",  # a*b + c rounds twice, as in NumPy
    "-fno-math-errno",  # sqrt is an instruction
    "-fno-trapping-math",  # both sides of a select may be computed
    "-fwrapv",  # integers wrap
    "-fno-strict-aliasing",  # one buffer serves arrays of different dtypes, one after the other
    *(f"-fno-builtin-{function}" for function in ("sin", "cos", "sinf", "cosf")),  # never a scalar sincos
)
LANGUAGE = ("-x", "c", "-std=gnu11", "-pipe", "-Werror=implicit-function-declaration", "-fdiagnostics-color=never")
SHARED = ("-fPIC", "-shared")
OBJECT = ("-fPIC", "-c")
NATIVE = {"x86_64": ("-march=native",), "aarch64": ("-mcpu=native",), "arm64": ("-mcpu=native",)}  # by machine
# What gcc does about expressions that are computed on some ways and not on others, at 6 % of its time. In text that
# has each once it finds memory that loops come back to: without it sums at positions take 1.35 times as long, and
# where nothing is come back to the loops over elements are as long to within three instructions, and as fast.
STREAMING = ("-fno-tree-pre", "-fno-code-hoisting")
COSTS = ("-fvect-cost-model=dynamic",)  # of -O3 at any level: loops whose lengths are not known are vectorised too
# At -O1, three things that -O2 has besides. The first clears the upper halves of vectors before functions of others are
# called, which may be of the old instructions: without it a call of exp took 150 ns. The second keeps numbers in
# registers where a call is on the way that is not taken: without it an autoregression took 1.6 times as long. The last
# two keep the sums of a tile in registers, in no more time: without them the gradient of attention took 2.4 times as
# long.
AT_O1 = ("-fexpensive-optimizations", "-fcaller-saves", "-fcse-follow-jumps", "-frerun-cse-after-loop")
STATEMENTS_AT_O2 = 900
REPEATED_AT_O2 = 1500  # of units with loops over graphs
READ_BY_COMPILERS = (  # GCC's manual, "Environment Variables Affecting GCC"; clang's; the linkers'
    *("COMPILER_PATH", "GCC_EXEC_PREFIX", "LIBRARY_PATH", "LD_RUN_PATH", "LDEMULATION", "SOURCE_DATE_EPOCH"),
    *("CPATH", "C_INCLUDE_PATH", "CCC_OVERRIDE_OPTIONS", "SDKROOT", "MACOSX_DEPLOYMENT_TARGET"),
)
TICK = 0.5  # seconds between looks at a compiler that is at work
OUT_OF_SPACE = ("No space left on device", "Disk quota exceeded", "Read-only file system")

INSTALL = {
    "linux": "apt install gcc libc6-dev, or dnf install gcc, or conda install c-compiler",
    "darwin": "xcode-select --install",
}

UNIT = """\
typedef double pair __attribute__((vector_size(16)));
extern double sqrt(double);
pair tg_unit(pair x, pair y) { return sqrt(x[0]) > 1 ? x : __builtin_shufflevector(x, y, 0, 2); }
"""
# `<stdin>:12:5: error: text` from gcc and clang, `cc: fatal error: text` from the driver.
_DIAGNOSTIC = re.compile(r"^(?:<stdin>:(?P<line>\d+):(?:\d+:)?|[^\s:]+:) (?:fatal )?error: (?P<text>.*)$", re.MULTILINE)
_VERSION = re.compile(r"^.*\bversion \d.*$", re.MULTILINE)
_TARGET = re.compile(r"^Target: (.*)$", re.MULTILINE)
_MACRO = re.compile(r"^#define (__(?:SSE\w*|AVX\w*|F16C|FMA|aarch64)__) ", re.MULTILINE)
_SHOWN_DIAGNOSTICS = 3
_SHOWN_AROUND = 2


@final
class CompileError(TgError, RuntimeError):
    """The C compiler refused a unit.

    `source` is the file that keeps the unit's text, `log` all that the compiler wrote.
    """

    source: Path
    log: str


@dataclass(frozen=True, slots=True)
class Flags:
    """Options of the compiler for a unit beyond the flags that all units have."""

    level: int = 2  # of optimisation
    extra: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ("m",)
    streams: bool = False  # no loop comes back to memory
    vectorise: bool = False  # its loops, at any level


USUAL = Flags()


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler: the command, and the words that say which one it is."""

    command: tuple[str, ...]
    path: str
    version: str
    target: str

    @property
    def identity(self) -> str:
        """Path, version and target: what a compiled unit depends on besides source, flags and processor."""
        return f"{self.path} | {self.version} | {self.target}"

    def line(self, options: Flags) -> tuple[str, ...]:
        """The command line, without the names of source and output."""
        return (*self.command, *LANGUAGE, *SHARED, *self._code(options), *self._linking(("-",), options))

    def object_line(self, options: Flags) -> tuple[str, ...]:
        """The command line that makes an object, without the names of source and output."""
        return (*self.command, *LANGUAGE, *OBJECT, *self._code(options), "-")

    def linking_line(self, paths: Sequence[str], options: Flags) -> tuple[str, ...]:
        """The command line that makes one of objects, without the name of the output."""
        return (*self.command, *SHARED, *self._linking(paths, options))

    def _code(self, options: Flags) -> tuple[str, ...]:
        flags = (*NATIVE.get(os.uname().machine, ()), *SEMANTICS, f"-O{options.level}", *options.extra)
        if options.vectorise:
            flags = (*flags, "-ftree-vectorize")
        if self._is_gcc:
            flags = (*flags, *(COSTS if options.vectorise else ()))
            flags = (*flags, *(STREAMING if options.streams else ()), *(AT_O1 if options.level == 1 else ()))
        return flags

    def _linking(self, arguments: Sequence[str], options: Flags) -> tuple[str, ...]:
        libraries = [f"-l{library}" for library in options.libraries]
        elf = () if sys.platform == "darwin" else ("-Wl,-Bsymbolic",)  # a unit calls its own functions
        if sys.platform == "linux" and self._is_gcc:
            # The process has libc already: not linking it again, nor start files, saves 4 of 24 ms.
            return (*elf, "-nostdlib", *arguments, *libraries, "-lgcc")
        return (*elf, *arguments, *libraries)

    @property
    def _is_gcc(self) -> bool:
        return self.version.startswith("gcc")


def level_for(statements: int, *, repeats: bool = False) -> int:
    """The optimisation level for a unit of so many statements: -O2 takes 0.1 ms a statement more.

    At -O1 programs of `benchmarks/models.py` take 0.9 to 1.1 times as long, loops over graphs up to 1.2: what is gained
    on units of many statements is less than compiling them takes.

    Args:
        repeats: whether it has loops over graphs.
    """
    return 2 if statements <= (REPEATED_AT_O2 if repeats else STATEMENTS_AT_O2) else 1


def compiler() -> Compiler:
    """The system's C compiler, asked for its version once.

    Raises:
        BackendUnavailable: there is none, or it does not run.
    """
    return _find(os.environ.get("CC", ""), os.environ.get("PATH", os.defpath))


def compile_unit(source: str, options: Flags = USUAL, loops: Sequence[Loop] = ()) -> Path:
    """The shared object of `source`, from the cache or compiled now.

    Args:
        loops: where they are, if objects may share them out (`tg_c.objects`).
    Raises:
        CompileError: the compiler refused the source.
        BackendUnavailable: there is no compiler.
    """
    with Span("cache"):
        chosen = compiler()
        line = chosen.line(options)
        key = UNITS.key(source, chosen.identity, "\0".join(line), cpu(), environment())
        path = UNITS.lookup(key)
        annotate("miss" if path is None else "hit")
    if path is not None:
        return path
    objects = count(source, loops)
    with Span("compiler", f"{Path(chosen.path).name} -O{options.level}{f' {objects} abreast' if objects > 1 else ''}"):
        if objects == 1:
            return UNITS.store(key, functools.partial(_build, source, line))
        return UNITS.store(key, functools.partial(_build_of_objects, divided(source, loops, objects), chosen, options))


def opened(opener: Callable[[str], T], source: str, options: Flags = USUAL, loops: Sequence[Loop] = ()) -> T:
    """The shared object of `source`, opened; one that the cache lost or damaged is compiled again."""
    path = compile_unit(source, options, loops)
    try:
        return opener(os.fspath(path))
    except OSError:
        UNITS.discard(path)
        return opener(os.fspath(compile_unit(source, options, loops)))


def macros() -> frozenset[str]:
    """The names of the macros that say which instructions the compiler may use: __AVX2__, __FMA__ and the like."""
    return _macros(compiler())


@functools.cache
def _macros(chosen: Compiler) -> frozenset[str]:
    line = (*chosen.line(USUAL), "-dM", "-E")
    key = UNITS.key(chosen.identity, "\0".join((*line, _MACRO.pattern)), cpu(), environment(), suffix=".txt")

    def write(file: Path) -> None:
        code, words = _run(line, "")
        file.write_text(" ".join(_MACRO.findall(words)) if code == 0 else "", encoding="utf-8")

    entry = UNITS.lookup(key) or UNITS.store(key, write)
    return frozenset(entry.read_text(encoding="utf-8").partition("\n")[0].split())


def environment() -> str:
    """Variables of the environment that the compiler reads besides the command: where its parts and libraries are."""
    return "\0".join(f"{name}={os.environ[name]}" for name in READ_BY_COMPILERS if name in os.environ)


@functools.cache
def _find(chosen: str, path: str) -> Compiler:
    for candidate in (chosen,) if chosen else CANDIDATES:
        try:
            command = tuple(shlex.split(candidate))
        except ValueError as error:
            hint = "CC is a command as a shell has it: CC='gcc -m64'"
            raise _unavailable(f"CC is {candidate!r}: {str(error).lower()}", hint=hint) from error
        if command and (program := shutil.which(command[0], path=path)):
            return _identified((program, *command[1:]), path)
    wanted = f"CC is {chosen!r}, and no such program is" if chosen else f"none of {', '.join(CANDIDATES)} is"
    raise _unavailable(f"{wanted} on the PATH", ("PATH", path or "(empty)"))


def _identified(command: tuple[str, ...], path: str) -> Compiler:
    """`command` with version and target, which the cache remembers while its programs stay the same files."""
    programs = [program for word in command if (program := shutil.which(word, path=path))]
    real = os.path.realpath(programs[0])
    key = UNITS.key(*command, *map(_fingerprint, programs), environment(), suffix=".txt")
    entry = UNITS.lookup(key) or UNITS.store(key, lambda file: _remember(file, command))
    version, target, *_ = entry.read_text(encoding="utf-8").splitlines()  # the seal of the cache follows
    return Compiler(command, real, version, target)


def _fingerprint(program: str) -> str:
    real = Path(program).resolve()
    status = real.stat()
    return f"{real} {status.st_size} {status.st_mtime_ns} {status.st_ino}"


def _remember(file: Path, command: tuple[str, ...]) -> None:
    code, words = _run((*command, "-v"), "")
    version, target = _VERSION.search(words), _TARGET.search(words)
    if code != 0 or version is None or target is None:
        question = ("command", shlex.join((*command, "-v")))
        answer = ("answer", " / ".join(words.split("\n")[-4:]).strip() or f"none, exit status {code}")
        raise _unavailable(f"{command[0]} does not say its version", question, answer)
    _need_units(Compiler(command, command[0], version[0].strip(), target[1].strip()), file)
    file.write_text(f"{version[0].strip()}\n{target[1].strip()}\n", encoding="utf-8")


def _need_units(chosen: Compiler, file: Path) -> None:
    """Refuse a compiler that says its version and makes no unit: without its parts, or too old."""
    line, output = chosen.line(USUAL), Path(f"{file}.so")
    try:
        code, words = _run((*line, "-o", os.fspath(output)), UNIT, file.parent)
    finally:
        output.unlink(missing_ok=True)
    if code != 0:
        _need_space(words)
        answer = (_DIAGNOSTIC.search(words) or re.search("(?P<text>.*)", words.strip()))["text"]  # type: ignore[index]
        lines = (("compiler", chosen.version), ("answer", answer or f"none, exit status {code}"))
        how = INSTALL.get(sys.platform, "install one of them")
        hint = f"gcc 12 and clang 14, and what is newer, compile units; {how}"
        raise _unavailable(f"{chosen.command[0]} does not compile a unit", *lines, hint=hint)


def _build(source: str, line: tuple[str, ...], path: Path) -> None:
    _check(source, line, *_run((*line, "-o", os.fspath(path)), source, path.parent))


def _build_of_objects(sources: Sequence[str], chosen: Compiler, options: Flags, path: Path) -> None:
    line, places = chosen.object_line(options), [f"{path}.{k}.o" for k in range(len(sources))]
    try:
        lines = [(*line, "-o", place) for place in places]
        for source, outcome in zip(sources, _run_abreast(lines, sources, path.parent), strict=True):
            _check(source, line, *outcome)
        linking = chosen.linking_line(places, options)
        _check("", linking, *_run((*linking, "-o", os.fspath(path)), "", path.parent))
    finally:
        for place in places:
            Path(place).unlink(missing_ok=True)


def _check(source: str, line: tuple[str, ...], code: int, log: str) -> None:
    if code != 0:
        _need_space(log)
        raise _refusal(source, line, code, log)


def _need_space(log: str) -> None:
    for told in log.splitlines():
        if told.rstrip("'").endswith(OUT_OF_SPACE):
            raise OSError(told)


def _run(line: tuple[str, ...], text: str, temporary: Path | None = None) -> tuple[int, str]:
    """Exit status and words of a command; where it is killed, its temporary files stay where the cache finds them."""
    return _run_abreast([line], [text], temporary)[0]


def _run_abreast(
    lines: Sequence[tuple[str, ...]], texts: Sequence[str], temporary: Path | None
) -> list[tuple[int, str]]:
    """The same of several, which run at once.

    Each has a process group of its own, which ends with whatever is raised here, an interrupt above all: GCC's driver
    and the compilers that it starts would go on for as long as they take.
    """
    import subprocess  # 3 ms that a warm cache does not need

    from tg_native.show.patience import Patience

    environment = {**os.environ, "LC_ALL": "C", **({"TMPDIR": os.fspath(temporary)} if temporary else {})}
    options: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": environment, "process_group": 0}
    children: list[subprocess.Popen[bytes]] = []
    name, count = Path(lines[0][0]).name, sum(text.count("\n") for text in texts)
    try:
        for line, text in zip(lines, texts, strict=True):
            with _file(text) as file, _interrupts_held():
                try:
                    children.append(subprocess.Popen(line, stdin=file, **options))
                except OSError as error:
                    raise _unavailable(f"{line[0]} does not run: {error}") from error
        with Patience(f"{name} compiles {count:,} lines") as patience:
            return [_ended(child, patience) for child in children]
    except BaseException:
        for child in children:
            with child, contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
        raise


def _file(text: str) -> BinaryIO:
    """A file without a name that has a text, in memory where the system has such."""
    file: Any
    if hasattr(os, "memfd_create"):
        file = os.fdopen(os.memfd_create("unit"), "w+b")
    else:
        import tempfile

        file = tempfile.TemporaryFile()  # noqa: SIM115
    file.write(text.encode())
    file.seek(0)
    return file  # type: ignore[no-any-return]


def _ended(child: Popen[bytes], patience: Patience) -> tuple[int, str]:
    """Exit status and words of a process, once it has ended."""
    from subprocess import TimeoutExpired

    while True:
        try:
            words, told = child.communicate(timeout=TICK)
        except TimeoutExpired:
            patience.tick()
        else:
            return child.returncode, (told + words).decode(errors="replace")


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Interrupts of the main thread wait for the end of the block: what it makes is known by then."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    held: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: held.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if held:
            before(*held[0])


def _refusal(source: str, line: tuple[str, ...], code: int, log: str) -> CompileError:
    path = keep(source)
    diagnostics = list(_DIAGNOSTIC.finditer(log))
    first = diagnostics[0]["text"] if diagnostics else f"exit status {code}"
    shown: list[tuple[str, str]] = []
    for diagnostic in diagnostics[:_SHOWN_DIAGNOSTICS]:
        shown += _excerpt(source, diagnostic)
    if not diagnostics:
        shown += [("log", words) for words in log.splitlines()[-5:]]
    again = shlex.join(os.fspath(path) if word == "-" else word for word in line)
    error = CompileError(
        message(
            f"{Path(line[0]).name}: a generated unit does not compile: {first}",
            *shown,
            ("source", os.fspath(path)),
            hint=f"repeat it with: {again} -o /dev/null",
        )
    )
    error.source, error.log = path, log
    return error


def _excerpt(source: str, diagnostic: re.Match[str]) -> list[tuple[str, str]]:
    """The diagnostic, after it the lines it is about, the one it names marked."""
    heading = ("error", diagnostic["text"])
    if diagnostic["line"] is None:
        return [heading]
    named = int(diagnostic["line"])
    lines = source.splitlines()
    around = range(max(named - _SHOWN_AROUND, 1), min(named + _SHOWN_AROUND, len(lines)) + 1)
    return [heading, *((f"{'>' if number == named else ' '} {number}", lines[number - 1]) for number in around)]


def keep(source: str) -> Path:
    """The file in the cache that keeps a unit's text."""
    key = UNITS.key(source, suffix=".c")

    def write(path: Path) -> None:
        path.write_text(source, encoding="utf-8")

    return UNITS.store(key, write)


def _unavailable(fact: str, *lines: tuple[str, str], hint: str = "") -> BackendUnavailable:
    how = hint or INSTALL.get(sys.platform, "install gcc or clang")
    return BackendUnavailable(message(f"backend 'c' needs a C compiler: {fact}", *lines, hint=how))
