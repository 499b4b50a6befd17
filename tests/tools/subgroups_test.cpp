#include "tools/subgroups.h"

#include <gtest/gtest.h>
#include <tern/error.h>

#include "schema/program.h"

namespace tern {
namespace {

TEST(Subgroups, ATextNamesPartsOfRanks) {
  const NamedGroups g = parse_groups("tp=0,1/2-4");
  EXPECT_EQ(g.name, "tp");
  EXPECT_EQ(g.parts, (std::vector<std::vector<int>>{{0, 1}, {2, 3, 4}}));
  for (const char* text : {"", "tp", "=0", "tp=", "tp=0,", "tp=0/", "tp=0,0", "tp=1-0", "tp=-1", "tp=0-", "tp=0 1",
                           "tp=0/0", "tp=9999999", "tp=0-99999999999999999999"})
    EXPECT_THROW(parse_groups(text), Error) << text;
}

TEST(Subgroups, NamesAreThereOnceAndTheProgramsOwn) {
  Program none;
  EXPECT_EQ(groups_of(none, {"tp=0", "dp=1"}).size(), 2u);
  EXPECT_THROW(groups_of(none, {"tp=0", "tp=1"}), Error);
  EXPECT_THROW(hold_groups(none, {"tp=0"}), Error);
  // An archive's text is refused before its ranks are listed.
  none.metadata.emplace_back(kGroupsMetadata, "a=0-1048575 b=0-1048575");
  EXPECT_THROW(groups_of(none, {}), Error);
  EXPECT_EQ(groups_of(none, {"tp=0"}).size(), 1u);
}

}  // namespace
}  // namespace tern
