#include "store/page_check.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/bytes.h"

namespace gannet::store {
namespace {

constexpr uint32_t kMagic = 0xBEEFC0DE;
constexpr uint64_t kNoPage = ~uint64_t{0};
constexpr uint64_t kMetaPages = 2;
constexpr unsigned kDepthMax = 32;  // the stack of an LMDB cursor

// Flags of pages.
constexpr unsigned kBranch = 1, kLeaf = 2, kOverflow = 4, kMeta = 8, kHasDirtyOverflow = 0x2000;
// Flags of nodes.
constexpr unsigned kBigData = 1, kSubData = 2;
// Flags of trees.
constexpr unsigned kReverseKey = 2, kDuplicates = 4, kIntegerKey = 8;

// MDB_db, the same in both formats.
struct Tree {
  uint32_t page_size;  // page size, in the tree of the free list; else 0
  uint16_t flags;
  uint16_t depth;
  uint64_t branch_pages, leaf_pages, overflow_pages, entries, root;
};
static_assert(sizeof(Tree) == 48);

struct Meta {
  uint32_t magic, version;
  uint64_t address, map_size;
  Tree free, main;
  uint64_t last_page, transaction;
};
static_assert(sizeof(Meta) == 136);

// The offsets of the parts of a page.
struct Layout {
  size_t header;
  size_t base;  // offsets in a page are counted from here
  size_t flags, lower, upper;
  bool has_transaction;  // the header names the transaction that wrote the page
};
constexpr Layout kLayouts[] = {{16, 0, 10, 12, 14, false}, {24, 24, 18, 20, 22, true}};
constexpr size_t kNodeHeader = 8;

struct Counts {
  uint64_t branch_pages = 0, leaf_pages = 0, overflow_pages = 0, entries = 0;
};

class PageCheck {
 public:
  PageCheck(std::string path, std::string_view bytes, const RecordCheck& on_record)
      : path_(std::move(path)), bytes_(bytes), on_record_(on_record) {}

  Status Run() {
    GANNET_RETURN_IF_ERROR(ReadMetas());
    reached_.assign(meta_.last_page + 1, false);
    reached_[0] = reached_[1] = true;
    std::vector<std::pair<std::string, Tree>> tables;
    GANNET_RETURN_IF_ERROR(Walk("its list of tables", meta_.main, [&](const Node& node) {
      if (node.flags != kSubData || node.data.size() != sizeof(Tree))
        return Fault("its list of tables has something else");
      tables.emplace_back(NameOf(node.key), LoadFixed<Tree>(node.data.data()));
      return Status::Ok();
    }));
    for (const auto& [name, tree] : tables) {
      if ((tree.flags & (kReverseKey | kDuplicates)) != 0)
        return Fault("the table `" + name + "` is of an unknown kind");
      GANNET_RETURN_IF_ERROR(Walk("the table `" + name + "`", tree, [&](const Node& node) {
        if ((node.flags & ~kBigData) != 0)
          return Fault("a record of the table `" + name + "` is of an unknown kind");
        return on_record_ ? on_record_(name, node.key, node.data) : Status::Ok();
      }));
    }
    std::vector<bool> freed(meta_.last_page + 1, false);
    GANNET_RETURN_IF_ERROR(Walk("its list of free pages", meta_.free,
                                [&](const Node& node) { return CheckFree(node, freed); }));
    return CheckFreeAgainst(freed);
  }

 private:
  struct Node {
    std::string_view key, data;
    unsigned flags = 0;
    uint64_t child = 0;
    size_t size = 0;  // bytes in the page
  };
  using NodeCheck = std::function<Status(const Node&)>;

  Status Fault(const std::string& what) const {
    return Status::Corruption(path_ + " is damaged: " + what);
  }

  // Names end with a zero in format 2.
  static std::string NameOf(std::string_view key) {
    if (!key.empty() && key.back() == '\0') key.remove_suffix(1);
    return std::string(key);
  }

