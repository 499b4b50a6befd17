// Multiprocessors assigned to the parts of a GPU.
#include "devices/gpu/groups.h"

#include <gtest/gtest.h>

#include <set>

namespace tern::gpu {
namespace {

using AcquiredGroups = std::shared_ptr<const std::vector<std::size_t>>;

TEST(Groups, PartsAreDisjointWhileThereAreEnough) {
  Groups groups(16);
  const AcquiredGroups a = groups.acquire(5), b = groups.acquire(8), c = groups.acquire(3);
  std::set<std::size_t> all(a->begin(), a->end());
  all.insert(b->begin(), b->end());
  all.insert(c->begin(), c->end());
  EXPECT_EQ(all.size(), 16u);
}

TEST(Groups, WhatEndsIsFreeAgain) {
  Groups groups(4);
  const AcquiredGroups a = groups.acquire(2);
  AcquiredGroups b = groups.acquire(2);
  const std::vector<std::size_t> were = *b;
  b.reset();
  EXPECT_EQ(*groups.acquire(2), were);
}

TEST(Groups, PartsShareTheLeastUsedWhereThereAreTooFew) {
  Groups groups(4);
  const AcquiredGroups a = groups.acquire(3), b = groups.acquire(2);
  EXPECT_EQ((*b)[0], 3u) << "the one that nobody had";
  const AcquiredGroups all = groups.acquire(9);
  EXPECT_EQ(all->size(), 4u);
}

}  // namespace
}  // namespace tern::gpu
