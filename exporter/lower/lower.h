// Interface of lowerings, from ATen calls to nodes: the call with its arguments bound to the schema, and the tables.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exporter/builder.h"
#include "exporter/lower/argument_name.h"

namespace tern {

/// Argument of a call: the program's, or the schema's default.
struct CallArgument {
  enum class Kind {
    none,
    tensor,
    integer,
    number,
    boolean,
    complex,
    text,
    dtype,
    tensors,
    integers,
    numbers,
    booleans,
    device,
    layout,
    memory_format
  };
  Kind kind = Kind::none;
  ValueId value = kNoValue;          ///< tensor
  bool contiguous = true;            ///< tensor: PyTorch stored it in row-major order
  bool channels_last = false;        ///< tensor: PyTorch stored axis 1 innermost, the others in row-major order
  Dim integer;                       ///< integer (may be symbolic), boolean (0 or 1, may be symbolic)
  double number = 0, imaginary = 0;  ///< number, complex
  std::string text;                  ///< text, device
  DType dtype = DType::invalid;      ///< dtype
  std::vector<ValueId> values;       ///< tensors; kNoValue stands for None
  Dims integers;                     ///< integers, booleans
  std::vector<double> numbers;
};
using CallArgumentKind = CallArgument::Kind;

/// Call of an ATen operator with every argument of its schema present, in the schema's order.
struct Call {
  std::string target;                                           ///< "aten.softmax.int"
  std::vector<std::pair<std::string_view, CallArgument>> args;  ///< schema name, argument
  std::vector<TensorType> declared;  ///< PyTorch's record of each tensor result, in order (a list flattened)
  std::string torch_version;         ///< version of the exporting PyTorch: "2.12.1"
  Builder* builder = nullptr;

  const CallArgument& arg(ArgumentName name) const;  ///< fails if the schema lacks the argument
  bool has_argument(ArgumentName name) const;        ///< true if the schema has the argument, and its value is not None
  bool is_tensor(ArgumentName name) const;

  // Typed reading. Each fails with a clear message when the argument has another kind.
  ValueId tensor(
      ArgumentName name) const;  ///< a number becomes a tensor of no dimensions (int64, float32, bool or complex64)
  ValueId tensor_as(ArgumentName name, DType dtype) const;  ///< cast to `dtype`; numbers are not rounded on the way
  ValueId tensor_or_none(ArgumentName name) const;
  const std::vector<ValueId>& tensors(ArgumentName name) const;
  Dim dim(ArgumentName name) const;
  std::int64_t integer(ArgumentName name) const;  ///< must be a constant
  std::int64_t integer_or(ArgumentName name, std::int64_t otherwise) const;
  double number(ArgumentName name) const;  ///< accepts an integer, a boolean or a number
  double number_or(ArgumentName name, double otherwise) const;
  bool flag(ArgumentName name) const;
  bool flag_or(ArgumentName name, bool otherwise) const;
  std::string text(ArgumentName name) const;
  std::string text_or(ArgumentName name, std::string_view otherwise) const;
  DType dtype_or(ArgumentName name, DType otherwise) const;
  Dims dims(ArgumentName name) const;                           ///< turns a single integer into a list
  std::vector<std::int64_t> integers(ArgumentName name) const;  ///< constants
  std::vector<double> numbers(ArgumentName name) const;

  /// Dtype recorded by PyTorch for result `i`. Prefer the record to a new derivation of promotion.
  DType result_dtype(std::size_t i = 0) const;
  [[noreturn]] void unsupported(const std::string& reason) const;  ///< this op with these arguments cannot be lowered
};

/// Returns the results in the schema's order, Tensor[] results flattened, kNoValue for a None result. Lowerings are
/// pure: the importer deals with in-place variants (add_.Tensor), out= variants, aliasing views and the write-back of
/// mutated arguments. A mutating op without a functional twin (_fused_adam_) appends the new values of its mutated
/// arguments to its proper results, in the schema's order of the (a!) annotations (a list flattened).
using LowerFn = std::vector<ValueId> (*)(Builder& b, const Call& c);

struct Lowering {
  std::string_view target;  ///< without "torch.ops.": "aten.softmax.int"
  LowerFn lower;
};

/// Tables, one per family of operators; each has a file in exporter/lower/.
std::span<const Lowering> pointwise_lowerings();
std::span<const Lowering> movement_lowerings();  ///< reshape, permute, slice, cat, split, pad, flip, roll, repeat ...
std::span<const Lowering> creation_lowerings();  ///< zeros, full_like, arange, linspace, eye, tril, triu, one_hot ...
std::span<const Lowering> reduction_lowerings();
std::span<const Lowering> indexing_lowerings();
std::span<const Lowering> contraction_lowerings();  ///< matmul, linear, conv, pool, attention, interpolate, rnn ...
std::span<const Lowering> normalization_lowerings();
std::span<const Lowering> loss_lowerings();
std::span<const Lowering> linalg_lowerings();
std::span<const Lowering> fft_lowerings();
std::span<const Lowering> optim_lowerings();
std::span<const Lowering> collective_lowerings();  ///< _c10d_functional
std::span<const Lowering> gradient_lowerings();    ///< the _backward operators of joint graphs
std::span<const Lowering> foreach_lowerings();     ///< _foreach_ operators
std::span<const Lowering> random_lowerings();
std::span<const Lowering> prim_lowerings();          ///< torch._prims
std::span<const Lowering> audio_lowerings();         ///< torchaudio's
std::span<const Lowering> vision_lowerings();        ///< torchvision's
std::span<const Lowering> quantization_lowerings();  ///< quantized_decomposed, torchao, packed weights, scaled products

/// All lowerings, sorted by target.
std::span<const Lowering> all_lowerings();

/// The lowering for a target, or null.
LowerFn find_lowering(std::string_view target);

}  // namespace tern