  Status ReadMetas() {
    Meta metas[kMetaPages];
    for (const size_t format : {size_t{0}, size_t{1}}) {
      layout_ = &kLayouts[format];
      if (bytes_.size() < layout_->header + sizeof(Meta)) return Fault("it is cut off");
      metas[0] = LoadFixed<Meta>(bytes_.data() + layout_->header);
      if (metas[0].magic == kMagic && metas[0].version == format + 1) break;
      if (format == 1) return Fault("it does not begin as a database of this kind");
    }
    page_size_ = metas[0].free.page_size;
    if (page_size_ < 512 || page_size_ > 32768 || (page_size_ & (page_size_ - 1)) != 0)
      return Fault("its pages have no known size");
    if (bytes_.size() < kMetaPages * page_size_) return Fault("it is cut off");
    metas[1] = LoadFixed<Meta>(bytes_.data() + page_size_ + layout_->header);
    for (uint64_t i = 0; i < kMetaPages; ++i) {
      const Meta& meta = metas[i];
      const std::string_view page = bytes_.substr(i * page_size_, page_size_);
      if (LoadFixed<uint64_t>(page.data()) != i ||
          LoadFixed<uint16_t>(page.data() + layout_->flags) != kMeta || meta.magic != kMagic ||
          meta.version != metas[0].version || meta.free.page_size != page_size_ ||
          meta.address != 0 || meta.main.page_size != 0) {
        return Fault("one of its two heads");
      }
    }
    // Commits write the two meta pages alternately; in a new file neither has a commit, in a
    // compact copy one has. A meta page that lost only its number fits none of these cases: using
    // it would hide a commit.
    const uint64_t first = metas[0].transaction, second = metas[1].transaction;
    const bool is_new = IsUnused(metas[0]) && (IsUnused(metas[1]) || second % 2 == 1);
    if (!is_new && (first % 2 != 0 || second % 2 != 1 ||
                    (first > second ? first - second : second - first) != 1)) {
      return Fault("its two heads do not follow each other");
    }
    meta_ = first > second ? metas[0] : metas[1];
    if (meta_.last_page + 1 < kMetaPages || meta_.last_page > uint64_t{1} << 40 ||
        meta_.map_size > uint64_t{1} << 47 || meta_.last_page * page_size_ > meta_.map_size) {
      return Fault("its head names more pages than there can be");
    }
    // Pages after the end of the file are free pages that were never written: at most as many as a
    // transaction may drop.
    if (meta_.last_page > bytes_.size() / page_size_ + kUnwrittenPagesMax)
      return Fault("it is cut off");
    return Status::Ok();
  }

  // Whether no commit has written the meta page.
  static bool IsUnused(const Meta& meta) {
    return meta.transaction == 0 && meta.free.root == kNoPage && meta.main.root == kNoPage &&
           meta.last_page == kMetaPages - 1;
  }

  // The bytes of `count` pages beginning with `page`, which are marked as reached.
  Result<std::string_view> Reach(uint64_t page, uint64_t count, const std::string& tree) {
    if (page < kMetaPages || page > meta_.last_page || count > meta_.last_page - page + 1) {
      return Fault(tree + " names a page beyond the last one");
    }
    if ((page + count) * page_size_ > bytes_.size())
      return Fault("it is cut off: page " + std::to_string(page) + " of " + tree);
    for (uint64_t i = page; i < page + count; ++i) {
      if (reached_[i]) return Fault("page " + std::to_string(i) + " is used twice");
      reached_[i] = true;
    }
    const std::string_view bytes = bytes_.substr(page * page_size_, count * page_size_);
    if (LoadFixed<uint64_t>(bytes.data()) != page)
      return Fault("page " + std::to_string(page) + " has another number");
    if (layout_->has_transaction && LoadFixed<uint64_t>(bytes.data() + 8) > meta_.transaction) {
      return Fault("page " + std::to_string(page) + " is newer than its head");
    }
    return bytes;
  }

