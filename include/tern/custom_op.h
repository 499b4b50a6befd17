/* Custom operators: a library implements operators of `torch.library.custom_op` and similar interfaces.
 *
 * The library is a shared object exporting `tern_op_library` below, in plain C; examples/custom_op is an example. `tern
 * export --ops LIBRARY` keeps calls of its operators in the archive. To run the archive, load the library with `tern
 * run --ops LIBRARY`, TERN_OP_PATH in the environment (libraries separated by colons) or tern::load_ops(). An archive
 * never names or contains a library.
 */
#ifndef TERN_CUSTOM_OP_H
#define TERN_CUSTOM_OP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. Tern also loads libraries of version 1 (without kernels), and refuses other
 * versions. */
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
  TERN_ARGUMENT_TENSORS = 1,  /* a tensor or a list of tensors */
  TERN_ARGUMENT_INTEGERS = 2, /* an int, a bool, or a list of ints or bools; values of symbolic sizes */
  TERN_ARGUMENT_NUMBERS = 3,  /* a float or a list of floats */
  TERN_ARGUMENT_TEXT = 4
};

/* An argument of the call in Python. `kind` selects the array; `count` is its length. The length of `text` excludes
 * the final zero. */
typedef struct tern_argument {
  const char* name;
  int32_t kind;
  int32_t count;
  const tern_tensor* tensors;
  const int64_t* integers;
  const double* numbers;
  const char* text;
} tern_argument;

/* A collective called by an operator, on host memory: kinds, reductions, counts and parts are documented at
 * tern::Collective (tern/collective.h). */
typedef struct tern_op_collective {
  uint32_t size; /* sizeof(tern_op_collective) */
  int32_t kind;
  int32_t reduction;
  tern_dtype dtype;
  int64_t count;
  int32_t root;
  int32_t tag;
  const void* input;
  void* output;
  const int64_t* input_splits; /* an element count for each rank, or null */
  const int64_t* output_splits;
} tern_op_collective;

/* The groups of ranks of the session running the operator, by the program's names ("0" is torch.distributed's
 * default group). An argument with "group" in its name names a group: tern run --groups and Session::set_group take
 * this name. The functions return 0, or another number if the session has no group of this name or a call fails;
 * then the operator also returns another number, and the error states the reason. Only the thread running the
 * operator calls the functions, and all ranks make the same calls in the same order. */
typedef struct tern_op_groups {
  uint32_t size; /* sizeof(tern_op_groups) of the caller */
  void* context;
  int (*query_rank)(void* context, const char* group, int32_t* rank, int32_t* ranks);
  int (*run)(void* context, const char* group, const tern_op_collective* call);
} tern_op_groups;

/* A single call. All memory belongs to the caller and is valid until the function returns. */
typedef struct tern_op_call {
  uint32_t size; /* sizeof(tern_op_call) of the caller; later members do not exist */
  int32_t argument_count;
  const tern_argument* arguments;
  int32_t result_count;
  tern_tensor* results; /* `data` is null for an unused result */
  int32_t threads;      /* the most threads allowed to the operator */
  char* message;        /* receives the error message: `message_size` bytes, including the final zero */
  size_t message_size;
  const tern_op_groups* groups; /* null in `infer` and in `plan` */
} tern_op_call;

/* Both functions return 0, or on failure write `message` and return another number. Several threads may call them at
 * the same time. */
typedef struct tern_op {
  const char* name; /* name in the exported program, without the overload: "mylib::gelu_scaled" */
  /* Sets dtype, rank and sizes of the results from the types of the arguments (data pointers are null). The results
   * must match the types recorded by PyTorch. Called when Tern plans a program. */
  int (*infer)(tern_op_call* call);
  /* Computes the elements of the results. */
  int (*run)(tern_op_call* call);
} tern_op;

/* Describes a device's launch of an operator at given sizes. The device calls `function` of `text` as
 *   function(item, tensors of the arguments ..., results ..., integers ..., numbers ...)
 * Items run from 0 to items - 1, in any order. tern/custom_kernel.h describes the language of `text`. Tensors are
 * contiguous; unused results have writable memory too. Tern reads the texts when planning a program. */
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
  const char* name; /* name of an operator of this library */
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

/* The entry point exported by the library. Tern calls it once and never unloads the library; the result must stay
 * valid.
 */
TERN_OP_EXPORT const tern_ops* tern_op_library(void);

#ifdef __cplusplus
}

#include <tern/api.h>

#include <string>

namespace tern {

/// Loads a library of operators for the whole process. Throws Error if the library cannot be loaded, was built for
/// another version of this interface, or defines an operator of another loaded library. Loading a library again does
/// nothing. Any thread may call this function.
TERN_API void load_ops(const std::string& path);

}  // namespace tern
#endif

#endif
