// Opens models, replaces their weights, and reads their metadata.
#include <cstddef>
#include <span>
#include <utility>

#include "runtime/c_api/errors.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/structs.h"

namespace tern::c_api {
namespace {

void new_model(Model model, tern_model** out) {
  *out = new tern_model{std::move(model)};
}

OpenOptions open_options(const tern_open_options* options) {
  tern_open_options o = TERN_OPEN_OPTIONS_INIT;
  read_struct(&o, sizeof o, options);
  if (o.access < 0 || o.access > TERN_ACCESS_READ || o.verify < 0 || o.verify > TERN_VERIFY_NOW)
    fail(ErrorCode::invalid_argument, "tern_open_options: `access` and `verify` must be 0 to 2");
  return {static_cast<Access>(o.access), static_cast<Verify>(o.verify)};
}

}  // namespace
}  // namespace tern::c_api

using namespace tern;         // NOLINT: the functions below are C's
using namespace tern::c_api;  // NOLINT

extern "C" {

tern_status tern_model_open(const char* path, const tern_open_options* options, tern_model** model) {
  return guarded([&] {
    require_pointer(path, "`path`");
    require_pointer(model, "`model`");
    new_model(Model::open(path, open_options(options)), model);
  });
}

tern_status tern_model_from_bytes(const void* bytes, size_t size, const tern_open_options* options,
                                  tern_model** model) {
  return guarded([&] {
    require_pointer(bytes, "`bytes`");
    require_pointer(model, "`model`");
    new_model(Model::from_bytes({static_cast<const std::byte*>(bytes), size}, open_options(options)), model);
  });
}

tern_status tern_model_with_weights(const tern_model* model, const char* path, tern_model** result) {
  return guarded([&] {
    require_pointer(model, "`model`");
    require_pointer(path, "`path`");
    require_pointer(result, "`result`");
    new_model(model->model.with_weights(path), result);
  });
}

tern_status tern_model_with_lora(const tern_model* model, const char* path, const tern_lora_options* options,
                                 tern_model** result) {
  return guarded([&] {
    require_pointer(model, "`model`");
    require_pointer(path, "`path`");
    require_pointer(result, "`result`");
    tern_lora_options given = TERN_LORA_OPTIONS_INIT;
    read_struct(&given, sizeof given, options);
    LoraOptions o;
    o.scale = given.scale;
    o.transposed = given.transposed != 0;
    if (given.a != nullptr) o.a = given.a;
    if (given.b != nullptr) o.b = given.b;
    if (given.weight != nullptr) o.weight = given.weight;
    new_model(model->model.with_lora(path, o), result);
  });
}

void tern_model_free(tern_model* model) {
  delete model;
}

const char* tern_model_metadata(const tern_model* model, const char* key) {
  if (model == nullptr || key == nullptr) return nullptr;
  for (const auto& [k, value] : model->model.metadata()) {
    if (k == key) return value.c_str();
  }
  return nullptr;
}

}  // extern "C"
