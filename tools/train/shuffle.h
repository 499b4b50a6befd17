// The order of an epoch's samples.
#pragma once

#include <cstdint>
#include <vector>

namespace tern::train {

/// A permutation of 0 .. count-1: determined by seed and round, on every machine, and independent of other rounds.
/// Fisher and Yates' shuffle (Durstenfeld, 1964) with numbers of SplitMix64 (Steele, Lea and Flood, 2014).
std::vector<std::uint64_t> shuffled(std::uint64_t count, std::uint64_t seed, std::uint64_t round);

/// The numbers 0 .. count-1 in ascending order.
std::vector<std::uint64_t> ascending_numbers(std::uint64_t count);

struct SampleSplit {
  std::vector<std::uint64_t> trained, held_out;  ///< both ascending
};
/// Holds out `fraction` of the samples, rounded to a whole number; the choice depends only on the seed.
SampleSplit hold_out(std::uint64_t count, double fraction, std::uint64_t seed);

}  // namespace tern::train
