// Hashes equal the library's for every instruction set.
#include "loader/hash.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <vector>

namespace tern {
namespace {

TEST(Hash, IsThatOfTheLibrary) {
  std::vector<std::byte> bytes(1 << 20);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 2654435761u >> 24);
  // Each path of XXH3: up to 16, 128 and 240 bytes, and stripes and blocks with every kind of remainder.
  for (const std::size_t size :
       {0, 1, 3, 4, 8, 9, 16, 17, 128, 129, 240, 241, 1023, 1024, 1025, 4097, 99'991, 1 << 20}) {
    for (const std::size_t begin : {0, 3}) {  // aligned or not
      const std::span<const std::byte> part = std::span(bytes).subspan(begin, std::min(size, bytes.size() - begin));
      const XXH128_hash_t of_library = XXH3_128bits(part.data(), part.size());
      const Hash128 hash = hash_of(part);
      EXPECT_EQ(hash.low, of_library.low64) << size;
      EXPECT_EQ(hash.high, of_library.high64) << size;
    }
  }
}

}  // namespace
}  // namespace tern
