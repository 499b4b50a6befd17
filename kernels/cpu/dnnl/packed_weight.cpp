#include "kernels/cpu/dnnl/packed_weight.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "kernels/cpu/dense.h"

namespace tern::dnnl_cpu {
namespace {

using dnnl::memory;

struct Entry {
  DType dtype;
  memory::desc from, to;
  std::weak_ptr<const PackedWeight> packed;
};

/// Entries by the address of the weight. The lock is held while packing, so that two plans made at once share too.
struct Cache {
  std::mutex mutex;
  std::unordered_map<const void*, std::vector<Entry>> entries;
};

Cache& cache() {
  static Cache c;
  return c;
}

std::shared_ptr<const PackedWeight> pack(const TensorView& w, const memory::desc& from, const memory::desc& to) {
  auto result = std::make_shared<PackedWeight>();
  result->memory = memory(to, engine());
  const bool same_type = w.dtype == (type_of(to) == memory::data_type::bf16 ? DType::bf16 : DType::f32);
  std::vector<float> converted;
  memory source;
  if (same_type) {
    source = memory(from, engine(), w.data);
  } else {
    converted.resize(static_cast<std::size_t>(w.numel()));
    to_dense(w, DType::f32, converted.data());
    source = memory(from, engine(), converted.data());
  }
  dnnl::reorder(source, result->memory).execute(stream(), source, result->memory);
  stream().wait();
  return result;
}

}  // namespace

std::shared_ptr<const PackedWeight> pack_weight(const TensorView& w, const memory::desc& from, const memory::desc& to) {
  Cache& c = cache();
  const std::lock_guard lock(c.mutex);
  std::vector<Entry>& list = c.entries[w.data];
  std::erase_if(list, [](const Entry& e) { return e.packed.expired(); });
  for (const Entry& e : list) {
    if (e.dtype != w.dtype || e.from != from || e.to != to) continue;
    if (auto packed = e.packed.lock()) return packed;
  }
  auto packed = pack(w, from, to);
  list.push_back({w.dtype, from, to, packed});
  // Addresses whose plans are gone are dropped when there are many.
  if (c.entries.size() > 4096) {
    std::erase_if(c.entries, [](const auto& item) {
      return std::all_of(item.second.begin(), item.second.end(), [](const Entry& e) { return e.packed.expired(); });
    });
  }
  return packed;
}

}  // namespace tern::dnnl_cpu
