"""Programs in C, C++ and Rust that use exported libraries, built by CMake and cargo."""

import shutil
from ctypes import CDLL, POINTER, Structure, byref, c_double, c_int64, c_void_p, create_string_buffer

import numpy as np
import pytest

import tg
from tests.unit.tg_c.libraries import functions
from tests.unit.tg_c.libraries.build import run

pytestmark = pytest.mark.long(minutes=3)

CMAKE = """\
cmake_minimum_required(VERSION 3.16)
project(service LANGUAGES C CXX)
set(CMAKE_CXX_STANDARD 17)
add_subdirectory(small)
add_subdirectory(training)
add_executable(service service.cpp)
target_compile_options(service PRIVATE -Wall -Wextra -Wpedantic -Werror)
target_link_libraries(service PRIVATE small::small training::training)
"""
SERVICE = """\
#include <cstdio>
#include <thread>
#include <vector>

#include "small.hpp"
#include "training.hpp"

int main() {
  const std::vector<double> x = {1, 2, 3, 4, 5, 6, 7, 8, 10, 1, 0, 1}, w = {0.5, -0.25, 0.125};
  std::vector<double> totals(4);
  std::vector<std::thread> threads;
  for (double &total : totals)
    threads.emplace_back([&] {
      small::program program;
      total = program({x.data(), w.data(), 3.0}, {4}).total;
    });
  for (std::thread &thread : threads) thread.join();
  for (const double total : totals) std::printf("%.17g\\n", total);
  small::program program;
  const small::outputs results = program({x.data(), w.data(), 3.0}, {4});
  std::printf("%zu %.17g\\n", results.waves.size(), results.waves[11]);
  const std::vector<double> flat(12, 1.0);
  try {
    program({flat.data(), w.data(), 3.0}, {4});
  } catch (const small::error &error) {
    std::printf("%d %s\\n", error.code > 0, error.what());
  }
  training::program model;
  const std::vector<float> images(40, 0.5f);
  const std::vector<std::int64_t> labels = {1, 4};
  const std::vector<std::int64_t> wrong = {1, 5};
  for (int step = 0; step < 3; step++) {
    std::printf("%.9g\\n", model({images.data(), labels.data()}, {2}).loss);
    try {
      model({images.data(), wrong.data()}, {2});
    } catch (const training::error &error) {
      if (step == 0) std::fprintf(stderr, "%s\\n", error.what());
      continue;  // the state is as it was
    }
    return 1;
  }
}
"""
RUST = """\
mod small;
use small::*;

fn main() {
    let x = [1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 1.0, 0.0, 1.0];
    let w = [0.5f64, -0.25, 0.125];
    let lengths = small_lengths { n: 4 };
    let inputs = small_inputs { x: x.as_ptr(), w: w.as_ptr(), scale: 3.0 };
    let (mut total, mut factor) = (0.0f64, [0.0f64; 9]);
    unsafe {
        let mut waves = vec![0.0f64; small_count_waves(&lengths) as usize];
        let outputs = small_outputs { total: &mut total, waves: waves.as_mut_ptr(), factor: factor.as_mut_ptr() };
        let size = small_arena_bytes(&lengths);
        let mut arena = vec![0u8; size as usize];
        let place = arena.as_mut_ptr() as *mut std::os::raw::c_void;
        let code = small_run(&lengths, &inputs, &outputs, place, size, std::ptr::null_mut());
        println!("{} {:.17} {}", code, total, waves.len());
        let code = small_run(&lengths, &inputs, &outputs, place, size - 1, std::ptr::null_mut());
        println!("{}", std::ffi::CStr::from_ptr(small_error_text(code)).to_str().unwrap());
    }
}
"""
CARGO = '[package]\nname = "service"\nversion = "0.1.0"\nedition = "2021"\nbuild = "build.rs"\n'
BUILD = 'fn main() {\n    println!("cargo:rustc-link-search=@");\n    println!("cargo:rustc-link-lib=small");\n}\n'


def needs(*programs):
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def exported(make, folder, **options):
    f, example = make()
    return f, tg.export(f, folder / f.name, "c", example=example, **options)


X = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 10], [1, 0, 1]], "float64")
W = np.array([0.5, -0.25, 0.125])


def test_cmake_builds_tests_and_installs_a_library(tmp_path):
    needs("cmake", "gcc")
    _, folder = exported(functions.training, tmp_path, weights="file", levels=("x86-64-v3", "x86-64-v4"))
    for shared in ("OFF", "ON"):
        build = tmp_path / f"build{shared}"
        run("cmake", "-S", folder, "-B", build, f"-DBUILD_SHARED_LIBS={shared}", "-DCMAKE_C_FLAGS=-Werror")
        run("cmake", "--build", build)
        assert "100% tests passed" in run("ctest", "--test-dir", build)
        run("cmake", "--install", build, "--prefix", tmp_path / f"installed{shared}")
    installed = {p.name for p in (tmp_path / "installedON").rglob("*") if p.is_file()}
    assert installed == {"libtraining.so", "training.h", "training.hpp", "training.pc", "training.safetensors"}
    if shutil.which("pkg-config"):
        (place,) = (tmp_path / "installedOFF").rglob("training.pc")
        flags = run("pkg-config", "--static", "--cflags", "--libs", place).split()
        run("gcc", folder / "main.c", "-I", folder, *flags, "-o", tmp_path / "main")
        assert "gives" in run(tmp_path / "main", folder=folder)