  unsigned FlagsOf(std::string_view page) const {
    const unsigned flags = LoadFixed<uint16_t>(page.data() + layout_->flags);
    return layout_->has_transaction ? flags & ~kHasDirtyOverflow : flags;
  }

  Status Walk(const std::string& name, const Tree& tree, const NodeCheck& check) {
    if (tree.root == kNoPage) {
      const bool is_empty = tree.depth == 0 && tree.branch_pages == 0 && tree.leaf_pages == 0 &&
                            tree.overflow_pages == 0 && tree.entries == 0;
      return is_empty ? Status::Ok() : Fault(name + " has lost its root");
    }
    if (tree.depth == 0 || tree.depth > kDepthMax) return Fault(name + " has no known depth");
    Counts counts;
    Order order{(tree.flags & kIntegerKey) != 0, false, {}};
    order_is_separator_ = false;
    GANNET_RETURN_IF_ERROR(WalkPage(name, tree, tree.root, 1, order, counts, check));
    if (counts.branch_pages != tree.branch_pages || counts.leaf_pages != tree.leaf_pages ||
        counts.overflow_pages != tree.overflow_pages || counts.entries != tree.entries) {
      return Fault(name + " has other pages or records than are counted");
    }
    return Status::Ok();
  }

  struct Order {
    bool is_integer;
    bool has_last;
    std::string last;
    // may_equal: the last key was a separator of a branch; the first key below may equal it.
    bool Follows(std::string_view key, bool may_equal) const {
      if (!has_last) return true;
      const int comparison = Compare(key);
      return comparison < 0 || (may_equal && comparison == 0);
    }
    int Compare(std::string_view key) const {
      if (is_integer && key.size() == last.size()) {
        const auto number = [](std::string_view bytes) {
          uint64_t value = 0;
          std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof(value)));
          return value;
        };
        return number(last) < number(key) ? -1 : number(last) > number(key) ? 1 : 0;
      }
      return std::string_view(last).compare(key);
    }
    void Set(std::string_view key) {
      has_last = true;
      last.assign(key);
    }
  };

  Status WalkPage(const std::string& name, const Tree& tree, uint64_t number, unsigned depth,
                  Order& order, Counts& counts, const NodeCheck& check) {
    GANNET_ASSIGN_OR_RETURN(const std::string_view page, Reach(number, 1, name));
    const bool is_leaf = depth == tree.depth;
    if (FlagsOf(page) != (is_leaf ? kLeaf : kBranch))
      return Fault("page " + std::to_string(number) + " is of another kind than its place");
    ++(is_leaf ? counts.leaf_pages : counts.branch_pages);
    std::vector<Node> nodes;
    GANNET_RETURN_IF_ERROR(ReadNodes(number, page, is_leaf, nodes));
    const auto out_of_order = [&] {
      return Fault("page " + std::to_string(number) + " has a key out of order");
    };
    for (size_t i = 0; i < nodes.size(); ++i) {
      Node& node = nodes[i];
      if (is_leaf) {
        if (!order.Follows(node.key, i == 0 && order_is_separator_)) return out_of_order();
        order_is_separator_ = false;
        order.Set(node.key);
        ++counts.entries;
        if ((node.flags & kBigData) != 0)
          GANNET_RETURN_IF_ERROR(FollowOverflow(name, node, counts));
        GANNET_RETURN_IF_ERROR(check(node));
        continue;
      }
      // The first key of a branch is not used.
      if (i > 0) {
        if (!order.Follows(node.key, false)) return out_of_order();
        order.Set(node.key);
        order_is_separator_ = true;
      }
      GANNET_RETURN_IF_ERROR(WalkPage(name, tree, node.child, depth + 1, order, counts, check));
    }
    return Status::Ok();
  }

