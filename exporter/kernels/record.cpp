#include "exporter/kernels/record.h"

#include <algorithm>
#include <memory>
#include <set>

#include "loader/memory_pages.h"
#include "runtime/rehearse.h"

namespace tern {
namespace {

// Sizes selecting different kernels: few rows (tiles of 1, 2, 4, 6, 8 and more), many rows, axes of one element, rows
// of up to 512 elements, 1,024, 2,048 and so on, few rows of 4,096 and more. Tiles of groups grow with the number of
// rows up to some hundreds (kernels/portable/product_tiles.cpp).
constexpr std::int64_t kTypicalSizes[] = {1,   2,   4,   6,   8,   16,   32,   40,   48,  64,
                                          128, 176, 192, 256, 512, 1024, 2048, 4096, 8192};

/// Storages of zeros, all in one memory range without physical pages.
class NoWeights : public StorageSource {
 public:
  explicit NoWeights(const Program& program) {
    std::uint64_t largest = 1;
    for (const Storage& s : program.storages) {
      sizes_.push_back(s.size);
      largest = std::max(largest, s.size);
    }
    zeros_ = MemoryPages(largest);
  }
  std::span<const std::byte> bytes(std::uint32_t storage) override { return zeros_.bytes().first(sizes_.at(storage)); }

 private:
  std::vector<std::uint64_t> sizes_;
  MemoryPages zeros_;
};

/// The values of all symbols for each rehearsal.
std::set<std::vector<std::int64_t>> rehearsals(const Program& program, const SymbolSizes& sizes) {
  std::size_t count = 1;
  for (const Symbol& s : program.pool.symbols()) {
    const auto found = sizes.find(s.name);
    count = std::max(count, found == sizes.end() ? std::size(kTypicalSizes) : found->second.size());
  }
  std::set<std::vector<std::int64_t>> result;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::int64_t> values, batch_of_one, short_ones;  // the first symbol is mostly a batch
    for (const Symbol& s : program.pool.symbols()) {
      const auto found = sizes.find(s.name);
      const std::span<const std::int64_t> list =
          found == sizes.end() ? std::span<const std::int64_t>(kTypicalSizes) : found->second;
      const std::int64_t value = std::clamp(list[std::min(i, list.size() - 1)], s.min, s.max);
      const std::int64_t lower = found == sizes.end() ? std::clamp(list[0], s.min, s.max) : value;
      batch_of_one.push_back(values.empty() ? lower : value);
      short_ones.push_back(values.empty() ? value : lower);
      values.push_back(value);
    }
    result.insert(std::move(values));
    result.insert(std::move(batch_of_one));
    result.insert(std::move(short_ones));
  }
  return result;
}

}  // namespace

std::map<std::string, std::string> record_kernels(const Program& program, const DeviceKind& kind,
                                                  const SymbolSizes& sizes) {
  auto bare = std::make_shared<Program>(program);
  bare->source = std::make_shared<NoWeights>(program);
  RecordingDevice recorder(kind);
  for (const bool reproducible : {false, true}) {
    PrepareOptions options;
    options.reproducible = reproducible;
    const auto prepared = prepare_program(bare, options, {.device = &recorder.device()});
    for (const std::vector<std::int64_t>& values : rehearsals(program, sizes)) {
      for (const std::uint64_t found : {2, 1}) {  // some results have at most one element
        recorder.answer(found);
        rehearse(*prepared, values);
      }
    }
  }
  return recorder.texts();
}

}  // namespace tern
