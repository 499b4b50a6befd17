#include "tools/deep_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "loader/archive.h"
#include "runtime/pack.h"

namespace tern {
namespace {

/// Layouts of kernels/cpu/channels_last/panels.cpp: the weight's floats in another order, padded with zeros.
bool is_own_layout(const Packing& p) {
  return p.key.starts_with("panels of ") || p.key.starts_with("elements of ");
}

/// The bits of all nonzero floats, in order.
std::vector<std::uint32_t> values_of(std::span<const std::byte> bytes) {
  std::vector<std::uint32_t> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  std::erase(values, 0u);
  std::ranges::sort(values);
  return values;
}

}  // namespace

DeepCheck check_packed_weights(const std::string& path) {
  DeepCheck check;
  const std::shared_ptr<const Program> archive = open_archive(path, {Access::map, Verify::first_use});
  if (archive->packings.empty()) return check;
  const auto unpacked = std::make_shared<Program>(*archive);
  unpacked->packings.clear();
  const PackRecorder recorder = pack_weights(unpacked, {});
  for (std::size_t i = 0; i < archive->packings.size(); ++i) {
    const Packing& p = archive->packings[i];
    const auto packed = recorder.packed.find({p.storage, p.key});
    const auto state = std::ranges::find(archive->states, p.storage, &State::storage);
    const bool has_own_layout = is_own_layout(p) && state != archive->states.end() && state->type.dtype == DType::f32;
    const auto bytes = archive->source->bytes(p.packed);
    if (packed == recorder.packed.end() && !has_own_layout) {
      ++check.unchecked;
    } else if (packed != recorder.packed.end() && std::ranges::equal(bytes, packed->second)) {
      ++check.identical;
    } else if (packed == recorder.packed.end() && values_of(bytes) == values_of(archive->source->bytes(p.storage))) {
      ++check.values;
    } else {
      check.findings.push_back(
          {"packings.content", ErrorCode::bad_file,
           "its packed bytes, which runs use in its place, differ from the packed weight; export the archive again", 0,
           state == archive->states.end() ? fmt::format("packing {}", i) : fmt::format("state '{}'", state->name)});
    }
  }
  return check;
}

}  // namespace tern
