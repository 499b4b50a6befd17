// Valid archives run clean: the mutator changes the indexes of real programs field by field and corrects the index
// hash; the target opens each archive and runs every mode.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fuzz/run/aligned.h"
#include "fuzz/run/mutate.h"
#include "fuzz/run/trial.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  using namespace tern::fuzz;
  std::uint8_t bytes[8] = {};
  std::memcpy(bytes, &seed, sizeof seed);
  Choices c({bytes, sizeof bytes});
  // A twentieth of the mutations changes raw bytes: weights, and bytes outside the tables.
  if (c.chance(95)) {
    const auto made = mutate_archive(std::as_bytes(std::span(data, size)), c);
    if (!made.empty() && made.size() <= max_size) {
      std::memcpy(data, made.data(), made.size());
      return made.size();
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tern;
  fuzz::Aligned copy(std::as_bytes(std::span(data, size)));
  const auto archive = copy.span();
  if (!fuzz::make_hash_right(archive)) return 0;
  fuzz::Choices c({data + size - std::min<std::size_t>(size, 8), std::min<std::size_t>(size, 8)});
  const fuzz::Outcome outcome = fuzz::run_archive(archive, c);
  if (outcome.kind == fuzz::Outcome::finding) {
    std::fprintf(stderr, "FOUND %s\n", outcome.message.c_str());
    std::abort();
  }
  return 0;
}
