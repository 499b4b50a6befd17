#include "exporter/training/losses.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "dtypes/convert.h"
#include "exporter/lower/call_argument.h"

namespace tern {
namespace {

constexpr LossRecord kLosses[] = {
    {"cross_entropy", "aten.cross_entropy_loss.default", true},
    {"nll", "aten.nll_loss_nd.default", true},
    {"mse", "aten.mse_loss.default"},
    {"l1", "aten.l1_loss.default"},
    {"huber", "aten.huber_loss.default"},
    {"smooth_l1", "aten.smooth_l1_loss.default"},
    {"bce_with_logits", "aten.binary_cross_entropy_with_logits.default"},
};

std::size_t class_axis_of(const TensorType& prediction, const TrainingOptions& options) {
  const std::int64_t rank = prediction.rank();
  const std::int64_t axis = options.class_axis < 0 ? options.class_axis + rank : options.class_axis;
  if (rank < 2 || axis < 1 || axis >= rank) {
    fail(ErrorCode::invalid_argument,
         fmt::format(
             "--class-axis {}: the prediction has {} axes; the loss needs axis 0 for samples and one for classes",
             options.class_axis, rank));
  }
  return static_cast<std::size_t>(axis);
}

/// A constant of the prediction's type with TrainingOptions::class_weights; kNoValue: none. The prediction's classes
/// are its axis 1; bce_with_logits weighs positive targets along the last axis.
ValueId class_weights(Builder& b, const LossRecord& loss, ValueId prediction, const TrainingOptions& options) {
  if (options.class_weights.empty()) return kNoValue;
  const Dim classes = b.size(prediction, loss.classes ? 1 : -1);
  if (!classes.is(static_cast<std::int64_t>(options.class_weights.size()))) {
    fail(ErrorCode::invalid_argument,
         fmt::format("--class-weights has {} numbers, but the prediction has {} classes", options.class_weights.size(),
                     classes.is_const() ? std::to_string(classes.value()) : "a symbolic number of"));
  }
  const DType dtype = b.dtype(prediction);
  std::vector<std::byte> bytes(options.class_weights.size() * static_cast<std::size_t>(element_size(dtype)));
  convert(options.class_weights.data(), DType::f64, bytes.data(), dtype,
          static_cast<std::int64_t>(options.class_weights.size()));
  return b.constant(dtype, {static_cast<std::int64_t>(options.class_weights.size())}, bytes.data());
}

}  // namespace

std::span<const LossRecord> losses() {
  return kLosses;
}

const LossRecord* find_loss(std::string_view name) {
  if (name == "none") return nullptr;
  std::string names;
  for (const LossRecord& l : kLosses) {
    if (l.name == name) return &l;
    names += fmt::format("{}, ", l.name);
  }
  fail(ErrorCode::invalid_argument, fmt::format("--loss takes {}none, not '{}'", names, name));
}

TensorType target_type(const LossRecord& loss, const TensorType& prediction, const TrainingOptions& options) {
  if (!is_floating(prediction.dtype)) {
    fail(ErrorCode::invalid_argument,
         fmt::format("--loss {}: the program's first result is {}, but a loss needs floats", loss.name,
                     name_of(prediction.dtype)));
  }
  if (!loss.classes) return prediction;
  TensorType target{DType::i64, prediction.shape};
  target.shape.erase(target.shape.begin() + static_cast<std::ptrdiff_t>(class_axis_of(prediction, options)));
  return target;
}

ValueId add_loss(Builder& b, const LossRecord& loss, ValueId prediction, ValueId target, const TrainingOptions& options,
                 Reduction reduction) {
  if (loss.classes)
    prediction = b.move_axis(prediction, static_cast<std::int64_t>(class_axis_of(b.type(prediction), options)), 1);
  const ValueId weights = class_weights(b, loss, prediction, options);
  const Call call = make_call(b, std::string(loss.operation),
                              {{"self", tensor_argument(prediction)},
                               {"target", tensor_argument(target)},
                               {"weight", tensor_argument(loss.classes ? weights : kNoValue)},
                               {"pos_weight", tensor_argument(loss.classes ? kNoValue : weights)},
                               {"reduction", integer_argument(static_cast<std::int64_t>(reduction))},
                               {"ignore_index", integer_argument(-100)},
                               {"delta", number_argument(1)},
                               {"beta", number_argument(1)},
                               {"label_smoothing", number_argument(options.label_smoothing)}},
                              {TensorType{b.dtype(prediction), {}}});
  return lower_call(b, call).at(0);
}

}  // namespace tern
