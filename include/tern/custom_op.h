/* Custom operators: a library that implements operators of `torch.library.custom_op` and the like.
 *
 * The library is a shared object that exports `tern_op_library` below, in plain C; examples/custom_op shows one.
 * `tern export --ops LIBRARY` keeps calls of its operators in the archive. To run the archive, load the library with
 * `tern run --ops LIBRARY`, TERN_OP_PATH in the environment (libraries separated by colons) or tern::load_ops(). An
 * archive never names or contains a library.
 */
#ifndef TERN_CUSTOM_OP_H
#define TERN_CUSTOM_OP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. Tern also loads libraries of version 1, which had no kernels, and refuses others. */
#define TERN_OP_ABI 2
#define TERN_OP_MAX_RANK 16
#define TERN_OP_MAX_PARAMETERS 16

/* Numbers of tern::DType (tern/dtype.h): 1 bool, 2 uint8, ... */
typedef int32_t tern_dtype;

/* A tensor on the host, row-major without gaps. Sizes count elements. */
typedef struct tern_tensor {
  void* data;
  tern_dtype dtype;
  int32_t rank;
  int64_t sizes[TERN_OP_MAX_RANK];
} tern_tensor;

enum tern_argument_kind {
  TERN_ARGUMENT_NONE = 0,     /* Python's None */
  TERN_ARGUMENT_TENSORS = 1,  /* a tensor, or a list of them */
  TERN_ARGUMENT_INTEGERS = 2, /* an int, a bool, or a list of them; symbolic sizes have their values */
  TERN_ARGUMENT_NUMBERS = 3,  /* a float, or a list of them */
  TERN_ARGUMENT_TEXT = 4
};

/* An argument of the call in Python. `kind` says which array is set; `count` is its length. The length of `text` does
 * not count its final zero. */
typedef struct tern_argument {
  const char* name;
  int32_t kind;
  int32_t count;
  const tern_tensor* tensors;
  const int64_t* integers;
  const double* numbers;
  const char* text;
} tern_argument;

/* A collective of an operator that communicates, on host memory: kinds, reductions, counts and parts are those of
 * tern::Collective (tern/collective.h). */
typedef struct tern_op_collective {
  uint32_t size; /* sizeof(tern_op_collective) */
  int32_t kind;
  int32_t reduction;
  tern_dtype dtype;
  int64_t count;
  int32_t root;
  int32_t tag;
  const void* in;
  void* out;
  const int64_t* in_parts; /* one for each rank, or null */
  const int64_t* out_parts;
} tern_op_collective;

/* The groups of ranks of the session that runs the operator, by the names that the program has for them ("0" is
 * torch.distributed's default group). An argument whose name has "group" in it names a group: tern run --groups and
 * Session::set_group take that name. The functions return 0, or another number where the session has no such group or a
 * call fails; then the operator returns another number too, and the error says why. Only the thread that runs the
 * operator calls them, and all ranks make the same calls in the same order. */
typedef struct tern_op_groups {
  uint32_t size; /* sizeof(tern_op_groups) of the caller */
  void* context;
  int (*place)(void* context, const char* group, int32_t* rank, int32_t* ranks);
  int (*run)(void* context, const char* group, const tern_op_collective* call);
} tern_op_groups;

/* One call. All memory belongs to the caller and is valid until the function returns. */
typedef struct tern_op_call {
  uint32_t size; /* sizeof(tern_op_call) of the caller; members beyond it do not exist */
  int32_t argument_count;
  const tern_argument* arguments;
  int32_t result_count;
  tern_tensor* results; /* `data` is null for an unused result */
  int32_t threads;      /* the most threads that the operator may use */
  char* message;        /* for the error message: `message_size` bytes, including the final zero */
  size_t message_size;
  const tern_op_groups* groups; /* null in `infer` and in `plan` */
} tern_op_call;

/* Both functions return 0, or on failure write `message` and return another number. Several threads may call them at
 * the same time. */
typedef struct tern_op {
  const char* name; /* in the exported program, without the overload: "mylib::gelu_scaled" */
  /* Sets dtype, rank and sizes of the results from those of the arguments (data pointers are null). They must match the
   * types that PyTorch recorded. Called when Tern plans a program. */
  int (*infer)(tern_op_call* call);
  /* Computes the elements of the results. */
  int (*run)(tern_op_call* call);
} tern_op;

/* How a device runs an operator at given sizes. The device calls `function` of `text` as
 *   function(item, tensors of the arguments ..., results ..., integers ..., numbers ...)
 * for items 0 to items - 1, in any order. tern/custom_kernel.h describes the language of `text`. Tensors are
 * contiguous; unused results have writable memory too. Tern reads the texts when it plans a program. */
typedef struct tern_op_plan {
  uint32_t size; /* sizeof(tern_op_plan) of the caller */
  uint32_t reserved;
  const char* text;
  const char* function;
  int64_t items;
  int32_t integer_count;
  int32_t number_count;
  int64_t integers[TERN_OP_MAX_PARAMETERS];
  float numbers[TERN_OP_MAX_PARAMETERS];
} tern_op_plan;

/* A kernel for devices other than the CPU. An operator without a kernel runs on the host: Tern copies its arguments to
 * the host and its results back, and `tern conform --device` counts its cases as failed. */
typedef struct tern_op_kernel {
  const char* name; /* of an operator of this library */
  /* Fills in the plan. Arguments and results have the types and sizes from `infer`; data pointers are null. */
  int (*plan)(tern_op_call* call, tern_op_plan* plan);
} tern_op_kernel;

typedef struct tern_ops {
  uint32_t abi; /* TERN_OP_ABI */
  uint32_t count;
  const tern_op* ops;
  /* Since version 2: */
  const tern_op_kernel* kernels;
  uint32_t kernel_count;
} tern_ops;

#if defined(_WIN32)
#define TERN_OP_EXPORT __declspec(dllexport)
#else
#define TERN_OP_EXPORT __attribute__((visibility("default")))
#endif

/* The function that the library exports. Tern calls it once and never unloads the library; the result must stay valid.
 */
TERN_OP_EXPORT const tern_ops* tern_op_library(void);

#ifdef __cplusplus
}

#include <tern/api.h>

#include <string>

namespace tern {

/// Loads a library of operators for the whole process. Throws Error if the library cannot be loaded, was made for
/// another version of this interface, or has an operator that another loaded library has too. Loading a library again
/// does nothing. Any thread may call it.
TERN_API void load_ops(const std::string& path);

}  // namespace tern
#endif

#endif
