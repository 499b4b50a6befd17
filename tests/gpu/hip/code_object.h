// Code objects made by the stand-in for hiprtc and loaded by the stand-in for HIP's runtime: a header, then a shared
// library with the export tern_emulated_kernels (tests/gpu/kernel.h).
#ifndef TERN_TESTS_GPU_HIP_CODE_OBJECT_H
#define TERN_TESTS_GPU_HIP_CODE_OBJECT_H

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace tern::gpu::hip {

struct CodeObjectHeader {
  char magic[24];
  char architecture[24];
  std::uint64_t bytes;  // size of the library
};
// The magic of clang's bundles, a valid output of hiprtc, so that the rules of archives accept the code object.
inline constexpr char kCodeObjectMagic[] = "__CLANG_OFFLOAD_BUNDLE__";

inline std::string code_object(const std::string& architecture, const std::string& library) {
  CodeObjectHeader header{};
  std::memcpy(header.magic, kCodeObjectMagic, sizeof header.magic);
  architecture.copy(header.architecture, sizeof header.architecture - 1);
  header.bytes = library.size();
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + library;
}

struct CodeObject {
  std::string architecture;
  std::string_view library;
};

// Reads an image whose size is known only from its header, as for hipModuleLoadData; nullopt for other images.
inline std::optional<CodeObject> read_code_object(const void* image) {
  CodeObjectHeader header;
  if (std::memcmp(image, kCodeObjectMagic, sizeof header.magic) != 0) return std::nullopt;
  std::memcpy(&header, image, sizeof header);
  return CodeObject{header.architecture, {static_cast<const char*>(image) + sizeof header, header.bytes}};
}

}  // namespace tern::gpu::hip

#endif
