// Reads a Python pickle as data and executes nothing. A pickle is a program for a small stack machine; only stack and
// memo exist here, and a call becomes a record of the call.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "exporter/pt2/pickle_values.h"

namespace tern::pt2 {

/// Size limit of pickles. A tensor subclass takes 1 or 2 KB; its numbers lie outside the pickle.
inline constexpr std::size_t kMaxPickleBytes = std::size_t{256} << 10;

/// Reads the whole of `pickle`; the result refers to its bytes. `label` names the pickle in messages; `base`, its
/// offset in the file, is added to offsets. Accepts at most `max_bytes` bytes, the opcodes of PyTorch's pickles,
/// protocols 2 to 5, and the names of pickle_globals.h. Throws Error: bad_file for malformed pickles; unsupported, with
/// the opcode or the name and its offset, for anything else. Memory and time are proportional to the pickle's size;
/// values count as work (schema/work.h).
PickleValues read_pickle(std::span<const std::byte> pickle, const std::string& label, std::uint64_t base = 0,
                         std::size_t max_bytes = kMaxPickleBytes);

}  // namespace tern::pt2
