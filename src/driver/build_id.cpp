// The build id, read from the ELF note of the binary that this code was linked into.
#include <elf.h>
#include <link.h>

#include <cstring>
#include <filesystem>

#include "driver/options.h"
#include "runtime/kernel_abi.h"

namespace weft::driver {
namespace {

struct Search {
  std::uintptr_t address = 0;  // something inside the binary we look for
  std::string note;
};

std::string read_note(const char* begin, std::size_t size) {
  for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
    ElfW(Nhdr) header;
    std::memcpy(&header, begin + at, sizeof header);
    std::size_t name = at + sizeof header;
    std::size_t desc = name + ((header.n_namesz + 3) & ~3u);
    if (desc + header.n_descsz > size) break;
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 && std::memcmp(begin + name, "GNU", 4) == 0)
      return std::string(begin + desc, header.n_descsz);
    at = desc + ((header.n_descsz + 3) & ~3u);
  }
  return {};
}

int visit(dl_phdr_info* info, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  bool ours = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    ours = ours || (segment.p_type == PT_LOAD && search.address >= begin && search.address < begin + segment.p_memsz);
  }
  if (!ours) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    search.note = read_note(reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr), segment.p_memsz);
    if (!search.note.empty()) break;
  }
  return 1;
}

}  // namespace

const std::string& build_id() {
  static const std::string id = [] {
    Search search;
    search.address = reinterpret_cast<std::uintptr_t>(&build_id);
    dl_iterate_phdr(visit, &search);
    // Without a note (an odd linker) the time of compilation has to do.
    if (search.note.empty()) search.note = __DATE__ " " __TIME__;
    Hasher hasher;
    hasher.text(search.note).value(runtime::kAbiVersion);
    return hasher.finish().hex();
  }();
  return id;
}

void CompileOptions::hash_into(Hasher& hasher) const {
  hasher.value(debug).value(verify_fp).value(fuse_fp).value(fast_math).value(opt_level).value(lanes).value(max_unroll);
  hasher.value(deterministic).value(verify_tiles);
  hasher.value(tangent).value(seeds).value(gpu.block).value(gpu.rows);
}

void CompileOptions::hash_gpu_into(Hasher& hasher) const {
  hasher.text(gpu.libdevice).value(gpu.line_info).value(gpu.keep_ptx).value(gpu.ptx_arch);
  hasher.value(gpu.bounds.threads).value(gpu.bounds.blocks).value(gpu.bounds.cluster).value(gpu.bounds.registers);
  if (gpu.libdevice.empty()) return;
  std::error_code ignored;
  hasher.value(std::filesystem::file_size(gpu.libdevice, ignored));
  hasher.value(std::filesystem::last_write_time(gpu.libdevice, ignored).time_since_epoch().count());
}

}  // namespace weft::driver
