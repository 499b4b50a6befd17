/* Uses the C interface from outside, as C99: every function, also with NULL. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tern/c_api.h>
#include <tern/custom_op.h>
#include <tern/device.h>

static int failures = 0;

#define EXPECT(condition)                                                                           \
  do {                                                                                              \
    if (!(condition)) {                                                                             \
      ++failures;                                                                                   \
      fprintf(stderr, "consumer.c:%d: not so: %s (%s)\n", __LINE__, #condition, tern_last_error()); \
    }                                                                                               \
  } while (0)

static tern_array floats(float* data, int64_t n) {
  tern_array a;
  memset(&a, 0, sizeof a);
  a.data = data;
  a.dtype = TERN_FLOAT32;
  a.rank = 4;
  a.sizes[0] = n;
  a.sizes[1] = 1;
  a.sizes[2] = a.sizes[3] = 8;
  return a;
}

static void check_model(const tern_model* model) {
  tern_value_info info;
  memset(&info, 0, sizeof info);
  info.size = sizeof info;
  EXPECT(tern_model_function_count(model) == 1);
  EXPECT(strcmp(tern_model_function_name(model, 0), "forward") == 0);
  EXPECT(tern_model_function_name(model, 1) == NULL);
  EXPECT(tern_model_input_count(model, 0) == 1 && tern_model_input_count(model, 1) == 0);
  EXPECT(tern_model_input(model, 0, 0, &info) == TERN_OK);
  EXPECT(info.dtype == TERN_FLOAT32 && info.rank == 4 && info.sizes[0] == -1 && info.sizes[3] == 8);
  EXPECT(info.min[0] >= 0 && strcmp(info.expressions[3], "8") == 0 && strlen(info.name) > 0);
  EXPECT(tern_model_input(model, 0, 1, &info) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_model_output_count(model, 0) == 1);
  EXPECT(tern_model_output(model, 0, 0, &info) == TERN_OK && info.rank == 2 && info.sizes[1] == 10);
  EXPECT(tern_model_output(model, 0, 1, &info) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_model_state_count(model) > 0);
  EXPECT(tern_model_state(model, 0, &info) == TERN_OK && info.sizes[0] > 0);
  EXPECT(tern_model_state(model, 100000, &info) == TERN_ERROR_INVALID_ARGUMENT);
  info.size = 0;
  EXPECT(tern_model_state(model, 0, &info) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_model_metadata(model, "torch") != NULL && tern_model_metadata(model, "nothing") == NULL);
}

static void check_runs(tern_session* session, const char* input_name, const char* output_name) {
  static float images[3 * 64], logits[2 * 10];
  const char* names[1];
  tern_array in = floats(images, 1), out, strided, wanted;
  float first = 0;
  names[0] = input_name;
  EXPECT(tern_session_output_count(session) == 0);
  EXPECT(tern_session_output(session, 0, &out) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_session_run(session, NULL, &in, 1) == TERN_OK);
  EXPECT(tern_session_output_count(session) == 1);
  EXPECT(tern_session_output(session, 0, &out) == TERN_OK);
  EXPECT(out.dtype == TERN_FLOAT32 && out.rank == 2 && out.sizes[0] == 1 && out.sizes[1] == 10 && !out.has_strides);
  if (out.data == NULL) return;
  first = ((const float*)out.data)[0];
  EXPECT(isfinite(first));

  in = floats(images, 3);
  EXPECT(tern_session_run_named(session, "forward", names, &in, 1) == TERN_OK);
  EXPECT(tern_session_output_named(session, output_name, &out) == TERN_OK && out.sizes[0] == 3);
  EXPECT(tern_session_output_named(session, "none", &out) == TERN_ERROR_INVALID_ARGUMENT);
  names[0] = "none";
  EXPECT(tern_session_run_named(session, NULL, names, &in, 1) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(strstr(tern_last_error(), input_name) != NULL);
  EXPECT(tern_session_output_count(session) == 0);

  /* Strides of 0: every image is the same. */
  strided = floats(images, 2);
  strided.has_strides = 1;
  strided.strides[2] = 8;
  strided.strides[3] = 1;
  memset(&wanted, 0, sizeof wanted);
  wanted.data = logits;
  wanted.dtype = TERN_FLOAT32;
  wanted.rank = 2;
  wanted.sizes[0] = 2;
  wanted.sizes[1] = 10;
  EXPECT(tern_session_run_into(session, NULL, &strided, 1, &wanted, 1) == TERN_OK);
  EXPECT(fabsf(logits[0] - first) < 1e-4f && fabsf(logits[10] - first) < 1e-4f);
  wanted.sizes[0] = 3;
  EXPECT(tern_session_run_into(session, NULL, &strided, 1, &wanted, 1) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(strstr(tern_last_error(), "float32[2, 10]") != NULL);

  in.dtype = TERN_FLOAT64;
  EXPECT(tern_session_run(session, NULL, &in, 1) == TERN_ERROR_INVALID_ARGUMENT);
  in.dtype = 99;
  EXPECT(tern_session_run(session, NULL, &in, 1) == TERN_ERROR_INVALID_ARGUMENT);
  in = floats(NULL, 1);
  EXPECT(tern_session_run(session, NULL, &in, 1) == TERN_ERROR_INVALID_ARGUMENT);
  in = floats(images, 1);
  EXPECT(tern_session_run(session, NULL, &in, 0) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_session_run(session, NULL, NULL, 1) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_session_run(session, "backward", &in, 1) == TERN_ERROR_INVALID_ARGUMENT);
}

