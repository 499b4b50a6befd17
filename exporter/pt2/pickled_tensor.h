// Tensor from torch.save: plain, or a subclass with its inner tensors and attributes. Texts are views into the pickle;
// a pickle may repeat a text many times.
#pragma once

#include <tern/dtype.h>

#include <string>
#include <string_view>
#include <vector>

#include "exporter/pt2/saved_object.h"

namespace tern::pt2 {

struct PickledField;
struct PickledInner;

/// Attribute of a tensor subclass. Comments beside the kinds name their fields.
struct PickledAttribute {
  enum class Kind : std::uint8_t {
    none,
    boolean,      ///< integer
    integer,      ///< integer
    real,         ///< real
    text,         ///< text
    dtype,        ///< text: "float32"
    device,       ///< text
    layout,       ///< text
    enumeration,  ///< text: the class, "module Class"; items[0]: the value
    list,         ///< items; a tuple too
    record,       ///< text: the class; fields
  };
  Kind kind = Kind::none;
  std::int64_t integer = 0;
  double real = 0;
  std::string_view text;
  std::vector<PickledAttribute> items;
  std::vector<PickledField> fields;

  bool is_none() const { return kind == Kind::none; }
  /// Field of a record; null if absent.
  const PickledAttribute* find(std::string_view name) const;
};

struct PickledField {
  std::string_view name;
  PickledAttribute value;
};

struct PickledTensor {
  DType dtype = DType::invalid;  ///< dtype represented by a subclass
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;          ///< elements before the first; 0 for a subclass
  std::string_view storage;         ///< key in SavedObject::storages, for a plain tensor. Its elements lie inside.
  std::string_view class_name;      ///< "torchao.quantization Int8Tensor"; empty for a plain tensor
  std::vector<PickledInner> inner;  ///< keyed by the Python attribute's name
  std::vector<PickledField> attributes;

  bool is_plain() const { return class_name.empty(); }
  /// Null if the inner tensor or attribute is absent.
  const PickledTensor* find(std::string_view name) const;
  const PickledAttribute* attribute(std::string_view name) const;
};

struct PickledInner {
  std::string_view name;
  PickledTensor value;
};

/// Reads the pickle of `object` as one tensor; its texts refer to the pickle. Memory counts as work of the file
/// (schema/work.h): pickles share values by their memos. Throws Error: bad_file, or unsupported for other objects.
PickledTensor read_pickled_tensor(const SavedObject& object, const std::string& label);

}  // namespace tern::pt2
