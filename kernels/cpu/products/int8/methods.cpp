#include "kernels/cpu/products/int8/methods.h"

#include <vector>

#include "kernels/cpu/products/int8/dot_microkernel.h"

namespace tern::int8 {

std::span<const Method> methods() {
  static const std::vector<Method> found = [] {
    std::vector<Method> list{{.name = "dots",
                              .layout = PackedWeightLayout::rows,
                              .step_cycles = 128 * 16,
                              .multiply = best_level(multiply_by_dots_levels)}};
    const auto add = [&](std::string_view name, auto set) {
      Method method;
      set(&method);
      method.name = name;
      list.insert(list.begin(), method);
    };
    for (const auto& at : set_vector_method_levels) {
      if (at.call != nullptr && cpu_features().has(at.level)) add(name_of(at.level), at.call);
    }
    for_each_level(set_pair_method_levels, [&](auto set) { add("pairs", set); });
    for_each_level(set_tile_method_levels, [&](auto set) { add("tiles", set); });
    return list;
  }();
  return found;
}

}  // namespace tern::int8
