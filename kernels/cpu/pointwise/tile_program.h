// A pointwise expression at known sizes: the loops for each tile of the output, and the location of each value of a
// tile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dtypes/overflow.h"
#include "kernels/cpu/pointwise/loops.h"
#include "kernels/kernel.h"

namespace tern::pointwise {

/// Operand index of the output itself: the start of an epilogue.
inline constexpr std::ptrdiff_t kOwnResult = -1;

/// Access to an operand in the output's collapsed dimensions.
struct Load {
  std::ptrdiff_t operand = 0;  ///< index in KernelCall::in, or kOwnResult
  std::int64_t element = 0;    ///< bytes
  bool uniform = false;        ///< a single element for the whole output
  bool linear = false;         ///< stored in the output's order: tiles are read in place
  std::array<std::int64_t, kMaxRank> strides{};
  bool constant = false;    ///< the bytes never change
  int axis = -1;            ///< the only collapsed dimension with a nonzero stride; -1: several
  std::int64_t period = 0;  ///< elements of the output after which the operand repeats; 0: it does not, or linear
  int crossed = -1;  ///< number among the operands whose rows run across memory: several rows are gathered at once
};

inline constexpr std::size_t kMostPeriodic = 8;       ///< operands of programs with periodic ones
inline constexpr std::int64_t kLongestPeriod = 1024;  ///< elements
inline constexpr int kMostCrossed = 4;                ///< operands that are gathered by several rows
inline constexpr std::int64_t kCrossedRows = 16;      ///< rows that are gathered at once: the elements of a cache line

inline constexpr std::int64_t kTiledRow = 128;  ///< rows at least this long are divided into tiles separately
inline constexpr std::size_t kMostLinks = 32;   ///< links of a chain

/// An operation of a chain, and the instructions of its operands; absent operands equal y.
struct Link {
  ChainOp op{};
  std::size_t y = 0, lhs = 0, rhs = 0;
  std::ptrdiff_t store = -1;  ///< this link's instruction, if other instructions read the value, too
};

/// Execution of an instruction for a tile.
struct TileInstruction {
  /// chain: the links, applied in turn to instruction a; merged: a link of a later chain
  enum class Kind : std::uint8_t { constant, load, index, convert, loop, bitcast, chain, merged };
  Kind kind = Kind::loop;
  bool uniform = false;       ///< equal for every element: computed once per thread
  bool row_constant = false;  ///< equal along each tile, and read by chains alone: a load repeats a few elements
  bool fixed = false;         ///< uniform, and computed from constants alone: equal for every run
  bool shared = false;        ///< merged, with readers besides the next link: the chain stores the value
  /// A constant operand of an epilogue along a single axis, or a periodic operand: its buffer serves several blocks.
  bool is_cached = false;
  Loop loop = nullptr;
  std::size_t a = 0, b = 0, c = 0;  ///< instructions
  DType source = DType::invalid, type = DType::invalid;
  Overflow overflow = Overflow::to_nan;
  std::size_t load = 0;                  ///< index in TileProgram::loads
  std::int64_t inner = 1, size = 1;      ///< index: the position is element / inner % size
  std::array<std::byte, 16> constant{};  ///< an element
  std::vector<Link> links;
  ChainLoop known_chain = nullptr;  ///< the loop of a common chain
  bool activation = false;          ///< a loop that also computes the merged instructions before it
  std::ptrdiff_t slot = -1;         ///< index of the tile buffer; -1: the bytes lie elsewhere
};

/// A slice of the output: `count` elements from `start`.
struct OutputSlice {
  std::int64_t start = 0, count = 0;
};

/// A compiled expression. Immutable, so threads share an object.
struct TileProgram : KernelState {
  /// Compiles a pointwise node or another node's epilogue. With block > 0, buffers have room to gather up to `block`
  /// elements of any operand. `by_rows`: the caller computes whole rows if has_row_chain.
  explicit TileProgram(const KernelCall& call, std::int64_t block = 0, const LoopTable& table = loop_table(),
                       bool by_rows = false);

  const LoopTable& table;  ///< source of the loops

  std::int64_t total = 0;  ///< elements of the output
  int rank = 1;            ///< collapsed, at least 1
  std::array<std::int64_t, kMaxRank> sizes{};
  bool is_row_tiled = false;  ///< tiles do not cross the innermost dimension
  /// Tiles have whole periods of every operand that does not lie in the output's order: such an operand is gathered
  /// once for all tiles.
  bool is_periodic = false;
  std::int64_t tile = 0;  ///< elements, even
  std::int64_t tiles = 0;
  std::int64_t block = 0;  ///< smallest capacity of every buffer, in elements
  std::int64_t row_tiles = 1;
  std::int64_t cost = 1;  ///< cost of an element, in additions
  std::vector<Load> loads;
  std::vector<TileInstruction> instructions;  ///< a tile instruction per instruction of the expression
  bool one_chain = false;                     ///< a single chain of plain loads and uniform values
  /// The program is a common chain, whose loads are read in place or have an element per row: a call computes a row.
  bool has_row_chain = false;
  std::size_t slots = 0;
  std::size_t slot_bytes = 0;
  std::size_t crossed_slots = 0, crossed_bytes = 0;  ///< buffers of crossed operands, and bytes of each

  OutputSlice tile_at(std::int64_t number) const;
  /// Returns the number of tiles per thread.
  std::int64_t grain() const;
  /// Returns the number of rows per thread.
  std::int64_t row_grain() const;
  /// Elements that a load repeats for a row constant: the vectors of a chain.
  static constexpr std::int64_t kRepeated = 64;
  /// True if tiles of the operand are read in place.
  bool reads_in_place(const Load& l) const {
    return l.linear || (is_row_tiled && l.strides[static_cast<std::size_t>(rank) - 1] == 1);
  }

 private:
  void collapse(const KernelCall& call, const std::vector<std::ptrdiff_t>& operands);
  void add_instructions(const KernelCall& call, const std::vector<std::ptrdiff_t>& operands);
  void join_activations(const PointwiseExpr& expr);  ///< chains.cpp
  /// Joins operations to chains; with `by_rows`, single ones too, whose rows are read where they lie; chains.cpp
  void join_chains(const std::vector<Instruction>& code, bool by_rows);
  bool is_row_chain() const;
  void find_row_constants(bool has_chains);
  void choose_tile();
  void find_periods();
  void find_crossed_operands();
  void assign_slots();
  bool needs_slot(const TileInstruction& n) const;
};

/// Copies `count` elements from position `start` of the output's order to contiguous `dst`.
void gather(const TileProgram& program, const Load& load, const std::byte* data, std::int64_t start, std::int64_t count,
            std::byte* dst);
/// Copies `rows` rows of `count` elements, whose neighbours lie `stride` apart in a row and side by side in a column,
/// to rows `to_row` apart. Strides are in elements of `size` bytes.
void gather_crossed(const std::byte* from, std::int64_t stride, std::int64_t size, std::int64_t rows,
                    std::int64_t count, std::byte* to, std::int64_t to_row);
/// Rows of an operand's elements in the output's order: `columns` from each of begin, begin + row_step, ...
struct OutputRows {
  std::int64_t begin = 0, row_step = 0, rows = 0, columns = 0;
};
/// Copies the rows to `dst`, contiguous.
void gather_rows(const TileProgram& program, const Load& load, const std::byte* data, const OutputRows& rows,
                 std::byte* dst);
/// Repeats an element.
void fill(std::byte* dst, const std::byte* element, std::int64_t size, std::int64_t count);

}  // namespace tern::pointwise
