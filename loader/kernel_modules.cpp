#include "loader/kernel_modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "loader/spirv.h"

namespace tern {
namespace {

using Bytes = std::span<const std::byte>;

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// PTX is text: comments, then the directive `.version` (PTX ISA, "PTX Module Directives"). The driver reads up to a
/// zero byte.
std::string ptx_problem(Bytes bytes) {
  const std::string_view text = text_of(bytes);
  if (text.find('\0') != std::string_view::npos) return "the PTX contains a zero byte";
  if (text.find(".version") == std::string_view::npos || text.find(".target") == std::string_view::npos)
    return "it has no .version and .target, which PTX needs";
  return {};
}

/// Machine code is a 64-bit ELF file with the target's machine number (ELF specification, "ELF Header"). Its section
/// and segment tables must lie inside the file.
std::string elf_problem(Bytes bytes, std::uint16_t machine, const char* name) {
  constexpr std::size_t kHeader = 64;
  constexpr char kMagic[] = {0x7f, 'E', 'L', 'F', 2, 1};  // 64 bits, little-endian
  if (bytes.size() < kHeader || std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0)
    return fmt::format("it does not start like an ELF file of {}", name);
  const auto number = [&]<class T>(T value, std::size_t at) {
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  };
  if (const auto m = number(std::uint16_t{}, 18); m != machine)
    return fmt::format("an ELF file of machine {}, not {} ({})", m, machine, name);
  struct Table {
    const char* name;
    std::size_t offset, size, count;  ///< offsets of the fields in the header
  };
  for (const Table& t : {Table{"segments", 32, 54, 56}, Table{"sections", 40, 58, 60}}) {
    const std::uint64_t begin = number(std::uint64_t{}, t.offset);
    const std::uint64_t length = std::uint64_t{number(std::uint16_t{}, t.size)} * number(std::uint16_t{}, t.count);
    if (begin > bytes.size() || length > bytes.size() - begin)
      return fmt::format("its table of {} goes past its end", t.name);
  }
  return {};
}

std::string cubin_problem(Bytes bytes) {
  return elf_problem(bytes, 190, "CUDA");  // EM_CUDA
}

/// hiprtc produces a code object or a bundle of code objects (clang's documentation, "Clang Offload Bundler").
std::string code_object_problem(Bytes bytes) {
  constexpr std::string_view kBundle = "__CLANG_OFFLOAD_BUNDLE__";
  return text_of(bytes).starts_with(kBundle) ? "" : elf_problem(bytes, 224, "AMD GPUs");  // EM_AMDGPU
}

/// Metal's source text.
std::string msl_problem(Bytes bytes) {
  return text_of(bytes).find('\0') == std::string_view::npos ? "" : "the text contains a zero byte";
}

struct ModuleFormat {
  std::string_view prefix;  ///< prefix of the targets
  std::string (*problem)(Bytes);
};
constexpr ModuleFormat kModuleFormats[] = {
    {"xpu:spirv", spirv_problem},      {"cuda:ptx", ptx_problem},  {"cuda:sm_", cubin_problem},
    {"rocm:gfx", code_object_problem}, {"metal:msl", msl_problem},
};

}  // namespace

std::string module_problem(std::string_view target, Bytes bytes) {
  const auto* format =
      std::ranges::find_if(kModuleFormats, [&](const ModuleFormat& f) { return target.starts_with(f.prefix); });
  return format == std::end(kModuleFormats) ? "" : format->problem(bytes);
}

bool is_kernel_target(std::string_view target) {
  constexpr std::size_t kLongest = 64;
  const auto is_name_character = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  const std::size_t colon = target.find(':');
  return colon != std::string_view::npos && colon > 0 && colon + 1 < target.size() && target.size() <= kLongest &&
         std::ranges::all_of(target.substr(0, colon), is_name_character) &&
         std::ranges::all_of(target.substr(colon + 1), is_name_character);
}

}  // namespace tern
