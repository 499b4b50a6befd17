#include "tools/view/browser.h"

#include <filesystem>
#include <span>
#include <system_error>

#include "platform/file.h"
#include "platform/folder.h"
#include "platform/path.h"
#include "platform/process.h"

namespace tern::view {

std::string Browser::write_file(const std::string& address) {
  folder_ = platform::make_temporary_folder("tern-view-");
  if (folder_.empty()) return {};
  const std::string path = folder_ + "/open.html";
  const std::string text =
      "<!doctype html><meta charset=\"utf-8\"><title>tern view</title>\n<meta http-equiv=\"refresh\" " +
      ("content=\"0; url=" + address + "\">\n<a href=\"" + address + "\">tern view</a>\n");
  platform::File file = platform::create_file(path, 0600);
  if (!file.is_open()) return {};
  const bool is_complete = file.write(std::as_bytes(std::span(text)));
  return file.close() && is_complete ? path : std::string();
}

bool Browser::open(const std::string& address) {
  if (!platform::has_desktop()) return false;
  const std::string path = write_file(address);
  return !path.empty() && platform::open_on_desktop(path);
}

void Browser::forget() {
  if (folder_.empty()) return;
  platform::remove_file(folder_ + "/open.html");
  std::error_code error;
  std::filesystem::remove(platform::path_of(folder_), error);
  folder_.clear();
}

}  // namespace tern::view
