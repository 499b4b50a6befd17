#include "runtime/linalg/nodes.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <new>

#include "kernels/portable/compiled.h"
#include "runtime/tensor_view.h"
#include "schema/infer.h"

namespace tern::linalg {
namespace {

struct FreeAligned {
  void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
using Memory = std::unique_ptr<std::byte[], FreeAligned>;
Memory aligned_memory(std::size_t bytes) {
  return Memory(new (std::align_val_t{64}) std::byte[bytes]);
}

TensorType type_of(const Tensor& t) {
  return {t.dtype(), Dims(t.sizes().begin(), t.sizes().end())};
}

/// Throws where types or sizes do not fit.
std::vector<Tensor> results(const Node& node, std::span<const Tensor> operands, unsigned unwanted) {
  Program program;
  std::vector<TensorType> types;
  std::vector<const TensorType*> pointers;
  types.reserve(operands.size());
  for (const Tensor& t : operands) pointers.push_back(&types.emplace_back(type_of(t)));
  std::vector<Tensor> made;
  for (const TensorType& t : infer(program, program.pool, node, pointers)) {
    if ((unwanted >> made.size() & 1) != 0) {
      made.emplace_back();
      continue;
    }
    std::vector<std::int64_t> sizes;
    for (Dim d : t.shape) sizes.push_back(d.value());
    made.emplace_back(t.dtype, std::move(sizes));
  }
  return made;
}

std::vector<TensorView> views(std::span<const Tensor> tensors) {
  std::vector<TensorView> v;
  for (const Tensor& t : tensors) v.push_back(t.dtype() == DType::invalid ? TensorView{} : tensor_view(t));
  return v;
}

void run_kernel(const Node& node, std::vector<Tensor> operands, std::span<const Tensor> made) {
  std::vector<TensorView> in = views(operands), out = views(made);
  KernelCall call;
  call.node = &node;
  call.in = in;
  call.out = out;
  const Kernel& kernel = portable::kernel_for(cpu_kernels(), call);
  for (std::size_t i = 0; i < in.size(); ++i) {
    if ((kernel.strided >> i & 1) != 0 || operands[i].is_contiguous()) continue;
    operands[i] = operands[i].contiguous();
    in[i] = tensor_view(operands[i]);
  }
  constexpr bool kConstant[4] = {};
  call.constant = kConstant;
  call.launcher = &portable::compiled_launcher();
  std::unique_ptr<KernelState> state;
  if (kernel.prepare != nullptr) state = kernel.prepare(call);
  call.state = state.get();
  const std::size_t bytes = kernel.scratch != nullptr ? kernel.scratch(call) : 0;
  const Memory scratch = aligned_memory(bytes);
  call.scratch = {scratch.get(), bytes};
  kernel.run(call);
}

}  // namespace

void Nodes::refuse(const std::string& why) const {
  fail(ErrorCode::invalid_argument, fmt::format("tern::linalg::{}: {}", function_, why));
}

void Nodes::require_factored(const Tensor& info, const char* why) const {
  const auto numbers = info.span<std::int32_t>();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == 0) continue;
    fail(ErrorCode::runtime, fmt::format("tern::linalg::{}: matrix {} of the batch {}", function_, i,
                                         fmt::format(fmt::runtime(why), numbers[i])));
  }
}

void Nodes::require_matrices(const Tensor& a) const {
  const DType t = a.dtype();
  if (t != DType::f32 && t != DType::f64 && t != DType::c64 && t != DType::c128)
    refuse(text_of(a) + " is not of float32, float64, complex64 or complex128");
  if (a.sizes().size() < 2) refuse(text_of(a) + " holds no matrices: they need two axes");
}

std::vector<Tensor> Nodes::run(Op op, std::initializer_list<Tensor> operands, std::vector<Attr> attrs,
                               unsigned unwanted) const try {
  for (const Tensor& t : operands) {
    if (t.sizes().size() > kMaxRank)
      fail(ErrorCode::bad_file, fmt::format("{} axes; there may be {}", t.sizes().size(), kMaxRank));
  }
  Node node;
  node.op = op;
  node.attrs = std::move(attrs);
  for (std::size_t i = 0; i < operands.size(); ++i) node.inputs.push_back(static_cast<ValueId>(i));
  std::vector<Tensor> made = results(node, {operands.begin(), operands.size()}, unwanted);
  run_kernel(node, operands, made);
  return made;
} catch (const Error& e) {
  // Rules of shapes speak of files, whose nodes they check, too.
  const ErrorCode code = e.code() == ErrorCode::bad_file ? ErrorCode::invalid_argument : e.code();
  fail(code, fmt::format("tern::linalg::{}: {}", function_, e.what()));
}

}  // namespace tern::linalg
