// The encoding of a delta: what a commit puts into the tables of an environment and removes from
// them, in order. src/cluster/delta.ts reads and writes the same bytes (docs/internals/format.md).
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "store/env.h"

namespace gannet::index {

struct NamedTable {
  std::string_view name;
  store::Table table;
};

enum class DeltaKind : uint8_t { kPut, kRemove, kClear };

// Collects the writes of a transaction.
class DeltaWriter {
 public:
  explicit DeltaWriter(std::span<const NamedTable> tables) : tables_(tables) {
    PutVarint(bytes_, tables.size());
    for (const NamedTable& table : tables) PutBytes(bytes_, table.name);
  }

  Status Put(store::Table table, std::string_view key, std::string_view value) {
    Begin(table, DeltaKind::kPut);
    PutBytes(bytes_, key);
    PutBytes(bytes_, value);
    return Status::Ok();
  }
  Status Delete(store::Table table, std::string_view key) {
    Begin(table, DeltaKind::kRemove);
    PutBytes(bytes_, key);
    return Status::Ok();
  }
  Status Clear(store::Table table) {
    Begin(table, DeltaKind::kClear);
    return Status::Ok();
  }
  std::string Take() { return std::move(bytes_); }

 private:
  void Begin(store::Table table, DeltaKind kind) {
    const auto found = std::find_if(tables_.begin(), tables_.end(), [&](const NamedTable& named) {
      return named.table.dbi == table.dbi;
    });
    PutVarint(bytes_,
              static_cast<uint64_t>(found - tables_.begin()) * 4 + static_cast<uint64_t>(kind));
  }
  const std::span<const NamedTable> tables_;
  std::string bytes_;
};

struct DeltaWrite {
  store::Table table;
  DeltaKind kind;
  std::string_view key, value;  // borrowed
};

// Calls `each` for the writes of a delta, in order. Corruption: the bytes are not a delta, or name
// an unknown table; `each` may have been called for some writes.
template <typename Each>
Status EachWrite(std::string_view delta, std::span<const NamedTable> tables, const Each& each) {
  const Status damaged = Status::Corruption("a record of the log is damaged");
  ByteReader reader(delta);
  std::vector<store::Table> named;
  for (uint64_t left = reader.Varint(); left > 0; --left) {
    const std::string_view name = reader.LengthPrefixed();
    const auto known = std::find_if(tables.begin(), tables.end(),
                                    [&](const NamedTable& table) { return table.name == name; });
    if (!reader.ok() || known == tables.end()) return damaged;
    named.push_back(known->table);
  }
  while (!reader.done()) {
    const uint64_t head = reader.Varint();
    if (head / 4 >= named.size() || head % 4 > static_cast<uint64_t>(DeltaKind::kClear))
      return damaged;
    DeltaWrite write{named[head / 4], static_cast<DeltaKind>(head % 4), {}, {}};
    if (write.kind != DeltaKind::kClear) write.key = reader.LengthPrefixed();
    if (write.kind == DeltaKind::kPut) write.value = reader.LengthPrefixed();
    if (!reader.ok()) return damaged;
    GANNET_RETURN_IF_ERROR(each(write));
  }
  return reader.ok() ? Status::Ok() : damaged;
}

}  // namespace gannet::index
