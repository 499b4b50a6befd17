// What is called on matrix tiles alone, for processors that have none.
#include <tern/error.h>

#include "kernels/cpu/products/tiles/in_place_driver.h"
#include "kernels/cpu/products/tiles/rows.h"
#include "kernels/cpu/products/tiles/split_pack.h"

namespace tern::amx {
namespace {

[[noreturn]] void none() {
  fail(ErrorCode::internal, "this processor has no matrix tiles");
}

}  // namespace

void multiply(const Left&, const Right&, Range, Range, Sink&, std::int64_t) {
  none();
}
std::int64_t blocks_together(std::int64_t) {
  none();
}
void split_columns(const float*, std::int64_t, std::int64_t, std::int64_t, int, std::byte*) {
  none();
}
bool split_rows(const float*, std::int64_t, std::int64_t, std::int64_t, int, std::byte*) {
  none();
}
void split_line(const LinePair&, std::int64_t, std::int64_t, std::int64_t, std::span<std::byte* const>) {
  none();
}
void TransposingSink::store(const float*, std::int64_t, std::int64_t, int) {
  none();
}
void PlainSink::store(const float*, std::int64_t, std::int64_t, int) {
  none();
}
void pack_rows(Elements, std::int64_t, Range, std::int64_t, const RowLayout&, std::byte*) {
  none();
}
void round_line(Elements, std::int64_t, std::byte*) {
  none();
}
void pack_weight(Elements, std::int64_t, std::int64_t, std::int64_t, std::byte*) {
  none();
}
bool pack_columns(Elements, std::int64_t, std::int64_t, std::int64_t, std::byte*) {
  none();
}
bool multiply_rows_on_tiles(const TileRows&, const std::byte*, Range, const RowResults&) {
  none();
}
bool multiply_in_place(const WeightRows&, Range, const std::byte*, std::int64_t, const RowResults&) {
  none();
}
bool multiply_rows_on_vectors(const TileRows&, const std::byte*, Range, const RowResults&) {
  none();
}

}  // namespace tern::amx
