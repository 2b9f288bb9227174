// One immutable file of a segment: sections one after another, then checksums and a directory.
//
// Layout (docs/internals/format.md):
//   header   16 bytes: magic, format version
//   sections each a run of bytes, written once from front to back, padded to 8
//   sums     XXH64 of every block of 16 KiB from the header to the end of the sections
//   directory and footer, with their own checksum
//
// A reader maps the file. A block is checked when its bytes are first read, so opening costs
// nothing and a flipped bit is never believed: after a failed check the file is `corrupt`, and
// reads of the block return nothing. Callers check corrupt() when their work is done.
//
// By default the system reads a fixed amount around each missing page: with 8 MB, a search after a
// start read 320 MB to use 4. So the reader requests exactly what is needed: the whole of a list or
// record at once, and more where a part of the file is read from front to back. Once reads
// repeatedly find their blocks in memory it stops requesting, until a block is missing again.
//
// Where there is less memory than data, the system drops pages that were read and checked. Each
// page of a list would then be a read of its own that the thread waits for. So while threads wait
// for dropped pages, everything that is read is requested again, whole (NoteFaults).
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
// The size limit of a segment. Otherwise the memory of a merge, the disk space that it needs in
// addition to its sources, and its time would grow with the index. Batches end a segment at half of
// it, merges join no more than this.
inline constexpr uint64_t kSegmentBytesMax = uint64_t{4} << 30;
inline constexpr size_t kPageBytes = 4096;
// Readers may load this many bytes past the end of a section: whole words of bit-packed data.
inline constexpr size_t kSectionPadding = 8;

using SectionId = uint32_t;

class SegmentFileWriter {
 public:
  static Result<std::unique_ptr<SegmentFileWriter>> Create(const std::string& path);
  // Removes an unfinished file.
  ~SegmentFileWriter();
  SegmentFileWriter(const SegmentFileWriter&) = delete;

  void BeginSection(SectionId id);
  void Append(std::string_view bytes);
  void EndSection();
  void AddSection(SectionId id, std::string_view bytes);
  // The folder of the file: temporary files in it are on the same device.
  std::string folder() const { return path_.substr(0, path_.rfind('/')); }
  uint64_t section_bytes() const { return written_ + buffer_.size() - section_begin_; }

  // Writes the directory and makes the file durable. Full, Io: the file has been removed.
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
  uint64_t writing_ = 0;  // of those, bytes whose write to the disk has begun
  uint64_t section_begin_ = 0;
  std::vector<Section> sections_;
  std::vector<uint64_t> sums_;  // of the complete blocks written so far
  std::string block_;           // the incomplete block
  Status status_;
  bool finished_ = false;
};

class SegmentFile {
 public:
  // kLater: the first block is checked when it is first read, like the others.
  enum class HeaderCheck { kNow, kLater };
  // Corruption: not a segment file, another version, or a damaged directory.
  static Result<std::shared_ptr<SegmentFile>> Open(const std::string& path,
                                                   HeaderCheck check = HeaderCheck::kNow);
  ~SegmentFile();
  SegmentFile(const SegmentFile&) = delete;

  // The position of a section in the file.
  struct Section {
    SectionId id;
    uint64_t begin, size;
  };
  // Null when absent. Valid as long as the file is.
  const Section* Find(SectionId id) const;
  bool Has(SectionId id) const;
  uint64_t SectionSize(SectionId id) const;  // 0 when absent
  // Bytes [offset, offset + size) of a section, checked; empty when they are out of range or
  // damaged.
  std::string_view Read(SectionId id, uint64_t offset, uint64_t size) const {
    return Read(Find(id), offset, size);
  }
  // The same without looking the section up. If it is null, the result is empty.
  std::string_view Read(const Section* section, uint64_t offset, uint64_t size) const {
    if (section == nullptr || offset > section->size || size > section->size - offset) {
      MarkCorrupt();
      return {};
    }
    const uint64_t begin = section->begin + offset;
    if (size > kPageBytes && pages_are_dropped()) Advise(begin, begin + size);
    // The padding counts as read: word loads may reach into it.
    if (!CheckBlocks(begin, std::min(begin + size + kSectionPadding, body_bytes_))) return {};
    return {data_ + begin, size};
  }
  std::string_view ReadAll(SectionId id) const { return Read(id, 0, SectionSize(id)); }
  std::vector<SectionId> sections() const;

