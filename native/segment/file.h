// One immutable file of a segment: sections behind each other, then checksums and a directory.
//
// Layout (docs/format.md):
//   header   16 bytes: magic, format version
//   sections each a run of bytes, written once from front to back, padded to 8
//   sums     XXH64 of every block of 16 KiB from the header to the end of the sections
//   directory and footer, with their own checksum
//
// A reader maps the file. A block is checked the first time that bytes of it are looked at, so
// opening costs nothing and a flipped bit is never believed: from then on the file is `corrupt`,
// and what would have been read is empty. Callers check corrupt() when their work is done.
//
// What is read is asked of the system as it is needed: the whole of a list or record at once, and
// no more around it than a part of the file that is read from front to back gains by. Left alone
// the system reads what the disk is set to around each page that is missing: with 8 MB a search
// after a start read 320 MB to use 4. Once what is read turns out to be in memory time and again,
// it is no longer asked for, until the system has to fetch something.
//
// Threads: a SegmentFile is shared by all; a SegmentFileWriter has one owner.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace gannet::segment {

inline constexpr size_t kBlockBytes = 16 << 10;
// Readers may load this many bytes past the end of a section: whole words of bit-packed data.
inline constexpr size_t kSectionPadding = 8;

using SectionId = uint32_t;

class SegmentFileWriter {
 public:
  static Result<std::unique_ptr<SegmentFileWriter>> Create(const std::string& path);
  // An unfinished file is removed.
  ~SegmentFileWriter();
  SegmentFileWriter(const SegmentFileWriter&) = delete;

  void BeginSection(SectionId id);
  void Append(std::string_view bytes);
  void EndSection();
  void AddSection(SectionId id, std::string_view bytes);
  // Where the file lies: temporary ones beside it are on the same device.
  std::string folder() const { return path_.substr(0, path_.rfind('/')); }
  uint64_t section_bytes() const { return written_ + buffer_.size() - section_begin_; }

  // Writes the directory and makes the file durable. Full, Io: the file is gone.
  Status Finish();

 private:
  struct Section {
    SectionId id;
    uint64_t begin, size;
  };
  SegmentFileWriter(int descriptor, std::string path);
  // Writes the first bytes of the buffer.
  void Flush(size_t bytes);

  int descriptor_;
  std::string path_;
  std::string buffer_;
  uint64_t written_ = 0;  // bytes handed to the system
  uint64_t writing_ = 0;  // of those, bytes that it was told to write to the disk
  uint64_t section_begin_ = 0;
  std::vector<Section> sections_;
  std::vector<uint64_t> sums_;  // of the complete blocks written so far
  std::string block_;           // the incomplete block
  Status status_;
  bool finished_ = false;
};

class SegmentFile {
 public:
  // kLater: a damaged first block is found when it is read, as the others are.
  enum class HeaderCheck { kNow, kLater };
  // Corruption: not a segment file, of another version, or its directory is damaged.
  static Result<std::shared_ptr<SegmentFile>> Open(const std::string& path,
                                                   HeaderCheck check = HeaderCheck::kNow);
  ~SegmentFile();
  SegmentFile(const SegmentFile&) = delete;

  // Where a section lies in the file.
  struct Section {
    SectionId id;
    uint64_t begin, size;
  };
  // Null when absent. Valid while the file is.
  const Section* Find(SectionId id) const;
  bool Has(SectionId id) const;
  uint64_t SectionSize(SectionId id) const;  // 0 when absent
  // Bytes [offset, offset + size) of a section, checked; empty when they are out of range or
  // damaged.
  std::string_view Read(SectionId id, uint64_t offset, uint64_t size) const {
    return Read(Find(id), offset, size);
  }
  // The same without looking the section up; of null there is nothing to read.
  std::string_view Read(const Section* section, uint64_t offset, uint64_t size) const {
    if (section == nullptr || offset > section->size || size > section->size - offset) {
      MarkCorrupt();
      return {};
    }
    const uint64_t begin = section->begin + offset;
    // The padding belongs to what is read: word loads may reach into it.
    if (!CheckBlocks(begin, std::min(begin + size + kSectionPadding, body_bytes_))) return {};
    return {data_ + begin, size};
  }
  std::string_view ReadAll(SectionId id) const { return Read(id, 0, SectionSize(id)); }
  std::vector<SectionId> sections() const;