static void check_state(tern_session* session, const tern_model* model) {
  tern_value_info info;
  tern_array value;
  size_t bytes = 4;
  int i;
  memset(&info, 0, sizeof info);
  info.size = sizeof info;
  EXPECT(tern_model_state(model, 0, &info) == TERN_OK);
  memset(&value, 0, sizeof value);
  value.dtype = info.dtype;
  value.rank = info.rank;
  for (i = 0; i < info.rank; ++i) {
    value.sizes[i] = info.sizes[i];
    bytes *= (size_t)info.sizes[i];
  }
  value.data = calloc(1, bytes);
  EXPECT(tern_session_read_state(session, info.name, &value) == TERN_OK);
  EXPECT(tern_session_write_state(session, info.name, &value) == TERN_ERROR_INVALID_ARGUMENT); /* immutable */
  value.sizes[0] += 1;
  EXPECT(tern_session_read_state(session, info.name, &value) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_session_read_state(session, "none", &value) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_session_reset_state(session) == TERN_OK);
  EXPECT(tern_session_set_seed(session, 7) == TERN_OK);
  free(value.data);
}

static void check_null(void) {
  tern_model* model = NULL;
  tern_prepared* prepared = NULL;
  tern_session* session = NULL;
  tern_value_info info;
  tern_array array;
  struct DLManagedTensor* dlpack = NULL;
  EXPECT(tern_model_open(NULL, NULL, &model) == TERN_ERROR_INVALID_ARGUMENT && model == NULL);
  EXPECT(tern_model_open("/none", NULL, NULL) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_model_open("/none", NULL, &model) == TERN_ERROR_IO && strstr(tern_last_error(), "/none") != NULL);
  EXPECT(tern_model_from_bytes(NULL, 1, NULL, &model) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_model_from_bytes("tern", 4, NULL, &model) == TERN_ERROR_BAD_FILE && model == NULL);
  EXPECT(tern_model_with_weights(NULL, "x", &model) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_model_with_lora(NULL, "x", NULL, &model) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_model_function_count(NULL) == 0 && tern_model_state_count(NULL) == 0);
  EXPECT(tern_model_input_count(NULL, 0) == 0 && tern_model_output_count(NULL, 0) == 0);
  EXPECT(tern_model_function_name(NULL, 0) == NULL && tern_model_metadata(NULL, "torch") == NULL);
  EXPECT(tern_model_input(NULL, 0, 0, &info) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_model_output(NULL, 0, 0, &info) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_model_state(NULL, 0, &info) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_model_prepare(NULL, NULL, &prepared) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_session_create(NULL, &session) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_session_run(NULL, NULL, NULL, 0) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_session_run_named(NULL, NULL, NULL, NULL, 0) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_session_run_into(NULL, NULL, NULL, 0, NULL, 0) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_session_output_count(NULL) == 0);
  EXPECT(tern_session_output(NULL, 0, &array) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_session_output_named(NULL, "x", &array) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_session_read_state(NULL, "x", &array) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_session_write_state(NULL, "x", &array) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_session_reset_state(NULL) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_session_set_seed(NULL, 1) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_array_from_dlpack(NULL, &array) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_array_to_dlpack(NULL, &dlpack) == TERN_ERROR_INVALID_ARGUMENT);
  tern_model_free(NULL);
  tern_prepared_free(NULL);
  tern_session_free(NULL);
  tern_session_cancel(NULL);
  tern_set_log(NULL, NULL);
}