def test_two_libraries_serve_threads_of_one_program_in_cpp(tmp_path):
    needs("cmake", "g++")
    f, _ = exported(functions.small, tmp_path)
    training, _ = exported(functions.training, tmp_path)
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    (tmp_path / "service.cpp").write_text(SERVICE)
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build")
    run("cmake", "--build", tmp_path / "build")
    lines = run(tmp_path / "build/service").splitlines()
    expected = 3 * np.exp(X @ W).sum()
    np.testing.assert_allclose([float(line) for line in lines[:4]], expected, rtol=1e-14)
    count, last = lines[4].split()
    assert int(count) == 12
    np.testing.assert_allclose(float(last), 2 * np.sin(1.0), rtol=1e-14)
    assert lines[5].startswith("1 small: LinAlgError: cholesky")
    images, labels = np.full((2, 20), 0.5, "float32"), np.array([1, 4])
    losses = [float(training(images, labels)["loss"]) for _ in range(3)]
    np.testing.assert_allclose([float(line) for line in lines[6:]], losses, rtol=1e-5)
    assert losses[2] < losses[0]
    np.testing.assert_allclose(f(X, W, 3.0)["total"], expected, rtol=1e-14)


def test_rust_calls_a_library_without_crates(tmp_path):
    needs("cargo", "cmake", "gcc")
    _, folder = exported(functions.small, tmp_path)
    run("cmake", "-S", folder, "-B", tmp_path / "build")
    run("cmake", "--build", tmp_path / "build")
    (tmp_path / "src").mkdir()
    (tmp_path / "src/main.rs").write_text(RUST)
    shutil.copy(folder / "small.rs", tmp_path / "src/small.rs")
    (tmp_path / "Cargo.toml").write_text(CARGO)
    (tmp_path / "build.rs").write_text(BUILD.replace("@", str(tmp_path / "build")))
    lines = run("cargo", "run", "--offline", "-q", folder=tmp_path).splitlines()
    code, total, count = lines[0].split()
    assert (code, count) == ("0", "12")
    np.testing.assert_allclose(float(total), 3 * np.exp(X @ W).sum(), rtol=1e-14)
    assert lines[1] == "the arena is smaller than a call with these lengths needs"


def test_an_error_inside_of_a_loop_has_its_text_and_values(tmp_path):
    needs("cmake", "gcc")
    steps = tg.dim("steps")
    places, x = tg.tensor("places", "int64", (steps,)), tg.vector("x", shape=(5,))
    last, _ = tg.scan(lambda h, place: (h + x[place], h), tg.constant(0.0), places)
    f = tg.function([places, x], last, name="nested")
    folder = tg.export(f, tmp_path / "nested", "c", example=[np.array([0, 1, 4]), np.arange(5.0)])
    run("cmake", "-S", folder, "-B", tmp_path / "build", "-DBUILD_SHARED_LIBS=ON")
    run("cmake", "--build", tmp_path / "build")
    library, values, text = CDLL(str(tmp_path / "build/libnested.so")), (c_int64 * 8)(), create_string_buffer(200)
    numbers, array, result = np.array([0, 1, 9]), np.arange(5.0), c_double()
    inputs, outputs = (c_void_p * 2)(numbers.ctypes.data, array.ctypes.data), POINTER(c_double)(result)
    arena = create_string_buffer(4096)
    code = library.nested_run(byref(c_int64(3)), inputs, byref(outputs), arena, c_int64(4096), values)
    assert code == 1
    length = library.nested_error_with_values(code, values, text, c_int64(200))
    assert text.value.decode() == "BoundsError: index 9 is out of bounds for an axis of length 5"
    assert length == len(text.value)
    library.nested_error_with_values(code, values, text, c_int64(12))
    assert text.value == b"BoundsError"


@pytest.mark.parametrize("n", [0, 1, 2, 33])
def test_lengths_of_a_call_are_free(n, tmp_path):
    needs("gcc")
    length = tg.dim("n")
    x, y = tg.matrix("x", shape=(length, 4)), tg.vector("y", shape=(length,))
    f = tg.function([x, y], tg.tanh(x @ x.T) @ y + tg.sum(x, axis=1), name="free")
    folder = tg.export(f, tmp_path / "free", "c")
    run("cmake", "-S", folder, "-B", tmp_path / "build", "-DBUILD_SHARED_LIBS=ON")
    run("cmake", "--build", tmp_path / "build")
    library = CDLL(str(tmp_path / "build/libfree.so"))

    class Two(Structure):
        _fields_ = (("x", c_void_p), ("y", c_void_p))

    rng = np.random.default_rng(n)
    a, b, result = rng.normal(size=(n, 4)), rng.normal(size=n), np.full(n + 1, 7.0)
    lengths, inputs = c_int64(n), Two(a.ctypes.data, b.ctypes.data)
    outputs = POINTER(c_double)(c_double.from_buffer(result))
    library.free_arena_bytes.restype = c_int64
    size = library.free_arena_bytes(byref(lengths))
    arena = np.zeros(max(size, 1), "uint8")
    place, room = c_void_p(arena.ctypes.data), c_int64(size)
    assert library.free_run(byref(lengths), byref(inputs), byref(outputs), place, room, None) == 0
    np.testing.assert_allclose(result[:n], np.tanh(a @ a.T) @ b + a.sum(1), rtol=1e-12, atol=1e-14)
    assert result[n] == 7
    if size:
        assert library.free_run(byref(lengths), byref(inputs), byref(outputs), place, c_int64(size - 1), None) == -16
    assert library.free_run(byref(c_int64(-1)), byref(inputs), byref(outputs), place, room, None) == -2
    assert library.free_arena_bytes(byref(c_int64(2**62))) == -1
