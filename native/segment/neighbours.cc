#include "segment/neighbours.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/bytes.h"
#include "bitmap/docset.h"
#include "segment/layout.h"

namespace gannet::segment {
namespace {

constexpr uint32_t kBlockDocids = 1 << 16;
constexpr uint64_t kFormRoaring = 1;
// A bit per docid is smaller than a gap of a byte when more than an eighth of the range is in use.
constexpr uint64_t kDenseShare = 8;

}  // namespace

// What blocks have found, one behind the other: for each pair with documents, ascending, the varint distance of the pair,
// the varint number of documents, their docids as varint gaps within the block.
class NeighbourWriter::Spool {
 public:
  ~Spool() {
    if (map_ != nullptr) munmap(map_, written_);
    if (descriptor_ >= 0) close(descriptor_);
  }

  void BeginBlock(uint32_t block) { blocks_.push_back({block, written_ + buffer_.size(), 0}); }
  std::string& buffer() { return buffer_; }
  // Small segments never touch the disk.
  void EndBlock(const std::string& folder) {
    blocks_.back().end = written_ + buffer_.size();
    if (buffer_.size() >= kHeldBytes) Flush(folder);
  }

  struct Block {
    uint32_t block;
    uint64_t begin, end;
  };
  const std::vector<Block>& blocks() const { return blocks_; }

  // All bytes, once the last block has ended.
  Result<std::string_view> Bytes(const std::string& folder) {
    if (descriptor_ < 0 && status_.ok()) return std::string_view(buffer_);
    Flush(folder);
    GANNET_RETURN_IF_ERROR(status_);
    void* map = mmap(nullptr, written_, PROT_READ, MAP_SHARED, descriptor_, 0);
    if (map == MAP_FAILED) return IoStatus("mapping a temporary file", errno);
    map_ = map;
    return std::string_view(static_cast<const char*>(map), written_);
  }

 private:
  static constexpr size_t kHeldBytes = 4 << 20;

  void Flush(const std::string& folder) {
    if (descriptor_ < 0 && status_.ok()) {
      std::string path = folder + "/neighbours-XXXXXX";
      descriptor_ = mkostemp(path.data(), O_CLOEXEC);
      if (descriptor_ < 0) {
        status_ = IoStatus("creating a temporary file", errno);
      } else {
        unlink(path.c_str());
      }
    }
    for (size_t at = 0; at < buffer_.size() && status_.ok();) {
      const ssize_t count = write(descriptor_, buffer_.data() + at, buffer_.size() - at);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        status_ = IoStatus("writing a temporary file", errno);
      } else {
        at += static_cast<size_t>(count);
      }
    }
    written_ += buffer_.size();
    buffer_.clear();
  }

  std::string buffer_;
  std::vector<Block> blocks_;
  uint64_t written_ = 0;
  int descriptor_ = -1;
  void* map_ = nullptr;
  Status status_;
};

NeighbourWriter::NeighbourWriter(SegmentFileWriter& file, std::vector<Ordinal> words, uint32_t word_count)
    : file_(file), words_(std::move(words)), ranks_(word_count), last_seen_(words_.size() * words_.size()),
      counts_(words_.size() * words_.size() + 1), spool_(std::make_unique<Spool>()) {
  for (size_t i = 0; i < words_.size(); ++i) ranks_[words_[i]] = static_cast<uint16_t>(i + 1);
}

NeighbourWriter::~NeighbourWriter() = default;

void NeighbourWriter::BeginDocument(DocId docid) {
  if (any_ && docid / kBlockDocids != docid_ / kBlockDocids) EndBlock();
  any_ = true;
  docid_ = docid;
  last_rank_ = 0;
}

void NeighbourWriter::Found(size_t pair) {
  if (last_seen_[pair] == docid_ + 1) return;
  last_seen_[pair] = docid_ + 1;
  pairs_.push_back(static_cast<uint32_t>(pair));
  docids_.push_back(static_cast<uint16_t>(docid_));
}

void NeighbourWriter::EndBlock() {
  if (pairs_.empty()) return;
  // Sorted by pair, docids in order within each.
  std::fill(counts_.begin(), counts_.end(), 0);
  for (const uint32_t pair : pairs_) ++counts_[pair + 1];
  for (size_t i = 1; i < counts_.size(); ++i) counts_[i] += counts_[i - 1];
  std::vector<uint16_t> sorted(docids_.size());
  for (size_t i = 0; i < pairs_.size(); ++i) sorted[counts_[pairs_[i]]++] = docids_[i];
  // counts_[pair] is now where its docids end.
  spool_->BeginBlock(docid_ / kBlockDocids);
  std::string& out = spool_->buffer();
  uint32_t begin = 0;
  for (size_t pair = 0, last = 0; pair + 1 < counts_.size(); ++pair) {
    const uint32_t end = counts_[pair];
    if (end == begin) continue;
    PutVarint(out, pair - last);
    last = pair;
    PutVarint(out, end - begin);
    for (uint32_t next = 0; begin < end; ++begin) {
      PutVarint(out, sorted[begin] - next);
      next = sorted[begin] + uint32_t{1};
    }
  }
  spool_->EndBlock(file_.folder());
  pairs_.clear();
  docids_.clear();
}

