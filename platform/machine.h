// Facts about this machine and process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tern::platform {

std::string host_name();
/// Asks the system to let this process use the tiles of AMX. Returns false on processors and systems without them.
bool allow_matrix_tiles();
#if defined(__aarch64__)
/// True if the processor and the system have an extension of aarch64, named as in Linux's list of features: "asimddp",
/// "i8mm", "bf16". False for other names.
bool has_extension(std::string_view name);
#endif
/// Size of the last-level cache; 0 if unknown.
std::int64_t last_cache_bytes();
/// Size of the memory; 0 if unknown.
std::int64_t memory_bytes();
/// Size of the memory in use that belongs to this process alone; 0 if unknown.
std::int64_t private_bytes();
/// Number of this process. Never 0.
long process_number();

}  // namespace tern::platform
