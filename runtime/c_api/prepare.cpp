// Prepares a model for a device.
#include "runtime/c_api/errors.h"
#include "runtime/c_api/handles.h"
#include "runtime/c_api/structs.h"

using namespace tern;         // NOLINT: the functions below are C's
using namespace tern::c_api;  // NOLINT

extern "C" {

tern_status tern_model_prepare(const tern_model* model, const tern_prepare_options* options, tern_prepared** prepared) {
  return guarded([&] {
    require_pointer(model, "`model`");
    require_pointer(prepared, "`prepared`");
    tern_prepare_options given = TERN_PREPARE_OPTIONS_INIT;
    read_struct(&given, sizeof given, options);
    PrepareOptions o;
    if (given.device != nullptr) o.device = given.device;
    o.threads = given.threads;
    o.cached_plans = given.cached_plans;
    o.max_iterations = given.max_iterations;
    o.max_seconds = given.max_seconds;
    o.max_memory = given.max_memory;
    o.reproducible = given.reproducible != 0;
    o.copy_weights = given.copy_weights != 0;
    o.native_code = given.native_code != 0;
    if (given.precision < 0 || given.precision > 3)
      fail(ErrorCode::invalid_argument, "tern_prepare_options: precision is 0, 1, 2 or 3");
    o.precision = static_cast<Precision>(given.precision);
    if (given.weight_cache != nullptr) o.weight_cache = given.weight_cache;
    *prepared = new tern_prepared{model->model.prepare(o)};
  });
}

void tern_prepared_free(tern_prepared* prepared) {
  delete prepared;
}

}  // extern "C"
