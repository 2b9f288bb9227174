#include "segment/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/checksum.h"

namespace gannet::segment {
namespace {

constexpr char kMagic[8] = {'G', 'N', 'T', 'S', 'E', 'G', '0', '1'};
constexpr uint32_t kFileVersion = 6;
constexpr size_t kFileHeaderBytes = 16;
constexpr size_t kFileFooterBytes = 40;
// Bytes are written in pieces of this size, at multiples of it. So file systems can keep them in
// huge pages, and a search, which jumps around in them, spends less time on page lookups.
constexpr size_t kWriteBytes = 2 << 20;
// The kernel is made to write this many bytes at a time, while the file grows. Left to the final
// sync they would be hundreds of megabytes, and all other syncs would wait for them: while a file
// of 300 MB was written at 100 MB/s the slowest sync of a small file took 129 ms, now 44 ms
// (medians of four, on a shared disk).
constexpr uint64_t kWritebackBytes = 8 << 20;
// Bytes to read ahead for a reader that has just read the preceding block.
constexpr uint64_t kSequentialBytes = 256 << 10;
// Some systems do not read more for one request to read ahead.
constexpr uint64_t kAdviceBytes = 1 << 20;
// The tail of a file, footer and sums, is at most this share of it, 1 / kTailShare, and a page.
constexpr uint64_t kTailShare = kBlockBytes / sizeof(uint64_t);
constexpr uint64_t kBlockPages = kBlockBytes / kPageBytes;
// Blocks per step: the memory map of the process is locked while the system looks up which of them
// are in memory.
constexpr uint64_t kCheckedAheadBlocks = 64;

// Pages are dropped if a thread waits for as many between two calls of NoteFaults, and for a while
// after that.
constexpr long kFaultsMin = 32;
constexpr std::chrono::seconds kDroppedFor(1);

}  // namespace

Status IoStatus(const std::string& action, int error) {
  std::string message = action + ": " + std::strerror(error);
  if (error == ENOSPC || error == EDQUOT) return Status::Full(std::move(message));
  if (error == EMFILE || error == ENFILE)
    return Status(StatusCode::kIo, std::move(message), "too_many_open_files");
  return Status::Io(std::move(message));
}

Status SyncFolder(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return IoStatus("opening a folder", errno);
  const int code = fsync(descriptor);
  const int error = errno;
  close(descriptor);
  return code == 0 ? Status::Ok() : IoStatus("syncing a folder", error);
}

Result<std::unique_ptr<SegmentFileWriter>> SegmentFileWriter::Create(const std::string& path) {
  const int descriptor = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (descriptor < 0) return IoStatus("creating a segment file", errno);
  return std::unique_ptr<SegmentFileWriter>(new SegmentFileWriter(descriptor, path));
}

SegmentFileWriter::SegmentFileWriter(int descriptor, std::string path)
    : descriptor_(descriptor), path_(std::move(path)) {
  std::string header(kMagic, sizeof(kMagic));
  PutFixed<uint32_t>(header, kFileVersion);
  PutFixed<uint32_t>(header, 0);
  Append(header);
}

SegmentFileWriter::~SegmentFileWriter() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!finished_) unlink(path_.c_str());
}

void SegmentFileWriter::Append(std::string_view bytes) {
  buffer_.append(bytes);
  if (buffer_.size() >= kWriteBytes) Flush(buffer_.size() - buffer_.size() % kWriteBytes);
}

void SegmentFileWriter::Flush(size_t bytes) {
  for (size_t at = 0; at < bytes;) {
    const size_t take = std::min(kBlockBytes - block_.size(), bytes - at);
    if (block_.empty() && take == kBlockBytes) {
      sums_.push_back(Checksum(std::string_view(buffer_).substr(at, take)));
    } else {
      block_.append(buffer_, at, take);
      if (block_.size() == kBlockBytes) {
        sums_.push_back(Checksum(block_));
        block_.clear();
      }
    }
    at += take;
  }
  for (size_t at = 0; at < bytes && status_.ok();) {
    const ssize_t count = write(descriptor_, buffer_.data() + at, bytes - at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      status_ = IoStatus("writing a segment", errno);
    } else {
      at += static_cast<size_t>(count);
    }
  }
  written_ += bytes;
  buffer_.erase(0, bytes);
#ifdef __linux__
  if (status_.ok() && written_ - writing_ >= kWritebackBytes) {
    // A hint: an error here is reported again when the file is synced.
    sync_file_range(descriptor_, static_cast<off_t>(writing_),
                    static_cast<off_t>(written_ - writing_), SYNC_FILE_RANGE_WRITE);
    writing_ = written_;
  }
#endif
}

