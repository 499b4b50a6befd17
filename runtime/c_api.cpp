// The C interface, over the C++ one: no exception leaves it.
#include <tern/c_api.h>
#include <tern/dlpack.h>
#include <tern/tern.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "runtime/tensor_view.h"

struct tern_model {
  tern::Model model;
};
struct tern_prepared {
  tern::Prepared prepared;
};
struct tern_session {
  tern::Session session;
  const std::vector<tern::Tensor>* outputs = nullptr;  // of the last run
  std::vector<tern::Tensor> given;                     // by run_into
};

static_assert(TERN_MAX_RANK == tern::kMaxRank);
static_assert(TERN_FLOAT4_E2M1FN == static_cast<int>(tern::DType::f4_e2m1));
static_assert(TERN_ERROR_INTERNAL == static_cast<int>(tern::ErrorCode::internal));

namespace tern {
namespace {

thread_local std::string last_error;  // NOLINT

/// Keeps the message of the exception that is being handled.
tern_status report() noexcept {
  const auto keep = [](ErrorCode code, const char* what) noexcept {
    try {
      last_error = what;
    } catch (...) {
      last_error.clear();
    }
    return static_cast<tern_status>(code);
  };
  try {
    throw;
  } catch (const Error& e) {
    return keep(e.code(), e.what());
  } catch (const std::bad_alloc&) {
    return keep(ErrorCode::out_of_memory, "out of memory");
  } catch (const std::exception& e) {
    return keep(ErrorCode::internal, e.what());
  } catch (...) {
    return keep(ErrorCode::internal, "an unknown exception");
  }
}

template <class F>
tern_status guarded(const F& f) noexcept {
  try {
    f();
    return TERN_OK;
  } catch (...) {
    return report();
  }
}

/// Throws if a pointer is null that must not be.
void need(const void* pointer, const char* what) {
  if (pointer == nullptr) fail(ErrorCode::invalid_argument, std::string(what) + " is NULL");
}

/// As much of a caller's struct as its size says, over the defaults.
void read_struct(void* to, std::size_t size, const void* from) {
  if (from == nullptr) return;
  std::uint32_t given = 0;
  std::memcpy(&given, from, sizeof given);
  if (given < 2 * sizeof given)
    fail(ErrorCode::invalid_argument, "the options' `size` is not set: use their initializer, TERN_..._INIT");
  std::memcpy(to, from, std::min<std::size_t>(size, given));
}

Tensor tensor_of(const tern_array& a) {
  if (a.dtype == TERN_DTYPE_INVALID) return {};
  if (a.rank < 0 || a.rank > TERN_MAX_RANK || a.dtype < 0 || a.dtype >= kDTypeCount)
    fail(ErrorCode::invalid_argument,
         "tern_array: rank " + std::to_string(a.rank) + " or dtype " + std::to_string(a.dtype) + " does not exist");
  std::vector<std::int64_t> sizes(a.sizes, a.sizes + a.rank), strides;
  if (a.has_strides != 0) strides.assign(a.strides, a.strides + a.rank);
  const auto dtype = static_cast<DType>(a.dtype);
  Tensor t = Tensor::borrow(a.data, dtype, sizes, strides);
  if (a.read_only != 0)
    t = Tensor::borrow(static_cast<const void*>(a.data), dtype, std::move(sizes), std::move(strides));
  if (a.data == nullptr && t.byte_size() != 0) fail(ErrorCode::invalid_argument, "tern_array: `data` is NULL");
  return t;
}

std::vector<Tensor> tensors_of(const tern_array* arrays, std::size_t count) {
  if (count != 0) need(arrays, "the array of tensors");
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < count; ++i) tensors.push_back(tensor_of(arrays[i]));
  return tensors;
}

void describe(const Tensor& t, tern_array* array) {
  need(array, "`array`");
  if (t.sizes().size() > TERN_MAX_RANK) fail(ErrorCode::unsupported, "a tensor of more than 16 dimensions");
  *array = {};
  array->data = const_cast<void*>(t.data());
  array->dtype = static_cast<std::int32_t>(t.dtype());
  array->rank = static_cast<std::int32_t>(t.sizes().size());
  std::ranges::copy(t.sizes(), array->sizes);
  std::ranges::copy(t.strides(), array->strides);
  array->has_strides = t.is_contiguous() ? 0 : 1;
  array->read_only = t.read_only() ? 1 : 0;
}

void write_info(const tern_value_info& from, tern_value_info* to) {
  need(to, "`info`");
  const std::uint32_t size = to->size;
  if (size < 2 * sizeof size) fail(ErrorCode::invalid_argument, "the `size` of tern_value_info is not set");
  std::memcpy(to, &from, std::min<std::size_t>(size, sizeof from));
  to->size = size;
}

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

/// The input that run() takes at this place; null if there is none.
const ValueInfo* input_of(const FunctionInfo& f, std::size_t index) {
  for (const ValueInfo& in : f.inputs) {
    if (in.fixed.empty() && index-- == 0) return &in;
  }
  return nullptr;
}

void run(tern_session* session, const char* function, const std::vector<Tensor>& inputs) {
  session->outputs = nullptr;
  session->outputs = function == nullptr ? &session->session.run(inputs) : &session->session.run(function, inputs);
}

tern_status new_model(Model model, tern_model** out) {
  *out = new tern_model{std::move(model)};
  return TERN_OK;
}

OpenOptions open_options(const tern_open_options* options) {
  tern_open_options o = TERN_OPEN_OPTIONS_INIT;
  read_struct(&o, sizeof o, options);
  if (o.access < 0 || o.access > TERN_ACCESS_READ || o.verify < 0 || o.verify > TERN_VERIFY_NOW)
    fail(ErrorCode::invalid_argument, "tern_open_options: `access` and `verify` must be 0 to 2");
  return {static_cast<Access>(o.access), static_cast<Verify>(o.verify)};
}

}  // namespace
}  // namespace tern