  Status ReadNodes(uint64_t number, std::string_view page, bool is_leaf, std::vector<Node>& nodes) {
    const auto damaged = [&] {
      return Fault("page " + std::to_string(number) + " has nodes beyond or across each other");
    };
    const size_t lower = LoadFixed<uint16_t>(page.data() + layout_->lower) + layout_->base;
    const size_t upper = LoadFixed<uint16_t>(page.data() + layout_->upper) + layout_->base;
    if (lower < layout_->header || lower % 2 != 0 || upper < lower || upper > page_size_)
      return damaged();
    const size_t count = (lower - layout_->header) / 2;
    if (count == 0) return Fault("page " + std::to_string(number) + " has no nodes");
    nodes.resize(count);
    sizes_.assign(page_size_ / 2, 0);
    for (size_t i = 0; i < count; ++i) {
      Node& node = nodes[i];
      const size_t at = LoadFixed<uint16_t>(page.data() + layout_->header + 2 * i) + layout_->base;
      if (at < upper || at % 2 != 0 || at + kNodeHeader > page_size_) return damaged();
      const char* header = page.data() + at;
      const uint64_t low = LoadFixed<uint16_t>(header), high = LoadFixed<uint16_t>(header + 2);
      const uint16_t flags = LoadFixed<uint16_t>(header + 4),
                     key_size = LoadFixed<uint16_t>(header + 6);
      const size_t left = page_size_ - at - kNodeHeader;
      if (key_size > left) return damaged();
      node.key = {header + kNodeHeader, key_size};
      node.size = kNodeHeader + key_size;
      if (is_leaf) {
        node.flags = flags;
        const size_t size = low | high << 16;
        // For a value in pages of its own, the node holds their number and, in format 2, the
        // transaction that wrote them and how many there are.
        const size_t here = (flags & kBigData) == 0 ? size : layout_->has_transaction ? 24 : 8;
        if (here > left - key_size) return damaged();
        node.data = {header + kNodeHeader + key_size, (flags & kBigData) == 0 ? size : here};
        node.child = size;
        node.size += here;
      } else {
        node.child = low | high << 16 | uint64_t{flags} << 32;
      }
      node.size += node.size % 2;
      if (at + node.size > page_size_ || sizes_[at / 2] != 0) return damaged();
      sizes_[at / 2] = static_cast<uint16_t>(node.size);
    }
    // Nodes are adjacent, without gaps.
    size_t at = upper, found = 0;
    for (; at < page_size_ && sizes_[at / 2] != 0; at += sizes_[at / 2]) ++found;
    return at == page_size_ && found == count ? Status::Ok() : damaged();
  }

  // A record that was shortened may keep more pages than it needs.
  Status FollowOverflow(const std::string& name, Node& node, Counts& counts) {
    const uint64_t page = LoadFixed<uint64_t>(node.data.data()), size = node.child;
    const auto damaged = [&] {
      return Fault("page " + std::to_string(page) + " of " + name +
                   " is not that of a long record");
    };
    if (page < kMetaPages || (page + 1) * page_size_ > bytes_.size() || page > meta_.last_page)
      return damaged();
    const std::string_view first = bytes_.substr(page * page_size_, page_size_);
    const uint64_t pages = LoadFixed<uint32_t>(first.data() + layout_->lower);
    if (FlagsOf(first) != kOverflow || pages < (layout_->header - 1 + size) / page_size_ + 1)
      return damaged();
    if (layout_->has_transaction &&
        (LoadFixed<uint64_t>(node.data.data() + 8) > meta_.transaction ||
         LoadFixed<uint64_t>(node.data.data() + 16) != pages)) {
      return damaged();
    }
    GANNET_ASSIGN_OR_RETURN(const std::string_view bytes, Reach(page, pages, name));
    counts.overflow_pages += pages;
    node.data = bytes.substr(layout_->header, size);
    return Status::Ok();
  }

