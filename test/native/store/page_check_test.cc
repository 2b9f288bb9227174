// Any change to an LMDB file is either detected, or does not change what is read.
#include "store/page_check.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "store/env.h"
#include "test_seed.h"

namespace gannet::store {
namespace {

using Records = std::map<std::pair<std::string, std::string>, std::string>;

class PageCheckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    random_.seed(TestSeed());
    folder_ =
        std::filesystem::temp_directory_path() / ("gannet-pages-" + std::to_string(random_()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ / "index.mdb"; }
  std::string Bytes() const {
    std::ifstream in(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void Write(std::string_view bytes) const {
    std::ofstream(path(), std::ios::binary | std::ios::trunc) << bytes;
  }

  // Transactions of random puts and deletions over two tables; values up to some pages.
  void Fill(int transactions) {
    const auto env = Environment::Create(path());
    ASSERT_TRUE(env.ok()) << env.status().message();
    const char* const names[] = {"main", "external_ids"};
    Table tables[2];
    for (int i = 0; i < 2; ++i) tables[i] = *(*env)->OpenTable(names[i]);
    for (int t = 0; t < transactions; ++t) {
      auto txn = (*env)->Write();
      ASSERT_TRUE(txn.ok());
      for (int n = random_() % 60; n >= 0; --n) {
        const int table = random_() % 8 == 0 ? 0 : 1;
        const std::string key = "key" + std::to_string(random_() % (table == 0 ? 20 : 2000));
        if (random_() % 3 == 0) {
          ASSERT_TRUE(txn->Delete(tables[table], key).ok());
          expected_.erase({names[table], key});
        } else {
          const std::string value(random_() % (table == 0 ? 9000 : 40),
                                  static_cast<char>('a' + random_() % 26));
          ASSERT_TRUE(txn->Put(tables[table], key, value).ok());
          expected_[{names[table], key}] = value;
        }
      }
      ASSERT_TRUE(txn->Commit().ok());
      if (t % 5 == 0) {
        const Status status = CheckPages(path());
        ASSERT_TRUE(status.ok()) << status.message();
      }
    }
  }

  // The records of the file; nullopt: it is refused.
  std::optional<Records> Read(const std::string& file) const {
    const auto env = Environment::OpenReadOnly(file);
    if (!env.ok()) return std::nullopt;
    const auto txn = (*env)->Read();
    if (!txn.ok()) return std::nullopt;
    Records records;
    for (const char* const name : {"main", "external_ids"}) {
      const auto table = txn->FindTable(name);
      if (!table) return std::nullopt;
      Cursor cursor(*txn, *table);
      for (bool more = cursor.First(); more; more = cursor.Next()) {
        if (!cursor.value()) return std::nullopt;
        records[{name, std::string(cursor.key())}] = std::string(*cursor.value());
      }
    }
    return records;
  }

  std::mt19937_64 random_;
  std::filesystem::path folder_;
  Records expected_;
};

TEST_F(PageCheckTest, FindsNothingInAValidFile) {
  Fill(120);
  EXPECT_TRUE(CheckPages(path()).ok());
  EXPECT_EQ(Read(path()), expected_);
}

TEST_F(PageCheckTest, EveryChangeIsFoundOrHarmless) {
  Fill(60);
  const std::string whole = Bytes();
  int refused = 0;
  for (int change = 0; change < 1500; ++change) {
    std::string bytes = whole;
    switch (random_() % 6) {
      case 0:  // truncated
        bytes.resize(random_() % bytes.size());
        break;
      case 1:  // a copy of another page
        bytes.replace(random_() % (bytes.size() / 4096) * 4096, 4096, whole,
                      random_() % (bytes.size() / 4096) * 4096, 4096);
        break;
      case 2:  // a header
        bytes[random_() % (bytes.size() / 4096) * 4096 + random_() % 160] ^=
            static_cast<char>(1 + random_() % 255);
        break;
      case 3:  // a run of zeros
        for (size_t at = random_() % bytes.size(), n = random_() % 5000; n > 0 && at < bytes.size();
             ++at, --n)
          bytes[at] = 0;
        break;
      default: bytes[random_() % bytes.size()] ^= static_cast<char>(1 << random_() % 8);
    }
    if (bytes == whole) continue;
    Write(bytes);
    const auto records = Read(path());
    if (!records) {
      ++refused;
    } else {
      ASSERT_EQ(*records, expected_) << "change " << change;
    }
  }
  EXPECT_GT(refused, 300);
}

// The other meta page holds an older commit, which would be taken for the last one.
TEST_F(PageCheckTest, AMetaPageWithoutTheNumberOfItsCommitIsFound) {
  Fill(20);
  const std::string whole = Bytes();
  constexpr size_t kPage = 4096, kTransaction = 16 + 128;
  for (const size_t head : {0, 1}) {
    std::string bytes = whole;
    bytes.replace(head * kPage + kTransaction, 8, 8, '\0');
    ASSERT_NE(bytes, whole);
    Write(bytes);
    EXPECT_FALSE(CheckPages(path()).ok()) << "head " << head;
  }
}

TEST_F(PageCheckTest, AMissingOrEmptyFileIsRefused) {
  for (const bool is_empty : {false, true}) {
    if (is_empty) Write("");
    const auto opened = Environment::Open(path());
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.status().code(), StatusCode::kCorruption);
    EXPECT_NE(opened.status().message().find(path()), std::string::npos);
  }
}

TEST_F(PageCheckTest, ALockFileThatCannotBeReplacedIsNamed) {
  Fill(1);
  std::filesystem::remove(path() + "-lock");
  std::filesystem::create_directories(path() + "-lock/x");
  const auto opened = Environment::Open(path());
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.status().message().find("index.mdb-lock"), std::string::npos);
}

}  // namespace
}  // namespace gannet::store
