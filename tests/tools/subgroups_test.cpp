#include "tools/subgroups.h"

#include <gtest/gtest.h>
#include <tern/error.h>

#include "exporter/builder.h"
#include "schema/program.h"

namespace tern {
namespace {

TEST(Subgroups, ATextNamesPartsOfRanks) {
  const RankGroups g = parse_groups("tp=0,1/2-4");
  EXPECT_EQ(g.name, "tp");
  EXPECT_EQ(g.subgroups, (std::vector<std::vector<int>>{{0, 1}, {2, 3, 4}}));
  for (const char* text : {"", "tp", "=0", "tp=", "tp=0,", "tp=0/", "tp=0,0", "tp=1-0", "tp=-1", "tp=0-", "tp=0 1",
                           "tp=0/0", "tp=9999999", "tp=0-99999999999999999999"})
    EXPECT_THROW(parse_groups(text), Error) << text;
}

TEST(Subgroups, NamesAreThereOnceAndTheProgramsOwn) {
  Program none;
  EXPECT_EQ(groups_of(none, {"tp=0", "dp=1"}).size(), 2u);
  EXPECT_THROW(groups_of(none, {"tp=0", "tp=1"}), Error);
  EXPECT_THROW(hold_groups(none, {"tp=0"}), Error);
  // An archive's string is refused before its ranks are listed.
  none.metadata.emplace_back(kGroupsMetadata, "a=0-1048575 b=0-1048575");
  EXPECT_THROW(groups_of(none, {}), Error);
  EXPECT_EQ(groups_of(none, {"tp=0"}).size(), 1u);
}

/// Untrusted archives: an error shows the string, and an unused name never expands to a million ranks.
TEST(Subgroups, AnArchivesTextIsReadWithCare) {
  Program p;
  p.functions.emplace_back();
  Node node;
  node.op = Op::collective;
  node.attrs = {attr_text(AttrKey::name, "tp")};
  p.functions[0].nodes.push_back(node);
  const auto error = [&](const std::string& text) -> std::string {
    p.metadata = {{kGroupsMetadata, text}};
    try {
      groups_of(p, {});
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error("tp=0,1/2,3"), "");
  EXPECT_EQ(error("  \n tp=0-1048575 "), "");
  EXPECT_NE(error("dp=0-1048575").find("the program has no group 'dp'; it has: tp"), std::string::npos);
  EXPECT_NE(error("tp=0 tp=1").find("'tp' is given twice"), std::string::npos);
  EXPECT_NE(error("tp=0,0").find("rank 0 occurs twice"), std::string::npos);
  EXPECT_NE(error("tp=0-1048576").find("is not a rank"), std::string::npos);
  EXPECT_NE(error("tp=18446744073709551617").find("is not a rank"), std::string::npos);
  EXPECT_NE(error("nothing").find("NAME= is missing"), std::string::npos);
  EXPECT_NE(error(std::string("tp=0\0", 5)), "");
}

}  // namespace
}  // namespace tern
