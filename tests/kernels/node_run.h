// Runs a node through its shape rule and its CPU or portable kernel, without program or session: the base of kernel
// tests. The environment variable TERN_TEST_PORTABLE selects portable kernels for all nodes, TERN_TEST_REPRODUCIBLE the
// CPU's reproducible kernels.
#pragma once

#include <complex>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include "dtypes/cast.h"
#include "dtypes/storage.h"
#include "kernels/kernel.h"
#include "kernels/portable/compiled.h"
#include "kernels/portable/definitions.h"
#include "kernels/reproducible.h"
#include "schema/epilogue.h"
#include "schema/infer.h"
#include "tests/kernels/host_launcher.h"

namespace tern::test {

using Number = std::complex<double>;

inline std::int64_t product(const std::vector<std::int64_t>& sizes) {
  std::int64_t n = 1;
  for (std::int64_t s : sizes) n *= s;
  return n;
}

/// Numbers -range..range in steps of 1 / denominator: exact in every type with enough bits.
inline std::vector<double> random_numbers(std::int64_t n, std::uint32_t seed, int range = 3, int denominator = 1) {
  std::mt19937 engine(seed);
  std::uniform_int_distribution<int> at(-range * denominator, range * denominator);
  std::vector<double> v(static_cast<std::size_t>(n));
  for (double& x : v) x = static_cast<double>(at(engine)) / denominator;
  return v;
}

class NodeRun : public OutputAllocator {
 public:
  explicit NodeRun(Op op) {
    node_.op = op;
    if (std::getenv("TERN_TEST_PORTABLE") != nullptr) device_ = &HostLauncher::instance();
    reproducible_ = std::getenv("TERN_TEST_REPRODUCIBLE") != nullptr;
  }

  void set(AttrKey key, std::vector<std::int64_t> v) { node_.set(key, Dims(v.begin(), v.end())); }
  void set(AttrKey key, std::int64_t v) { node_.set(key, Dims{v}); }
  void set_number(AttrKey key, std::vector<double> v) { node_.set(key, std::move(v)); }

  /// Selects the portable kernel, in the host's memory.
  void select_device(portable::Launcher* device) { device_ = device; }

  /// Selects the CPU's reproducible kernel.
  void reproducible() { reproducible_ = true; }

  /// Marks output `i` as unread.
  void unwanted(std::size_t i) { unwanted_ = i; }

  void seed(std::uint64_t seed, std::uint64_t offset) { random_ = {seed, offset}; }

  /// `strides` in elements, row-major if absent; `values` are always in row-major order.
  template <class V>
  void input(DType dtype, const std::vector<std::int64_t>& sizes, const std::vector<V>& values,
             std::vector<std::int64_t> strides = {}, bool constant = false) {
    TensorView v;
    v.dtype = dtype;
    v.rank = static_cast<std::int32_t>(sizes.size());
    std::copy(sizes.begin(), sizes.end(), v.sizes.begin());
    make_contiguous(v);
    const TensorView dense = v;
    if (!strides.empty()) std::copy(strides.begin(), strides.end(), v.strides.begin());
    std::int64_t reach = 1;
    for (int i = 0; i < v.rank; ++i) reach += (v.size(i) - 1) * v.stride(i);
    v.data = memory(static_cast<std::size_t>(std::max<std::int64_t>(reach, 0)) *
                    static_cast<std::size_t>(element_size(dtype)));
    for (std::int64_t i = 0; i < dense.numel(); ++i) {
      std::int64_t at = 0, rest = i;
      for (int a = v.rank - 1; a >= 0; --a) {
        at += rest % v.size(a) * v.stride(a);
        rest /= v.size(a);
      }
      const Number n = values[static_cast<std::size_t>(i)];
      visit_dtype(dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        v.data_as<T>()[at] = cast_to<T>(n);
      });
    }
    views_.push_back(v);
    node_.inputs.push_back(static_cast<ValueId>(views_.size()) - 1);
    constant_.push_back(constant);
  }
  /// A quantized value of these sizes and bytes.
  void quantized_input(DType element, const Blocks& blocks, const std::vector<std::int64_t>& sizes,
                       const std::vector<std::byte>& bytes) {
    TensorView v;
    v.dtype = element;
    v.blocks = blocks;
    v.rank = static_cast<std::int32_t>(sizes.size());
    std::copy(sizes.begin(), sizes.end(), v.sizes.begin());
    make_contiguous(v);
    v.data = memory(bytes.size());
    std::copy(bytes.begin(), bytes.end(), v.data);
    views_.push_back(v);
    node_.inputs.push_back(static_cast<ValueId>(views_.size()) - 1);
    constant_.push_back(true);
  }
  void no_input() {
    views_.push_back({});
    node_.inputs.push_back(kNoValue);
    constant_.push_back(false);
  }

