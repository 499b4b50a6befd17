/* The interface of a library that provides operators which PyTorch does not have: `torch.library.custom_op` and the
 * like.
 *
 * A library is a shared object that exports `tern_op_library` below, in plain C. `tern export --ops LIBRARY` keeps its
 * operators as they are called; `tern run --ops LIBRARY`, the variable TERN_OP_PATH (libraries separated by colons) or
 * tern::load_ops() provide them when the archive runs. An archive never names or holds a library.
 * examples/custom_op shows one.
 */
#ifndef TERN_CUSTOM_OP_H
#define TERN_CUSTOM_OP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. Libraries of version 1, which had no kernels, are taken too; others are refused. */
#define TERN_OP_ABI 2
#define TERN_OP_MAX_RANK 16
#define TERN_OP_MAX_PARAMETERS 16

/* Numbers of tern::DType (tern/dtype.h): 1 bool, 2 uint8, ... */
typedef int32_t tern_dtype;

/* A tensor in memory. Elements lie without gaps, the last axis innermost. Sizes count elements. */
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

/* An argument as the operator was called in Python. `count` is the length of the one array that `kind` says; the length
 * of `text` in bytes, which ends with a zero besides. */
typedef struct tern_argument {
  const char* name;
  int32_t kind;
  int32_t count;
  const tern_tensor* tensors;
  const int64_t* integers;
  const double* numbers;
  const char* text;
} tern_argument;

/* One call. Everything belongs to the caller and is valid until the function returns. */
typedef struct tern_op_call {
  uint32_t size; /* sizeof(tern_op_call) of the caller: later members exist where it is larger */
  int32_t argument_count;
  const tern_argument* arguments;
  int32_t result_count;
  tern_tensor* results; /* `data` is null for a result that nobody uses */
  int32_t threads;      /* how many the operator may use */
  char* message;        /* where a function that fails says why: `message_size` bytes, with a zero at the end */
  size_t message_size;
} tern_op_call;

/* Both functions return 0, or anything else after writing `message`. They may be called from several threads at once.
 */
typedef struct tern_op {
  const char* name; /* as the exported program calls it, without the overload: "mylib::gelu_scaled" */
  /* Writes dtype, rank and sizes of the results for the arguments' (no data pointer is set). They have to agree with
   * what PyTorch recorded; called when a program is planned. */
  int (*infer)(tern_op_call* call);
  /* Writes the results' elements. */
  int (*run)(tern_op_call* call);
} tern_op;

/* How a device runs an operator for some sizes: `function` of `text` is called as
 *   function(item, tensors of the arguments ..., results ..., integers ..., numbers ...)
 * for the items 0 to items - 1, in any order. tern/custom_kernel.h says what `text` is written in. Pointers are to
 * contiguous elements; one to a result that nobody uses may be written all the same. The texts are read when a program
 * is planned. */
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

/* An operator of the library on devices other than the CPU. One without such an entry runs on the host there: its
 * arguments are copied to the host and its results back, and `tern conform --device` fails its cases. */
typedef struct tern_op_kernel {
  const char* name; /* of one of the library's operators */
  /* Fills in the plan for the arguments' types and sizes and those of the results, as `infer` gave them; no data
   * pointer is set. */
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

/* What a library exports. Called once; the result stays valid as long as the library is loaded, which is for ever. */
TERN_OP_EXPORT const tern_ops* tern_op_library(void);

#ifdef __cplusplus
}

#include <tern/api.h>

#include <string>

namespace tern {

/// Loads a library of operators for the whole process. Throws Error when it cannot be loaded, was made for another
/// version of this interface, or names an operator that another library has already. Loading it again does nothing.
TERN_API void load_ops(const std::string& path);

}  // namespace tern
#endif

#endif
