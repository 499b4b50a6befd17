/* Tern's C interface: open an archive, prepare it for a device, run it in sessions. Plain C99; docs/api.md has an
 * example.
 *
 * Errors: functions return TERN_OK or another status; then tern_last_error() describes the error. No exception crosses
 * this interface. A failed function leaves the outputs (`*model`, `*session`, ...) unchanged.
 * NULL: a NULL handle, output pointer or name returns TERN_ERROR_INVALID_ARGUMENT unless the function documents a
 * meaning of NULL. Functions freeing a handle accept NULL and do nothing. Ownership: the receiver of a handle frees the
 * handle once. A tern_prepared keeps the needed data of the model alive, and a tern_session keeps the tern_prepared
 * alive: handles may be freed in any order. Strings belong to the object returning them and are valid during the
 * lifetime of this object.
 * Threads: any number of threads may use one tern_model or tern_prepared; a tern_session belongs to one thread at a
 * time. tern_last_error() reads the calling thread's error.
 * Versions: functions are added, and never removed or changed while the major version stays. Structs beginning with
 * `size` grow at the end; set `size` to sizeof of the struct, or use their initializer. Before version 1.0 a minor
 * version may break this; the soname then changes, too (libtern.so.0.1).
 */
#ifndef TERN_C_API_H
#define TERN_C_API_H

#include <stddef.h>
#include <stdint.h>
#include <tern/version.h>