  // Checks one record of the list of free pages: their number, then the pages. In format 2 there
  // are also runs, as minus their length and their first page, and zeros, which are ignored.
  Status CheckFree(const Node& node, std::vector<bool>& freed) {
    const auto damaged = [&] { return Fault("its list of free pages"); };
    if (node.key.size() != 8 || node.data.size() < 8 || node.data.size() % 8 != 0) return damaged();
    const uint64_t transaction = LoadFixed<uint64_t>(node.key.data());
    if (transaction == 0 || transaction > meta_.transaction) return damaged();
    const uint64_t count = LoadFixed<uint64_t>(node.data.data());
    if (count > node.data.size() / 8 - 1) return damaged();
    int64_t run = 1, last = 0;
    for (uint64_t i = 1; i <= count; ++i) {
      const int64_t entry = LoadFixed<int64_t>(node.data.data() + 8 * i);
      if (layout_->has_transaction) {
        if (entry == 0) continue;
        if (entry < 0) {
          if (run != 1) return damaged();
          run = -entry;
          continue;
        }
      } else if (last != 0 && entry >= last) {
        return damaged();
      }
      last = entry;
      if (entry < static_cast<int64_t>(kMetaPages) ||
          static_cast<uint64_t>(entry) > meta_.last_page || run < 1 ||
          static_cast<uint64_t>(run) > meta_.last_page - static_cast<uint64_t>(entry) + 1) {
        return damaged();
      }
      for (int64_t page = entry; page < entry + run; ++page) {
        if (!layout_->has_transaction && freed[static_cast<size_t>(page)]) return damaged();
        freed[static_cast<size_t>(page)] = true;
      }
      run = 1;
    }
    return Status::Ok();
  }

  Status CheckFreeAgainst(const std::vector<bool>& freed) const {
    for (uint64_t page = kMetaPages; page <= meta_.last_page; ++page) {
      if (freed[page] && reached_[page])
        return Fault("page " + std::to_string(page) + " is listed as free and in use");
    }
    return Status::Ok();
  }

  // An LMDB transaction has at most 2^17 pages.
  static constexpr uint64_t kUnwrittenPagesMax = uint64_t{1} << 17;

  const std::string path_;
  const std::string_view bytes_;
  const RecordCheck& on_record_;
  const Layout* layout_ = nullptr;
  size_t page_size_ = 0;
  Meta meta_{};
  bool order_is_separator_ = false;  // the last key is that of a branch
  std::vector<bool> reached_;        // by page
  std::vector<uint16_t> sizes_;      // sizes of the nodes of a page, by half their offset
};

class MappedFile {
 public:
  ~MappedFile() {
    if (bytes_ != MAP_FAILED) munmap(bytes_, size_);
    if (descriptor_ >= 0) close(descriptor_);
  }
  Status Open(const std::string& path) {
    const auto failed = [&](const char* action) {
      return Status(StatusCode::kIo, std::string(action) + " " + path + ": " + std::strerror(errno),
                    errno == EMFILE || errno == ENFILE ? "too_many_open_files" : "");
    };
    descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) {
      if (errno == ENOENT) return Status::NotFound(path + " is missing");
      return failed("opening");
    }
    struct stat status {};
    if (fstat(descriptor_, &status) != 0) return failed("opening");
    if (!S_ISREG(status.st_mode)) return Status::Io(path + " is no file");
    if (status.st_size == 0) return Status::NotFound(path + " is empty");
    size_ = static_cast<size_t>(status.st_size);
    bytes_ = mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor_, 0);
    return bytes_ == MAP_FAILED ? failed("mapping") : Status::Ok();
  }
  std::string_view bytes() const { return {static_cast<const char*>(bytes_), size_}; }

 private:
  int descriptor_ = -1;
  void* bytes_ = MAP_FAILED;
  size_t size_ = 0;
};

}  // namespace

Status CheckPages(const std::string& path, const RecordCheck& on_record) {
  MappedFile file;
  GANNET_RETURN_IF_ERROR(file.Open(path));
  return PageCheck(path, file.bytes(), on_record).Run();
}

}  // namespace gannet::store
