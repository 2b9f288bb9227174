// Keys of the table `main` of an index (docs/internals/format.md).
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/ids.h"

namespace gannet::index::keys {

inline constexpr std::string_view kManifest = "manifest", kSettings = "settings",
                                  kFields = "fields", kPrimaryKey = "primary_key",
                                  kDistribution = "distribution", kDictionary = "dictionary",
                                  kUpdatedAt = "updated_at", kLastBatch = "last_batch",
                                  kNextNumber = "next_number", kGraphs = "graphs",
                                  kFileSums = "file_sums", kRecord = "record";
// The prefix of the key of a segment's dead documents.
inline constexpr std::string_view kDeadPrefix = "dead/";
// The prefix of the key of a long setting; its name follows.
inline constexpr std::string_view kLongSettingPrefix = "settings/";

inline bool IsKnown(std::string_view key) {
  for (const std::string_view known :
       {kManifest, kSettings, kFields, kPrimaryKey, kDistribution, kDictionary, kUpdatedAt,
        kLastBatch, kNextNumber, kGraphs, kFileSums, kRecord}) {
    if (key == known) return true;
  }
  return false;
}

inline std::string LongSetting(std::string_view name) {
  return std::string(kLongSettingPrefix).append(name);
}

// Whether a record of a log may write the key.
inline bool IsOfRecords(std::string_view key) {
  return (IsKnown(key) && key != kRecord) || key.starts_with(kDeadPrefix) ||
         key.starts_with(kLongSettingPrefix);
}

inline std::string Dead(SegmentId id) {
  std::string key(kDeadPrefix);
  PutBigEndian32(key, static_cast<uint32_t>(id >> 32));
  PutBigEndian32(key, static_cast<uint32_t>(id));
  return key;
}

}  // namespace gannet::index::keys
