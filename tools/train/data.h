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

/// Names of arrays by the inputs that they are for.
using ArrayNames = std::map<std::string, std::string>;

/// The arrays that a method's inputs take their batches from. Belongs to one thread.
class Data {
 public:
  /// One array for each input of `f` but `without`: by the name that `names` has for the input, else by the input's
  /// own, or "inK" for input K. All arrays have one number of samples, their first size. Element types that hold every
  /// value of the array's are converted; any other with `cast` alone. Throws Error: what opening the file throws;
  /// invalid_argument, naming input and array, where one is missing or has other sizes.
  Data(const FunctionInfo& f, std::string_view without, const std::string& path, bool cast, const ArrayNames& names);
  Data(const FunctionInfo& f, std::string_view without, MappedTensors file, bool cast, const ArrayNames& names);

  std::uint64_t samples() const { return samples_; }
  /// The number of samples that the program takes at once; 0: any.
  std::int64_t fixed_batch() const { return fixed_batch_; }
  /// Copies these samples. The tensors are valid until the next call.
  const std::vector<Tensor>& batch(std::span<const std::uint64_t> numbers);
  /// For messages: "samples 3, 17, 20 of d.npz"; the first of many.
  std::string samples_text(std::span<const std::uint64_t> numbers) const;
  const std::string& file() const { return file_.file(); }
  /// Names, types and sizes of the arrays that are used: for a checkpoint, which continues with such data alone.
  std::string description() const;
  /// Their number of bytes and a hash of samples of them, which takes no more than milliseconds: other data has
  /// another one, unless all samples are the same by chance.
  std::string contents() const;

 private:
  struct Column {
    const MappedTensor* from = nullptr;
    DType to = DType::invalid;
    std::size_t row = 0;            ///< bytes of a sample in the file
    std::int64_t elements = 0;      ///< of a sample
    std::vector<std::byte> sample;  ///< aligned, where one is converted
  };
  void copy(Column& column, std::span<const std::uint64_t> numbers, Tensor& to);

  MappedTensors file_;
  std::vector<Column> columns_;
  std::vector<Tensor> tensors_;
  std::uint64_t samples_ = 0;
  std::int64_t fixed_batch_ = 0;
};

}  // namespace tern::train
