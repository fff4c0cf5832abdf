// The log of a taped launch: room on a GPU is a guess, and what was too little is never taken for enough.
#include "runtime/tape_log.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "runtime/errors.h"

namespace weft::runtime {
namespace {

/// Memory that says it is a GPU's.
class FarSpace final : public MemorySpace {
 public:
  const std::string& name() const override { return name_; }
  int ordinal() const override { return 0; }
  bool on_host() const override { return false; }
  std::shared_ptr<void> allocate(std::uint64_t bytes, bool) override {
    return {std::calloc(1, bytes + 1), [](void* p) { std::free(p); }};
  }
  void copy(const ArrayDesc& to, MemorySpace*, const std::shared_ptr<void>&, const ArrayDesc& from, MemorySpace*,
            const std::shared_ptr<void>&, std::size_t element_size) override {
    std::memcpy(to.data, from.data, element_size * std::size_t(to.shape[0]));
  }
  void fill(const ArrayDesc& to, std::size_t element_size, const void* value) override {
    for (std::int64_t k = 0; k < to.shape[0]; ++k)
      std::memcpy(static_cast<char*>(to.data) + std::size_t(k) * element_size, value, element_size);
  }

 private:
  std::string name_ = "far";
};

std::int64_t room(const TapeLog& log) {
  ArrayDesc descs[TapeLog::kArrays];
  log.write_descs(descs);
  return descs[2].shape[0];
}

void take(const TapeLog& log, std::int64_t words) {
  ArrayDesc descs[TapeLog::kArrays];
  log.write_descs(descs);
  *static_cast<std::int64_t*>(descs[3].data) = words;
}

TEST(TapeLog, WhatFitsIsSettled) {
  FarSpace far;
  TapeLog log(0, 64, 10, &far);
  EXPECT_FALSE(log.settled());
  take(log, room(log));
  log.finish();
  EXPECT_TRUE(log.settled());
  EXPECT_EQ(log.words(), room(log));
}

TEST(TapeLog, ShrinksToWhatWasWritten) {
  FarSpace far;
  TapeLog log(0, 64, 10, &far);
  ArrayDesc descs[TapeLog::kArrays];
  log.write_descs(descs);
  for (std::uint32_t k = 0; k < 192; ++k) static_cast<std::uint32_t*>(descs[2].data)[k] = k;
  take(log, 192);
  EXPECT_TRUE(log.fits());
  log.shrink();
  EXPECT_TRUE(log.settled());
  EXPECT_EQ(room(log), 192);
  log.write_descs(descs);
  for (std::uint32_t k = 0; k < 192; ++k) ASSERT_EQ(static_cast<std::uint32_t*>(descs[2].data)[k], k);
}

TEST(TapeLog, OneThatIsWrittenAgainIsNeverSettled) {
  FarSpace far;
  TapeLog log(0, 64, 10, &far);
  log.keep_open();
  const std::int64_t all = room(log);
  take(log, 64);
  EXPECT_TRUE(log.fits());
  log.shrink();
  EXPECT_EQ(room(log), all);
  take(log, all + 1);
  EXPECT_FALSE(log.fits());
  EXPECT_THROW(log.finish(), Error);
  take(log, 64);
  EXPECT_TRUE(log.fits());
}

TEST(TapeLog, TooLittleIsAnErrorEachTimeAndTheNextOneIsLargeEnough) {
  FarSpace far;
  TapeLog log(0, 64, 10, &far);
  const std::int64_t wanted = room(log) + 640;
  take(log, wanted);
  for (int k = 0; k < 2; ++k) {
    EXPECT_THROW(log.finish(), Error);
    EXPECT_FALSE(log.settled());
  }
  EXPECT_EQ(log.words(), wanted);
  TapeLog next(0, 64, 10, &far, log.words());
  EXPECT_GE(room(next), wanted);
  EXPECT_EQ(room(next) % 64, 0);
  EXPECT_LE(room(TapeLog(0, 64, 10, &far, 6400)), 6400 * 5 / 4);
}

TEST(TapeLog, OnTheHostItIsTrimmed) {
  TapeLog log(3, 64, 10, nullptr);
  take(log, 128);
  log.finish();
  EXPECT_TRUE(log.settled());
  EXPECT_EQ(log.bytes(), 3u * 10 * 4 + 10 * 8 + 8 + 128 * 4);
}

}  // namespace
}  // namespace weft::runtime
