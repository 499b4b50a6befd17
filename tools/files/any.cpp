#include "tools/files/any.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "exporter/file_kind.h"
#include "exporter/target_name.h"
#include "platform/console.h"
#include "tools/files/npy.h"
#include "tools/files/npz.h"
#include "tools/files/safetensors.h"
#include "tools/files/streams.h"
#include "tools/names.h"
#include "tools/text.h"

namespace tern {
namespace {

constexpr std::array<const char*, 3> kFormats = {"safetensors", "npz", "npy"};

std::string ending_of(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return ending.empty() ? ending : ending.substr(1);
}

bool is_format(const std::string& name) {
  return std::ranges::find(kFormats, name) != kFormats.end();
}

[[noreturn]] void fail_unknown(const std::string& path) {
  const FileKind kind = kind_of_file(path);
  fail(ErrorCode::invalid_argument, fmt::format("{}: its name does not end in .safetensors, .npz or .npy{}",
                                                escape_name(path), kind.name.empty() ? "" : "; " + kind.text()));
}

std::string format_of(const std::string& path, const std::string& format) {
  if (!format.empty()) {
    if (!is_format(format)) fail_unknown_name("format", format, {kFormats.begin(), kFormats.end()});
    return format;
  }
  if (path == "-") return kFormats[0];
  const std::string ending = ending_of(path);
  if (!is_format(ending)) fail_unknown(path);
  return ending;
}

NamedTensors read_standard_input(bool& unnamed) {
  const std::string name = "standard input";
  const std::vector<std::byte> bytes = read_all_input();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("PK")) return read_npz(bytes, name);
  MemorySource source(bytes, name);
  if (!text.starts_with("\x93NUMPY")) return read_safetensors(source);
  NamedTensors result;
  result.tensors.emplace_back("stdin", read_npy(source));
  unnamed = true;
  return result;
}

void write_file(const std::string& path, const NamedTensors& tensors, const std::string& format) {
  if (format == "safetensors") return write_safetensors(path, tensors);
  if (format == "npz") return write_npz(path, tensors);
  if (tensors.tensors.size() != 1) {
    fail(ErrorCode::invalid_argument, fmt::format("{}: an .npy file has one tensor, not {}; write .npz or .safetensors",
                                                  escape_name(path), tensors.tensors.size()));
  }
  write_npy(path, tensors.tensors[0].second);
}

/// True for devices and pipes (sequential files).
bool is_stream(const std::string& path) {
  std::error_code none;
  const auto status = std::filesystem::status(path, none);
  return path == "-" || (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
                         !std::filesystem::is_directory(status));
}

}  // namespace

bool is_tensor_file(const std::string& path) {
  return is_format(ending_of(path));
}

NamedTensors read_tensors(const std::string& path, bool* unnamed) try {
  bool is_npy = false;
  NamedTensors result;
  const std::string ending = ending_of(path);
  if (path == "-") {
    result = read_standard_input(is_npy);
  } else if (ending == "safetensors") {
    result = read_safetensors(path);
  } else if (ending == "npz") {
    result = read_npz(path);
  } else {
    if (ending != "npy") fail_unknown(path);
    result.tensors.emplace_back(std::filesystem::path(path).stem().string(), read_npy(path));
    is_npy = true;
  }
  if (unnamed != nullptr) *unnamed = is_npy;
  return result;
} catch (const Error& e) {
  if (e.code() != ErrorCode::bad_file && e.code() != ErrorCode::io) throw;
  const FileKind kind = kind_of_file(path);
  if (kind.name.empty() || kind.format == (ending_of(path) == "npz" ? "zip" : ending_of(path))) throw;
  fail(e.code(), fmt::format("{}: {}", e.what(), kind.text()));
}

void write_tensors(const std::string& path, const NamedTensors& tensors, const std::string& format) {
  const std::string chosen = format_of(path, format);
  if (!is_stream(path)) return write_file(path, tensors, chosen);
  const TemporaryFile file("tern-output");
  const std::string target = path == "-" ? "standard output" : escape_name(path);
  report_target_name(file.path(), target + ", collected in the folder for temporary files",
                     [&] { write_file(file.path(), tensors, chosen); });
  copy_to_stream(file.path(), path);
}

void check_output(const std::string& path, const std::string& format) {
  format_of(path, format);
  if (path == "-" && platform::is_console(1)) {
    fail(ErrorCode::invalid_argument,
         "--output - writes binary data; redirect standard output to a file or a pipe, or give a file name");
  }
}

void check_program_file(const std::string& path) {
  if (path == "-")
    fail(ErrorCode::invalid_argument,
         "a program cannot be read from standard input, because it is mapped: give a file name");
  refuse_other_kinds(path);
}

}  // namespace tern