Status NeighbourWriter::Finish() {
  EndBlock();
  if (words_.empty()) return Status::Ok();
  GANNET_ASSIGN_OR_RETURN(const std::string_view bytes, spool_->Bytes(file_.folder()));
  // The blocks are walked side by side, pair by pair.
  struct Walk {
    uint32_t block;
    ByteReader reader;
    uint64_t pair;  // next one
    bool done;
  };
  std::vector<Walk> walks;
  for (const Spool::Block& block : spool_->blocks()) {
    walks.push_back({block.block, ByteReader(bytes.substr(block.begin, block.end - block.begin)), 0, false});
    walks.back().pair = walks.back().reader.Varint();
  }
  std::string directory;
  PutVarint(directory, words_.size());
  Ordinal last_word = 0;
  for (const Ordinal word : words_) {
    PutVarint(directory, word - last_word);
    last_word = word;
  }
  file_.BeginSection(kNeighbourData);
  std::vector<uint32_t> docids;
  std::string list, row;
  for (uint64_t left = 0; left < words_.size(); ++left) {
    row.clear();
    uint64_t entries = 0, last = 0;
    while (true) {
      uint64_t pair = ~uint64_t{0};
      for (const Walk& walk : walks) {
        if (!walk.done) pair = std::min(pair, walk.pair);
      }
      if (pair >= (left + 1) * words_.size()) break;
      docids.clear();
      for (Walk& walk : walks) {
        if (walk.done || walk.pair != pair) continue;
        const uint64_t count = walk.reader.Varint();
        uint32_t next = walk.block * kBlockDocids;
        for (uint64_t i = 0; i < count; ++i) {
          docids.push_back(next + static_cast<uint32_t>(walk.reader.Varint()));
          next = docids.back() + 1;
        }
        walk.done = walk.reader.done();
        if (!walk.done) walk.pair += walk.reader.Varint();
      }
      list.clear();
      if (docids.size() > (docids.back() - docids.front()) / kDenseShare + 1) {
        PutVarint(list, docids.size() * 2 + kFormRoaring);
        DocSet set = DocSet::FromSorted(docids);
        set.Optimize();
        set.AppendTo(list);
      } else {
        PutVarint(list, docids.size() * 2);
        uint32_t next = 0;
        for (const uint32_t docid : docids) {
          PutVarint(list, docid - next);
          next = docid + 1;
        }
      }
      file_.Append(list);
      const uint64_t right = pair - left * words_.size();
      PutVarint(row, right - last);
      PutVarint(row, list.size());
      last = right;
      ++entries;
    }
    PutVarint(directory, entries);
    directory += row;
  }
  file_.EndSection();
  file_.AddSection(kNeighbourWords, directory);
  return Status::Ok();
}

Result<NeighbourReader> NeighbourReader::Open(const SegmentFile& file) {
  NeighbourReader reader;
  if (!file.Has(kNeighbourWords)) return reader;
  const Status damaged = Status::Corruption("the segment file " + file.path() + " is damaged");
  ByteReader bytes(file.ReadAll(kNeighbourWords));
  const uint64_t words = bytes.Varint();
  if (words > kFrequentWordsMax) return damaged;
  uint64_t word = 0;
  for (uint64_t i = 0; i < words; ++i) {
    word += bytes.Varint();
    reader.words_.push_back(static_cast<Ordinal>(word));
  }
  uint64_t begin = 0;
  for (uint64_t left = 0; left < words && bytes.ok(); ++left) {
    const uint64_t count = bytes.Varint(), row_begin = begin;
    const char* const row = bytes.at();
    uint64_t right = 0;
    for (uint64_t i = 0; i < count && bytes.ok(); ++i) {
      right += bytes.Varint();
      if (right >= words) return damaged;
      begin += bytes.Varint();
    }
    reader.rows_.push_back({std::string_view(row, static_cast<size_t>(bytes.at() - row)), row_begin});
  }
  if (!bytes.ok() || !bytes.done() || begin != file.SectionSize(kNeighbourData)) return damaged;
  return reader;
}

int64_t NeighbourReader::Place(Ordinal ordinal) const {
  const auto found = std::lower_bound(words_.begin(), words_.end(), ordinal);
  return found != words_.end() && *found == ordinal ? found - words_.begin() : -1;
}

void NeighbourReader::Union(const SegmentFile& file, Ordinal left, Ordinal right, DocSetUnion& out) const {
  const Row& row = rows_[static_cast<size_t>(Place(left))];
  const auto wanted = static_cast<uint64_t>(Place(right));
  uint64_t begin = row.begin, size = 0, place = 0;
  bool found = false;
  for (ByteReader entries(row.entries); !found && !entries.done();) {
    begin += size;
    place += entries.Varint();
    size = entries.Varint();
    if (place > wanted) return;
    found = place == wanted;
  }
  if (!found) return;
  ByteReader bytes(file.Read(kNeighbourData, begin, size));
  const uint64_t header = bytes.Varint();
  if ((header & kFormRoaring) != 0) return out.AddRoaring({bytes.at(), bytes.left()});
  std::vector<uint32_t> docids;
  docids.reserve(header >> 1);
  uint32_t next = 0;
  for (uint64_t i = 0; i < header >> 1 && bytes.ok(); ++i) {
    docids.push_back(next + static_cast<uint32_t>(bytes.Varint()));
    next = docids.back() + 1;
  }
  out.Add(docids);
}

}  // namespace gannet::segment
