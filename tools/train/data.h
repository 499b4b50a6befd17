// Samples for a method of a program, taken from mapped files a batch at a time.
#pragma once

#include <tern/tern.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tools/files/mapped.h"

namespace tern::train {

/// Names of arrays by input.
using ArrayNames = std::map<std::string, std::string>;

/// The arrays providing a method's inputs with batches. Belongs to one thread.
class TrainingData {
 public:
  /// Opens an array for each input of `f` except `excluded_input`: the array named in `names`, else of the input's own
  /// name, or "inK" for input K. All arrays have the same number of samples, their first size. Widening element types
  /// are converted; other conversions need `cast`. Throws Error: the errors of opening the file; invalid_argument,
  /// naming input and array, for missing arrays and other sizes.
  TrainingData(const FunctionInfo& f, std::string_view excluded_input, const std::string& path, bool cast,
               const ArrayNames& names);
  TrainingData(const FunctionInfo& f, std::string_view excluded_input, MappedTensors file, bool cast,
               const ArrayNames& names);

  std::uint64_t samples() const { return samples_; }
  /// The program's fixed number of samples per batch; 0: any.
  std::int64_t fixed_batch() const { return fixed_batch_; }
  /// Copies these samples. The tensors are valid until the next call.
  const std::vector<Tensor>& batch(std::span<const std::uint64_t> numbers);
  /// Text for messages: "samples 3, 17, 20 of d.npz"; truncated to the first samples.
  std::string samples_text(std::span<const std::uint64_t> numbers) const;
  const std::string& file() const { return file_.file(); }
  /// Names, types and sizes of the used arrays, stored in a checkpoint: a run continues only with matching data.
  std::string description() const;
  /// Number of bytes, and a hash of some samples, computed in milliseconds: other data has another text, except if all
  /// hashed samples are equal.
  std::string contents() const;

 private:
  struct Column {
    const MappedTensor* source = nullptr;
    DType target_dtype = DType::invalid;
    std::size_t row = 0;            ///< bytes of a sample in the file
    std::int64_t elements = 0;      ///< elements of a sample
    std::vector<std::byte> sample;  ///< aligned buffer for conversion
  };
  void copy(Column& column, std::span<const std::uint64_t> numbers, Tensor& destination);

  MappedTensors file_;
  std::vector<Column> columns_;
  std::vector<Tensor> tensors_;
  std::uint64_t samples_ = 0;
  std::int64_t fixed_batch_ = 0;
};

}  // namespace tern::train
