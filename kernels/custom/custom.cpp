// custom: calls the operator of a library.
#include <fmt/format.h>
#include <omp.h>
#include <tern/error.h>

#include <algorithm>
#include <array>

#include "kernels/custom/library.h"
#include "kernels/kernel.h"
#include "schema/custom_arguments.h"

namespace tern {
namespace {

static_assert(TERN_OP_MAX_RANK == kMaxRank);
static_assert(TERN_ARGUMENT_TEXT == static_cast<int>(CustomArgument::Kind::text));

tern_tensor tensor(const TensorView& v) {
  tern_tensor t{v.data, static_cast<tern_dtype>(v.dtype), v.rank, {}};
  std::copy_n(v.sizes.begin(), v.rank, t.sizes);
  return t;
}

bool same_type(const tern_tensor& a, const tern_tensor& b) {
  return a.dtype == b.dtype && a.rank == b.rank && std::equal(a.sizes, a.sizes + a.rank, b.sizes);
}

std::string describe(const tern_tensor& t) {
  if (t.dtype <= 0 || t.dtype >= kDTypeCount || t.rank < 0 || t.rank > kMaxRank) return "no tensor";
  std::string sizes;
  for (int i = 0; i < t.rank; ++i) sizes += fmt::format("{}{}", i == 0 ? "" : ", ", t.sizes[i]);
  return fmt::format("{}[{}]", name_of(static_cast<DType>(t.dtype)), sizes);
}

/// A call's arguments for the sizes of one plan; tensors get their data at each run.
struct State : KernelState {
  const tern_op* op = nullptr;
  std::vector<CustomArgument> arguments;
  std::vector<std::int64_t> integers;
  std::vector<tern_tensor> tensors, results;
  std::vector<tern_argument> list;

  void invoke(int (*function)(tern_op_call*), const char* what);
};

void State::invoke(int (*function)(tern_op_call*), const char* what) {
  std::array<char, 512> message{};
  tern_op_call call{};
  call.size = sizeof call;
  call.argument_count = static_cast<std::int32_t>(list.size());
  call.arguments = list.data();
  call.result_count = static_cast<std::int32_t>(results.size());
  call.results = results.data();
  call.threads = omp_get_max_threads();
  call.message = message.data();
  call.message_size = message.size();
  const int status = function(&call);
  message.back() = '\0';
  if (status == 0) return;
  fail(ErrorCode::runtime, fmt::format("'{}' {}: {}", op->name, what,
                                       message[0] != '\0' ? message.data() : fmt::format("status {}", status)));
}

std::unique_ptr<KernelState> prepare(const KernelCall& c) {
  auto s = std::make_unique<State>();
  const std::string& name = c.node->text(AttrKey::name);
  s->op = find_custom_op(name);
  if (s->op == nullptr) fail(ErrorCode::unsupported, fmt::format("no library provides '{}'", name));
  s->arguments = custom_arguments(*c.node);
  for (const Dim& d : c.node->dims(AttrKey::value)) s->integers.push_back(d.value());
  for (const TensorView& v : c.in) {
    s->tensors.push_back(tensor(v));
    s->tensors.back().data = nullptr;
  }
  const std::vector<double>& numbers = c.node->numbers(AttrKey::hyper);
  std::size_t tensors = 0, integers = 0, number = 0;
  for (const CustomArgument& a : s->arguments) {
    tern_argument to{a.name.c_str(), static_cast<std::int32_t>(a.kind), a.count, nullptr, nullptr, nullptr, nullptr};
    const auto count = static_cast<std::size_t>(a.count);
    switch (a.kind) {
      case CustomArgument::Kind::none: break;
      case CustomArgument::Kind::tensors:
        to.tensors = s->tensors.data() + tensors;
        tensors += count;
        break;
      case CustomArgument::Kind::integers:
        to.integers = s->integers.data() + integers;
        integers += count;
        break;
      case CustomArgument::Kind::numbers:
        to.numbers = numbers.data() + number;
        number += count;
        break;
      case CustomArgument::Kind::text: to.text = a.text.c_str(); break;
    }
    s->list.push_back(to);
  }
  s->results.resize(c.out.size());
  s->invoke(s->op->infer, "refuses its arguments");
  for (std::size_t i = 0; i < c.out.size(); ++i) {
    const tern_tensor traced = tensor(c.out[i]);
    if (c.wants(i) && !same_type(s->results[i], traced)) {
      fail(ErrorCode::runtime, fmt::format("'{}' infers {} for result {}, the exported program has {}", name,
                                           describe(s->results[i]), i, describe(traced)));
    }
  }
  return s;
}

void run(KernelCall& c) {
  auto& s = static_cast<State&>(*c.state);
  for (std::size_t i = 0; i < c.in.size(); ++i) s.tensors[i].data = c.in[i].data;
  for (std::size_t i = 0; i < c.out.size(); ++i) s.results[i].data = c.wants(i) ? c.out[i].data : nullptr;
  s.invoke(s.op->run, "failed");
}

}  // namespace

void register_custom(KernelTable& t) {
  t.set(Op::custom, {run, nullptr, prepare, 0, -1});
}

}  // namespace tern
