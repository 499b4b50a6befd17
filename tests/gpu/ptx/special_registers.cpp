#include "tests/gpu/ptx/special_registers.h"

namespace tern::emulated {
namespace {

struct Special {
  std::string_view name, c;
};

// A block's warps run on processor 0; blocks form no clusters.
constexpr Special kSpecials[] = {
    {"%tid.x", "T->thread[0]"},
    {"%tid.y", "T->thread[1]"},
    {"%tid.z", "T->thread[2]"},
    {"%ntid.x", "T->threads[0]"},
    {"%ntid.y", "T->threads[1]"},
    {"%ntid.z", "T->threads[2]"},
    {"%ctaid.x", "T->block[0]"},
    {"%ctaid.y", "T->block[1]"},
    {"%ctaid.z", "T->block[2]"},
    {"%nctaid.x", "T->blocks[0]"},
    {"%nctaid.y", "T->blocks[1]"},
    {"%nctaid.z", "T->blocks[2]"},
    {"%laneid", "(T->index & 31)"},
    {"%warpid", "(T->index >> 5)"},
    {"%nwarpid", "32u"},
    {"%smid", "0u"},
    {"%nsmid", "1u"},
    {"%gridid", "1u"},
    {"WARP_SZ", "32u"},
    {"%lanemask_eq", "(1u << (T->index & 31))"},
    {"%lanemask_lt", "((1u << (T->index & 31)) - 1)"},
    {"%lanemask_le", "((2u << (T->index & 31)) - 1)"},
    {"%lanemask_gt", "~((2u << (T->index & 31)) - 1)"},
    {"%lanemask_ge", "~((1u << (T->index & 31)) - 1)"},
    {"%clock", "tern_ptx_clock()"},
    {"%clock_hi", "(tern_ptx_clock() >> 32)"},
    {"%clock64", "tern_ptx_clock()"},
    {"%globaltimer", "tern_ptx_nanoseconds()"},
    {"%globaltimer_lo", "tern_ptx_nanoseconds()"},
    {"%globaltimer_hi", "(tern_ptx_nanoseconds() >> 32)"},
    {"%dynamic_smem_size", "T->launch->local_bytes"},
    {"%total_smem_size", "T->shared_bytes"},
};

}  // namespace

std::string special_register(std::string_view name, int bits) {
  if (bits < 16) return "";
  for (const Special& special : kSpecials) {
    if (special.name == name) return std::string(special.c);
  }
  return "";
}

}  // namespace tern::emulated
