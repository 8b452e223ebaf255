// TensorBoard's files, read by a reader written from the format's description: TFRecord frames with
// masked CRC-32C (computed here bit by bit), protocol buffers field by field.
#include "train/event_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <map>

#include "io/bytes.h"
#include "io/file.h"
#include "tests/raises.h"
#include "tests/temporary.h"
#include "train/crc32c.h"
#include "train/metrics.h"

namespace plait::train {
namespace {

std::uint32_t slow_crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
  }
  return crc ^ 0xffffffff;
}

std::uint32_t masked(std::string_view bytes) {
  const std::uint32_t crc = slow_crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8;
}

std::vector<std::string> frames(std::string_view bytes) {
  std::vector<std::string> out;
  while (!bytes.empty()) {
    check(bytes.size() >= 16, "a frame is cut");
    const std::uint64_t length = io::little_endian(bytes.substr(0, 8));
    EXPECT_EQ(io::little_endian(bytes.substr(8, 4)), masked(bytes.substr(0, 8)));
    check(bytes.size() >= 16 + length, "a frame is cut");
    const std::string_view data = bytes.substr(12, length);
    EXPECT_EQ(io::little_endian(bytes.substr(12 + length, 4)), masked(data));
    out.emplace_back(data);
    bytes.remove_prefix(16 + length);
  }
  return out;
}

std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    check(!bytes.empty() && shift < 64, "a number is cut");
    const auto byte = static_cast<unsigned char>(bytes[0]);
    bytes.remove_prefix(1);
    value |= std::uint64_t(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

/// Fields by number; fixed-width ones as their bytes.
struct Message {
  std::multimap<std::uint64_t, std::string> bytes;
  std::map<std::uint64_t, std::uint64_t> numbers;

  explicit Message(std::string_view text) {
    while (!text.empty()) {
      const std::uint64_t key = take_varint(text);
      const std::uint64_t wire = key & 7;
      if (wire == 0) {
        numbers[key >> 3] = take_varint(text);
        continue;
      }
      const std::uint64_t length = wire == 1 ? 8 : wire == 5 ? 4 : take_varint(text);
      check((wire == 1 || wire == 2 || wire == 5) && length <= text.size(), "a field is cut");
      bytes.emplace(key >> 3, text.substr(0, length));
      text.remove_prefix(length);
    }
  }
  const std::string& one(std::uint64_t field) const {
    check(bytes.count(field) == 1, "field ", field, " is there ", bytes.count(field), " times");
    return bytes.find(field)->second;
  }
  template <class T>
  T fixed(std::uint64_t field) const {
    T value;
    check(one(field).size() == sizeof value, "the width of field ", field);
    std::memcpy(&value, one(field).data(), sizeof value);
    return value;
  }
};

std::vector<Message> events(const std::string& path) {
  std::vector<Message> out;
  for (const std::string& frame : frames(io::read_file(path))) out.emplace_back(frame);
  return out;
}

std::map<std::string, float> scalars(const Message& event) {
  std::map<std::string, float> out;
  const Message summary(event.one(5));
  for (const auto& [field, value] : summary.bytes) {
    EXPECT_EQ(field, 1u);
    const Message entry(value);
    out[entry.one(1)] = entry.fixed<float>(2);
  }
  return out;
}

TEST(Crc32c, KnownValuesAndPieces) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(""), 0u);
  std::string text;
  for (int i = 0; i < 200; ++i) text += static_cast<char>(i * 37);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(crc32c(text.substr(0, cut)), slow_crc32c(text.substr(0, cut)));
    EXPECT_EQ(crc32c(text.substr(cut), crc32c(text.substr(0, cut))), slow_crc32c(text));
  }
}

TEST(EventFile, WhatTensorBoardReads) {
  const test::TemporaryFolder folder;
  EventFile file(folder.path(), 0, 1700000000.25);
  file.log(7, 1700000001.5, {{"train/loss", 2.5f}, {"speed/mfu", -0.125f}});
  file.log(std::int64_t(1) << 40, 1700000002, {});
  file.sync();
  EXPECT_EQ(file.path(), folder / "events.out.tfevents.1700000000.0000");
  const std::vector<Message> read = events(file.path());
  ASSERT_EQ(read.size(), 4u);
  EXPECT_EQ(read[0].one(3), "brain.Event:2");
  EXPECT_EQ(read[0].fixed<double>(1), 1700000000.25);
  EXPECT_EQ(read[1].numbers.at(2), 1u);                  // what other files hold from step 1 on ..
  EXPECT_EQ(Message(read[1].one(7)).numbers.at(1), 1u);  // .. is void: START
  EXPECT_EQ(read[2].fixed<double>(1), 1700000001.5);
  EXPECT_EQ(read[2].numbers.at(2), 7u);
  EXPECT_EQ(scalars(read[2]),
            (std::map<std::string, float>{{"train/loss", 2.5f}, {"speed/mfu", -0.125f}}));
  EXPECT_EQ(read[3].numbers.at(2), std::uint64_t(1) << 40);
  EXPECT_TRUE(scalars(read[3]).empty());
}

TEST(EventFile, ALaterFileSortsBehind) {
  const test::TemporaryFolder folder;
  const EventFile a(folder.path(), 0, 100), b(folder.path(), 5, 100), c(folder.path(), 9, 2e9);
  EXPECT_LT(a.path(), b.path());
  EXPECT_LT(b.path(), c.path());
  EXPECT_EQ(events(b.path())[1].numbers.at(2), 6u);
}

TEST(EventFile, RecordsUnderTheirTags) {
  const test::TemporaryFolder run;
  std::string path;
  {
    Metrics metrics(run.path(), 0, 50);
    Record r;
    r.step = 3;
    r.loss = 1.5;
    r.eval_accuracy = 0.75;
    r.elapsed_seconds = 9;  // has no tag
    metrics.log(r, 51);
  }
  for (const auto& entry : std::filesystem::directory_iterator(run.path())) {
    if (entry.path().filename().string().starts_with(kEventPrefix)) path = entry.path().string();
  }
  const std::vector<Message> read = events(path);
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(scalars(read[2]),
            (std::map<std::string, float>{{"train/loss", 1.5f}, {"eval/accuracy", 0.75f}}));
}

TEST(EventFile, AFolderThatIsNotThere) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(test::message_of<RunError>([&] { EventFile(folder / "no", 0, 5); }),
            "cannot write " + folder.path() +
                "/no/events.out.tfevents.0000000005.0000: No such file or directory");
}

}  // namespace
}  // namespace plait::train
