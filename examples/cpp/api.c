/* The C example of docs/api.md. */
#include <stdio.h>
#include <tern/c_api.h>

static void check(tern_status status) {
  if (status != TERN_OK) fprintf(stderr, "%s\n", tern_last_error());
}

int main(int argc, char** argv) {
  static float images[2 * 64], logits[2 * 10];
  tern_prepare_options options = TERN_PREPARE_OPTIONS_INIT;
  tern_value_info input = TERN_VALUE_INFO_INIT, output = TERN_VALUE_INFO_INIT;
  tern_array in = {images, TERN_FLOAT32, 4, {2, 1, 8, 8}, {0}, 0, 0, NULL}, out;
  tern_model* model = NULL;
  tern_prepared* prepared = NULL;
  tern_session* session = NULL;
  int i;

  check(tern_model_open(argc > 1 ? argv[1] : "digits.tern", NULL, &model));
  check(tern_model_input(model, 0, 0, &input));
  check(tern_model_output(model, 0, 0, &output));
  for (i = 0; i < input.rank; ++i) printf("%s ", input.sizes[i] < 0 ? "?" : input.expressions[i]);
  printf("%s\n", tern_dtype_name(input.dtype));

  options.threads = 1;
  check(tern_model_prepare(model, &options, &prepared));
  check(tern_session_create(prepared, &session));

  /* Inputs and results by name. */
  check(tern_session_run_named(session, NULL, &input.name, &in, 1));
  check(tern_session_output_named(session, output.name, &out));
  for (i = 0; i < 20; ++i) printf("%.3f\n", ((const float*)out.data)[i]);

  /* Results in your own memory, from inputs with strides: here one image, twice. */
  {
    tern_array twice = {images, TERN_FLOAT32, 4, {2, 1, 8, 8}, {0, 64, 8, 1}, 1, 0, NULL};
    tern_array wanted = {logits, TERN_FLOAT32, 2, {2, 10}, {0}, 0, 0, NULL};
    check(tern_session_run_into(session, NULL, &twice, 1, &wanted, 1));
    printf("%.3f\n", logits[10]);
  }
  tern_session_free(session);
  tern_prepared_free(prepared);
  tern_model_free(model);
  return 0;
}
