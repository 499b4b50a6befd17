// Division of keys for few queries, the same on devices and on the CPU.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tern {

struct AttentionParts {
  std::int64_t chunk, chunks;  ///< columns of values summed at once
  std::int64_t run, count;     ///< keys of a part
};

/// Parts for `rows` queries in all planes.
inline AttentionParts attention_parts(std::int64_t rows, std::int64_t keys, std::int64_t out_width) {
  constexpr std::int64_t kWidest = 128, kManyItems = 512, kShortPart = 128;
  AttentionParts p{};
  p.chunk = std::min(out_width, kWidest);
  p.chunks = (out_width + p.chunk - 1) / p.chunk;
  const std::int64_t items = rows * p.chunks;
  const std::int64_t wanted = items < kManyItems ? std::min(kManyItems / items, keys / kShortPart) : 1;
  p.run = wanted <= 1 ? std::max<std::int64_t>(keys, 1) : (keys + wanted - 1) / wanted;
  p.count = std::max<std::int64_t>((keys + p.run - 1) / p.run, 1);
  return p;
}

}  // namespace tern
