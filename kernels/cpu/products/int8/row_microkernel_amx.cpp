// Rows of integers by a packed weight on matrix tiles, which multiply those of any signs.
#include "kernels/cpu/products/epilogue/integer_row_store.h"
#include "kernels/cpu/products/tiles/row_tile_microkernel.h"

namespace tern::integer {
namespace {

#define TERN_INTEGER_PRODUCTS(name, instruction)                                                       \
  struct name {                                                                                        \
    template <int kSums, int kLeft, int kRight>                                                        \
    static void multiply() {                                                                           \
      asm volatile(instruction " %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSums), "i"(kLeft), "i"(kRight)); \
    }                                                                                                  \
  };
TERN_INTEGER_PRODUCTS(BothSigned, "tdpbssd")
TERN_INTEGER_PRODUCTS(LeftSigned, "tdpbsud")
TERN_INTEGER_PRODUCTS(RightSigned, "tdpbusd")
TERN_INTEGER_PRODUCTS(NoneSigned, "tdpbuud")

}  // namespace

void multiply_on_tiles(const TileRows& rows, const std::byte* weight, Range blocks, const RowResults& results,
                       const Task& task) {
  with_store<amx::SumsInTiles>(results, task, [&](auto& store) {
    const Signs s = task.signs;
    if (s.x && s.weight) return amx::multiply_rows_in_tiles<BothSigned>(rows, weight, blocks, store);
    if (s.x) return amx::multiply_rows_in_tiles<LeftSigned>(rows, weight, blocks, store);
    if (s.weight) return amx::multiply_rows_in_tiles<RightSigned>(rows, weight, blocks, store);
    amx::multiply_rows_in_tiles<NoneSigned>(rows, weight, blocks, store);
  });
}

}  // namespace tern::integer
