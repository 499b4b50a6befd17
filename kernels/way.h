// The algorithms with which a CPU kernel can compute a node. By default rules choose one; `tern export --tune`
// measures instead, and stores names of this table in the archive.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tern {

// clang-format off
#define TERN_WAYS(WAY)                                                                                       \
  /*  number, name                  of        algorithm */                                                   \
  WAY(1,  tiles)                 /* both      matrix tiles (kernels/cpu/amx) */                              \
  WAY(2,  channels_last)         /* conv.     positions are rows of a matrix; rules divide the work */       \
  WAY(3,  channels_last_lines)   /* conv.     the same; threads divide lines of the image */                 \
  WAY(4,  channels_last_columns) /* conv.     the same; threads divide channels of the result */             \
  WAY(5,  winograd)              /* conv.     Winograd tiles of a channels-last image */                     \
  WAY(6,  planes)                /* conv.     padded planes, for few channels in (kernels/cpu/planes) */     \
  WAY(7,  blocks)                /* both      Tern's float products, nothing packed (kernels/cpu/sgemm) */   \
  WAY(8,  onednn)                /* both      oneDNN, the weight packed */                                   \
  WAY(9,  panels)                /* product   the weight in panels from the archive */                       \
  WAY(10, panels_lines)          /* product   the same; threads divide rows of the result */                 \
  WAY(11, panels_columns)        /* product   the same; threads divide columns of the result */              \
  WAY(12, in_place)              /* product   the weight in place (kernels/cpu/linear) */                   \
  WAY(13, channels_last_shallow) /* conv.     as channels_last, fewer products in each partial sum */        \
  WAY(14, channels_last_deep)    /* conv.     the same, more products */                                     \
  WAY(15, panels_shallow)        /* product   as panels, fewer products in each partial sum */               \
  WAY(16, panels_deep)           /* product   the same, more products */
// clang-format on

enum class Way : std::uint8_t {
  none = 0,  ///< the kernel's rules choose
#define TERN_WAY(number, name) name = number,
  TERN_WAYS(TERN_WAY)
#undef TERN_WAY
};

struct WayName {
  Way way;
  std::string_view name;
};
inline constexpr std::array kWayNames = {
#define TERN_WAY(number, name) WayName{Way::name, #name},
    TERN_WAYS(TERN_WAY)
#undef TERN_WAY
};

/// Empty for Way::none.
constexpr std::string_view name_of(Way way) {
  for (const WayName& w : kWayNames) {
    if (w.way == way) return w.name;
  }
  return {};
}
/// Way::none for a name that this version does not know.
constexpr Way way_of(std::string_view name) {
  for (const WayName& w : kWayNames) {
    if (w.name == name) return w.way;
  }
  return Way::none;
}

}  // namespace tern
