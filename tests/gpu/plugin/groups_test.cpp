// Multiprocessors assigned to the parts of a GPU.
#include "devices/gpu/groups.h"

#include <gtest/gtest.h>

#include <set>

namespace tern::gpu {
namespace {

using Taken = std::shared_ptr<const std::vector<std::size_t>>;

TEST(Groups, PartsAreDisjointWhileThereAreEnough) {
  Groups groups(16);
  const Taken a = groups.take(5), b = groups.take(8), c = groups.take(3);
  std::set<std::size_t> all(a->begin(), a->end());
  all.insert(b->begin(), b->end());
  all.insert(c->begin(), c->end());
  EXPECT_EQ(all.size(), 16u);
}

TEST(Groups, WhatEndsIsFreeAgain) {
  Groups groups(4);
  const Taken a = groups.take(2);
  Taken b = groups.take(2);
  const std::vector<std::size_t> were = *b;
  b.reset();
  EXPECT_EQ(*groups.take(2), were);
}

TEST(Groups, PartsShareTheLeastUsedWhereThereAreTooFew) {
  Groups groups(4);
  const Taken a = groups.take(3), b = groups.take(2);
  EXPECT_EQ((*b)[0], 3u) << "the one that nobody had";
  const Taken all = groups.take(9);
  EXPECT_EQ(all->size(), 4u);
}

}  // namespace
}  // namespace tern::gpu
