"""What `tg.save` and `tg.load` refuse, each with an error that says what was found and what was needed."""

import json
import struct
import zipfile

import numpy as np
import pytest

import tg
from tests.files import rewritten
from tg.errors import FileError, InputError, OptionError


@pytest.fixture
def path(tmp_path):
    """A file of a small function."""
    x, w = tg.vector("x"), tg.shared([1.0, 2.0], "w")
    f = tg.function([x], {"y": tg.sum(x * w)}, updates={w: w + 1}, backend="perform")
    tg.save(f, tmp_path / "f.tg")
    return tmp_path / "f.tg"


def manifest_with(path, change):
    """The file with another manifest."""

    def changed(content):
        manifest = json.loads(content)
        change(manifest)
        return json.dumps(manifest).encode()

    rewritten(path, {"manifest.json": changed})


def refusal(path, **options):
    with pytest.raises(FileError) as caught:
        tg.load(path, "perform", **options)
    return str(caught.value).replace(str(path), "f.tg")


def test_ops_that_no_text_holds_are_refused_with_their_line(tmp_path):
    x = tg.vector("x")
    y = tg.wrap(np.cbrt, x, like=x) if False else tg.debug_print(x, "x")
    f = tg.function([x], y, backend="perform")
    with pytest.raises(
        InputError, match=r"save: function: .* is opaque, needed ops that a text can hold\n  created at "
    ):
        tg.save(f, tmp_path / "f.tg")
    assert not list(tmp_path.iterdir())


def test_what_is_no_function_is_refused(tmp_path):
    with pytest.raises(InputError, match="found a module, needed a compiled function"):
        tg.save(tg.nn.Dense(2, 3), tmp_path / "f.tg")
    for value in (np.sum, {}, {"f": np.sum}, {1: tg.function([], tg.constant(1.0), backend="perform")}):
        with pytest.raises(InputError, match="needed a compiled function, or several by name"):
            tg.save(value, tmp_path / "f.tg")
    with pytest.raises(InputError, match="path: found"):
        tg.save(tg.function([], tg.constant(1.0), backend="perform"), tmp_path / "none/f.tg")


def test_results_that_are_not_finite_are_refused_and_nothing_is_written(tmp_path):
    x = tg.vector("x")
    with pytest.raises(InputError, match="save: function: found a NaN or an infinity in output"):
        tg.save(tg.function([x], x * np.inf, backend="perform"), tmp_path / "f.tg")
    assert not list(tmp_path.iterdir())


def test_what_is_no_file_of_tg_is_refused(tmp_path, path):
    assert "f.tg: No such file or directory" in refusal(path.with_name("f.tg.none")).replace(".none", "")
    (tmp_path / "text").write_text("some text")
    assert "found no zip" in refusal(tmp_path / "text")
    (tmp_path / "empty").write_bytes(b"")
    assert "found no zip" in refusal(tmp_path / "empty")
    with zipfile.ZipFile(tmp_path / "zip", "w") as archive:
        archive.writestr("manifest.json", "{}")
    assert "format" in refusal(tmp_path / "zip")
    with zipfile.ZipFile(tmp_path / "other", "w") as archive:
        archive.writestr("../../etc/passwd", "root")
    assert "found the member '../../etc/passwd', needed one of the format" in refusal(tmp_path / "other")


def test_a_packed_member_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "packed", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", " " * (1 << 20))
    assert "packed or encrypted, needed it stored" in refusal(tmp_path / "packed")


def test_a_newer_version_says_which_tg_reads_it(path):
    manifest_with(path, lambda m: m.update(version=2, needs="0.7.1"))
    assert refusal(path).startswith("load: f.tg: found version 2 of the format, needed at most 1, as tg 0.1")
    assert 'hint: pip install --upgrade "tg-core>=0.7.1"' in refusal(path)
    manifest_with(path, lambda m: m.update(needs="0.7; rm -rf /"))
    assert 'hint: pip install --upgrade "tg-core>=0"' in refusal(path)


def test_ops_of_a_plugin_that_is_not_here_are_named_with_it(path):
    manifest_with(path, lambda m: m.update(plugins={"tg-waves": {"version": "1.2", "ops": ["squash"]}}))
    assert "found squash, needed ops that are known here" in refusal(path)
    assert "hint: tg-waves 1.2 has them" in refusal(path)


def test_changed_bytes_are_seen(path):
    for name in ("functions/0.tg", "manifest.json", "golden.safetensors", "weights.safetensors"):
        content = path.read_bytes()
        with zipfile.ZipFile(path) as archive:
            start = archive.getinfo(name).header_offset + 200
        path.write_bytes(content[:start] + bytes([content[start] ^ 1]) + content[start + 1 :])
        assert "changed since the file was written" in refusal(path)
        path.write_bytes(content)


def test_another_result_is_seen_and_can_be_passed_over(path):
    rewritten(path, {"functions/0.tg": lambda text: text.replace(b"multiply", b"divide")})
    assert "golden values: y: found" in refusal(path)
    assert "hint: check=False loads it all the same" in refusal(path)
    assert tg.load(path, "perform", check=False)([1.0, 4.0])["y"] == 3.0


