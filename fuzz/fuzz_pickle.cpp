// Arbitrary bytes as the pickle of a tensor beside a few storages, and as an archive of torch.save: an Error, or a
// tensor with its inner tensors inside their storages.
#include <tern/error.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "exporter/pt2/pickled_tensor.h"

namespace {

using namespace tern;

constexpr std::size_t kStorageBytes[] = {4096, 512, 128, 4, 0};

/// Computes the position of each last element: every storage must contain its tensors.
void check(const pt2::SavedObject& object, const pt2::PickledTensor& tensor) {
  for (const auto& [name, inner] : tensor.inner) check(object, inner);
  if (!tensor.is_plain()) return;
  const pt2::SavedPart* part = object.storages.find(tensor.storage);
  if (part == nullptr || tensor.sizes.size() != tensor.strides.size()) std::abort();
  std::int64_t last = tensor.offset;
  for (std::size_t d = 0; d < tensor.sizes.size(); ++d) {
    if (tensor.sizes[d] == 0) return;
    last += (tensor.sizes[d] - 1) * tensor.strides[d];
  }
  if (static_cast<std::uint64_t>(last + 1) * static_cast<std::uint64_t>(element_size(tensor.dtype)) >
      part->bytes.size())
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::array<std::byte, 4096> zeros{};
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    pt2::SavedObject object;
    object.pickle = {bytes, 0};
    char key = '0';
    for (const std::size_t n : kStorageBytes)
      object.storages.add(std::string(1, key++), {std::span(zeros).first(n), 0});
    object.storages.seal();
    check(object, pt2::read_pickled_tensor(object, "fuzz"));
  } catch (const Error&) {
  }
  try {
    const pt2::SavedObject object = pt2::read_saved_object(bytes, 0, "fuzz");
    check(object, pt2::read_pickled_tensor(object, "fuzz"));
  } catch (const Error&) {
  }
  return 0;
}
