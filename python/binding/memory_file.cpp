#include "python/binding/memory_file.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <sys/mman.h>
#include <tern/error.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "python/binding/gil.h"
#include "python/binding/owner.h"

namespace nb = nanobind;

namespace tern::python {
namespace {

[[noreturn]] void fail_system(const char* what) {
  const int error = errno;
  fail(error == ENOMEM || error == ENOSPC ? ErrorCode::out_of_memory : ErrorCode::io,
       fmt::format("load(): {}: {}", what, std::strerror(error)));
}

}  // namespace

MemoryFile::MemoryFile(std::span<const std::byte> bytes) : file_(::memfd_create("tern", MFD_CLOEXEC)) {
  if (file_ < 0) fail_system("cannot create a file in memory");
  path_ = fmt::format("/proc/self/fd/{}", file_);
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int error = errno;
      ::close(file_);
      errno = error;
      fail_system("cannot copy the bytes");
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

MemoryFile::~MemoryFile() {
  ::close(file_);
}

std::shared_ptr<const MemoryFile> memory_file_of(nb::handle object) {
  const bool is_file = nb::hasattr(object, "read");
  const nb::object data = is_file ? object.attr("read")() : nb::borrow(object);
  if (PyUnicode_Check(data.ptr())) throw nb::type_error("load() takes a file in binary mode: open(path, 'rb')");
  if (!PyObject_CheckBuffer(data.ptr())) {
    const nb::object type = nb::module_::import_("tern._describe").attr("describe")(data);
    throw nb::type_error(
        fmt::format("load() takes a path, bytes or a binary file, not a {}", nb::cast<std::string>(type)).c_str());
  }
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(data.ptr(), view.get(), PyBUF_SIMPLE) != 0) throw nb::python_error();
  const std::unique_ptr<Py_buffer, ReleaseBuffer> bytes(view.release());
  const WithoutGil released;
  return std::make_shared<const MemoryFile>(
      std::span(static_cast<const std::byte*>(bytes->buf), static_cast<std::size_t>(bytes->len)));
}

}  // namespace tern::python