using namespace tern;  // NOLINT: the functions below are C's

extern "C" {

uint32_t tern_version(void) {
  return TERN_VERSION;
}

const char* tern_last_error(void) {
  return last_error.c_str();
}

const char* tern_dtype_name(int32_t dtype) {
  return name_of(dtype < 0 || dtype >= kDTypeCount ? DType::invalid : static_cast<DType>(dtype)).data();
}

int32_t tern_dtype_from_name(const char* name) {
  return name == nullptr ? TERN_DTYPE_INVALID : static_cast<int32_t>(dtype_from_name(name));
}

size_t tern_dtype_size(int32_t dtype) {
  if (dtype < 0 || dtype >= kDTypeCount) return 0;
  return static_cast<size_t>(element_size(static_cast<DType>(dtype)));
}

tern_status tern_model_open(const char* path, const tern_open_options* options, tern_model** model) {
  return guarded([&] {
    need(path, "`path`");
    need(model, "`model`");
    new_model(Model::open(path, open_options(options)), model);
  });
}

tern_status tern_model_from_bytes(const void* bytes, size_t size, const tern_open_options* options,
                                  tern_model** model) {
  return guarded([&] {
    need(bytes, "`bytes`");
    need(model, "`model`");
    new_model(Model::from_bytes({static_cast<const std::byte*>(bytes), size}, open_options(options)), model);
  });
}

tern_status tern_model_with_weights(const tern_model* model, const char* path, tern_model** result) {
  return guarded([&] {
    need(model, "`model`");
    need(path, "`path`");
    need(result, "`result`");
    new_model(model->model.with_weights(path), result);
  });
}

tern_status tern_model_with_lora(const tern_model* model, const char* path, const tern_lora_options* options,
                                 tern_model** result) {
  return guarded([&] {
    need(model, "`model`");
    need(path, "`path`");
    need(result, "`result`");
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

size_t tern_model_state_count(const tern_model* model) {
  size_t count = 0;
  guarded([&] { count = model == nullptr ? 0 : model->model.states().size(); });
  return count;
}

tern_status tern_model_input(const tern_model* model, size_t function, size_t index, tern_value_info* info) {
  return guarded([&] {
    const FunctionInfo* f = function_of(model, function);
    const ValueInfo* value = f == nullptr ? nullptr : input_of(*f, index);
    need(value, "the input of that number");
    write_value(*value, info);
  });
}

tern_status tern_model_output(const tern_model* model, size_t function, size_t index, tern_value_info* info) {
  return guarded([&] {
    const FunctionInfo* f = function_of(model, function);
    const ValueInfo* value = f == nullptr || index >= f->outputs.size() ? nullptr : &f->outputs[index];
    need(value, "the output of that number");
    write_value(*value, info);
  });
}

tern_status tern_model_state(const tern_model* model, size_t index, tern_value_info* info) {
  return guarded([&] {
    need(model, "`model`");
    const std::vector<StateInfo>& states = model->model.states();
    need(index < states.size() ? &states[index] : nullptr, "the state of that number");
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

tern_status tern_model_prepare(const tern_model* model, const tern_prepare_options* options, tern_prepared** prepared) {
  return guarded([&] {
    need(model, "`model`");
    need(prepared, "`prepared`");
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
    *prepared = new tern_prepared{model->model.prepare(o)};
  });
}

void tern_prepared_free(tern_prepared* prepared) {
  delete prepared;
}

tern_status tern_session_create(const tern_prepared* prepared, tern_session** session) {
  return guarded([&] {
    need(prepared, "`prepared`");
    need(session, "`session`");
    *session = new tern_session{Session(prepared->prepared), nullptr, {}};
  });
}

void tern_session_free(tern_session* session) {
  delete session;
}

tern_status tern_session_run(tern_session* session, const char* function, const tern_array* inputs, size_t count) {
  return guarded([&] {
    need(session, "`session`");
    run(session, function, tensors_of(inputs, count));
  });
}

tern_status tern_session_run_named(tern_session* session, const char* function, const char* const* names,
                                   const tern_array* inputs, size_t count) {
  return guarded([&] {
    need(session, "`session`");
    if (count != 0) need(names, "`names`");
    const std::vector<Tensor> tensors = tensors_of(inputs, count);
    std::vector<NamedTensor> named;
    for (size_t i = 0; i < count; ++i) {
      need(names[i], "a name");
      named.push_back({names[i], tensors[i]});
    }
    session->outputs = nullptr;
    session->outputs = function == nullptr ? &session->session.run(named) : &session->session.run(function, named);
  });
}

tern_status tern_session_run_into(tern_session* session, const char* function, const tern_array* inputs, size_t count,
                                  const tern_array* outputs, size_t output_count) {
  return guarded([&] {
    need(session, "`session`");
    const std::vector<Tensor> in = tensors_of(inputs, count);
    std::vector<Tensor> out = tensors_of(outputs, output_count);
    session->outputs = nullptr;
    if (function == nullptr) {
      session->session.run_into(in, out);
    } else {
      session->session.run_into(function, in, out);
    }
    session->given = std::move(out);
    session->outputs = &session->given;
  });
}

size_t tern_session_output_count(const tern_session* session) {
  return session == nullptr || session->outputs == nullptr ? 0 : session->outputs->size();
}

tern_status tern_session_output(const tern_session* session, size_t index, tern_array* output) {
  return guarded([&] {
    need(session, "`session`");
    if (index >= tern_session_output_count(session))
      fail(ErrorCode::invalid_argument, "the last run has no output " + std::to_string(index));
    describe((*session->outputs)[index], output);
  });
}

tern_status tern_session_output_named(const tern_session* session, const char* name, tern_array* output) {
  return guarded([&] {
    need(session, "`session`");
    need(name, "`name`");
    if (session->outputs == nullptr) fail(ErrorCode::invalid_argument, "no run has succeeded yet");
    describe(session->session.output(name), output);
  });
}

tern_status tern_session_read_state(const tern_session* session, const char* name, const tern_array* value) {
  return guarded([&] {
    need(session, "`session`");
    need(name, "`name`");
    need(value, "`value`");
    const Tensor to = tensor_of(*value), from = session->session.read_state(name);
    if (to.read_only() || to.dtype() != from.dtype() || to.sizes() != from.sizes())
      fail(ErrorCode::invalid_argument, "state '" + std::string(name) + "' is " + text_of(from) +
                                            ", but the memory given for it is " + (to.read_only() ? "read-only " : "") +
                                            text_of(to));
    copy_strided(tensor_view(from), tensor_view(to));
  });
}

tern_status tern_session_write_state(tern_session* session, const char* name, const tern_array* value) {
  return guarded([&] {
    need(session, "`session`");
    need(name, "`name`");
    need(value, "`value`");
    session->session.write_state(name, tensor_of(*value));
  });
}

tern_status tern_session_reset_state(tern_session* session) {
  return guarded([&] {
    need(session, "`session`");
    session->session.reset_state();
  });
}

tern_status tern_session_set_seed(tern_session* session, uint64_t seed) {
  return guarded([&] {
    need(session, "`session`");
    session->session.set_seed(seed);
  });
}

tern_status tern_array_from_dlpack(const struct DLManagedTensor* from, tern_array* array) {
  return guarded([&] { describe(view_of_dlpack(from), array); });
}

tern_status tern_array_to_dlpack(const tern_array* array, struct DLManagedTensor** result) {
  return guarded([&] {
    need(array, "`array`");
    need(result, "`result`");
    *result = to_dlpack(tensor_of(*array).clone());
  });
}

}  // extern "C"
