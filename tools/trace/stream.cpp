#include "tools/trace/stream.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "platform/file.h"
#include "tools/text.h"

namespace tern {

TraceBuffer::TraceBuffer(const std::string& path) : path_(path), file_(gzopen(path.c_str(), "rb")) {
  if (file_ == nullptr) fail(ErrorCode::io, fmt::format("cannot open {}: {}", escape_name(path), std::strerror(errno)));
  const auto info = platform::info_of(path);
  if (!info) return;
  if (info->kind == platform::FileInfo::Kind::folder)
    fail(ErrorCode::io, fmt::format("cannot read {}: it is a folder", escape_name(path)));
  constexpr std::uint64_t kLeast = std::uint64_t{64} << 20;
  if (info->is_regular()) max_bytes_ = std::min(kMaxText, kLeast + kMaxRatio * info->size);
}

TraceBuffer::int_type TraceBuffer::underflow() {
  const int n = gzread(file_.get(), text_.data(), static_cast<unsigned>(text_.size()));
  int code = Z_OK;
  const char* why = gzerror(file_.get(), &code);
  if (n < 0 || (n == 0 && code == Z_BUF_ERROR)) {
    fail(code == Z_ERRNO ? ErrorCode::io : ErrorCode::bad_file,
         fmt::format("{}: byte {} of the text: {}", escape_name(path_), bytes_,
                     code == Z_BUF_ERROR ? "the compressed file is cut off here" : escape_name(why)));
  }
  if (n == 0) return traits_type::eof();
  bytes_ += static_cast<std::uint64_t>(n);
  if (bytes_ > max_bytes_)
    fail(ErrorCode::bad_file, fmt::format("{}: its text has more than {} bytes, the limit for a file of its size",
                                          escape_name(path_), max_bytes_));
  setg(text_.data(), text_.data(), text_.data() + n);
  return traits_type::to_int_type(text_[0]);
}

}  // namespace tern
