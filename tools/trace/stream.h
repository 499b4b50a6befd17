// The text of a plain or compressed trace file.
#pragma once

#include <zlib.h>

#include <array>
#include <cstdint>
#include <istream>
#include <memory>
#include <streambuf>
#include <string>

namespace tern {

/// Bytes of a file, decompressed if gzip's. Errors: io if the file cannot be read; bad_file if the compression is
/// damaged, or the text longer than kMaxText or than 64 MiB and kMaxRatio times a regular file.
class TraceBuffer final : public std::streambuf {
 public:
  static constexpr std::uint64_t kMaxText = std::uint64_t{16} << 30;
  static constexpr std::uint64_t kMaxRatio = 64;  ///< traces compress to a tenth or a thirtieth
  explicit TraceBuffer(const std::string& path);

 protected:
  int_type underflow() override;

 private:
  struct Close {
    void operator()(gzFile file) const { gzclose(file); }
  };
  const std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
  std::uint64_t bytes_ = 0, max_bytes_ = kMaxText;
  std::array<char, std::size_t{1} << 16> text_;
};

}  // namespace tern
