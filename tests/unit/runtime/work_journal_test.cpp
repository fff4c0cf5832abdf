// Who hears of copies and fills: each that was asked for, once, and nothing of how it is done.
#include "runtime/work_journal.h"

#include <gtest/gtest.h>

#include <thread>

namespace weft::runtime {
namespace {

struct Heard final : WorkJournal {
  std::vector<std::string> what;
  void copied(const Array& to, const Array& from) override {
    what.push_back("copy " + std::to_string(to.size()) + " of " + std::to_string(from.size()));
  }
  void filled(const Array& to, const void*) override { what.push_back("fill " + std::to_string(to.size())); }
};

TEST(WorkJournals, HearEachOnce) {
  Array a = Array::zeros(types::f32(), {8});
  Heard heard;
  set_journal(&heard);
  a.fill_zero();
  a.slice(0, 0, 4).assign(a.slice(0, 4, 8));
  a.slice(0, 0, 6).assign(a.slice(0, 2, 8));  // overlapping: copied twice, asked for once
  a.slice(0, 0, 8, 2).assign(a.slice(0, 1, 8, 2));
  Array::zeros(types::f32(), {0}).fill_zero();
  set_journal(nullptr);
  a.fill_zero();
  EXPECT_EQ(heard.what, (std::vector<std::string>{"fill 8", "copy 4 of 4", "copy 6 of 6", "copy 4 of 4"}));
  EXPECT_EQ(journal(), nullptr);
}

TEST(WorkJournals, BelongToTheirThread) {
  Array a = Array::zeros(types::f32(), {8});
  Heard heard;
  set_journal(&heard);
  std::thread([&] { a.fill_zero(); }).join();
  EXPECT_EQ(journal(), &heard);
  {
    const HeardWork quiet;
    EXPECT_EQ(journal(), nullptr);
    a.fill_zero();
  }
  set_journal(nullptr);
  EXPECT_TRUE(heard.what.empty());
}

}  // namespace
}  // namespace weft::runtime
