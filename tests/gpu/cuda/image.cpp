#include "tests/gpu/cuda/image.h"

#include <elf.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>

#include "tests/gpu/cuda/call.h"
#include "tests/gpu/cuda/machine_code.h"
#include "tests/gpu/cuda/translator.h"
#include "tests/gpu/machine/settings.h"

namespace tern::emulator::cuda {
namespace {

constexpr char kLibrary[] = "// tern-emulated-library: ";
constexpr int kCuda = 190;  // EM_CUDA

// The newest PTX of a driver: https://docs.nvidia.com/cuda/parallel-thread-execution/, "Release Notes".
constexpr std::pair<int, int> kVersions[] = {
    {11000, 70}, {11010, 71}, {11020, 72}, {11030, 73}, {11040, 74}, {11050, 75}, {11060, 76}, {11070, 77},
    {11080, 78}, {12000, 80}, {12010, 81}, {12020, 82}, {12030, 83}, {12040, 84}, {12050, 85}, {12060, 85},
    {12070, 86}, {12080, 87}, {12090, 88}, {13000, 90}, {13010, 91}, {13020, 92},
};

// Newest PTX version of the driver; 0: unknown driver.
int newest_text() {
  int result = 0;
  for (const auto& [driver, text] : kVersions) {
    if (driver == driver_version()) result = text;
  }
  return result;
}

// The value of a directive: "9.0" of ".version 9.0".
std::string directive(std::string_view text, const char* name) {
  const size_t at = text.find(name);
  if (at == std::string_view::npos) return "";
  std::istringstream rest(std::string(text.substr(at + std::strlen(name), 64)));
  std::string word;
  rest >> word;
  return word;
}

void check_text(std::string_view text) {
  int major = 0, minor = 0, target = 0;
  char suffix = 0;
  const std::string version = directive(text, ".version"), wanted = directive(text, ".target");
  if (std::sscanf(version.c_str(), "%d.%d", &major, &minor) != 2) {
    refuse(Status::invalid_text, "the text has no .version: is it PTX?");
  }
  if (std::sscanf(wanted.c_str(), "sm_%d%c", &target, &suffix) < 1)
    refuse(Status::invalid_text, "the text has no .target");
  // CUDA_ERROR_UNSUPPORTED_PTX_VERSION: "the provided PTX was compiled with an unsupported toolchain."
  const int newest = newest_text();
  if (newest != 0 && major * 10 + minor > newest) {
    refuse(Status::newer_text, "PTX %s is newer than the %d.%d of a driver of version %d", version.c_str(), newest / 10,
           newest % 10, driver_version());
  }
  const int capability = settings().major * 10 + settings().minor;
  const bool exact = suffix == 'a';  // code for a single architecture
  if (target > capability || (exact && target != capability)) {
    refuse(Status::no_binary, "PTX for %s does not run on a device of compute capability %d.%d", wanted.c_str(),
           settings().major, settings().minor);
  }
}

}  // namespace

Translated library_of(const void* image, bool counts) {
  const auto* text = static_cast<const char*>(image);
  if (std::strncmp(text, kLibrary, std::strlen(kLibrary)) == 0) {
    const char* path = text + std::strlen(kLibrary);
    return {{path, std::strcspn(path, "\n")}, ""};
  }
  if (std::memcmp(text, ELFMAG, std::min<size_t>(SELFMAG, std::strlen(text) + 1)) != 0) {
    check_text(text);
    return {library_of_ptx(text, counts), text};
  }
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  if (header.e_machine != kCuda)
    refuse(Status::invalid_image, "the image is an ELF file of machine %d", header.e_machine);
  const std::string name = text_name(image);
  std::ifstream file(settings().binaries + "/" + name);
  if (settings().binaries.empty() || !file) {
    refuse(Status::no_binary, "machine code cannot be executed here: TERN_EMULATOR_CUBINS has no %s with its PTX",
           name.c_str());
  }
  std::ostringstream ptx;
  ptx << file.rdbuf();
  return {library_of_ptx(ptx.str(), counts), ptx.str()};
}

}  // namespace tern::emulator::cuda