  // Tells the system to read bytes that will be needed. Does not wait for them, and does nothing if
  // they are out of range or the section is absent.
  // cost  2 us and 20 ns per KB when they are in memory
  void WillNeed(const Section* section, uint64_t offset, uint64_t size) const;
  void WillNeedAll(SectionId id) const { WillNeed(Find(id), 0, SectionSize(id)); }
  // The same, but only once, for bytes that have not been read since the file was opened. Costs
  // almost nothing for other bytes, and while all reads find their blocks in memory.
  void Expect(const Section* section, uint64_t offset, uint64_t size) const {
    if (in_memory() && !pages_are_dropped()) return;
    if (section == nullptr || size == 0 || offset > section->size || size > section->size - offset)
      return;
    const uint64_t begin = section->begin + offset;
    if (pages_are_dropped()) Advise(begin, begin + size);
    for (uint64_t block = begin / kBlockBytes; block <= (begin + size - 1) / kBlockBytes; ++block) {
      if (blocks_[block].load(std::memory_order_relaxed) == kUnread)
        return ExpectFrom(block, begin + size);
    }
  }

  // Call it from time to time on a thread that reads. Finds out whether the thread has waited for
  // pages that the system had dropped.
  // cost  0.3 us
  static void NoteFaults();

  // Checks about 1 MiB of the file from byte `begin`, without the parts that are not in memory.
  // Returns where to continue; size() at the end. Nothing is read from the disk. The bytes are
  // copied, not mapped, so the resident set does not grow. Damage is not reported here: the reader
  // of a damaged block finds it.
  uint64_t CheckAhead(uint64_t begin) const;
  // True for the first caller only, which then calls CheckAhead.
  bool TakeCheckAhead() const { return !check_ahead_taken_.exchange(true); }

  bool corrupt() const { return corrupt_.load(std::memory_order_relaxed); }
  void MarkCorrupt() const { corrupt_.store(true, std::memory_order_relaxed); }
  Status Health() const;
  // Reads and checks everything.
  Status Verify() const;
  // Bytes [begin, end) of the file whose checksum is wrong, and the sections that overlap them.
  struct DamagedBlock {
    uint64_t begin, end;
    std::vector<SectionId> sections;
  };
  std::vector<DamagedBlock> FindDamage() const;
  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  // Checksum of the whole file: the checksum of the checksums of its blocks.
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
  // end: end of the bytes being read.
  bool CheckBlock(uint64_t block, uint64_t end) const;
  void ExpectFrom(uint64_t block, uint64_t end) const;
  void Advise(uint64_t begin, uint64_t end) const;
  bool in_memory() const {
    return quick_.load(std::memory_order_relaxed) >= enough_.load(std::memory_order_relaxed);
  }
  static bool pages_are_dropped() { return pages_are_dropped_.load(std::memory_order_relaxed); }
  // Notes how long it took to read a block that had not been requested before.
  void NoteRead(std::chrono::nanoseconds took) const;

  static inline std::atomic<bool> pages_are_dropped_{false};  // of any file

  std::string path_;
  const char* data_ = nullptr;
  uint64_t size_ = 0;
  uint64_t body_bytes_ = 0;  // header and sections
  uint64_t sum_ = 0;
  std::span<const uint64_t> sums_;
  std::vector<Section> sections_;
  enum BlockState : uint8_t { kUnread, kRequested, kChecked };
  mutable std::vector<std::atomic<uint8_t>> blocks_;
  mutable std::atomic<uint32_t> quick_{0};  // consecutive blocks read that were in memory
  mutable std::atomic<uint32_t> enough_{
      64};  // after this many, the next ones are assumed to be in memory too
  mutable std::atomic<bool> corrupt_{false};
  mutable std::atomic<bool> check_ahead_taken_{false};
};

// Makes the names in a folder durable.
Status SyncFolder(const std::string& path);
Status IoStatus(const std::string& action, int error);

}  // namespace gannet::segment
