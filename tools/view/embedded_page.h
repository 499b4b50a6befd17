// tools/view/page/ assembled by the build (generate/embed.cpp): HTML with {{nonce}} and {{data}} to fill in.
#pragma once

#include <cstddef>

namespace tern::view {

extern const char kEmbeddedPage[];
extern const std::size_t kEmbeddedPageSize;

}  // namespace tern::view
