#include "kernels/cpu/dnnl/packed_weight.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "kernels/cpu/dense.h"

namespace tern::dnnl_cpu {
namespace {

using dnnl::memory;

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

/// FNV-1a.
struct Digest {
  std::uint64_t value = 0xcbf29ce484222325ull;
  void add(const void* bytes, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i)
      value = (value ^ static_cast<const std::uint8_t*>(bytes)[i]) * 0x100000001b3ull;
  }
  void add(const memory::dims& list) {
    const std::size_t count = list.size();
    add(&count, sizeof count);
    add(list.data(), count * sizeof(list[0]));
  }
};

/// Hashes a layout. Within a library version, equal descriptions mean equal layouts.
std::uint64_t digest(const memory::desc& d) {
  Digest h;
#if DNNL_VERSION_MAJOR >= 3
  const int kinds[] = {static_cast<int>(d.get_format_kind()), static_cast<int>(d.get_data_type()), d.get_inner_nblks()};
  h.add(kinds, sizeof kinds);
  for (const memory::dims& list : {d.get_dims(), d.get_strides(), d.get_padded_dims(), d.get_inner_blks(),
                                   d.get_inner_idxs(), memory::dims{d.get_submemory_offset()}})
    h.add(list);
#else
  h.add(&d.data, sizeof(d.data));
#endif
  return h.value;
}

/// True if the library describes the layout; opaque layouts cannot be distinguished.
bool is_described(const memory::desc& d) {
#if DNNL_VERSION_MAJOR >= 3
  return d.get_format_kind() == memory::format_kind::blocked;
#else
  return d.data.format_kind == dnnl_blocked;
#endif
}

std::string key_of(const TensorView& w, const memory::desc& from, const memory::desc& to) {
  const dnnl_version_t* v = dnnl_version();
  return fmt::format("onednn-{}.{}.{} {} {:016x} {:016x}", v->major, v->minor, v->patch, name_of(w.dtype), digest(from),
                     digest(to));
}

}  // namespace

std::shared_ptr<const PackedWeight> pack_weight(const ConstantWeight& constant, const memory::desc& from,
                                                const memory::desc& to) {
  const TensorView& w = constant.view;
  if (constant.access == nullptr) return pack(w, from, to);
  if (!is_described(to)) {
    constant.access->fetch(constant.input);
    return pack(w, from, to);
  }
  const std::string key = key_of(w, from, to);
  const auto stored = constant.access->packed(constant.input, key);
  if (stored.size() == to.get_size() && reinterpret_cast<std::uintptr_t>(stored.data()) % 64 == 0) {
    auto packed = std::make_shared<PackedWeight>();
    packed->memory = memory(to, engine(), const_cast<std::byte*>(stored.data()));
    return packed;
  }
  auto packed = std::static_pointer_cast<const PackedWeight>(constant.access->share(constant.input, key, [&] {
    constant.access->fetch(constant.input);
    return pack(w, from, to);
  }));
  constant.access->offer(constant.input, key, [packed] {
    const auto* bytes = static_cast<const std::byte*>(packed->memory.get_data_handle());
    return std::vector<std::byte>(bytes, bytes + packed->memory.get_desc().get_size());
  });
  return packed;
}

}  // namespace tern::dnnl_cpu