static void check_dlpack(void) {
  static float data[64];
  tern_array in = floats(data, 1), back;
  struct DLManagedTensor* tensor = NULL;
  data[5] = 42;
  EXPECT(tern_array_to_dlpack(&in, &tensor) == TERN_OK && tensor != NULL);
  if (tensor == NULL) return;
  EXPECT(tern_array_from_dlpack(tensor, &back) == TERN_OK);
  EXPECT(back.data != in.data && back.rank == 4 && back.sizes[3] == 8 && ((const float*)back.data)[5] == 42);
  /* DLPack's own layout: DLTensor (48 bytes), manager_ctx, deleter. */
  {
    void (*deleter)(struct DLManagedTensor*);
    memcpy(&deleter, (const char*)tensor + 56, sizeof deleter);
    deleter(tensor);
  }
}

int main(int argc, char** argv) {
  tern_open_options open_options = TERN_OPEN_OPTIONS_INIT;
  tern_prepare_options options = TERN_PREPARE_OPTIONS_INIT;
  tern_model *model = NULL, *none = NULL;
  tern_prepared* prepared = NULL;
  tern_session* session = NULL;
  tern_value_info in, out;
  if (argc != 2) return 2;
  EXPECT(tern_version() == TERN_VERSION);
  EXPECT(strcmp(tern_dtype_name(TERN_BFLOAT16), "bfloat16") == 0 && strcmp(tern_dtype_name(-1), "invalid") == 0);
  EXPECT(tern_dtype_from_name("int64") == TERN_INT64 && tern_dtype_from_name(NULL) == TERN_DTYPE_INVALID);
  EXPECT(tern_dtype_size(TERN_COMPLEX128) == 16 && tern_dtype_size(1000) == 0);
  check_null();
  check_dlpack();

  open_options.verify = TERN_VERIFY_NOW;
  EXPECT(tern_model_open(argv[1], &open_options, &model) == TERN_OK);
  if (model == NULL) return 1;
  open_options.access = 3;
  EXPECT(tern_model_open(argv[1], &open_options, &none) == TERN_ERROR_INVALID_ARGUMENT && none == NULL);
  EXPECT(tern_model_with_weights(model, argv[1], &none) == TERN_ERROR_BAD_FILE && none == NULL);
  check_model(model);
  memset(&in, 0, sizeof in);
  in.size = sizeof in;
  out = in;
  EXPECT(tern_model_input(model, 0, 0, &in) == TERN_OK && tern_model_output(model, 0, 0, &out) == TERN_OK);

  options.threads = 1;
  EXPECT(tern_model_prepare(model, &options, &prepared) == TERN_OK);
  options.threads = -1;
  EXPECT(tern_model_prepare(model, &options, &prepared) == TERN_ERROR_INVALID_ARGUMENT);
  options.threads = 0;
  options.device = "nothing";
  EXPECT(tern_model_prepare(model, &options, &prepared) == TERN_ERROR_INVALID_ARGUMENT);
  options.size = 0;
  EXPECT(tern_model_prepare(model, &options, &prepared) == TERN_ERROR_INVALID_ARGUMENT);
  EXPECT(tern_session_create(prepared, &session) == TERN_OK);
  tern_prepared_free(prepared); /* the session holds its own references */
  if (session == NULL) return 1;
  tern_session_cancel(session); /* without effect outside a run */
  check_runs(session, in.name, out.name);
  check_state(session, model);
  tern_session_free(session);
  tern_model_free(model);
  if (failures == 0) printf("C consumer: as expected\n");
  return failures != 0;
}
