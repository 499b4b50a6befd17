// Reads a Python pickle as data. It executes nothing: a pickle is a program for a small stack machine, and here only
// its stack and memo exist. A call in it becomes a record of the call.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "exporter/pt2/pickle_values.h"

namespace tern::pt2 {

/// Larger pickles are refused. A tensor subclass takes 1 or 2 KB; its numbers lie outside of the pickle.
inline constexpr std::size_t kMaxPickleBytes = std::size_t{256} << 10;

/// Reads the whole of `pickle`, which must outlive the result. `label` stands for it in messages, and `base` is added
/// to offsets in them: where the pickle begins in the file. Pickles of more than `most` bytes are refused. Accepts the
/// opcodes that PyTorch's pickles have, protocols 2 to 5, and the names of pickle_globals.h. Throws Error: bad_file for
/// malformed pickles; unsupported, with the opcode or the name and its offset, for anything else. Memory and time are
/// proportional to the size of the pickle; the values count as work (schema/work.h).
PickleValues read_pickle(std::span<const std::byte> pickle, const std::string& label, std::uint64_t base = 0,
                         std::size_t most = kMaxPickleBytes);

}  // namespace tern::pt2
