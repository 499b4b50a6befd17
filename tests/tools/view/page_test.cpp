// The page of `tern view`: names are data, never markup, and the data equal `tern inspect`'s.
#include "tools/view/page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "exporter/archive_writer.h"
#include "tests/tools/support.h"
#include "tests/tools/view/support.h"
#include "tools/inspect/inspect.h"
#include "tools/view/data.h"

namespace tern::view {
namespace {

using nlohmann::json;

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

/// The data read by the page's script.
json data_of(const std::string& page) {
  const std::string begin = "type=\"application/json\" id=\"data\">";
  const std::size_t at = page.find(begin) + begin.size();
  return json::parse(page.substr(at, page.find("</script>", at) - at));
}

Shown shown(const std::string& path) {
  Shown s;
  s.models.push_back(open_viewed(path));
  s.run_figures.emplace_back();
  return s;
}

TEST(ViewPage, NamesCannotLeaveTheData) {
  const test::TempFolder folder;
  const std::string name = "</script><script>alert(1)</script><!-- \" ' {{nonce}} {{data}} \\ \n";
  write_archive(test::weight_program(name, {DType::f32, {2, 3}}, {3, 1}, {1, 2, 3, 4, 5, 6}), folder / "hostile.tern");
  const std::string page = page_with(data_json_with_weights(shown(folder / "hostile.tern"), 1 << 20));
  const std::string empty = page_with("{}");
  for (const char* mark : {"<script", "</script", "<!--"}) EXPECT_EQ(count(page, mark), count(empty, mark)) << mark;
  const json data = data_of(page);
  const std::string shown_name = data["models"][0]["inspect"]["states"][0]["name"];
  EXPECT_EQ(shown_name.substr(0, 9), "</script>");
  EXPECT_NE(shown_name.find("{{nonce}} {{data}}"), std::string::npos);  // placeholders inside the data stay
  EXPECT_EQ(data["weights"][0]["0"]["max"], 6);
}

TEST(ViewPage, HasTheDataOfInspect) {
  const test::TempFolder folder;
  const std::string path = folder / "model.tern";
  write_archive(test::weight_program("w", {DType::f32, {2, 3}}, {3, 1}, {1, 2, 3, 4, 5, 6}), path);
  Findings findings(Findings::Mode::collect);
  const ReadArchive archive = read_archive(FileBytes::open(path, Access::map), findings);
  json expected = json::parse(inspect_json(path, archive, findings.list()));
  const json actual = json::parse(data_json(shown(path), true));
  EXPECT_EQ(actual["models"][0]["inspect"]["file"], "model.tern");
  expected["file"] = "model.tern";
  EXPECT_EQ(actual["models"][0]["inspect"], expected);
  EXPECT_EQ(actual["served"], true);
}

TEST(ViewPage, RunsOnlyItsOwnScript) {
  const std::string page = page_with("{}"), other = page_with("{}");
  const std::size_t at = page.find("'nonce-") + 7;
  const std::string nonce = page.substr(at, 32);
  EXPECT_NE(nonce, other.substr(at, 32));
  EXPECT_EQ(count(page, "nonce=\"" + nonce + "\""), count(page, "<script") + count(page, "<style"));
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(page.find("unsafe-"), std::string::npos);
  EXPECT_EQ(random_token().size(), 32u);
}

TEST(ViewPage, LeavesWeightsOutThatAreTooMany) {
  const test::TempFolder folder;
  write_archive(test::weight_program("w", {DType::f32, {2, 3}}, {3, 1}, {1, 2, 3, 4, 5, 6}), folder / "m.tern");
  EXPECT_TRUE(data_of(page_with(data_json_with_weights(shown(folder / "m.tern"), 23)))["weights"][0].empty());
  EXPECT_EQ(data_of(page_with(data_json_with_weights(shown(folder / "m.tern"), 24)))["weights"][0].size(), 1u);
}

TEST(ViewPage, ArchivesThatBreakARuleAreNotShown) {
  const test::TempFolder folder;
  test::write_bytes(folder / "m.tern", "TERN");
  EXPECT_NE(test::error_of([&] { open_viewed(folder / "m.tern"); }, ErrorCode::bad_file), "no error");
}

TEST(ViewPage, SizesAreThoseOfAnyModel) {
  const test::TempFolder folder;
  write_archive(test::weight_program("w", {DType::f32, {1}}, {1}, {1}), folder / "m.tern");
  std::vector<Viewed> models;
  models.push_back(open_viewed(folder / "m.tern"));
  EXPECT_EQ(sizes_for(*models[0].archive.program, {"rows=3", "other=4"}), std::vector<std::string>{"rows=3"});
  EXPECT_NO_THROW(check_sizes(models, {"rows=3"}));
  EXPECT_NE(test::error_of([&] { check_sizes(models, {"rovs=3"}); }, ErrorCode::invalid_argument).find("rows"),
            std::string::npos);
}

}  // namespace
}  // namespace tern::view