  std::vector<TensorType> infer_types() {
    std::vector<TensorType> types(views_.size());
    std::vector<const TensorType*> pointers;
    for (std::size_t i = 0; i < views_.size(); ++i) {
      types[i].dtype = views_[i].dtype;
      types[i].blocks = views_[i].blocks;
      types[i].shape.assign(views_[i].shape().begin(), views_[i].shape().end());
      pointers.push_back(node_.inputs[i] == kNoValue ? nullptr : &types[i]);
    }
    const bool fused = node_.op != Op::pointwise && !node_.expr.code.empty();
    return fused ? infer_with_expression(program_, program_.pool, node_, pointers)
                 : infer(program_, program_.pool, node_, pointers);
  }

  NodeRun& run() {
    const std::vector<TensorType> types = infer_types();
    for (const TensorType& t : types) {
      TensorView v;
      v.dtype = t.dtype;
      v.rank = t.rank();
      bool known = true;
      for (std::size_t i = 0; i < t.shape.size(); ++i) {
        known = known && t.shape[i].is_const();
        v.sizes[i] = t.shape[i].value();
      }
      make_contiguous(v);
      if (known) v.data = memory(static_cast<std::size_t>(v.numel()) * static_cast<std::size_t>(element_size(v.dtype)));
      out_.push_back(out_.size() == unwanted_ ? TensorView{} : v);
    }
    const KernelTable& table = device_ != nullptr ? portable_kernels()
                               : reproducible_    ? reproducible_cpu_kernels()
                                                  : cpu_kernels();
    KernelCall call;
    call.launcher = device_;
    call.node = &node_;
    call.in = views_;
    call.out = out_;
    auto constant = std::make_unique<bool[]>(constant_.size());
    std::copy(constant_.begin(), constant_.end(), constant.get());
    call.constant = constant.get();
    call.allocator = this;
    call.random = &random_;
    const Kernel& kernel = portable::kernel_for(table, call);
    std::unique_ptr<KernelState> state;
    if (kernel.prepare != nullptr) state = kernel.prepare(call);
    call.state = state.get();
    const std::size_t bytes = kernel.scratch != nullptr ? kernel.scratch(call) : 0;
    scratch_bytes_ = bytes;
    call.scratch = {memory(bytes), bytes};
    kernel.run(call);
    if (device_ == &HostLauncher::instance()) HostLauncher::instance().finish();
    return *this;
  }

  std::vector<std::int64_t> shape(std::size_t i = 0) const { return {out_[i].shape().begin(), out_[i].shape().end()}; }
  std::vector<Number> output(std::size_t i = 0) const {
    std::vector<Number> r;
    for (std::int64_t k = 0; k < out_[i].numel(); ++k) {
      visit_dtype(out_[i].dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        r.push_back(cast_to<Number>(out_[i].data_as<T>()[k]));
      });
    }
    return r;
  }

  /// Scratch memory requested by the kernel.
  std::size_t scratch_bytes() const { return scratch_bytes_; }
  /// An output's memory.
  std::vector<std::byte> bytes(std::size_t i = 0) const {
    return {out_[i].data, out_[i].data + out_[i].numel() * element_size(out_[i].dtype)};
  }

  void allocate(std::size_t output, std::span<const std::int64_t> sizes, TensorView* view) override {
    TensorView& v = out_[output];
    v.rank = static_cast<std::int32_t>(sizes.size());
    std::copy(sizes.begin(), sizes.end(), v.sizes.begin());
    make_contiguous(v);
    v.data = memory(static_cast<std::size_t>(v.numel()) * static_cast<std::size_t>(element_size(v.dtype)));
    *view = v;
  }
  void set_symbol(std::size_t, std::int64_t) override {}

  Program& program() { return program_; }
  Node& node() { return node_; }

 private:
  std::byte* memory(std::size_t bytes) {
    memory_.emplace_back(bytes + 64);
    const auto at = (reinterpret_cast<std::uintptr_t>(memory_.back().data()) + 63) & ~std::uintptr_t{63};
    return reinterpret_cast<std::byte*>(at);
  }

  Program program_;
  Node node_;
  std::vector<TensorView> views_, out_;
  portable::Launcher* device_ = nullptr;
  bool reproducible_ = false;
  std::size_t unwanted_ = ~std::size_t{0};
  std::vector<bool> constant_;
  RandomState random_{42, 0};
  std::size_t scratch_bytes_ = 0;
  std::deque<std::vector<std::byte>> memory_;
};

}  // namespace tern::test