  // Has the system read bytes that will be wanted, and does not wait for them. Out of range,
  // absent: nothing happens.
  // cost  2 us and 20 ns per KB when they are in memory
  void WillNeed(const Section* section, uint64_t offset, uint64_t size) const;
  void WillNeedAll(SectionId id) const { WillNeed(Find(id), 0, SectionSize(id)); }
  // The same, once, for bytes that nobody has read since the file was opened; for the others, and
  // while all that is read is in memory, it costs next to nothing.
  void Expect(const Section* section, uint64_t offset, uint64_t size) const {
    if (in_memory()) return;
    if (section == nullptr || size == 0 || offset > section->size || size > section->size - offset)
      return;
    const uint64_t begin = section->begin + offset;
    for (uint64_t block = begin / kBlockBytes; block <= (begin + size - 1) / kBlockBytes; ++block) {
      if (blocks_[block].load(std::memory_order_relaxed) == kUnread)
        return ExpectFrom(block, begin + size);
    }
  }

  // Checks about 1 MiB from byte `begin` of the file on, as far as the system has it in memory, and
  // returns where to go on; size() at the end. The bytes are copied, not mapped, so the resident
  // set does not grow, and nothing is read from the disk. A block that is damaged is left for who
  // reads it to find.
  uint64_t CheckAhead(uint64_t begin) const;
  // True for the first caller: one is enough.
  bool TakeCheckAhead() const { return !check_ahead_taken_.exchange(true); }

  bool corrupt() const { return corrupt_.load(std::memory_order_relaxed); }
  void MarkCorrupt() const { corrupt_.store(true, std::memory_order_relaxed); }
  Status Health() const;
  // Reads and checks everything.
  Status Verify() const;
  // Bytes [begin, end) of the file whose checksum is wrong, and the sections that reach into them.
  struct DamagedBlock {
    uint64_t begin, end;
    std::vector<SectionId> sections;
  };
  std::vector<DamagedBlock> FindDamage() const;
  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  // Of all that the file holds: the checksum of those of its blocks.
  uint64_t sum() const { return sum_; }

 private:
  SegmentFile() = default;
  bool CheckBlocks(uint64_t begin, uint64_t end) const {
    if (begin >= end) return true;
    for (uint64_t block = begin / kBlockBytes; block <= (end - 1) / kBlockBytes; ++block) {
      if (blocks_[block].load(std::memory_order_relaxed) != kChecked && !CheckBlock(block, end))
        return false;
    }
    return true;
  }
  std::string_view BlockBytes(const char* from, uint64_t block) const {
    return {from, std::min<uint64_t>(kBlockBytes, body_bytes_ - block * kBlockBytes)};
  }
  // end: of the bytes that are being read.
  bool CheckBlock(uint64_t block, uint64_t end) const;
  void ExpectFrom(uint64_t block, uint64_t end) const;
  void Advise(uint64_t begin, uint64_t end) const;
  bool in_memory() const {
    return quick_.load(std::memory_order_relaxed) >= enough_.load(std::memory_order_relaxed);
  }
  // So long it took to read a block that had not been asked for before.
  void NoteRead(std::chrono::nanoseconds took) const;

  std::string path_;
  const char* data_ = nullptr;
  uint64_t size_ = 0;
  uint64_t body_bytes_ = 0;  // header and sections
  uint64_t sum_ = 0;
  std::span<const uint64_t> sums_;
  std::vector<Section> sections_;
  enum BlockState : uint8_t { kUnread, kAskedFor, kChecked };
  mutable std::vector<std::atomic<uint8_t>> blocks_;
  mutable std::atomic<uint32_t> quick_{0};  // blocks read in a row that were in memory
  mutable std::atomic<uint32_t> enough_{
      64};  // from so many on the next ones are taken to be as well
  mutable std::atomic<bool> corrupt_{false};
  mutable std::atomic<bool> check_ahead_taken_{false};
};

// Makes the names in a folder durable.
Status SyncFolder(const std::string& path);
Status IoStatus(const std::string& action, int error);

}  // namespace gannet::segment
