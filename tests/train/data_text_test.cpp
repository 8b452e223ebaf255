// Texts: bytes and characters, windows, what is wrong with a file, and what a run keeps.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "io/file.h"
#include "tests/raises.h"
#include "tests/temporary.h"
#include "train/data/data.h"
#include "train/data/sampler.h"
#include "train/data/utf8.h"

namespace plait::train {
namespace {

using test::message_of;
using Ids = std::vector<std::int64_t>;

std::vector<FeedType> token_feeds(std::int64_t context) {
  return {{"idx", DType::i64, {context}}, {"targets", DType::i64, {context}}};
}

Ids all_of(const Tokens& tokens) {
  Ids ids(static_cast<std::size_t>(tokens.size()));
  tokens.copy(0, ids);
  return ids;
}

Ids row(Batch& batch, const std::string& feed, std::int64_t at) {
  const auto values = batch.row<std::int64_t>(feed, at);
  return {values.begin(), values.end()};
}

class DataText : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    io::write_file(folder / name, {bytes});
    return folder / name;
  }
  test::TemporaryFolder folder;
};

TEST(Utf8, EveryCodePointGoesThereAndBack) {
  for (std::uint32_t code = 0; code < kCodePoints; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    std::string text;
    append_utf8(text, code);
    const CodePoint back = code_point_at(text, 0);
    ASSERT_EQ(back.value, code);
    ASSERT_EQ(back.bytes, text.size());
  }
}

