// Compiled libraries on disk, in the folder TERN_EMULATOR_CACHE; without the variable nothing is cached.
#ifndef TERN_TESTS_GPU_AMD_CACHE_H
#define TERN_TESTS_GPU_AMD_CACHE_H

#include <optional>
#include <string>
#include <string_view>

namespace tern::gpu::amd {

// Hashes all inputs of a library: the source, the options, the emulator itself.
std::string cache_key(std::string_view content);
std::optional<std::string> find_cached(const std::string& key);
void keep_cached(const std::string& key, std::string_view library);

}  // namespace tern::gpu::amd

#endif
