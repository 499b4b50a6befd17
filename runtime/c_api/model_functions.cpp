// Functions of a model, their inputs and outputs.
#include <cstddef>
#include <cstdint>

#include "runtime/c_api/errors.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/structs.h"

namespace tern::c_api {
namespace {

void write_value(const ValueInfo& value, tern_value_info* to) {
  tern_value_info info{};
  info.dtype = static_cast<std::int32_t>(value.dtype);
  info.name = value.name.c_str();
  info.rank = static_cast<std::int32_t>(value.sizes.size());
  for (std::size_t i = 0; i < value.sizes.size() && i < TERN_MAX_RANK; ++i) {
    const SizeInfo& s = value.sizes[i];
    info.sizes[i] = s.constant ? s.value : -1;
    info.min[i] = s.constant ? s.value : s.min;
    info.max[i] = s.constant ? s.value : s.max.value_or(-1);
    info.expressions[i] = s.text.c_str();
  }
  write_info(info, to);
}

const FunctionInfo* function_of(const tern_model* model, std::size_t function) {
  if (model == nullptr || function >= model->model.functions().size()) return nullptr;
  return &model->model.functions()[function];
}

/// Returns run()'s input number `index`; null if none exists.
const ValueInfo* input_of(const FunctionInfo& f, std::size_t index) {
  for (const ValueInfo& in : f.inputs) {
    if (in.fixed.empty() && index-- == 0) return &in;
  }
  return nullptr;
}

}  // namespace
}  // namespace tern::c_api

using namespace tern;         // NOLINT: the functions below are C's
using namespace tern::c_api;  // NOLINT

extern "C" {

size_t tern_model_function_count(const tern_model* model) {
  size_t count = 0;
  guarded([&] { count = model == nullptr ? 0 : model->model.functions().size(); });
  return count;
}

const char* tern_model_function_name(const tern_model* model, size_t function) {
  const char* name = nullptr;
  guarded([&] {
    if (const FunctionInfo* f = function_of(model, function)) name = f->name.c_str();
  });
  return name;
}

size_t tern_model_input_count(const tern_model* model, size_t function) {
  size_t count = 0;
  guarded([&] {
    const FunctionInfo* f = function_of(model, function);
    while (f != nullptr && input_of(*f, count) != nullptr) ++count;
  });
  return count;
}

size_t tern_model_output_count(const tern_model* model, size_t function) {
  size_t count = 0;
  guarded([&] {
    if (const FunctionInfo* f = function_of(model, function)) count = f->outputs.size();
  });
  return count;
}

tern_status tern_model_input(const tern_model* model, size_t function, size_t index, tern_value_info* info) {
  return guarded([&] {
    const FunctionInfo* f = function_of(model, function);
    const ValueInfo* value = f == nullptr ? nullptr : input_of(*f, index);
    require_pointer(value, "the input of that number");
    write_value(*value, info);
  });
}

tern_status tern_model_output(const tern_model* model, size_t function, size_t index, tern_value_info* info) {
  return guarded([&] {
    const FunctionInfo* f = function_of(model, function);
    const ValueInfo* value = f == nullptr || index >= f->outputs.size() ? nullptr : &f->outputs[index];
    require_pointer(value, "the output of that number");
    write_value(*value, info);
  });
}

}  // extern "C"
