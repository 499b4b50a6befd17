// A pointwise expression at known sizes: the loops to run over each tile of the output, and where each value of a tile
// lies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dtypes/overflow.h"
#include "kernels/cpu/pointwise/loops.h"
#include "kernels/kernel.h"

namespace tern::pointwise {

/// The operand that is the output itself: what an epilogue starts from.
inline constexpr std::ptrdiff_t kOwnResult = -1;

/// How an operand is read, in the output's collapsed dimensions.
struct Load {
  std::ptrdiff_t operand = 0;  ///< position in KernelCall::in, or kOwnResult
  std::int64_t element = 0;    ///< bytes
  bool uniform = false;        ///< one element for the whole output
  bool linear = false;         ///< in the output's order: a tile is read where it lies
  std::array<std::int64_t, kMaxRank> strides{};
  bool constant = false;  ///< its bytes never change
  int axis = -1;          ///< of the collapsed dimensions, the only one that it varies along; -1: several
};

inline constexpr std::size_t kMostLinks = 32;  ///< of a chain

/// An operation of a chain of arithmetic, and the instructions that make its operands; those that it has not are as y.
struct Link {
  ChainOp op{};
  std::size_t y = 0, left = 0, right = 0;
  std::ptrdiff_t keep = -1;  ///< the instruction that this link computes, where others read it too
};

/// How an instruction of the expression is done for a tile.
struct TileInstruction {
  /// chain: the links, applied in turn to instruction a; merged: a part of a later one's chain
  enum class Kind : std::uint8_t { constant, load, index, convert, loop, bitcast, chain, merged };
  Kind kind = Kind::loop;
  bool uniform = false;  ///< the same for every element: done once for each thread
  bool fixed = false;    ///< uniform, and made of constants alone: the same for every run
  bool shared = false;   ///< merged, and read by others than the next link: the chain stores it
  bool kept = false;     ///< an epilogue's constant operand of one axis: its buffer serves block after block
  Loop loop = nullptr;
  std::size_t a = 0, b = 0, c = 0;  ///< instructions
  DType from = DType::invalid, to = DType::invalid;
  Overflow overflow = Overflow::to_nan;
  std::size_t load = 0;                  ///< number in TileProgram::loads
  std::int64_t inner = 1, size = 1;      ///< index: the position is element / inner % size
  std::array<std::byte, 16> constant{};  ///< one element
  std::vector<Link> links;
  std::ptrdiff_t slot = -1;  ///< number of the tile buffer; -1: the bytes lie elsewhere
};

/// A part of the output: `count` elements from `start`.
struct Tile {
  std::int64_t start = 0, count = 0;
};

/// Immutable: threads share it.
struct TileProgram : KernelState {
  /// Of a pointwise node, or of another node's epilogue. With block > 0 there is room to bring any part of any operand
  /// together, up to `block` elements.
  explicit TileProgram(const KernelCall& call, std::int64_t block = 0, const LoopTable& table = loop_table());

  const LoopTable& table;  ///< that the loops are from

  std::int64_t total = 0;  ///< elements of the output
  int rank = 1;            ///< collapsed, at least 1
  std::array<std::int64_t, kMaxRank> sizes{};
  bool by_rows = false;   ///< tiles do not cross the innermost dimension
  std::int64_t tile = 0;  ///< elements, even
  std::int64_t tiles = 0;
  std::int64_t block = 0;  ///< elements that every buffer has room for at least
  std::int64_t row_tiles = 1;
  std::int64_t cost = 1;  ///< of an element, in additions
  std::vector<Load> loads;
  std::vector<TileInstruction> instructions;  ///< the expression's, one for one
  bool one_chain = false;                     ///< one chain of loads as they are and of uniform values makes the result
  std::size_t slots = 0;
  std::size_t slot_bytes = 0;

  Tile tile_at(std::int64_t number) const;
  /// Tiles that are worth a thread.
  std::int64_t grain() const;
  /// An operand as it lies in memory in place of a tile of it.
  bool reads_in_place(const Load& l) const {
    return l.linear || (by_rows && l.strides[static_cast<std::size_t>(rank) - 1] == 1);
  }

 private:
  void collapse(const KernelCall& call, const std::vector<std::ptrdiff_t>& operands);
  void add_instructions(const KernelCall& call, const std::vector<std::ptrdiff_t>& operands);
  void join_chains(const std::vector<Instruction>& code);  ///< chains.cpp
  void choose_tile();
  void assign_slots();
  bool needs_slot(const TileInstruction& n) const;
};

/// Copies the `count` elements from position `start` of the output's order to `dst`, contiguous.
void gather(const TileProgram& program, const Load& load, const std::byte* data, std::int64_t start, std::int64_t count,
            std::byte* dst);
/// Rows of an operand's elements in the output's order: `columns` from each of begin, begin + row_step, ...
struct Rows {
  std::int64_t begin = 0, row_step = 0, rows = 0, columns = 0;
};
/// Copies them to `dst`, one row after the other.
void gather_rows(const TileProgram& program, const Load& load, const std::byte* data, const Rows& rows, std::byte* dst);
/// Repeats one element.
void fill(std::byte* dst, const std::byte* element, std::int64_t size, std::int64_t count);

}  // namespace tern::pointwise
