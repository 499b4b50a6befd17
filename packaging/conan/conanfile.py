"""Conan 2 recipe of Tern: `conan create packaging/conan`. The system's own libraries serve where a profile lists them as
platform_requires (packaging/conan/debian12.profile)."""
import pathlib
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain
from conan.tools.files import copy, load, rmdir
from conan.tools.gnu import PkgConfigDeps
from conan.tools.layout import basic_layout

ROOT = pathlib.Path("..", "..")  # path from this file to the sources
LIBRARIES = ["DNNL", "BLAS", "LAPACK"]


class TernRecipe(ConanFile):
    name = "tern"
    license = "Apache-2.0"
    description = "Runs exported PyTorch programs without Python"
    topics = ("pytorch", "inference", "machine-learning")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "shared": [True, False],
        "command": [True, False],  # the command tern, for exporting
        "plugins": [True, False],  # plugins of devices
        "with_dnnl": [True, False],
        "with_blas": [True, False],
        "with_lapack": [True, False],
    }
    # ConanCenter has no oneDNN for all CPUs; LAPACKE is part of OpenBLAS there.
    default_options = {
        "shared": True, "command": True, "plugins": False, "with_dnnl": False, "with_blas": False, "with_lapack": False}

    def set_version(self):
        text = load(self, str(pathlib.Path(self.recipe_folder, ROOT, "include", "tern", "version.h")))
        numbers = re.findall(r"^#define TERN_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text, re.M)
        self.version = self.version or ".".join(numbers)

    def export_sources(self):
        folders = ["cmake", "devices", "dtypes", "engines", "examples", "exporter", "include", "kernels", "loader", "platform", "runtime",
                   "schema", "threads", "tools", "user_files", "docs"]
        files = ["CMakeLists.txt", "LICENSE", "*.md"]
        for pattern in [f"{folder}/*" for folder in folders] + files:
            copy(self, pattern, str(pathlib.Path(self.recipe_folder, ROOT)), self.export_sources_folder)

    def requirements(self):
        # Dependencies of programs linking the static library.
        for requirement in ["fmt/[>=9]", "xxhash/[>=0.8]", "zstd/[>=1.5]", "flatbuffers/[>=2.0.8]"]:
            self.requires(requirement)
        if self.options.command:
            for requirement in ["nlohmann_json/[>=3.11]", "cli11/[>=2.1]", "libzip/[>=1.7]", "zlib/[>=1.2.11 <2]"]:
                self.requires(requirement)
        if self.options.with_dnnl:
            self.requires("onednn/[>=2.6]")
        if self.options.with_blas or self.options.with_lapack:
            self.requires("openblas/[>=0.3.21]")
        if self.options.plugins:
            self.requires("opencl-icd-loader/[>=2022]")

    def build_requirements(self):
        self.tool_requires("flatbuffers/[>=2.0.8]")  # flatc

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        basic_layout(self, build_folder="build")

    def generate(self):
        CMakeDeps(self).generate()
        PkgConfigDeps(self).generate()
        toolchain = CMakeToolchain(self, generator="Ninja")
        toolchain.cache_variables |= {
            "TERN_SHARED": bool(self.options.shared),
            "TERN_BUILD_EXPORTER": bool(self.options.command),
            "TERN_BUILD_PLUGINS": bool(self.options.plugins),
            "TERN_BUILD_ENGINES": False,
            "TERN_BUILD_TESTS": False,
            "TERN_BUILD_EXAMPLES": False,
            "TERN_WERROR": False,
            "TERN_WITH_HTTPLIB": "OFF",
        }
        toolchain.cache_variables |= {
            f"TERN_WITH_{name}": "ON" if self.options.get_safe(f"with_{name.lower()}") else "OFF" for name in LIBRARIES}
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, str(pathlib.Path(self.package_folder, "licenses")))
        rmdir(self, str(pathlib.Path(self.package_folder, "share", "doc")))

    def package_info(self):
        # Tern has its own ternConfig.cmake.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/tern"]
        self.cpp_info.set_property("pkg_config_name", "tern")
        self.cpp_info.libs = ["tern"]
