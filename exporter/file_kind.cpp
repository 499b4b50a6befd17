#include "exporter/file_kind.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include "platform/file.h"
#include "platform/path.h"

namespace tern {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kStart = 512;

constexpr const char* kExport =
    "export the model in Python with torch.export, save it with torch.export.save, and give 'tern export' that .pt2 "
    "file";
constexpr const char* kUnpack = "unpack it first";
constexpr const char* kPictures =
    "models read arrays: store the numbers as .npy, .npz or .safetensors and give them with --input";

struct Magic {
  std::size_t offset;
  std::string_view bytes;
  const char *name, *advice;
  ErrorCode code = ErrorCode::unsupported;
  const char* format = "";
};
constexpr Magic kMagics[] = {
    {0, "\x89TERN\r\n\x1a"sv, "an archive of Tern, which 'tern export' makes",
     "'tern run', 'inspect', 'view', 'verify' and Model::open take it", ErrorCode::unsupported, "tern"},
    {0, "PK\3\4"sv, "a zip archive, as .pt2, .npz and .pt files are",
     "'tern export FILE.pt2 -o FILE.tern' takes a .pt2 file", ErrorCode::unsupported, "zip"},
    {0, "GGUF"sv, "a GGUF file of llama.cpp",
     "'tern export FILE.gguf -o FILE.tern' makes an archive of a language model (docs/from_llamacpp.md)",
     ErrorCode::unsupported, "gguf"},
    {0, "ggjt"sv, "a GGML file of llama.cpp, which holds weights and no program",
     "export the model that it was converted from with torch.export (docs/from_llamacpp.md)"},
    {4, "TFL3"sv, "a model of TensorFlow Lite", kExport},
    {0, "\x89HDF\r\n\x1a\n"sv, "an HDF5 file, as Keras and PyTables write", kExport},
    {0, "\x93NUMPY"sv, "an array of NumPy (.npy)",
     "'tern run MODEL --input FILE.npy' and 'tern verify' take it; 'tern export' makes a program from a .pt2 file",
     ErrorCode::unsupported, "npy"},
    {0, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv,
     "weights of torch.save of PyTorch 1.5 or older, a Python pickle", kExport},
    {0, "\x80\x02"sv, "a Python pickle", kExport},
    {0, "\x80\x03"sv, "a Python pickle", kExport},
    {0, "\x80\x04"sv, "a Python pickle", kExport},
    {0, "\x80\x05"sv, "a Python pickle", kExport},
    {0, "\x1f\x8b"sv, "a gzip file",
     "'tern trace' reads compressed traces (.json.gz); unpack other files with gunzip first", ErrorCode::unsupported,
     "gzip"},
    {0, "\x28\xb5\x2f\xfd"sv, "a Zstandard file", "unpack it with 'zstd -d' first"},
    {0,
     "\xfd"
     "7zXZ\0"sv,
     "an xz file", "unpack it with unxz first"},
    {0, "BZh"sv, "a bzip2 file", "unpack it with bunzip2 first"},
    {0, "7z\xbc\xaf\x27\x1c"sv, "a 7-Zip archive", kUnpack},
    {257, "ustar"sv, "a tar archive", "unpack it with 'tar -xf' first"},
    {0,
     "\x7f"
     "ELF"sv,
     "a program or library of Linux (ELF)",
     "a program of AOTInductor cannot be converted: save the program of torch.export with torch.export.save"},
    {0, "\x89PNG\r\n"sv, "a PNG picture", kPictures},
    {0, "\xff\xd8\xff"sv, "a JPEG picture", kPictures},
    {0, "%PDF-"sv, "a PDF document", kExport},
    {0, "version https://git-lfs"sv, "a pointer of Git LFS in place of the file itself",
     "'git lfs pull' fetches the file", ErrorCode::bad_file},
    {0, "<!DOCTYPE"sv, "an HTML page instead of the expected download", "download it again by its direct link",
     ErrorCode::bad_file},
    {0, "<!doctype"sv, "an HTML page instead of the expected download", "download it again by its direct link",
     ErrorCode::bad_file},
    {0, "<html"sv, "an HTML page instead of the expected download", "download it again by its direct link",
     ErrorCode::bad_file},
};

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// The length of a JSON text in eight bytes, then the text.
bool is_safetensors(std::string_view start) {
  constexpr std::uint64_t kLongest = 100'000'000;
  return start.size() > 9 && start[8] == '{' && (start[9] == '"' || start[9] == '}' || start[9] == ' ') &&
         little_endian(start.substr(0, 8)) <= kLongest;
}

/// A ModelProto of protobuf: ir_version (field 1, a small number), then another field of ModelProto.
bool is_onnx(std::string_view start) {
  constexpr int kNewest = 64, kFields = 26;
  if (start.size() < 4 || start[0] != '\x08' || start[1] < 1 || start[1] > kNewest) return false;
  const auto tag = static_cast<unsigned char>(start[2]);
  return tag >> 3 >= 2 && tag >> 3 <= kFields && (tag % 8 == 0 || tag % 8 == 2);
}

/// The file identifier of a FlatBuffer, "ET12".
bool is_executorch(std::string_view start) {
  const auto digit = [&](std::size_t i) { return start[i] >= '0' && start[i] <= '9'; };
  return start.size() > 8 && start.substr(4, 2) == "ET" && digit(6) && digit(7);
}

bool is_json(std::string_view start) {
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (start[first] != '{' && start[first] != '[')) return false;
  return std::ranges::none_of(start, [](char c) { return static_cast<unsigned char>(c) < 9; });
}

