// A pointwise node at known sizes: the loops to run over each tile of the output, and where each value of a tile lies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dtypes/overflow.h"
#include "kernels/cpu/pointwise/loops.h"
#include "kernels/kernel.h"

namespace tern::pointwise {

/// How an input is read, in the output's collapsed dimensions.
struct Load {
  std::size_t input = 0;
  std::int64_t element = 0;  ///< bytes
  bool uniform = false;      ///< one element for the whole output
  bool linear = false;       ///< in the output's order: a tile is read where it lies
  std::array<std::int64_t, kMaxRank> strides{};
};

struct Step {
  enum class Kind : std::uint8_t { constant, load, index, convert, loop, bitcast };
  Kind kind = Kind::loop;
  bool uniform = false;  ///< the same for every element: done once for each thread
  Loop loop = nullptr;
  std::size_t a = 0, b = 0, c = 0;  ///< steps
  DType from = DType::invalid, to = DType::invalid;
  Overflow overflow = Overflow::to_nan;
  std::size_t load = 0;                  ///< number in Plan::loads
  std::int64_t inner = 1, size = 1;      ///< index: the position is element / inner % size
  std::array<std::byte, 16> constant{};  ///< one element
  std::ptrdiff_t slot = -1;              ///< number of the tile buffer; -1: the bytes lie elsewhere
};

/// A part of the output: `count` elements from `start`.
struct Tile {
  std::int64_t start = 0, count = 0;
};

struct Plan : KernelState {
  explicit Plan(const KernelCall& call);

  std::int64_t total = 0;  ///< elements of the output
  int rank = 1;            ///< collapsed, at least 1
  std::array<std::int64_t, kMaxRank> sizes{};
  bool by_rows = false;   ///< tiles do not cross the innermost dimension
  std::int64_t tile = 0;  ///< elements, even
  std::int64_t tiles = 0;
  std::int64_t row_tiles = 1;
  std::int64_t cost = 1;  ///< of an element, in additions
  std::vector<Load> loads;
  std::vector<Step> steps;  ///< one for each instruction
  std::size_t slots = 0;
  std::size_t slot_bytes = 0;

  Tile tile_at(std::int64_t number) const;

 private:
  void collapse(const KernelCall& call, const std::vector<std::size_t>& inputs);
  void add_steps(const KernelCall& call, const std::vector<std::size_t>& load_of_input);
  void choose_tile();
  void assign_slots();
  bool needs_slot(const Step& s) const;
};

/// Copies the `count` elements from position `start` of the output's order to `dst`, contiguous.
void gather(const Plan& plan, const Load& load, const std::byte* data, std::int64_t start, std::int64_t count,
            std::byte* dst);
/// Repeats one element.
void fill(std::byte* dst, const std::byte* element, std::int64_t size, std::int64_t count);

}  // namespace tern::pointwise
