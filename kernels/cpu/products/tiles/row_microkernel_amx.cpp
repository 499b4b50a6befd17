// Rows of bfloat16 by a packed weight on matrix tiles.
#include "kernels/cpu/products/tiles/row_tile_microkernel.h"

namespace tern::amx {
namespace {

struct Bf16Products {
  template <int kSums, int kLeft, int kRight>
  static void multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSums), "i"(kLeft), "i"(kRight));
  }
};

}  // namespace

bool multiply_rows_on_tiles(const TileRows& rows, const std::byte* weight, Range blocks, const RowResults& results) {
  RowStore<SumsInTiles> store(results);
  multiply_rows_in_tiles<Bf16Products>(rows, weight, blocks, store);
  return store.finite();
}

}  // namespace tern::amx
