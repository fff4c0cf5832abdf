// What kernels print: records become text when somebody waits, in the order of launches and threads; what finds no room,
// what is still being written, what an interrupted wait shows.
#include <gtest/gtest.h>

#include <cstring>

#include "cuda/device.h"
#include "fake_driver.h"
#include "runtime/print_buffer.h"
#include "runtime/print_format.h"
#include "runtime/print_record.h"

namespace weft::cuda {
namespace {

using runtime::GpuPrintBuffer;
using runtime::GpuPrintRecord;

class Prints : public testing::Test {
 protected:
  void SetUp() override {
    runtime::set_print_sink([this](std::string_view text) { shown += text; });
  }
  void TearDown() override { runtime::set_print_sink({}); }

  GpuPrintBuffer& head() { return *reinterpret_cast<GpuPrintBuffer*>(device.prints().buffer()); }

  /// What a thread does.
  GpuPrintRecord* print(std::uint64_t launch, std::int64_t linear, std::int32_t value, bool complete = true) {
    const Type* types[] = {types::i32()};
    std::string format = runtime::compile_printf_format("value %d\n", types);
    format.resize((format.size() + 8) / 8 * 8);
    const std::uint64_t bytes = sizeof(GpuPrintRecord) + format.size() + 8;
    const std::uint64_t place = head().used;
    head().used += bytes;
    if (place + bytes > head().capacity) {
      ++head().lost;
      return nullptr;
    }
    char* at = reinterpret_cast<char*>(&head() + 1) + place;
    auto* record = reinterpret_cast<GpuPrintRecord*>(at);
    record->linear = linear;
    record->launch = launch;
    record->text_bytes = format.size();
    std::memcpy(at + sizeof *record, format.data(), format.size());
    std::memcpy(at + sizeof *record + format.size(), &value, sizeof value);
    if (complete) record->bytes = bytes;
    return record;
  }

  System system{fake::open()};
  Device& device = system.device(0);
  std::string shown;
};

TEST_F(Prints, AppearInTheOrderOfLaunchesAndThreads) {
  const std::uint64_t first = device.prints().next_launch(), second = device.prints().next_launch();
  print(second, 0, 5);
  print(first, 7, 3);
  print(first, 2, 1);
  print(first, 2, 2);
  EXPECT_EQ(shown, "");
  device.stream()->synchronize();
  EXPECT_EQ(shown, "value 1\nvalue 2\nvalue 3\nvalue 5\n");
  EXPECT_EQ(head().used, 0u);
  device.synchronize();
  EXPECT_EQ(shown.size(), 32u);
}

TEST_F(Prints, OfGraphsAppearWhereTheyRun) {
  const std::uint64_t captured = device.prints().next_launch() | PrintBoard::kInGraph,
                      next = device.prints().next_launch() | PrintBoard::kInGraph,
                      before = device.prints().next_launch(), behind = device.prints().next_launch();
  print(before, 1, 2);
  print(before, 0, 1);
  print(captured, 1, 4);
  print(captured, 0, 3);
  print(next, 0, 5);
  print(behind, 0, 6);
  device.synchronize();
  EXPECT_EQ(shown, "value 1\nvalue 2\nvalue 3\nvalue 4\nvalue 5\nvalue 6\n");
}

TEST_F(Prints, EventsAndDevicesShowThemToo) {
  Event event(device, false);
  print(1, 0, 1);
  event.synchronize();
  EXPECT_EQ(shown, "value 1\n");
  device.stream();
  print(1, 0, 2);
  device.synchronize();
  EXPECT_EQ(shown, "value 1\nvalue 2\n");
}

TEST_F(Prints, WhatIsBeingWrittenComesLater) {
  auto stream = device.stream();
  print(1, 0, 1);
  GpuPrintRecord* open = print(1, 1, 2, false);
  print(1, 2, 3);
  fake::state().not_ready = 1;  // asked whether all is done
  device.prints().show();
  EXPECT_EQ(shown, "value 1\n");
  EXPECT_NE(head().used, 0u);
  open->bytes = sizeof *open + 24;
  stream->synchronize();
  EXPECT_EQ(shown, "value 1\nvalue 2\nvalue 3\n");
}

TEST_F(Prints, WhatFindsNoRoomIsCounted) {
  device.stream();
  int fitted = 0;
  while (print(1, fitted, fitted)) ++fitted;
  print(1, 0, 0);
  device.synchronize();
  EXPECT_TRUE(shown.starts_with("value 0\nvalue 1\n"));
  EXPECT_TRUE(shown.ends_with("value " + std::to_string(fitted - 1) +
                              "\n[2 more prints on cuda:0 were lost: there is room for 1 MB between two waits]\n"));
  shown.clear();
  print(1, 0, 42);
  device.synchronize();
  EXPECT_EQ(shown, "value 42\n");
}

TEST_F(Prints, InterruptedWaitsShowWhatThereIs) {
  auto stream = device.stream();
  print(1, 0, 1);
  fake::state().not_ready = INT32_MAX;
  system.set_interrupt([]() noexcept { return true; });
  EXPECT_THROW(stream->synchronize(), Interrupted);
  EXPECT_EQ(shown, "value 1\n");
  EXPECT_NE(head().used, 0u);  // the kernel may go on printing
}

TEST_F(Prints, KernelsRunWithoutABuffer) {
  fake::state().failing["host_allocate"] = kErrorOutOfMemory;
  EXPECT_EQ(device.prints().buffer(), 0u);
  EXPECT_NO_THROW(device.synchronize());
}

}  // namespace
}  // namespace weft::cuda