bool is_text(std::string_view start) {
  return std::ranges::all_of(start, [](unsigned char c) { return (c >= 32 && c != 127) || (c >= 9 && c <= 13); });
}

/// Tests of further formats, tried in this order after kMagics.
struct FileKindForm {
  bool (*matches)(std::string_view start);
  const char *name, *advice;
  ErrorCode code = ErrorCode::unsupported;
  const char* format = "";
};
constexpr FileKindForm kForms[] = {
    {is_executorch, "a .pte file of ExecuTorch",
     "save the program of torch.export with torch.export.save instead of lowering it (docs/from_executorch.md)"},
    {is_safetensors, "a safetensors file, which holds tensors and no program",
     "'tern run MODEL --input FILE.safetensors' and 'tern verify' take it; 'tern export' makes a program from a .pt2 "
     "file of torch.export.save",
     ErrorCode::unsupported, "safetensors"},
    {is_onnx, "an ONNX model",
     "export the PyTorch model itself with torch.export (docs/from_onnxruntime.md), then run 'tern export'"},
    {is_json, "JSON text", "'tern trace' reads traces in this form; 'tern export' makes a program from a .pt2 file",
     ErrorCode::bad_file, "json"},
    {is_text, "text", kExport, ErrorCode::bad_file},
};

struct FolderKind {
  const char *file, *name, *advice;
};
constexpr FolderKind kFolders[] = {
    {"saved_model.pb", "a folder of TensorFlow (SavedModel)", kExport},
    {"config.json", "a folder of a model of transformers",
     "'python3 -m tern export FOLDER --llm -o FILE.tern' takes the folder of a decoder, with PyTorch and transformers; "
     "export other models with torch.export in Python (docs/generate.md, docs/tutorial.md)"},
    {"adapter_config.json", "a folder of an adapter (LoRA)", "docs/api.md shows how a program takes one"},
};

FileKind kind_of_folder(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code none;
  for (const FolderKind& f : kFolders) {
    if (fs::exists(platform::path_of(path) / f.file, none)) return {f.name, f.advice, ErrorCode::io, {}};
  }
  std::vector<std::string> programs;
  for (const fs::directory_entry& e : fs::directory_iterator(platform::path_of(path), none)) {
    if (e.path().extension() == ".tern" || e.path().extension() == ".pt2")
      programs.push_back(platform::text_of(e.path().filename()));
  }
  const std::string advice = programs.empty()
                                 ? "give a file: a .tern archive, or a .pt2 file of torch.export.save"
                                 : fmt::format("give a file in it, such as {}", *std::ranges::min_element(programs));
  return {"a folder", advice, ErrorCode::io, {}};
}

}  // namespace

FileKind kind_of(std::span<const std::byte> bytes) {
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kStart));
  if (start.empty()) return {"an empty file", "its download or export was interrupted: repeat it", ErrorCode::bad_file};
  for (const Magic& m : kMagics) {
    if (start.size() > m.offset && start.substr(m.offset).starts_with(m.bytes))
      return {m.name, m.advice, m.code, m.format};
  }
  for (const FileKindForm& f : kForms) {
    if (f.matches(start)) return {f.name, f.advice, f.code, f.format};
  }
  return {};
}

FileKind kind_of_file(const std::string& path) {
  const auto info = platform::info_of(path);
  if (info && info->kind == platform::FileInfo::Kind::folder) return kind_of_folder(path);
  if (!info || !info->is_regular()) return {};
  const platform::File file = platform::open_to_read(path);
  if (!file.is_open()) return {};
  std::array<std::byte, kStart> start;
  const std::int64_t n = file.read_at(0, start);
  return n < 0 ? FileKind() : kind_of(std::span(start).first(static_cast<std::size_t>(n)));
}

bool is_gguf(const std::string& path) {
  return kind_of_file(path).format == "gguf";
}

void refuse_other_kinds(const std::string& path) {
  const FileKind kind = kind_of_file(path);
  if (!kind.name.empty() && !kind.is_program()) fail(kind.code, fmt::format("{}: {}", path, kind.text()));
}

}  // namespace tern
