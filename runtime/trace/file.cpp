#include "runtime/trace/file.h"

#include <tern/error.h>

#include <array>
#include <cstddef>

#include "platform/library.h"

namespace tern {
namespace {

// zlib's interface, unchanged since version 1.2 (zlib.h). The library is loaded only for compressed traces.
struct ZStream {
  const unsigned char* next_in;
  unsigned avail_in;
  unsigned long total_in;
  unsigned char* next_out;
  unsigned avail_out;
  unsigned long total_out;
  const char* msg;
  void* state;
  void* (*zalloc)(void*, unsigned, unsigned);
  void (*zfree)(void*, void*);
  void* opaque;
  int data_type;
  unsigned long adler, reserved;
};
constexpr int kNoFlush = 0, kFinish = 4, kOk = 0, kStreamEnd = 1, kDeflated = 8, kFastest = 1, kGzipWindow = 15 + 16,
              kMemory = 8, kDefaultStrategy = 0;

struct Zlib {
  int (*init)(ZStream*, int, int, int, int, int, const char*, int) = nullptr;
  int (*deflate)(ZStream*, int) = nullptr;
  int (*end)(ZStream*) = nullptr;
};

Zlib open_zlib(const std::string& path) {
  const char* const name = platform::zlib_file_name();
  void* library = platform::open_library(name);  // never closed: other users may share the library
  Zlib z;
  if (library != nullptr) {
    z.init = platform::find_function<decltype(z.init)>(library, "deflateInit2_");
    z.deflate = platform::find_function<decltype(z.deflate)>(library, "deflate");
    z.end = platform::find_function<decltype(z.end)>(library, "deflateEnd");
  }
  if (z.init == nullptr || z.deflate == nullptr || z.end == nullptr)
    fail(ErrorCode::io, path + ": compressing needs zlib, and there is no " + name + ": give a name without .gz");
  return z;
}

}  // namespace

class TraceFile::Gzip {
 public:
  Gzip(AtomicFile& file, const std::string& path) : file_(file), zlib_(open_zlib(path)) {
    if (zlib_.init(&stream_, kFastest, kDeflated, kGzipWindow, kMemory, kDefaultStrategy, "1", sizeof stream_) != kOk)
      fail(ErrorCode::io, path + ": zlib cannot compress it");
  }
  ~Gzip() { zlib_.end(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  void write(std::string_view text) {
    constexpr std::size_t kMost = std::size_t{1} << 30;
    for (; text.size() > kMost; text.remove_prefix(kMost)) pass(text.substr(0, kMost), kNoFlush);
    pass(text, kNoFlush);
  }
  void finish() { pass({}, kFinish); }

 private:
  void pass(std::string_view text, int flush) {
    stream_.next_in = reinterpret_cast<const unsigned char*>(text.data());
    stream_.avail_in = static_cast<unsigned>(text.size());
    int status = kOk;
    do {
      stream_.next_out = out_.data();
      stream_.avail_out = static_cast<unsigned>(out_.size());
      status = zlib_.deflate(&stream_, flush);
      file_.write(std::as_bytes(std::span(out_).first(out_.size() - stream_.avail_out)));
    } while (stream_.avail_in > 0 || (flush == kFinish && status != kStreamEnd));
  }

  AtomicFile& file_;
  Zlib zlib_;
  ZStream stream_{};
  std::array<unsigned char, std::size_t{1} << 16> out_{};
};

TraceFile::TraceFile(const std::string& path) : file_(path) {
  if (path.ends_with(".gz")) gzip_ = std::make_unique<Gzip>(file_, path);
}

TraceFile::~TraceFile() = default;

void TraceFile::write(std::string_view text) {
  gzip_ != nullptr ? gzip_->write(text) : file_.write(text);
}

void TraceFile::commit() {
  if (gzip_ != nullptr) gzip_->finish();
  file_.commit();
}

}  // namespace tern
