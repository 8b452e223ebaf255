// Token files: .npy of every integer type, raw u16, and what is wrong with them.
#include <gtest/gtest.h>

#include "base/text.h"
#include "io/file.h"
#include "io/npy.h"
#include "tests/raises.h"
#include "tests/temporary.h"
#include "train/data/data.h"
#include "train/run_data.h"

namespace plait::train {
namespace {

using test::message_of;
using Ids = std::vector<std::int64_t>;

/// An .npy file as NumPy writes it.
std::string npy(const std::string& descr, const std::string& shape, const std::string& elements) {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.append((64 - (10 + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header +
         elements;
}

class DataTokens : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    io::write_file(folder / name, {bytes});
    return folder / name;
  }
  static Tokens read(std::vector<std::string> paths) { return read_tokens(paths); }
  static Ids all_of(const Tokens& tokens) {
    Ids ids(static_cast<std::size_t>(tokens.size()));
    tokens.copy(0, ids);
    return ids;
  }
  test::TemporaryFolder folder;
};

TEST_F(DataTokens, RawU16IsLittleEndian) {
  const Tokens tokens = read({write("t.bin", std::string("\x01\x00\xff\xff\x00\x01", 6))});
  EXPECT_EQ(all_of(tokens), (Ids{1, 65535, 256}));
  EXPECT_EQ(tokens.vocab(), 65536);
}

TEST_F(DataTokens, EverySignedTypeOfNpy) {
  for (const DType dtype : {DType::i64, DType::i32, DType::i16, DType::i8, DType::u8}) {
    const std::string path = folder / "t.npy";
    io::write_npy(path, Array::of(dtype, {4}, {3, 0, 127, 5}));
    EXPECT_EQ(all_of(read({path})), (Ids{3, 0, 127, 5})) << dtype;
    EXPECT_EQ(read({path}).vocab(), 128);
  }
}

TEST_F(DataTokens, UnsignedTypesOfNpy) {
  EXPECT_EQ(all_of(read({write("a.npy", npy("<u2", "2,", std::string("\xff\xff\x02\x00", 4)))})),
            (Ids{65535, 2}));
  EXPECT_EQ(all_of(read({write("b.npy", npy(">u2", "2,", std::string("\xff\xfe\x00\x02", 4)))})),
            (Ids{65534, 2}));
  const Tokens wide =
      read({write("c.npy", npy("<u4", "2,", std::string("\xff\xff\xff\xff\x02\x00\x00\x00", 8)))});
  EXPECT_EQ(all_of(wide), (Ids{4294967295, 2}));
  EXPECT_EQ(wide.vocab(), std::int64_t{1} << 32);
  EXPECT_EQ(all_of(read({write("d.npy", npy("<u8", "1,", std::string("\x05\0\0\0\0\0\0\0", 8)))})),
            (Ids{5}));
}

TEST_F(DataTokens, RowsOfAnArrayFollowEachOther) {
  const std::string path = folder / "t.npy";
  io::write_npy(path, Array::of(DType::i32, {2, 2}, {1, 2, 3, 4}));
  EXPECT_EQ(all_of(read({path})), (Ids{1, 2, 3, 4}));
}

TEST_F(DataTokens, FilesOfDifferentWidthsFollowEachOther) {
  const std::string narrow = folder / "a.npy", wide = folder / "b.npy";
  io::write_npy(narrow, Array::of(DType::u8, {2}, {1, 2}));
  io::write_npy(wide, Array::of(DType::i32, {2}, {100000, 2}));
  const std::string middle = write("c.bin", std::string("\x00\x04", 2));
  EXPECT_EQ(all_of(read({narrow, middle, wide, narrow})), (Ids{1, 2, 1024, 100000, 2, 1, 2}));
}

TEST_F(DataTokens, TheirHashIsOfTheirContent) {
  const Tokens a = read({write("a", std::string("\x01\0\x02\0\x03\0", 6))});
  const Tokens b = read({write("b", std::string("\x01\0\x02\0\x04\0", 6))});
  EXPECT_EQ(a.hash(0, 2), b.hash(0, 2));
  EXPECT_NE(a.hash(0, 3), b.hash(0, 3));
}

TEST_F(DataTokens, WhatIsWrongWithAFile) {
  const auto wrong = [&](const std::string& path) { return message_of([&] { read({path}); }); };
  EXPECT_EQ(wrong(folder / "none.npy"),
            "cannot open " + folder / "none.npy" + ": No such file or directory");
  const std::string empty = write("empty", "");
  EXPECT_EQ(wrong(empty), empty + ": empty");
  const std::string odd = write("odd", "abc");
  EXPECT_EQ(wrong(odd),
            odd + ": 3 bytes: an odd number, but raw tokens are u16. Other types come as .npy");
  const std::string real = folder / "real.npy";
  io::write_npy(real, Array::of(DType::f32, {2}, {1, 2}));
  EXPECT_EQ(wrong(real), real + ": elements are f32; tokens are integers");
  const std::string none = folder / "zero.npy";
  io::write_npy(none, Array(DType::i64, {0}));
  EXPECT_EQ(wrong(none), none + ": no tokens");
  const std::string negative = folder / "negative.npy";
  io::write_npy(negative, Array::of(DType::i16, {3}, {1, 2, -7}));
  EXPECT_EQ(wrong(negative),
            negative + ": token -7 at position 2; tokens are from 0 to 4,294,967,295");
  const std::string large = folder / "large.npy";
  io::write_npy(large, Array::of(DType::i64, {1}, {4294967296.0}));
  EXPECT_EQ(wrong(large),
            large + ": token 4294967296 at position 0; tokens are from 0 to 4,294,967,295");
  const std::string not_npy = write("not.npy", "hello world!");
  EXPECT_NE(wrong(not_npy).find("not a .npy file"), std::string::npos);
  const std::string cut = write("cut.npy", npy("<u2", "2,", "\x01"));
  EXPECT_NE(wrong(cut).find(cut), std::string::npos);
}

TEST_F(DataTokens, AModelsVocabularyMayBeLargerNotSmaller) {
  const std::string path = write("t", std::string("\x01\0\x09\0\x03\0\x08\0", 8));
  const Data data({.kind = "tokens", .paths = {path}});
  EXPECT_EQ(data.limit(), 10);
  EXPECT_FALSE(data.vocabulary().has_value());
  const std::vector<FeedType> feeds{{"idx", DType::i64, {2}}, {"targets", DType::i64, {2}}};
  EXPECT_EQ(data.sources(feeds, 50000).train->size(), 2);
  EXPECT_EQ(message_of([&] { data.sources(feeds, 9); }),
            path + ": token 9 at position 1; the model's vocabulary has 9");
}

// One stray number would make a model of many gigabytes.
TEST_F(DataTokens, AStrayTokenMakesNoVocabulary) {
  const std::string path =
      write("t.npy", npy("<u4", "3,", std::string("\x01\0\0\0\xff\xff\xff\xff\x02\0\0\0", 12)));
  const Data data({.kind = "tokens", .paths = {path}});
  const std::string text =
      "[model]\nname = \"rwkv4\"\nvocab = \"data\"\n[data]\nkind = \"tokens\"\n"
      "path = \"" +
      path + "\"\n[train]\nsteps = 1\n";
  Config config = parse_config(text, "c.toml");
  EXPECT_EQ(message_of([&] { fit(config, data); }),
            path +
                ": token 4,294,967,295 at position 1 would make a vocabulary of 4,294,967,296; "
                "more than 1,048,576 are not taken from data. No model takes more than "
                "1,073,741,824");
  const Data usual({.kind = "tokens", .paths = {write("u", std::string("\x01\0\xff\xff", 4))}});
  fit(config, usual);
  EXPECT_EQ(model_size(config, "vocab"), 65536);
  EXPECT_EQ(usual.largest(), (folder / "u") + ": token 65,535 at position 1");
}

TEST_F(DataTokens, AValidationFileIsCheckedToo) {
  const std::string path = write("t", std::string("\x01\0\x02\0\x03\0", 6));
  const std::string other = write("v", std::string("\x01\0\x20\0\x03\0", 6));
  const Data data({.kind = "tokens", .paths = {path}, .validation_paths = {other}});
  EXPECT_EQ(data.limit(), 33);
  const std::vector<FeedType> feeds{{"idx", DType::i64, {2}}, {"targets", DType::i64, {2}}};
  EXPECT_EQ(message_of([&] { data.sources(feeds, 9); }),
            other + ": token 32 at position 1; the model's vocabulary has 9");
}

}  // namespace
}  // namespace plait::train