def test_what_a_golden_call_may_need_is_limited(tmp_path):
    n = tg.scalar("n", dtype="int64")
    f = tg.function([n], tg.sum(tg.cos(tg.exp(tg.cumsum(tg.arange(n) * 0.1)))), backend="perform")
    tg.save(f, tmp_path / "f.tg", example=[2])
    assert tg.load(tmp_path / "f.tg", "perform")(2) == f(2)
    larger = struct.pack("<q", 40_000_000_000)
    rewritten(tmp_path / "f.tg", {"golden.safetensors": lambda data: data.replace(struct.pack("<q", 2), larger)})
    with pytest.raises(tg.LimitError, match=r"memory: a call needs \d+ bytes .*, the limit is 1073741824 bytes"):
        tg.load(tmp_path / "f.tg", "perform")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda m: m.pop("shared"), "shared: found None, needed list"),
        (lambda m: m.update(version=True), "version: found True, needed int"),
        (lambda m: m["functions"].clear(), "needed at least one function"),
        (lambda m: m["shared"][0].update(name="v"), "found no array of this name"),
        (lambda m: m["shared"][0]["type"].update(dtype="float32"), "found float64[2], needed float32"),
        (lambda m: m["shared"][0]["type"].update(shape=[3]), "found the shape [2], needed float64[3]"),
        (lambda m: m["shared"][0]["type"].update(shape=[-3]), "found the length -3"),
        (lambda m: m["shared"][0]["type"].update(shape=[["//"]]), "found the term //"),
        (lambda m: m["functions"][0].update(sources=[7]), "needed numbers below 1"),
        (lambda m: m["functions"][0].update(outputs="**"), "found the structure **"),
        (lambda m: m["functions"][0].update(outputs=["*"] * 3), "found the structure ['*', '*', '*']"),
        (lambda m: m["functions"][0].update(results=2), "of the manifest's types"),
        (lambda m: m["functions"][0].update(targets=[]), "of the manifest's types"),
        (lambda m: m["functions"][0]["options"].update(mode="fast"), "found options that this tg does not have"),
        (lambda m: m["functions"][0]["general"].update(dtype="float8"), "dtype: found 'float8', needed one of"),
        (lambda m: m["functions"][0]["golden"].update(inputs=[]), "found 0 golden inputs, needed 1"),
    ],
)
def test_a_manifest_that_contradicts_itself_is_refused(path, change, text):
    manifest_with(path, change)
    assert text in refusal(path)


def nested(depth, leaf):
    return leaf if not depth else {"kind": "list", "parts": [nested(depth - 1, leaf)]}


def test_what_is_nested_too_deep_is_refused(path):
    manifest_with(path, lambda m: m["functions"][0].update(outputs=nested(100, "*")))
    assert "needed parts, at most 64 deep" in refusal(path)
    rewritten(path, {"manifest.json": lambda _: b"[" * 200_000})
    assert "manifest.json: found no JSON" in refusal(path)


@pytest.mark.parametrize("deep", [True, False])
def test_graphs_in_graphs_are_limited(deep, monkeypatch):
    monkeypatch.setattr("tg.graph.text.values.MOST_INSIDE", 1 << 10)
    inner = ["tg 1", "graph @g0(%0: float64[]) {", "  return %0", "}"]
    calls = 1 if deep else 4
    for k in range(1, 80 if deep else 20):
        inner.append(f"graph @g{k}(%0: float64[]) {{")
        inner += [f"  %{n + 1} = Call{{graph=@g{k - 1}}}(%{n}) : float64[]" for n in range(calls)]
        inner += [f"  return %{calls}", "}"]
    inner += ["graph(%0: float64[]) {", "  return %0", "}"]
    with pytest.raises(tg.TextError, match=r"found graphs \d+ deep with \d+ nodes, needed 64 and 1024 at most"):
        tg.parse("\n".join(inner))


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ({"w": {"dtype": "F64", "shape": [2], "data_offsets": [0, 1 << 60]}}, "found bytes 0 to"),
        ({"w": {"dtype": "F64", "shape": [1 << 60], "data_offsets": [0, 1 << 63]}}, "found bytes 0 to"),
        ({"w": {"dtype": "F64", "shape": [-2], "data_offsets": [0, 16]}}, "needed a dtype and lengths"),
        ({"w": {"dtype": "F99", "shape": [2], "data_offsets": [0, 16]}}, "needed a dtype and lengths"),
        ({"w": {"dtype": "F64", "shape": [2], "data_offsets": [8, 24]}}, "found bytes 8 to 24, needed 0 to 16"),
        ({"w": [1, 2]}, "needed dtype, shape and data_offsets"),
        ([1], "needed names"),
    ],
)
def test_sizes_of_arrays_are_checked_before_memory_is_taken(path, header, text):
    content = json.dumps(header).encode()
    rewritten(path, {"weights.safetensors": lambda _: struct.pack("<Q", len(content)) + content + bytes(64)})
    assert text in refusal(path)


def test_a_header_longer_than_the_member_is_refused(path):
    rewritten(path, {"weights.safetensors": lambda data: struct.pack("<Q", 1 << 62) + data[8:]})
    assert "found a header of 4611686018427387904 bytes" in refusal(path)


def test_names_of_a_file_are_never_code(path):
    evil = '*/ int main(){} /* """\n#error \\'
    manifest_with(path, lambda m: m["functions"][0].update(name=evil))
    rewritten(path, {"functions/0.tg": lambda text: text.replace(b"%0 x", b'%0 "*/ #error"')})
    manifest_with(path, lambda m: m["functions"][0]["inputs"][0].update(name=evil))
    for backend in ("perform", "c", "numba"):
        assert tg.load(path, backend)([1.0, 1.0])["y"] == 3.0


def test_backends_and_options_are_checked_as_for_a_function(path):
    with pytest.raises(OptionError, match="spede"):
        tg.load(path, "perform", spede=1)
    with pytest.raises(OptionError, match="found options beside 'perform'"):
        tg.load(path, tg.backend("perform"), threads=1)
    with pytest.raises(InputError, match="needed a name or"):
        tg.load(path, 3)
