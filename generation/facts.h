// Facts of a generating archive, from its metadata.
#pragma once

#include <tern/tern.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace tern::llm {

struct Facts {
  std::int64_t context = 0;         ///< positions of the cache
  std::int64_t vocabulary = 0;      ///< token ids are 0 to vocabulary - 1
  std::optional<std::int64_t> bos;  ///< first token of a sequence
  std::vector<std::int64_t> eos;    ///< end tokens
  std::int64_t batch = 0;           ///< slots; 0: a session holds one sequence, and functions take no slot
  std::int64_t verify = 0;          ///< most tokens of the function verify; 0: the archive lacks the function

  std::int64_t slots() const { return batch == 0 ? 1 : batch; }
};

/// Throws invalid_argument if `tern export --llm` did not make the archive, unsupported for other versions of its
/// rules, bad_file for broken numbers.
Facts read_facts(const Model& model);

}  // namespace tern::llm