void SegmentFileWriter::BeginSection(SectionId id) {
  section_begin_ = written_ + buffer_.size();
  sections_.push_back({id, section_begin_, 0});
}

void SegmentFileWriter::EndSection() {
  sections_.back().size = section_bytes();
  const uint64_t end = written_ + buffer_.size();
  Append(std::string(kSectionPadding + (8 - end % 8) % 8, '\0'));
}

void SegmentFileWriter::AddSection(SectionId id, std::string_view bytes) {
  BeginSection(id);
  Append(bytes);
  EndSection();
}

Status SegmentFileWriter::Finish() {
  Flush(buffer_.size());
  if (!block_.empty()) sums_.push_back(Checksum(block_));
  const uint64_t body = written_;
  std::string tail;
  for (const uint64_t sum : sums_) PutFixed(tail, sum);
  for (const Section& section : sections_) {
    PutFixed<uint64_t>(tail, section.id);
    PutFixed(tail, section.begin);
    PutFixed(tail, section.size);
  }
  const uint64_t sum = Checksum(tail);
  PutFixed<uint64_t>(tail, body);
  PutFixed<uint64_t>(tail, sums_.size());
  PutFixed<uint64_t>(tail, sections_.size());
  PutFixed<uint64_t>(tail, sum ^ body);
  tail.append(kMagic, sizeof(kMagic));
  buffer_ = std::move(tail);
  Flush(buffer_.size());
  if (status_.ok() && fdatasync(descriptor_) != 0) status_ = IoStatus("syncing a segment", errno);
  if (close(std::exchange(descriptor_, -1)) != 0 && status_.ok()) {
    status_ = IoStatus("closing a segment", errno);
  }
  finished_ = status_.ok();
  return status_;
}

Result<std::shared_ptr<SegmentFile>> SegmentFile::Open(const std::string& path, HeaderCheck check) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return errno == ENOENT ? Status::Corruption("the segment file " + path + " is missing")
                           : IoStatus("opening a segment", errno);
  }
  struct stat status {};
  const bool known = fstat(descriptor, &status) == 0;
  const uint64_t size = known ? static_cast<uint64_t>(status.st_size) : 0;
  const Status damaged = Status::Corruption("the segment file " + path + " is damaged");
  if (size < kFileHeaderBytes + kFileFooterBytes) {
    close(descriptor);
    return damaged;
  }
  void* map = mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  const int error = errno;
  close(descriptor);
  if (map == MAP_FAILED) return IoStatus("mapping a segment", error);
  auto file = std::shared_ptr<SegmentFile>(new SegmentFile());
  file->path_ = path;
  file->data_ = static_cast<const char*>(map);
  file->size_ = size;
  // Hints: if they fail, reading is only slower.
  madvise(map, size, MADV_RANDOM);
  file->Advise(size - std::min(size, size / kTailShare + kPageBytes), size);
  const char* footer = file->data_ + size - kFileFooterBytes;
  const auto body = LoadFixed<uint64_t>(footer), blocks = LoadFixed<uint64_t>(footer + 8),
             count = LoadFixed<uint64_t>(footer + 16), sum = LoadFixed<uint64_t>(footer + 24);
  if (std::memcmp(footer + 32, kMagic, sizeof(kMagic)) != 0 ||
      std::memcmp(file->data_, kMagic, sizeof(kMagic)) != 0) {
    return damaged;
  }
  if (LoadFixed<uint32_t>(file->data_ + 8) != kFileVersion) {
    return Status::Corruption("the segment file " + path + " is of another version");
  }
  if (body > size || body % 8 != 0 || blocks != (body + kBlockBytes - 1) / kBlockBytes ||
      count > (1 << 20) || body + blocks * 8 + count * 24 + kFileFooterBytes != size) {
    return damaged;
  }
  const std::string_view tail(file->data_ + body, blocks * 8 + count * 24);
  if ((Checksum(tail) ^ body) != sum) return damaged;
  file->body_bytes_ = body;
  file->sum_ = sum;
  file->sums_ = {reinterpret_cast<const uint64_t*>(tail.data()), blocks};
  file->blocks_ = std::vector<std::atomic<uint8_t>>(blocks);
  for (uint64_t i = 0; i < count; ++i) {
    const char* at = tail.data() + blocks * 8 + i * 24;
    Section section{static_cast<SectionId>(LoadFixed<uint64_t>(at)), LoadFixed<uint64_t>(at + 8),
                    LoadFixed<uint64_t>(at + 16)};
    if (section.begin > body || section.size > body - section.begin) return damaged;
    file->sections_.push_back(section);
  }
  // The header is not part of a section, so nothing else would check it.
  if (check == HeaderCheck::kNow && !file->CheckBlocks(0, kFileHeaderBytes)) return damaged;
  return file;
}

