#include "runtime/linalg/nodes.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <memory>
#include <new>

#include "runtime/device_tensor.h"
#include "runtime/linalg/plan.h"
#include "runtime/tensor_view.h"

namespace tern::linalg {
namespace {

struct FreeAligned {
  void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
using Memory = std::unique_ptr<std::byte[], FreeAligned>;
Memory aligned_memory(std::size_t bytes) {
  return Memory(new (std::align_val_t{64}) std::byte[bytes]);
}

Tensor tensor_of(const TensorView& v) {
  if (v.dtype == DType::invalid) return {};
  return {v.dtype, {v.shape().begin(), v.shape().end()}};
}
std::byte* data_of(const Tensor& t) {
  return static_cast<std::byte*>(const_cast<void*>(t.data()));
}

}  // namespace

void Nodes::refuse(const std::string& why) const {
  fail(ErrorCode::invalid_argument, fmt::format("tern::linalg::{}: {}", function_, why));
}

void Nodes::require_factored(const Tensor& info, const char* why) const {
  const auto numbers = info.span<std::int32_t>();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == 0) continue;
    const std::string matrix = numbers.size() > 1 ? fmt::format("matrix {} of the batch", i) : "the matrix";
    fail(ErrorCode::runtime,
         fmt::format("tern::linalg::{}: {} {}", function_, matrix, fmt::format(fmt::runtime(why), numbers[i])));
  }
}

void Nodes::require_solved(const Tensor& info, const char* no_solution) const {
  for (const std::int32_t number : info.span<std::int32_t>()) {
    if (number == 0) continue;
    return require_factored(info, number == 1   ? "has NaN or infinities"
                                  : number == 2 ? "has an iteration without convergence"
                                                : no_solution);
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
  Request request{op, std::move(attrs), {}, unwanted, Threads::current().count()};
  for (const Tensor& t : operands) {
    if (t.sizes().size() > kMaxRank)
      fail(ErrorCode::bad_file, fmt::format("{} axes; there may be {}", t.sizes().size(), kMaxRank));
    if (!TensorMemory::is_on_host(t))
      fail(ErrorCode::invalid_argument,
           fmt::format("{} is on {}, but this function computes on the host; pass it as to(\"cpu\")", text_of(t),
                       t.device()));
    request.operands.push_back(tensor_view(t));
    request.operands.back().data = nullptr;
  }
  const std::shared_ptr<const Plan> plan = plan_for(std::move(request));
  std::vector<TensorView> in = plan->in, out = plan->out;
  std::vector<Tensor> read(operands), made;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if ((plan->made_dense >> i & 1) != 0) read[i] = read[i].clone();
    in[i].data = data_of(read[i]);
  }
  for (TensorView& v : out) v.data = data_of(made.emplace_back(tensor_of(v)));
  const Memory scratch = aligned_memory(plan->scratch);
  KernelCall call = call_of(*plan, in, out);
  call.scratch = {scratch.get(), plan->scratch};
  plan->kernel->run(call);
  return made;
} catch (const Error& e) {
  // Shape rules are written for nodes of files and report bad_file.
  const ErrorCode code = e.code() == ErrorCode::bad_file ? ErrorCode::invalid_argument : e.code();
  fail(code, fmt::format("tern::linalg::{}: {}", function_, e.what()));
} catch (const std::bad_alloc&) {
  fail(ErrorCode::out_of_memory, fmt::format("tern::linalg::{}: cannot allocate its work memory", function_));
}

}  // namespace tern::linalg