#ifdef __cplusplus
extern "C" {
#endif

#if !defined(_WIN32)
#define TERN_C_API __attribute__((visibility("default")))
#elif defined(TERN_EXPORTS) /* Tern's own build */
#define TERN_C_API __declspec(dllexport)
#else
#define TERN_C_API
#endif

/* The version of the library, encoded like TERN_VERSION of tern/version.h: major * 10000 + minor * 100 + patch. */
TERN_C_API uint32_t tern_version(void);

/* The largest number of dimensions of a tensor. */
#define TERN_MAX_RANK 16

typedef int32_t tern_status;
enum {
  TERN_OK = 0,
  TERN_ERROR_INVALID_ARGUMENT = 2, /* the caller's arguments: wrong count, dtype, sizes, name */
  TERN_ERROR_IO = 3,               /* a file cannot be opened, read or mapped */
  TERN_ERROR_BAD_FILE = 4,         /* bytes violate their format */
  TERN_ERROR_UNSUPPORTED = 5,      /* valid, but not supported by this version or device */
  TERN_ERROR_RUNTIME = 6,          /* a failure in a run: an index out of range, a failed assertion of the program */
  TERN_ERROR_OUT_OF_MEMORY = 7,
  TERN_ERROR_INTERNAL = 8, /* a defect of Tern */
  TERN_ERROR_CANCELLED = 9 /* tern_session_cancel ended the run */
};
/* Describes this thread's last error. Never NULL; valid until the thread's next failing call. */
TERN_C_API const char* tern_last_error(void);

/* Destination of messages not delivered as an error, for example about a failed write of a flight record. */
enum { TERN_LOG_WARNING = 1, TERN_LOG_ERROR = 2 };
typedef void (*tern_log_function)(int32_t level, const char* message, void* user);
/* Sends all later messages of the process to `function`. Any thread may call `function`, several at once. `message`
 * is a single line, valid during the call.
 * NULL: messages go to stderr (the default). */
TERN_C_API void tern_set_log(tern_log_function function, void* user);

/* Element types, with the numbers of tern/dtype.h. */
enum {
  TERN_DTYPE_INVALID = 0,
  TERN_BOOL = 1, /* a byte, 0 or 1 */
  TERN_UINT8 = 2,
  TERN_INT8 = 3,
  TERN_INT16 = 4,
  TERN_INT32 = 5,
  TERN_INT64 = 6,
  TERN_UINT16 = 7,
  TERN_UINT32 = 8,
  TERN_UINT64 = 9,
  TERN_FLOAT16 = 10,
  TERN_BFLOAT16 = 11,
  TERN_FLOAT32 = 12,
  TERN_FLOAT64 = 13,
  TERN_COMPLEX32 = 14,
  TERN_COMPLEX64 = 15,
  TERN_COMPLEX128 = 16,
  TERN_FLOAT8_E4M3FN = 17,
  TERN_FLOAT8_E5M2 = 18,
  TERN_FLOAT8_E4M3FNUZ = 19,
  TERN_FLOAT8_E5M2FNUZ = 20,
  TERN_FLOAT8_E8M0FNU = 21,
  TERN_FLOAT6_E2M3FN = 22,
  TERN_FLOAT6_E3M2FN = 23,
  TERN_FLOAT4_E2M1FN = 24 /* two elements in each byte, even indices in the low bits */
};
/* Name of a dtype: "float32"; "invalid" for an unknown number. */
TERN_C_API const char* tern_dtype_name(int32_t dtype);
/* Dtype of a name; TERN_DTYPE_INVALID for NULL and unknown names. */
TERN_C_API int32_t tern_dtype_from_name(const char* name);
/* Bytes per element (per two elements for TERN_FLOAT4_E2M1FN); 0 if invalid. */
TERN_C_API size_t tern_dtype_size(int32_t dtype);

/* A tensor in memory. Arguments describe the caller's memory, results Tern's memory. */
typedef struct tern_array {
  void* data;
  int32_t dtype;
  int32_t rank;
  int64_t sizes[TERN_MAX_RANK];
  int64_t strides[TERN_MAX_RANK]; /* counted in elements; read if has_strides is not 0 */
  int32_t has_strides;            /* 0: row-major without gaps */
  int32_t read_only;              /* not 0: Tern refuses to write `data` */
  const char* device;             /* NULL: the host. Else `data` is an address of this device: "cuda", "xpu:1" */
} tern_array;

typedef struct tern_model tern_model;
typedef struct tern_prepared tern_prepared;
typedef struct tern_session tern_session;

/* ---- Models ---- */

enum { TERN_ACCESS_MAP = 0, TERN_ACCESS_POPULATE = 1, TERN_ACCESS_READ = 2 };
enum { TERN_VERIFY_NEVER = 0, TERN_VERIFY_FIRST_USE = 1, TERN_VERIFY_NOW = 2 };

typedef struct tern_open_options {
  uint32_t size;  /* sizeof(tern_open_options) */
  int32_t access; /* map the file, map and load all pages now, or read the file */
  int32_t verify; /* when to check the hashes of weights */
} tern_open_options;
#define TERN_OPEN_OPTIONS_INIT \
  { sizeof(tern_open_options), TERN_ACCESS_MAP, TERN_VERIFY_FIRST_USE }

/* `options` may be NULL: defaults. */
TERN_C_API tern_status tern_model_open(const char* path, const tern_open_options* options, tern_model** model);
/* Borrows the bytes; they must outlive all objects created from the model. Weights are not copied if the bytes are
 * aligned to 64 bytes. */
TERN_C_API tern_status tern_model_from_bytes(const void* bytes, size_t size, const tern_open_options* options,
                                             tern_model** model);
/* A model with the weights of a safetensors file, found by the names of states (Model::with_weights). */
TERN_C_API tern_status tern_model_with_weights(const tern_model* model, const char* path, tern_model** result);

typedef struct tern_lora_options {
  uint32_t size;      /* sizeof(tern_lora_options) */
  int32_t transposed; /* not 0: weights are [in, out] */
  double scale;       /* lora_alpha / r */
  const char* a;      /* names; {} stands for the module; NULL: PEFT's names */
  const char* b;
  const char* weight;
} tern_lora_options;
#define TERN_LORA_OPTIONS_INIT \
  { sizeof(tern_lora_options), 0, 1.0, NULL, NULL, NULL }
/* A model with the low-rank adapters of a safetensors file merged into its weights (Model::with_lora). */
TERN_C_API tern_status tern_model_with_lora(const tern_model* model, const char* path, const tern_lora_options* options,
                                            tern_model** result);
TERN_C_API void tern_model_free(tern_model* model);

/* The value of a key ("torch": version of PyTorch used for the export); NULL for an unknown key. */
TERN_C_API const char* tern_model_metadata(const tern_model* model, const char* key);

/* Describes an input, output or state. */
typedef struct tern_value_info {
  uint32_t size; /* sizeof(tern_value_info) */
  int32_t dtype; /* TERN_DTYPE_INVALID for a None output */
  const char* name;
  int32_t rank;
  int32_t flags;                          /* of a state, see below */
  int64_t sizes[TERN_MAX_RANK];           /* -1: not constant */
  int64_t min[TERN_MAX_RANK];             /* smallest size */
  int64_t max[TERN_MAX_RANK];             /* largest size; -1: no limit */
  const char* expressions[TERN_MAX_RANK]; /* "8", "2*s0 + 1" */
} tern_value_info;
#define TERN_VALUE_INFO_INIT                                 \
  {                                                          \
    sizeof(tern_value_info), 0, NULL, 0, 0, {0}, {0}, {0}, { \
      NULL                                                   \
    }                                                        \
  }
enum { TERN_STATE_PARAMETER = 1, TERN_STATE_MUTABLE = 2, TERN_STATE_REPLACEABLE = 4 };

/* Counts are 0 for a missing model or function. Inputs are the arguments of tern_session_run. `info->size` must be
 * set; members beyond `size` are not written. */
TERN_C_API size_t tern_model_function_count(const tern_model* model);
TERN_C_API const char* tern_model_function_name(const tern_model* model, size_t function); /* NULL: unknown function */
TERN_C_API size_t tern_model_input_count(const tern_model* model, size_t function);
TERN_C_API size_t tern_model_output_count(const tern_model* model, size_t function);
TERN_C_API size_t tern_model_state_count(const tern_model* model);
TERN_C_API tern_status tern_model_input(const tern_model* model, size_t function, size_t index, tern_value_info* info);
TERN_C_API tern_status tern_model_output(const tern_model* model, size_t function, size_t index, tern_value_info* info);
TERN_C_API tern_status tern_model_state(const tern_model* model, size_t index, tern_value_info* info);

/* ---- PreparedModel models ---- */

typedef struct tern_prepare_options {
  uint32_t size;            /* sizeof(tern_prepare_options) */
  int32_t threads;          /* threads of each run; 0: as many as OpenMP reports to its caller */
  const char* device;       /* NULL: "cpu" */
  int32_t cached_plans;     /* memory plans kept by each function for all sessions; 1 to 65536 */
  int32_t reproducible;     /* not 0: the same bits on every device and processor */
  int32_t copy_weights;     /* see PrepareOptions::copy_weights in tern/tern.h */
  int32_t native_code;      /* not 0: run the archive's compiled kernels; set only for trusted archives */
  int64_t max_iterations;   /* limit for each while loop; 0: none */
  double max_seconds;       /* time limit for a run; 0: none */
  uint64_t max_memory;      /* bytes of a session's intermediate values and scratch; 0: no limit */
  const char* weight_cache; /* see PrepareOptions::weight_cache in tern/tern.h; NULL: "" */
  int32_t precision;        /* multiplication type of float32 products: 0 as exported, 1 bfloat16, 2 the faster one
                             * (0 or 1), 3 float16 */
} tern_prepare_options;
#define TERN_PREPARE_OPTIONS_INIT \
  { sizeof(tern_prepare_options), 0, NULL, 16, 0, 0, 0, 0, 0.0, 0, NULL, 0 }

/* `options` may be NULL: defaults. */
TERN_C_API tern_status tern_model_prepare(const tern_model* model, const tern_prepare_options* options,
                                          tern_prepared** prepared);
TERN_C_API void tern_prepared_free(tern_prepared* prepared);

/* ---- Sessions ---- */

TERN_C_API tern_status tern_session_create(const tern_prepared* prepared, tern_session** session);
TERN_C_API void tern_session_free(tern_session* session);
/* Ends the session's run before the next node: the run returns TERN_ERROR_CANCELLED, and the session stays usable.
 * No effect without a run. Any thread or signal handler may call this function during a run. */
TERN_C_API void tern_session_cancel(tern_session* session);

/* Runs a function and waits for its results. `function` may be NULL: "forward", or the only function. `inputs` may
 * be NULL if `count` is 0. A program updating an input in place writes to the input's memory. */
TERN_C_API tern_status tern_session_run(tern_session* session, const char* function, const tern_array* inputs,
                                        size_t count);
/* The same with inputs by name, in any order: names[i] is the name of inputs[i]. */
TERN_C_API tern_status tern_session_run_named(tern_session* session, const char* function, const char* const* names,
                                              const tern_array* inputs, size_t count);
/* The same, and writes results to `outputs`, one for each result. An output with dtype TERN_DTYPE_INVALID skips this
 * result (Session::run_into). */
TERN_C_API tern_status tern_session_run_into(tern_session* session, const char* function, const tern_array* inputs,
                                             size_t count, const tern_array* outputs, size_t output_count);
/* Results of the last successful run: 0 without a successful run. The memory is valid until the session's next run. */
TERN_C_API size_t tern_session_output_count(const tern_session* session);
TERN_C_API tern_status tern_session_output(const tern_session* session, size_t index, tern_array* output);
TERN_C_API tern_status tern_session_output_named(const tern_session* session, const char* name, tern_array* output);

/* Copies a state to `value`; dtype and sizes must match the state. */
TERN_C_API tern_status tern_session_read_state(const tern_session* session, const char* name, const tern_array* value);
/* Sets a mutable state to a new value of the same dtype and sizes. */
TERN_C_API tern_status tern_session_write_state(tern_session* session, const char* name, const tern_array* value);
/* Resets all mutable states to their values in the archive. */
TERN_C_API tern_status tern_session_reset_state(tern_session* session);
TERN_C_API tern_status tern_session_set_seed(tern_session* session, uint64_t seed);

/* ---- Traces (tern/trace.h) ---- */

typedef struct tern_trace tern_trace;
typedef struct tern_trace_scope tern_trace_scope;
typedef struct tern_trace_options {
  uint32_t size;       /* sizeof(tern_trace_options) */
  int32_t rank;        /* this process's among `world_size` */
  uint64_t memory;     /* limit for queued events, and for names, bytes each; at least 1 MiB */
  int32_t world_size;  /* 1: not distributed */
  int32_t reserved;    /* 0 */
  const char* backend; /* backend of the ranks: "gloo"; NULL: "" */
} tern_trace_options;
#define TERN_TRACE_OPTIONS_INIT \
  { sizeof(tern_trace_options), 0, 67108864, 1, 0, NULL }

/* Records all runs of the process until tern_trace_stop, into a file in PyTorch's JSON; a file named "*.gz" is
 * compressed. `path` NULL: keeps the events for tern_trace_event. A process has at most one active trace. `options` may
 * be NULL: defaults. */
TERN_C_API tern_status tern_trace_start(const char* path, const tern_trace_options* options, tern_trace** trace);
/* Writes the rest. `events` and `dropped` may be NULL: number of events written, and dropped by the memory limit. */
TERN_C_API tern_status tern_trace_stop(tern_trace* trace, uint64_t* events, uint64_t* dropped);
/* An event of a stopped trace without a file (TraceRecord of tern/trace.h). Texts and sizes are valid until
 * tern_trace_free. */
typedef struct tern_trace_record {
  uint32_t size;       /* sizeof(tern_trace_record) */
  uint32_t unfinished; /* 1: ended by an error */
  const char *name, *type;
  uint64_t begin, end; /* nanoseconds of a monotonic clock */
  uint64_t thread;
  int32_t device, stream; /* device -1: the host */
  uint64_t id, correlation, flow;
  uint32_t flow_begins;
  uint32_t reserved;
  int64_t sequence, bytes;
  double value;
  const char *function, *origin, *module, *call_stack, *annotation;
  const char* args; /* all members as a JSON object: the sizes of inputs and results too */
} tern_trace_record;
/* Number of events of tern_trace_event; 0 while the trace records, and for a trace with a file. */
TERN_C_API size_t tern_trace_event_count(const tern_trace* trace);
TERN_C_API tern_status tern_trace_event(const tern_trace* trace, size_t index, tern_trace_record* record);
/* Stops a trace still recording, without reporting errors. */
TERN_C_API void tern_trace_free(tern_trace* trace);
/* Annotates the thread's runs until tern_trace_scope_end, called on the same thread, inner scopes first. */
TERN_C_API tern_status tern_trace_scope_begin(const char* name, tern_trace_scope** scope);
TERN_C_API void tern_trace_scope_end(tern_trace_scope* scope);
/* A sample of a counter: the track `name`, the series `series`. Does nothing while no trace records. */
TERN_C_API tern_status tern_trace_counter(const char* name, const char* series, double value);

/* ---- Memory of devices ---- */

/* Memory for a tensor without gaps; elements are uninitialised. `device` NULL: the host. tern_array_free frees the
 * memory. A session takes arrays on the host and on its own device; kernels read and write arrays on the device in
 * place. */
TERN_C_API tern_status tern_array_allocate(const char* device, int32_t dtype, int32_t rank, const int64_t* sizes,
                                           tern_array* array);
/* Frees an array of tern_array_allocate; sets `data` to NULL. */
TERN_C_API void tern_array_free(tern_array* array);
/* Copies elements between arrays of the same dtype and sizes, between any two devices. Returns after the copy is
 * complete. */
TERN_C_API tern_status tern_array_copy(const tern_array* from, const tern_array* to);

/* ---- DLPack ---- */

struct DLManagedTensor; /* dlpack/dlpack.h */

/* Describes the memory of a DLPack tensor on the CPU, CUDA or ROCm, without a copy. `from` keeps its memory: `from`
 * must outlive all uses of `array`, and the caller calls its deleter. */
TERN_C_API tern_status tern_array_from_dlpack(const struct DLManagedTensor* from, tern_array* array);
/* Creates a DLPack tensor with its own copy of the elements, on the same device. The deleter frees the tensor. */
TERN_C_API tern_status tern_array_to_dlpack(const tern_array* array, struct DLManagedTensor** result);

#ifdef __cplusplus
}
#endif

#endif