SegmentFile::~SegmentFile() {
  if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
}

const SegmentFile::Section* SegmentFile::Find(SectionId id) const {
  for (const Section& section : sections_) {
    if (section.id == id) return &section;
  }
  return nullptr;
}

bool SegmentFile::Has(SectionId id) const { return Find(id) != nullptr; }
uint64_t SegmentFile::SectionSize(SectionId id) const {
  const Section* section = Find(id);
  return section == nullptr ? 0 : section->size;
}
std::vector<SectionId> SegmentFile::sections() const {
  std::vector<SectionId> ids;
  for (const Section& section : sections_) ids.push_back(section.id);
  return ids;
}

bool SegmentFile::CheckBlock(uint64_t block, uint64_t end) const {
  const bool unread = blocks_[block].load(std::memory_order_relaxed) == kUnread;
  if (unread && !in_memory()) {
    const bool sequential =
        block > 0 && blocks_[block - 1].load(std::memory_order_relaxed) == kChecked;
    ExpectFrom(block, sequential ? std::min(std::max(end, block * kBlockBytes + kSequentialBytes),
                                            body_bytes_)
                                 : end);
  }
  using Clock = std::chrono::steady_clock;
  const auto began = unread ? Clock::now() : Clock::time_point();
  if (Checksum(BlockBytes(data_ + block * kBlockBytes, block)) != sums_[block]) {
    MarkCorrupt();
    return false;
  }
  blocks_[block].store(kChecked, std::memory_order_relaxed);
  if (unread) NoteRead(Clock::now() - began);
  return true;
}

uint64_t SegmentFile::CheckAhead(uint64_t begin) const {
#ifdef __linux__
  if (sysconf(_SC_PAGESIZE) != static_cast<long>(kPageBytes)) return size_;
  const uint64_t first = begin / kBlockBytes,
                 end = std::min(first + kCheckedAheadBlocks, uint64_t{sums_.size()});
  if (first >= end) return size_;
  const uint64_t from = first * kBlockBytes,
                 bytes = std::min(end * kBlockBytes, body_bytes_) - from;
  const uint64_t next = end == sums_.size() ? size_ : end * kBlockBytes;
  std::array<unsigned char, kCheckedAheadBlocks * kBlockPages> in_memory;
  if (mincore(const_cast<char*>(data_) + from, bytes, in_memory.data()) != 0) return size_;
  const auto is_wanted = [&](uint64_t block) {
    const auto* pages = in_memory.data() + (block - first) * kBlockPages;
    const uint64_t count = (BlockBytes(nullptr, block).size() + kPageBytes - 1) / kPageBytes;
    return blocks_[block].load(std::memory_order_relaxed) != kChecked &&
           std::all_of(pages, pages + count, [](unsigned char page) { return (page & 1) != 0; });
  };
  uint64_t block = first;
  while (block < end && !is_wanted(block)) ++block;
  if (block == end) return next;
  const int descriptor = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return size_;
  // If memory is short, these pages are not to be kept in preference to others.
  posix_fadvise(descriptor, 0, 0, POSIX_FADV_NOREUSE);
  std::array<char, kBlockBytes> copy;
  for (; block < end; ++block) {
    if (!is_wanted(block)) continue;
    const std::string_view read = BlockBytes(copy.data(), block);
    if (pread(descriptor, copy.data(), read.size(), static_cast<off_t>(block * kBlockBytes)) !=
        static_cast<ssize_t>(read.size()))
      break;
    if (Checksum(read) == sums_[block]) blocks_[block].store(kChecked, std::memory_order_relaxed);
  }
  close(descriptor);
  return next;
#else
  static_cast<void>(begin);
  return size_;
#endif
}

