// The order in which the lanes of a wave execute the blocks of a function.
#ifndef TERN_TESTS_GPU_AMD_IR_BLOCK_ORDER_H
#define TERN_TESTS_GPU_AMD_IR_BLOCK_ORDER_H

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace tern::gpu::amd {

// A block precedes its successors, and all blocks of a loop precede the blocks behind the loop: lanes that have left a
// loop wait there for the remaining lanes. `lines` are the lines between the head of a function and its last bracket.
// The block without a label is "".
std::map<std::string, unsigned> block_order(std::span<const std::string_view> lines);

// The label at the start of a block's first line; empty for other lines.
std::string block_label(std::string_view line);

}  // namespace tern::gpu::amd

#endif
