// custom on devices: the operator's own kernel text, or, without a kernel in the library, the host between two copies.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "kernels/custom/call.h"
#include "kernels/custom/library.h"
#include "kernels/portable/launches.h"

namespace tern {
namespace {

using portable::Launch;
using portable::Launches;

std::uint64_t bytes_of(DType t, std::span<const std::int64_t> sizes) {
  std::int64_t elements = 1;
  for (std::int64_t size : sizes) elements *= size;
  const std::int64_t per = elements_per_byte(t);
  return static_cast<std::uint64_t>((elements + per - 1) / per * element_size(t));
}

/// The type of an unused result, or fails: only the operator knows the type.
std::uint64_t bytes_of(const tern_tensor& t) {
  if (t.dtype <= 0 || t.dtype >= kTensorDTypeCount || t.rank < 0 || t.rank > kMaxRank)
    fail(ErrorCode::runtime, "an operator's library infers no type for a result");
  return bytes_of(static_cast<DType>(t.dtype), {t.sizes, static_cast<std::size_t>(t.rank)});
}

void add_launch(const KernelCall& c, CustomCall& call, const tern_op_kernel& kernel, Launches& list) {
  constexpr std::size_t kMostTensors = 48;
  if (c.in.size() + c.out.size() > kMostTensors)
    fail(ErrorCode::unsupported, fmt::format("'{}' has more tensors than a kernel supports", call.name()));
  const tern_op_plan plan = call.plan(kernel);
  Launch k("custom");
  std::string arguments;
  const auto named = [&](const char* prefix, std::size_t i) {
    std::string name = fmt::format("{}{}", prefix, i);
    arguments += ", " + name;
    return name;
  };
  for (std::size_t i = 0; i < c.in.size(); ++i) k.input(named("in", i), i, c.in[i].dtype);
  for (std::size_t i = 0; i < c.out.size(); ++i) {
    const std::string name = named("out", i);
    if (c.wants_output(i)) {
      k.output(name, i, c.out[i].dtype);
    } else {
      const tern_tensor& unused = call.results()[i];
      k.scratch(name, list.scratch(bytes_of(unused)), static_cast<DType>(unused.dtype), true);
    }
  }
  k.parameter("items", plan.items);
  for (int i = 0; i < plan.integer_count; ++i) {
    k.parameter(fmt::format("integer{}", i), plan.integers[i]);
    arguments += fmt::format(", p.integer{}", i);
  }
  for (int i = 0; i < plan.number_count; ++i) {
    k.source.parameter(fmt::format("number{}", i), DType::f32, static_cast<double>(plan.numbers[i]));
    arguments += fmt::format(", p.number{}", i);
  }
  k.source.add(std::string(plan.text) + "\n");
  k.source.define("CALL(i)", fmt::format("{}(i{})", plan.function, arguments));
  list.add(std::move(k), plan.items);
}

struct DeviceState : KernelState {
  explicit DeviceState(const KernelCall& c) : call(c), list(c) {}
  CustomCall call;
  Launches list;
  bool runs_on_host = false;
};

std::unique_ptr<KernelState> prepare_device(const KernelCall& c) {
  auto s = std::make_unique<DeviceState>(c);
  const tern_op_kernel* kernel = find_custom_kernel(s->call.name());
  if (kernel == nullptr) {
    s->runs_on_host = true;
  } else {
    add_launch(c, s->call, *kernel, s->list);
  }
  return s;
}

void run_on_host(KernelCall& c, const CustomCall& call) {
  ++custom_nodes_on_host();
  std::vector<std::vector<std::byte>> memory;
  memory.reserve(c.in.size() + c.out.size());
  std::vector<void*> in, out;
  for (const TensorView& v : c.in) {
    auto& bytes = memory.emplace_back(bytes_of(v.dtype, v.shape()));
    c.launcher->download(bytes.data(), v.data, bytes.size());
    in.push_back(bytes.data());
  }
  for (std::size_t i = 0; i < c.out.size(); ++i) {
    const bool wanted = c.wants_output(i);
    out.push_back(wanted ? memory.emplace_back(bytes_of(c.out[i].dtype, c.out[i].shape())).data() : nullptr);
  }
  OperatorGroups groups(c.groups, *c.node);
  call.run(in, out, groups);
  for (std::size_t i = 0; i < c.out.size(); ++i) {
    if (c.wants_output(i)) c.launcher->upload(c.out[i].data, out[i], bytes_of(c.out[i].dtype, c.out[i].shape()));
  }
}

void run_device(KernelCall& c) {
  const auto& s = static_cast<const DeviceState&>(*c.state);
  if (s.runs_on_host) {
    run_on_host(c, s.call);
  } else {
    s.list.run(c);
  }
}

std::size_t scratch(const KernelCall& c) {
  return static_cast<const DeviceState*>(c.state)->list.scratch_bytes();
}

}  // namespace

void register_custom_on_devices(KernelTable& t) {
  t.set(Op::custom, {.run = run_device, .scratch = scratch, .prepare = prepare_device});
}

}  // namespace tern
