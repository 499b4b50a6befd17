// Lowers a single ATen operator call and runs the program in float64 or complex128; complex numbers are pairs.
#pragma once

#include <tern/error.h>

#include <algorithm>
#include <complex>
#include <memory>
#include <string>
#include <vector>

#include "exporter/lower/lower.h"
#include "tests/runtime/support.h"

namespace tern::testing {

class LoweredCall {
 public:
  using Sizes = std::vector<std::int64_t>;
  using Numbers = std::vector<double>;

  explicit LoweredCall(std::string target) { call_.target = std::move(target); }

  LoweredCall& tensor(std::string_view name, Sizes sizes, const Numbers& values, DType dtype = DType::f64) {
    CallArgument o;
    o.kind = CallArgument::Kind::tensor;
    o.value = p_->input(dtype, Dims(sizes.begin(), sizes.end()));
    call_.args.emplace_back(name, o);
    Tensor t(dtype, std::move(sizes));
    if (dtype == DType::i64) {
      std::copy(values.begin(), values.end(), t.span<std::int64_t>().begin());
    } else if (dtype == DType::i32) {
      std::copy(values.begin(), values.end(), t.span<std::int32_t>().begin());
    } else if (dtype == DType::c128) {
      auto to = t.span<std::complex<double>>();
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = {values[2 * i], values[2 * i + 1]};
    } else if (dtype == DType::boolean) {
      std::transform(values.begin(), values.end(), static_cast<bool*>(t.data()), [](double v) { return v != 0; });
    } else {
      std::copy(values.begin(), values.end(), t.span<double>().begin());
    }
    inputs_.push_back(std::move(t));
    return *this;
  }
  /// A list of float64 tensors: sizes and values of each.
  LoweredCall& tensors(std::string_view name, const std::vector<std::pair<Sizes, Numbers>>& list) {
    CallArgument all;
    all.kind = CallArgument::Kind::tensors;
    for (const auto& [sizes, values] : list) {
      tensor(name, sizes, values);
      all.values.push_back(call_.args.back().second.value);
      call_.args.pop_back();
    }
    return add(name, std::move(all));
  }
  LoweredCall& integer(std::string_view name, std::int64_t v) { return integral(name, CallArgument::Kind::integer, v); }
  LoweredCall& flag(std::string_view name, bool v) { return integral(name, CallArgument::Kind::boolean, v); }
  LoweredCall& number(std::string_view name, double v) {
    CallArgument o;
    o.kind = CallArgument::Kind::number;
    o.number = v;
    return add(name, o);
  }
  LoweredCall& text(std::string_view name, std::string v) {
    CallArgument o;
    o.kind = CallArgument::Kind::text;
    o.text = std::move(v);
    return add(name, o);
  }
  LoweredCall& integers(std::string_view name, const Sizes& v) {
    CallArgument o;
    o.kind = CallArgument::Kind::integers;
    o.integers = Dims(v.begin(), v.end());
    return add(name, o);
  }
  LoweredCall& none(std::string_view name) { return add(name, {}); }

  /// The results without None; each is recorded as `dtype`.
  std::vector<Tensor> results(DType dtype = DType::f64) {
    call_.builder = &p_->b();
    call_.declared.assign(6, TensorType{dtype, {}});
    const LowerFn lower = find_lowering(call_.target);
    if (lower == nullptr) fail(ErrorCode::internal, "no lowering for " + call_.target);
    for (const ValueId v : lower(p_->b(), call_)) {
      if (v != kNoValue) p_->output(p_->b().cast(v, is_complex(p_->b().dtype(v)) ? DType::c128 : DType::f64));
    }
    Session session(p_->model().prepare());
    std::vector<Tensor> kept;
    for (const Tensor& t : session.run(inputs_)) kept.push_back(t.clone());
    return kept;
  }
  std::vector<Numbers> run(DType dtype = DType::f64) {
    std::vector<Numbers> all;
    for (Tensor& t : results(dtype)) {
      const auto* first = static_cast<const double*>(t.data());
      all.emplace_back(first, first + t.numel() * (t.dtype() == DType::c128 ? 2 : 1));
    }
    return all;
  }
  Numbers values(std::size_t output = 0, DType dtype = DType::f64) { return run(dtype).at(output); }

 private:
  LoweredCall& integral(std::string_view name, CallArgument::Kind kind, std::int64_t v) {
    CallArgument o;
    o.kind = kind;
    o.integer = v;
    return add(name, o);
  }
  LoweredCall& add(std::string_view name, CallArgument o) {
    call_.args.emplace_back(name, std::move(o));
    return *this;
  }

  std::shared_ptr<TestProgram> p_ = std::make_shared<TestProgram>();
  Call call_;
  std::vector<Tensor> inputs_;
};

}  // namespace tern::testing
