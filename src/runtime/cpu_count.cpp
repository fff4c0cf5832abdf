// How many processors this process may use: affinity mask and control-group quotas.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "runtime/scheduler.h"

namespace weft::runtime {
namespace {

int affinity_count() {
  // The kernel's mask can be larger than cpu_set_t; grow until it fits.
  for (int cpus = CPU_SETSIZE; cpus <= (1 << 20); cpus *= 2) {
    cpu_set_t* set = CPU_ALLOC(std::size_t(cpus));
    if (!set) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(std::size_t(cpus));
    CPU_ZERO_S(bytes, set);
    const bool ok = sched_getaffinity(getpid(), bytes, set) == 0;
    const int count = ok ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (ok) return count;
  }
  return int(std::thread::hardware_concurrency());
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

int processors(double quota, double period) {
  if (!(quota > 0) || !(period > 0)) return 0;
  const double count = quota / period;
  return count > 1e6 ? 0 : std::max(1, int(count) + (count > double(int(count)) ? 1 : 0));
}

/// cpu.max of version 2: "max 100000" or "150000 100000".
int quota_v2(const std::string& folder) {
  std::istringstream line(first_line(folder + "/cpu.max"));
  double quota = 0, period = 0;
  line >> quota >> period;
  return line ? processors(quota, period) : 0;
}

int quota_v1(const std::string& folder) {
  std::istringstream quota_line(first_line(folder + "/cpu.cfs_quota_us"));
  std::istringstream period_line(first_line(folder + "/cpu.cfs_period_us"));
  double quota = 0, period = 0;
  quota_line >> quota;
  period_line >> period;
  return quota_line && period_line ? processors(quota, period) : 0;
}

/// The smallest quota from a group up to the root: every ancestor limits it. In a container the path can name folders
/// that are not mounted; those read as unlimited, and the root of the mount is looked at in any case.
template <class Quota>
int smallest_quota(const std::string& root, std::string path, Quota quota) {
  int smallest = 0;
  for (;;) {
    while (!path.empty() && path.back() == '/') path.pop_back();
    const int here = quota(root + path);
    if (here > 0 && (smallest == 0 || here < smallest)) smallest = here;
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return smallest;
    path.resize(slash);
  }
}

}  // namespace

int cgroup_cpu_quota(const std::string& proc_self_cgroup, const std::string& cgroup_root) {
  std::ifstream file(proc_self_cgroup);
  int smallest = 0;
  const auto take = [&](int quota) {
    if (quota > 0 && (smallest == 0 || quota < smallest)) smallest = quota;
  };
  // Each line is "id:controllers:path"; version 2 has no controllers.
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (path.empty() || path[0] != '/') continue;
    if (controllers.empty()) {
      take(smallest_quota(cgroup_root, path, quota_v2));
      take(smallest_quota(cgroup_root + "/unified", path, quota_v2));
    } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      take(smallest_quota(cgroup_root + "/" + controllers, path, quota_v1));
      take(smallest_quota(cgroup_root + "/cpu", path, quota_v1));
    }
  }
  return smallest;
}

int available_cpus() {
  const int allowed = std::max(affinity_count(), 1);
  const int quota = cgroup_cpu_quota();
  return quota > 0 ? std::min(allowed, quota) : allowed;
}

}  // namespace weft::runtime
