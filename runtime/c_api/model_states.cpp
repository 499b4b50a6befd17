// States of a model: parameters, buffers and constants.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/c_api/errors.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/structs.h"

using namespace tern;         // NOLINT: the functions below are C's
using namespace tern::c_api;  // NOLINT

extern "C" {

size_t tern_model_state_count(const tern_model* model) {
  size_t count = 0;
  guarded([&] { count = model == nullptr ? 0 : model->model.states().size(); });
  return count;
}

tern_status tern_model_state(const tern_model* model, size_t index, tern_value_info* info) {
  return guarded([&] {
    require_pointer(model, "`model`");
    const std::vector<StateInfo>& states = model->model.states();
    require_pointer(index < states.size() ? &states[index] : nullptr, "the state of that number");
    const StateInfo& s = states[index];
    tern_value_info value{};
    value.dtype = static_cast<int32_t>(s.dtype);
    value.name = s.name.c_str();
    value.rank = static_cast<int32_t>(s.sizes.size());
    value.flags = (s.is_parameter ? TERN_STATE_PARAMETER : 0) | (s.is_mutable ? TERN_STATE_MUTABLE : 0) |
                  (s.replaceable ? TERN_STATE_REPLACEABLE : 0);
    for (std::size_t i = 0; i < s.sizes.size() && i < TERN_MAX_RANK; ++i)
      value.sizes[i] = value.min[i] = value.max[i] = s.sizes[i];
    write_info(value, info);
  });
}

}  // extern "C"
