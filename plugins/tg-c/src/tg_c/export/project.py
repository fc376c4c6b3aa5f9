"""The build of a library: `CMakeLists.txt`, and the file by which pkg-config finds what is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_c.export.units import BASE

if TYPE_CHECKING:
    from tg_c.export.library import Library

BLAS: Final = {
    "openblas": ("OpenBLAS", "openblas"),
    "mkl": ("Intel10_64lp_seq", "mkl_rt"),
    "accelerate": ("Apple", "blas"),
}
"""Vendors as CMake's FindBLAS names them, and what pkg-config links."""
TEXT: Final = """\
# @name: @origin.
#
#   cmake -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build && ctest --test-dir build
#
# or, as a part of another project: add_subdirectory(@folder) and target_link_libraries(… @name::@name)
cmake_minimum_required(VERSION 3.16)
project(@name VERSION 1.0 LANGUAGES C)
include(GNUInstallDirs)
enable_testing()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_C_STANDARD 11)
option(BUILD_SHARED_LIBS "a shared library in the place of a static one" OFF)

add_library(@name @sources)
add_library(@name::@name ALIAS @name)
target_include_directories(@name PUBLIC
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(@name PROPERTIES C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
@blas
# None of these changes a value; see the head of @name.c. They say what the unit relies on.
set(@name_flags -Wall -Wextra @flags -D@NAME_FLAGS)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  list(APPEND @name_flags @gcc)
endif()
target_compile_options(@name PRIVATE ${@name_flags})
find_library(@name_libm m)
if(@name_libm)
  target_link_libraries(@name PUBLIC m)
endif()

set(@NAME_MARCH "@base" CACHE STRING "instructions that every x86-64 machine has that runs this")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set_source_files_properties(@name.c PROPERTIES COMPILE_OPTIONS "-march=${@NAME_MARCH}")
@levels
endif()

add_executable(@name_main main.c)
target_link_libraries(@name_main PRIVATE @name::@name)
add_test(NAME @name_golden COMMAND @name_main@argument)

# relative, so that what is installed can be moved
file(RELATIVE_PATH @name_includes "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
configure_file(@name.pc.in @name.pc @ONLY)
install(TARGETS @name ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES @name.h @name.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/@name.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
@data
"""
PKG_CONFIG: Final = """\
libdir=${pcfiledir}/..
includedir=${pcfiledir}/@{name}_includes@

Name: {name}
Description: {origin}
Version: 1.0
Cflags: -I${{includedir}}
Libs: -L${{libdir}} -l{name}{blas}
Libs.private: -lm
"""


def sources(library: Library, blas: str) -> list[str]:
    """The C files of the library."""
    name = library.name
    return [
        f"{name}.c",
        *(level_file(name, level) for level, _ in library.levels),
        *([f"{name}_weights.c"] if library.is_inside else []),
        *([f"{name}_file.c"] if library.has_file else []),
        *([f"{name}_blas_{blas}.c"] if library.base.slots else []),
    ]


def level_file(name: str, level: str) -> str:
    """The file of the unit of a level."""
    return f"{name}_{level.rpartition('-')[2]}.c"


def cmake_file(library: Library, blas: str, folder: str) -> str:
    """The project of a library."""
    name = library.name
    levels = [
        f'  set_source_files_properties({level_file(name, level)} PROPERTIES COMPILE_OPTIONS "-march={level}")'
        for level, _ in library.levels
    ]
    vendor = BLAS.get(blas, ("", ""))[0]
    linked = f"target_link_libraries({name} PUBLIC ${{LAPACK_LIBRARIES}})"
    library_text = f"set(BLA_VENDOR {vendor})\nfind_package(LAPACK REQUIRED)\n{linked}"
    weights = f"{name}.safetensors"
    data = f"install(FILES {weights} DESTINATION ${{CMAKE_INSTALL_DATADIR}}/{name})" if library.has_file else ""
    words = {
        "@sources": " ".join(sources(library, blas)),
        "@blas": library_text if library.base.slots else "",
        "@flags": " ".join(library.base.flags[1:]),
        "@gcc": " ".join(library.base.only_gcc),
        "@levels": "\n".join(levels),
        "@argument": f" ${{CMAKE_CURRENT_SOURCE_DIR}}/{weights}" if library.has_file else "",
        "@data": data,
        "@base": BASE,
        "@origin": library.origin,
        "@folder": folder,
    }
    text = TEXT
    for word, replacement in words.items():
        text = text.replace(word, replacement)
    return library.filled(text).rstrip("\n") + "\n"


def pkg_config_file(library: Library, blas: str) -> str:
    """The template of the file for pkg-config."""
    link = f" -l{BLAS[blas][1]}" if library.base.slots else ""
    text = PKG_CONFIG.replace("${pcfiledir}", "${{pcfiledir}}")
    return text.format(name=library.name, origin=library.origin, blas=link)
