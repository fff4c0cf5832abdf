// What the hand-written suites call: a case goes through every executor, compiled every way, and all must agree.
#pragma once
#include <gtest/gtest.h>

#include "executors.h"

namespace weft::agree {

/// How much is compared: `full` compiles for eight executors, `brief` for three, and with less optimisation.
enum class Effort : std::uint8_t { brief, full };

/// Runs the case everywhere and fails the test at the first difference. Returns what the interpreter made of it.
///   fused     interpreter on optimised IR = native at 1, 4, 8, 16 and the natural number of lanes
///   unfused   interpreter on the IR as lowered = interpreter on optimised IR = native
///   debug     interpreter = native
/// each serial and cut into small chunks run in parallel; PTX for sm_75 and sm_90 goes through ptxas where there is one.
Outcome expect_agreement(const Case& kernel_case, Effort effort = Effort::full);

/// The scalars of a buffer after a run.
template <class T>
std::vector<T> values(const Outcome& outcome, std::size_t buffer) {
  const Buffer& b = outcome.memory.at(buffer);
  std::vector<T> out((b.bytes.size() - Buffer::kGuard) / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), b.bytes.data(), out.size() * sizeof(T));
  return out;
}

/// The text with every `$T` replaced.
std::string with_type(std::string text, std::string_view type);

/// The path of ptxas; empty when there is none.
const std::string& ptxas_path();
/// Assembles PTX; gives the assembler's complaints, empty when it accepts.
std::string assemble(const std::string& ptx, int sm);

}  // namespace weft::agree
