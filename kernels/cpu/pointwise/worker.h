// Per-thread state of a tile program: buffers, and the location of each instruction's values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/pointwise/tile_program.h"

namespace tern::pointwise {

/// A block of a float result in scratch memory: element (i, j), at data[i * ld + j], is the output's element number
/// at.begin + i * at.row_step + j.
struct ResultBlock {
  float* data = nullptr;
  std::int64_t ld = 0;
  OutputRows rows;
};

/// Contents of a kept operand's buffer.
struct BufferedRows {
  std::int64_t first = -1, step = 0, rows = 0, columns = 0;
  friend bool operator==(const BufferedRows&, const BufferedRows&) = default;
};

class TileWorker {
 public:
  static std::size_t bytes(const TileProgram& program);

  /// `memory`: bytes(program), 64-byte aligned. `filled`: the memory's last owner was a worker of this program, so it
  /// holds the program's constants. `count`: elements of this worker's largest tile or block.
  TileWorker(const TileProgram& program, const KernelCall& call, std::byte* memory, std::int64_t count,
             bool filled = false);

  /// Sends large results of whole outputs past the caches. end_stream() must follow the last tile.
  void stream_result();
  void run_tile(const OutputSlice& t);
  /// Computes whole rows of the output; program.has_row_chain.
  void run_output_rows(std::int64_t begin, std::int64_t end);
  /// Writes the values of a slice to `dst`, contiguous. The slice lies within a tile's elements, and within a row if
  /// the program goes by rows.
  void compute(const OutputSlice& t, std::byte* dst);
  /// Sets the contents of kept operands' buffers, one per load; without them every block fills all buffers.
  void set_cached_rows(BufferedRows* cached_rows) { cached_rows_ = cached_rows; }
  /// Replaces the block by the expression's value; at most program.block elements.
  void run_block(const ResultBlock& b);

 private:
  std::byte* slot(std::size_t instruction) const;
  std::byte* spare() const { return slots_ + program_.slots * program_.slot_bytes; }
  const std::byte* data(const Load& l) const;
  /// Runs all instructions but the last.
  void run_operands(const OutputSlice& t);
  ChainOperand operand(std::size_t instruction, const ResultBlock* rows) const;
  /// Room for the links of a chain: to initialise all of them would take as long as a row.
  struct LinkMemory {
    alignas(ChainLink) std::byte bytes[kMostLinks * sizeof(ChainLink)];
  };
  ChainLink* links_of(const TileInstruction& n, const ResultBlock* rows, LinkMemory& memory) const;
  void run_chain(const TileInstruction& n, std::int64_t elements, std::byte* dst, bool past_caches);
  void run_rows(const ResultBlock& b);
  void run(std::size_t i, const OutputSlice& t, std::byte* dst);
  void load(std::size_t i, const OutputSlice& t, std::byte* dst);
  /// Gathers the rows around an element of a crossed operand, unless the buffer has them; returns the element.
  const std::byte* crossed_rows(const Load& l, std::int64_t start);
  void load_block(std::size_t i, const OutputRows& at, std::byte* own);
  bool buffer_holds(std::size_t load, const OutputRows& at);
  void copy(std::byte* to, const std::byte* from, std::int64_t count) const;

  const TileProgram& program_;
  const KernelCall& call_;
  const std::byte** where_;  ///< per instruction
  std::byte* slots_;
  const LoopTable& loops_;
  BufferedRows* cached_rows_ = nullptr;
  std::array<std::int64_t, kMostCrossed> crossed_{-1, -1, -1, -1};  ///< the first element in each buffer
  /// Elements in a periodic operand's buffer, and the first one's number in its period.
  struct BufferedPeriod {
    std::int64_t phase = 0, count = 0;
  };
  std::array<BufferedPeriod, kMostPeriodic> periods_{};  ///< indexed by load
  bool streams_ = false;
};

}  // namespace tern::pointwise
