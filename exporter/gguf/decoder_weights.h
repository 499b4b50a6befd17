// Tensors of a GGUF file as states of a program.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "exporter/builder.h"
#include "exporter/gguf/source.h"

namespace tern::gguf {

class DecoderWeights {
 public:
  DecoderWeights(const File& file, Builder& b);

  /// The tensor, or null if the file has none. Counts as read.
  const TensorRecord* find(const std::string& name);
  /// Fails (bad_file) for a missing tensor, or one of other sizes; -1 accepts any size.
  const TensorRecord& require(const std::string& name, std::initializer_list<std::int64_t> sizes);

  /// Rows of a matrix, or a whole tensor of more axes, as the state `state`.
  ValueId matrix(const TensorRecord& tensor, const std::string& state, const RowRange& rows);
  ValueId full_tensor(const TensorRecord& tensor, const std::string& state);
  /// Numbers of a small tensor in float32, in the shape `sizes`.
  ValueId floats(const TensorRecord& tensor, const std::string& state, Dims sizes, const RowRange& elements);
  ValueId numbers(std::vector<float> numbers, const std::string& state);
  /// A cache of zeros that the function updates; `index` becomes the number of its state.
  ValueId cache(const std::string& state, Dims sizes, std::uint32_t* index);

  /// Fails (unsupported) if the file has a tensor that nothing has read.
  void require_all_read(const std::string& architecture) const;

 private:
  ValueId add(const std::string& name, TensorType type, std::uint32_t storage, State::Kind kind, bool is_mutable);
  const File& file_;
  Builder& b_;
  std::shared_ptr<GgufSource> source_;
  std::unordered_set<std::string_view> read_names_;
};

}  // namespace tern::gguf
