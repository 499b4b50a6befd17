"""Builds the README's C++ example against the package, and runs it over an archive that the package's command exports."""
import pathlib

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout

ROOT = pathlib.Path("..", "..", "..")


class TernTest(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps", "CMakeToolchain"

    def requirements(self):
        self.requires(self.tested_reference_str, run=True)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if not can_run(self) or not self.dependencies["tern"].options.command:
            return
        program = pathlib.Path(self.recipe_folder, ROOT, "examples", "digits", "digits.pt2").resolve()
        archive = pathlib.Path(self.build_folder, "digits.tern")
        self.run(f'tern export "{program}" -o "{archive}"', env="conanrun")
        self.run(f'"{pathlib.Path(self.build_folder, self.cpp.build.bindir, "classify")}" "{archive}"', env="conanrun")