TEST(Utf8, RefusesWhatIsMalformed) {
  for (const std::string bad :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC3", "\xC3(", "\xE0\x9F\xBF", "\xE2\x82",
        "\xED\xA0\x80", "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF0\x9F\x98", "\xF0\x9F\x98(",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xFE"}) {
    EXPECT_EQ(code_point_at(bad, 0).bytes, 0u) << bad.size();
  }
}

TEST_F(DataText, BytesAreTheirOwnIds) {
  const Vocabulary bytes = Vocabulary::bytes();
  EXPECT_EQ(bytes.size(), 256);
  EXPECT_EQ(all_of(bytes.encode(std::string("a\xff\0", 3), "text")), (Ids{97, 255, 0}));
  EXPECT_EQ(bytes.decode(255), "\xff");
}

TEST_F(DataText, CharactersAreNumberedInOrder) {
  const Text text{"t",
                  "b\xC3\xA4"
                  "a\xF0\x9F\x98\x80"
                  "b"};
  const Vocabulary characters = Vocabulary::characters({{text}});
  EXPECT_EQ(characters.size(), 4);
  EXPECT_EQ(all_of(characters.encode(text.bytes, "t")), (Ids{1, 2, 0, 3, 1}));
  EXPECT_EQ(characters.decode(3), "\xF0\x9F\x98\x80");
  EXPECT_EQ(message_of([&] { characters.encode("ab\xC3\xB6", "prompt"); }),
            "prompt: \"\xC3\xB6\" at byte 2 is none of the 4 characters of the training text");
  EXPECT_EQ(message_of([&] { characters.decode(4); }), "token 4 of a vocabulary of 4");
}

TEST_F(DataText, AVocabularyIsKeptAsJson) {
  const std::string text = std::string("\"\\\n\0", 4) + "\xC3\xA4\xF0\x9F\x98\x80z";
  const Vocabulary characters = Vocabulary::characters({{Text{"t", text}}});
  EXPECT_EQ(Vocabulary::from_json(characters.json(), "v"), characters);
  EXPECT_EQ(Vocabulary::from_json(Vocabulary::bytes().json(), "v"), Vocabulary::bytes());
  const auto wrong = [](const std::string& json) {
    return message_of([&] { Vocabulary::from_json(json, "v.json"); });
  };
  EXPECT_EQ(wrong("{\"unit\": "), "v.json is no JSON from byte 10 on, its end");
  EXPECT_EQ(wrong("[]"), "v.json is a list, not an object with \"unit\"");
  EXPECT_EQ(wrong("{\"unit\": 5}"), "v.json has as \"unit\" 5, not a text");
  EXPECT_EQ(wrong("{\"unit\": \"char\"}"), "v.json has no \"characters\"");
  EXPECT_EQ(wrong("{\"unit\": \"char\", \"characters\": \"ba\"}"),
            "v.json: \"characters\" are not in ascending order at byte 1");
  EXPECT_EQ(wrong("{\"unit\": \"char\", \"characters\": \"\"}"),
            "v.json: a vocabulary without characters");
  EXPECT_EQ(wrong("{\"unit\": \"chars\"}"),
            "v.json has as \"unit\" \"chars\"; byte and char are known");
}

TEST_F(DataText, TargetsAreOneLater) {
  const Data data({.paths = {write("t", "abcdefgh")}});
  EXPECT_EQ(data.limit(), 256);
  const Sources sources = data.sources(token_feeds(3), 256);
  EXPECT_EQ(sources.validation, nullptr);
  EXPECT_EQ(sources.train->size(), 5);
  EXPECT_EQ(sources.train->stride(), 3);
  Batch batch;
  batch.shape(sources.train->feeds(), 2);
  sources.train->read(0, 0, batch);
  sources.train->read(4, 1, batch);
  EXPECT_EQ(row(batch, "idx", 0), (Ids{'a', 'b', 'c'}));
  EXPECT_EQ(row(batch, "targets", 0), (Ids{'b', 'c', 'd'}));
  EXPECT_EQ(row(batch, "idx", 1), (Ids{'e', 'f', 'g'}));
  EXPECT_EQ(row(batch, "targets", 1), (Ids{'f', 'g', 'h'}));
}

TEST_F(DataText, OneChunkIsInEveryRow) {
  const Data data({.paths = {write("t", "abcdefgh")}, .validation = 0.1, .one_chunk = true});
  const Sources sources = data.sources(token_feeds(3), 256);
  EXPECT_EQ(sources.validation, nullptr);
  Sampler sampler(*sources.train, 5);
  Batch batch;
  read_batch(*sources.train, sampler, 4, batch);
  for (int r = 0; r < 4; ++r) {
    EXPECT_EQ(row(batch, "idx", r), (Ids{'a', 'b', 'c'}));
    EXPECT_EQ(row(batch, "targets", r), (Ids{'b', 'c', 'd'}));
  }
  EXPECT_EQ(batch.tokens, 12);
}

TEST_F(DataText, TheLastShareIsHeldOut) {
  const Data data({.paths = {write("t", "0123456789")}, .validation = 0.4});
  const Sources sources = data.sources(token_feeds(3), 256);
  EXPECT_EQ(sources.train->size(), 3);
  EXPECT_EQ(sources.validation->size(), 1);
  Batch batch;
  batch.shape(sources.train->feeds(), 1);
  sources.validation->read(0, 0, batch);
  EXPECT_EQ(row(batch, "targets", 0), (Ids{'7', '8', '9'}));
  sources.train->read(2, 0, batch);
  EXPECT_EQ(row(batch, "targets", 0), (Ids{'3', '4', '5'}));
  EXPECT_EQ(message_of([&] { data.sources(token_feeds(5), 256); }),
            folder / "t" +
                ": 10 tokens cannot be split: a validation share of 0.4 leaves 6 and 4, a context "
                "of 5 needs 6 of each");
}

TEST_F(DataText, AValidationTextOfItsOwnSharesTheCharacters) {
  const Data data({.paths = {write("t", "abab")},
                   .validation_paths = {write("v", "cbcb")},
                   .validation = 0.4,
                   .unit = "char"});
  EXPECT_EQ(data.limit(), 3);
  const Sources sources = data.sources(token_feeds(3), 3);
  EXPECT_EQ(sources.train->size(), 1);
  Batch batch;
  batch.shape(sources.train->feeds(), 1);
  sources.validation->read(0, 0, batch);
  EXPECT_EQ(row(batch, "idx", 0), (Ids{2, 1, 2}));
}

TEST_F(DataText, AStoredVocabularyIsKept) {
  const Vocabulary stored = Vocabulary::characters({{Text{"old", "abc"}}});
  const DataSettings settings{.paths = {write("t", "bcbc")}, .unit = "char"};
  EXPECT_EQ(Data(settings).limit(), 2);
  EXPECT_EQ(Data(settings, stored).limit(), 3);
  write("t", "bcbd");
  EXPECT_EQ(message_of([&] { Data(settings, stored); }),
            folder / "t" + ": \"d\" at byte 3 is none of the 3 characters of the training text");
  EXPECT_EQ(message_of([&] { Data(settings, Vocabulary::bytes()); }),
            "the run's vocabulary is not of unit char");
}

TEST_F(DataText, AFolderIsItsFilesInOrder) {
  io::make_folder(folder / "b");
  io::make_folder(folder / ".git");
  write("b/1", "two ");
  write("a", "one ");
  write("c", "three");
  write(".hidden", "no");
  write(".git/x", "no");
  const std::string root[] = {folder.path()};
  std::string all;
  for (const Text& text : read_texts(root)) all += text.bytes;
  EXPECT_EQ(all, "one two three");
}

TEST_F(DataText, ATextThatChangesLaterIsStillTheSame) {
  const std::string path = write("t", "abcdefgh");
  const Data data({.paths = {path}});
  const Sources sources = data.sources(token_feeds(7), 256);
  const std::uint64_t before = sources.train->fingerprint();
  std::filesystem::resize_file(path, 1);
  Batch batch;
  batch.shape(sources.train->feeds(), 1);
  sources.train->read(0, 0, batch);
  EXPECT_EQ(row(batch, "targets", 0).back(), 'h');
  EXPECT_EQ(sources.train->fingerprint(), before);
  // Read anew, it is noticed.
  EXPECT_EQ(message_of([&] { Data({.paths = {path}}).sources(token_feeds(7), 256); }),
            path + ": 1 tokens; a context of 7 needs 8 at least");
  write("t", "abcdefgi");
  EXPECT_NE(Data({.paths = {path}}).sources(token_feeds(7), 256).train->fingerprint(), before);
}

TEST_F(DataText, WhatIsWrongWithAFile) {
  const auto wrong = [&](const std::string& name, const std::string& unit = "byte") {
    return message_of([&] { Data({.paths = {folder / name}, .unit = unit}); });
  };
  EXPECT_EQ(wrong("none"), "cannot open " + folder / "none" + ": No such file or directory");
  write("empty", "");
  EXPECT_EQ(wrong("empty"), folder / "empty" + ": empty; there is nothing to train on");
  io::make_folder(folder / "folder");
  EXPECT_EQ(wrong("folder"), folder / "folder" + ": no files in it");
  write("latin", std::string(1500, 'a') + "\xE4z");
  EXPECT_EQ(wrong("latin", "char"),
            folder / "latin" +
                ": not UTF-8 at byte 1,500 (0xe4). Take unit byte for text in another encoding");
  EXPECT_EQ(Data({.paths = {folder / "latin"}}).limit(), 256);
  write("cut", "abc\xE2\x82");
  EXPECT_EQ(
      wrong("cut", "char"),
      folder / "cut" + ": not UTF-8 at byte 3 (0xe2). Take unit byte for text in another encoding");
}

TEST_F(DataText, WhatIsWrongWithTheSettings) {
  const std::string path = write("t", "abcdefgh");
  const auto wrong = [](const DataSettings& settings) {
    return message_of([&] { Data{settings}; });
  };
  EXPECT_EQ(
      wrong({.kind = "texts", .paths = {path}}),
      "data kind \"texts\"; known are text, tokens, images, cifar10, mnist, arrays, synthetic. Did "
      "you mean 'text'?");
  EXPECT_EQ(wrong({}), "data of kind text needs a path");
  EXPECT_EQ(wrong({.paths = {path}, .unit = "word"}), "unit is \"word\"; byte and char are known.");
  EXPECT_EQ(wrong({.paths = {path}, .validation = 1}),
            "a validation share of 1; it is from 0 to below 1");
  const Data data({.paths = {path}});
  const std::vector<FeedType> feeds{{"x", DType::f32, {3, 8, 8}}, {"labels", DType::i64, {}}};
  EXPECT_EQ(message_of([&] { data.sources(feeds, 256); }),
            path +
                ": tokens feed idx and targets, i64[context] each; the model wants x f32[3,8,8], "
                "labels i64[]");
  EXPECT_EQ(message_of([&] { data.sources(token_feeds(3), 100); }),
            path + ": token 100 at position 3; the model's vocabulary has 100");
}

}  // namespace
}  // namespace plait::train