void SegmentFile::NoteRead(std::chrono::nanoseconds took) const {
  // In memory a block takes 3 us, from a fast disk 80. Each time that a block assumed to be in
  // memory was not, more blocks are checked before the next assumption.
  constexpr std::chrono::microseconds kQuickMax(30);
  constexpr uint32_t kEnoughMax = 4096;
  if (took <= kQuickMax) {
    if (!in_memory()) quick_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const uint32_t enough = enough_.load(std::memory_order_relaxed);
  if (in_memory() && enough < kEnoughMax) enough_.store(enough * 2, std::memory_order_relaxed);
  quick_.store(0, std::memory_order_relaxed);
}

void SegmentFile::NoteFaults() {
#ifdef __linux__
  using Clock = std::chrono::steady_clock;
  static std::atomic<Clock::duration> until{};
  static thread_local constinit long before = 0;
  struct rusage usage {};
  if (getrusage(RUSAGE_THREAD, &usage) != 0) return;
  const long faults = usage.ru_majflt - std::exchange(before, usage.ru_majflt);
  if (faults < kFaultsMin && !pages_are_dropped()) return;
  const auto now = Clock::now().time_since_epoch();
  if (faults >= kFaultsMin) until.store(now + kDroppedFor, std::memory_order_relaxed);
  pages_are_dropped_.store(now < until.load(std::memory_order_relaxed), std::memory_order_relaxed);
#endif
}

void SegmentFile::ExpectFrom(uint64_t block, uint64_t end) const {
  // Requests neighbouring blocks together. Blocks that are already in memory are not requested,
  // except between two others.
  const uint64_t last = (end - 1) / kBlockBytes;
  while (block <= last) {
    uint64_t until = block;
    for (uint8_t unread = kUnread;
         until <= last &&
         blocks_[until].compare_exchange_strong(unread, kRequested, std::memory_order_relaxed);
         ++until) {
    }
    if (until > block) Advise(block * kBlockBytes, std::min(until * kBlockBytes, body_bytes_));
    block = until + 1;
  }
}

void SegmentFile::Advise(uint64_t begin, uint64_t end) const {
  for (begin -= begin % kPageBytes; begin < end; begin += kAdviceBytes) {
    madvise(const_cast<char*>(data_) + begin, std::min(kAdviceBytes, end - begin), MADV_WILLNEED);
  }
}

void SegmentFile::WillNeed(const Section* section, uint64_t offset, uint64_t size) const {
  if (section == nullptr || offset > section->size || size > section->size - offset) return;
  Advise(section->begin + offset, section->begin + offset + size);
}

Status SegmentFile::Health() const {
  return corrupt() ? Status::Corruption("the segment file " + path_ + " is damaged") : Status::Ok();
}

Status SegmentFile::Verify() const {
  FindDamage();
  return Health();
}

std::vector<SegmentFile::DamagedBlock> SegmentFile::FindDamage() const {
  std::vector<DamagedBlock> damage;
  for (auto& block : blocks_) block.store(kUnread, std::memory_order_relaxed);
  for (uint64_t begin = 0; begin < body_bytes_; begin += kBlockBytes) {
    const uint64_t end = std::min<uint64_t>(begin + kBlockBytes, body_bytes_);
    if (CheckBlocks(begin, end)) continue;
    DamagedBlock block{begin, end, {}};
    for (const Section& section : sections_) {
      // Includes the padding, which is checked together with the section.
      if (section.begin < end && section.begin + section.size + kSectionPadding > begin)
        block.sections.push_back(section.id);
    }
    damage.push_back(std::move(block));
  }
  return damage;
}

}  // namespace gannet::segment
