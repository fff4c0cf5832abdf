// What is kept beside the machine code of a kernel in the cache: enough to launch it.
#pragma once
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "driver/held_objects.h"
#include "driver/touched_memory.h"
#include "runtime/launch.h"
#include "runtime/private_sums.h"
#include "runtime/sum_buckets.h"
#include "support/hash.h"

namespace weft::driver {

/// Written and read by hand; the cache's checksum guards it.
struct KernelMetadata {
  std::string name, entry;
  std::int32_t lanes = 1;
  std::uint32_t tid_dims = 0;
  float ns_per_thread = 1;
  std::int32_t steps = 1;
  std::int32_t block = 0;
  std::uint32_t block_bytes = 0;
  std::uint8_t opaque = 0, loops = 1, sum_order = 0, addresses = 0, by_buckets = 0, waits_first = 0;
  std::vector<std::uint64_t> objects;  // sizes of the kernel's object and of those it needs, one behind the other
  std::vector<runtime::CheckSite> sites;
  std::vector<runtime::SumSlot> sums;
  std::vector<runtime::SumStream> streams;  // of their additions; `by_buckets`: these are written down
  std::vector<HandlePlace> handles;
  TouchedMemory memory;
  std::string full_ir;  // of a first version: what its full one is made of, packed, and the key of that; else empty
  Hash128 full_key;

  std::string write() const {
    std::string out;
    auto number = [&](auto value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); };
    auto text = [&](const std::string& s) {
      number(std::uint32_t(s.size()));
      out += s;
    };
    text(name);
    text(entry);
    number(lanes);
    number(tid_dims);
    number(ns_per_thread);
    number(steps);
    number(block);
    number(block_bytes);
    number(opaque);
    number(loops);
    number(sum_order);
    number(addresses);
    number(by_buckets);
    number(waits_first);
    number(std::uint8_t(memory.all));
    number(std::uint8_t(memory.prints));
    number(std::uint32_t(memory.arrays.size()));
    for (const TouchedArray& a : memory.arrays) number(a.offset), number(a.element_size), number(a.uses);
    text(full_ir);
    number(full_key);
    number(std::uint32_t(objects.size()));
    for (const std::uint64_t size : objects) number(size);
    number(std::uint32_t(sums.size()));
    for (const runtime::SumSlot& s : sums)
      number(s.offset), number(s.gradient), number(s.scalar), number(s.element_size);
    number(std::uint32_t(streams.size()));
    for (const runtime::SumStream& s : streams) number(s.sum), number(s.scalar), number(s.count);
    number(std::uint32_t(handles.size()));
    for (const HandlePlace& h : handles)
      number(h.offset), number(std::uint16_t(HandleUse(h.kind, h.winding, h.written).number())), text(h.name);
    number(std::uint32_t(sites.size()));
    for (const runtime::CheckSite& s : sites) {
      number(s.kind);
      text(s.text);
      text(s.file);
      number(s.line);
      number(s.column);
      text(s.function);
    }
    return out;
  }

  bool read(std::span<const std::byte> bytes) {
    std::size_t at = 0;
    bool ok = true;
    auto number = [&](auto& value) {
      if (bytes.size() - at < sizeof value) return void(ok = false);
      std::memcpy(&value, bytes.data() + at, sizeof value);
      at += sizeof value;
    };
    auto text = [&](std::string& s) {
      std::uint32_t size = 0;
      number(size);
      if (!ok || bytes.size() - at < size) return void(ok = false);
      s.assign(reinterpret_cast<const char*>(bytes.data()) + at, size);
      at += size;
    };
    std::uint32_t count = 0;
    text(name);
    text(entry);
    number(lanes);
    number(tid_dims);
    number(ns_per_thread);
    number(steps);
    number(block);
    number(block_bytes);
    number(opaque);
    number(loops);
    number(sum_order);
    number(addresses);
    number(by_buckets);
    number(waits_first);
    std::uint8_t all = 0, prints = 0;
    number(all), number(prints);
    memory.all = all != 0;
    memory.prints = prints != 0;
    number(count);
    for (std::uint32_t i = 0; ok && i < count; ++i) {
      TouchedArray a;
      number(a.offset), number(a.element_size), number(a.uses);
      memory.arrays.push_back(a);
    }
    text(full_ir);
    number(full_key);
    number(count);
    for (std::uint32_t i = 0; ok && i < count; ++i) number(objects.emplace_back());
    number(count);
    for (std::uint32_t i = 0; ok && i < count; ++i) {
      runtime::SumSlot s;
      number(s.offset), number(s.gradient), number(s.scalar), number(s.element_size);
      sums.push_back(s);
    }
    number(count);
    for (std::uint32_t i = 0; ok && i < count; ++i) {
      runtime::SumStream s;
      number(s.sum), number(s.scalar), number(s.count);
      streams.push_back(s);
    }
    number(count);
    for (std::uint32_t i = 0; ok && i < count; ++i) {
      HandlePlace h;
      std::uint16_t word = 0;
      number(h.offset), number(word), text(h.name);
      ok = ok && HandleUse::is_valid(word);
      const HandleUse use(word);
      h.kind = use.kind;
      h.winding = use.winding;
      h.written = use.written;
      handles.push_back(std::move(h));
    }
    number(count);
    for (std::uint32_t i = 0; ok && i < count; ++i) {
      runtime::CheckSite site;
      number(site.kind);
      text(site.text);
      text(site.file);
      number(site.line);
      number(site.column);
      text(site.function);
      sites.push_back(std::move(site));
    }
    return ok && at == bytes.size();
  }
};

/// What launches must know of code that was made of an optimised module, but for the memory that they touch on GPUs.
void describe_code(const ir::Module& module, const codegen::Emitted& emitted, KernelMetadata& meta);

}  // namespace weft::driver
