// The order in which the lanes of a wave pass the blocks of a function.
#ifndef TERN_TESTS_GPU_AMD_IR_BLOCK_ORDER_H
#define TERN_TESTS_GPU_AMD_IR_BLOCK_ORDER_H

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace tern::gpu::amd {

// A block comes before those that it leads to, and all blocks of a loop before those behind the loop: lanes that have
// left a loop wait there for those that have not. `lines` are those between the head of a function and its last
// bracket. The block without a label is "".
std::map<std::string, unsigned> block_order(std::span<const std::string_view> lines);

// The label that a line begins a block with; empty for other lines.
std::string block_label(std::string_view line);

}  // namespace tern::gpu::amd

#endif
