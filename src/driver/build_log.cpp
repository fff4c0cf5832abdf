// The record of builds: rows under a lock. The child of a fork begins a record of its own.
#include "driver/build_log.h"

#include <pthread.h>

#include <atomic>
#include <mutex>

namespace weft::driver {
namespace {

std::atomic<bool> recording{false};

struct Record {
  std::mutex mutex;
  std::vector<BuildRow> rows;
};

/// Never destroyed: threads that compile may outlive statics. No fork waits for the lock, since forks wait for those threads, which may
/// want it; in the child it may be taken by a thread that is not there.
Record& record_of_process() {
  static Record* now = new Record;
  [[maybe_unused]] static const int known = pthread_atfork(nullptr, nullptr, [] { now = new Record; });
  return *now;
}

BuildRow row_of(const BuildRequest& request, const KernelBinary& binary, const BuildReport& report) {
  BuildRow row;
  row.kernel = request.name.empty() ? binary.name() : request.name;
  row.place = BuildLog::place_of(request);
  row.form = request.form;
  row.after_first = request.known.has_value();
  row.report = report;
  row.report.first = binary.full() != nullptr;  // also of code that the process had
  row.report.lanes = binary.code().lanes;
  if (!request.device) return row;
  row.device = request.device->ordinal();
  if (const cuda::KernelCode* code = binary.gpu()) {
    row.block = binary.block() ? binary.block() : code->usual_block();
    row.registers = code->registers();
    row.local_bytes = code->local_bytes();
    row.shared_bytes = code->block_bytes();
  }
  return row;
}

}  // namespace

void BuildLog::record(bool wanted) {
  Record& record = record_of_process();
  const std::lock_guard lock(record.mutex);
  if (wanted && !recording) record.rows.clear();
  recording = wanted;
}

std::vector<BuildRow> BuildLog::rows() {
  Record& record = record_of_process();
  const std::lock_guard lock(record.mutex);
  return record.rows;
}

std::string BuildLog::place_of(const BuildRequest& request) {
  if (!request.kernel || !request.place.empty()) return request.place;
  SourceLoc loc = request.kernel->def->name_loc;
  loc.col = 0;
  return loc.known() ? to_string(loc) : std::string();
}

std::shared_ptr<const KernelBinary> BuildLog::noted(const BuildRequest& request,
                                                    std::shared_ptr<const KernelBinary> binary,
                                                    const BuildReport& report) {
  if (!recording.load(std::memory_order_relaxed) || !binary || request.ahead) return binary;
  BuildRow row = row_of(request, *binary, report);
  Record& record = record_of_process();
  const std::lock_guard lock(record.mutex);
  record.rows.push_back(std::move(row));
  return binary;
}

}  // namespace weft::driver
