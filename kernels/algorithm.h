// The algorithms of CPU kernels for a node. By default each kernel chooses the algorithm with the least estimated cost;
// `tern export --tune` measures instead, and stores names of this table in the archive.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

namespace tern {

enum class Algorithm : std::uint8_t {
  none = 0,       ///< the kernel chooses
  tiles,          ///< products and convolutions on matrix tiles (kernels/cpu/products/tiles)
  channels_last,  ///< convolutions: positions are rows of a matrix (kernels/cpu/channels_last)
  winograd,       ///< convolutions: Winograd tiles of a channels-last image
  planes,         ///< convolutions: padded planes, for few channels in (kernels/cpu/planes)
  blocks,         ///< native kernels of float products and convolutions, nothing packed (kernels/cpu/products/float32)
  onednn,         ///< vendor kernels of oneDNN, the weight packed
  panels,         ///< products: the weight in panels from the archive
  in_place,       ///< products: the weight in place (kernels/cpu/products/float32)
  quantized,      ///< products: a quantized weight, read in its own bits (kernels/cpu/products/block_quantized)
  tile_rows,      ///< products and convolutions in bfloat16: rows as they lie on matrix tiles, the weight packed
                  ///< (kernels/cpu/products/tiles/rows.h)
  integer_rows,   ///< products and convolutions of integers of 8 bits: rows as they lie, the weight packed
                  ///< (kernels/cpu/products/int8)
  integer_dots,   ///< products of few rows of such integers: the weight in place
  channels_last_tiles,  ///< convolutions by windows of one element: positions are rows on matrix tiles
};

/// Division of work in channels_last and panels.
enum class Variant : std::uint8_t {
  usual,    ///< rules choose the division among threads
  lines,    ///< threads divide lines of the image, or rows of the result
  columns,  ///< threads divide channels, or columns of the result
  shallow,  ///< usual division; fewer products in each partial sum
  deep,     ///< usual division; more products in each partial sum
};

struct AlgorithmChoice {
  Algorithm algorithm = Algorithm::none;
  Variant variant = Variant::usual;
  auto operator<=>(const AlgorithmChoice&) const = default;
  bool operator==(const AlgorithmChoice&) const = default;
  bool operator==(Algorithm a) const { return algorithm == a; }
};

struct AlgorithmName {
  AlgorithmChoice choice;
  std::string_view name;
};
inline constexpr AlgorithmName kAlgorithmNames[] = {
    {{Algorithm::tiles}, "tiles"},
    {{Algorithm::channels_last}, "channels_last"},
    {{Algorithm::channels_last, Variant::lines}, "channels_last_lines"},
    {{Algorithm::channels_last, Variant::columns}, "channels_last_columns"},
    {{Algorithm::channels_last, Variant::shallow}, "channels_last_shallow"},
    {{Algorithm::channels_last, Variant::deep}, "channels_last_deep"},
    {{Algorithm::channels_last_tiles}, "channels_last_tiles"},
    {{Algorithm::winograd}, "winograd"},
    {{Algorithm::planes}, "planes"},
    {{Algorithm::blocks}, "blocks"},
    {{Algorithm::onednn}, "onednn"},
    {{Algorithm::panels}, "panels"},
    {{Algorithm::panels, Variant::lines}, "panels_lines"},
    {{Algorithm::panels, Variant::columns}, "panels_columns"},
    {{Algorithm::panels, Variant::shallow}, "panels_shallow"},
    {{Algorithm::panels, Variant::deep}, "panels_deep"},
    {{Algorithm::in_place}, "in_place"},
    {{Algorithm::tile_rows}, "tile_rows"},
    {{Algorithm::quantized}, "quantized"},
    {{Algorithm::integer_rows}, "integer_rows"},
    {{Algorithm::integer_dots}, "integer_dots"},
};

/// Empty for Algorithm::none.
constexpr std::string_view name_of(AlgorithmChoice choice) {
  for (const AlgorithmName& n : kAlgorithmNames) {
    if (n.choice == choice) return n.name;
  }
  return {};
}
/// Algorithm::none for an unknown name.
constexpr AlgorithmChoice algorithm_of(std::string_view name) {
  for (const AlgorithmName& n : kAlgorithmNames) {
    if (n.name == name) return n.choice;
  }
  return {};
}

}  // namespace tern
