// safetensors: round trips, the fixtures of PyTorch, and one case per error.
#include "io/safetensors.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "io/bytes.h"
#include "io/file.h"
#include "tests/io/arrays.h"
#include "tests/raises.h"
#include "tests/temporary.h"

namespace plait::io {
namespace {

using test::all_dtypes;
using test::counting;
using test::message_of;

std::string container(const std::string& header, std::string_view data) {
  return little_endian(header.size(), 8) + header + std::string(data);
}

std::string error_of(const std::string& bytes) {
  return message_of<UserError>([&] { parse_safetensors(bytes, "x"); });
}

std::string header_error(const std::string& header, std::string_view data = "") {
  return error_of(container(header, data));
}

TensorFile everything() {
  TensorFile file;
  file.metadata = {{"note", "a \"quoted\" line\n"}, {"empty", ""}};
  for (DType dtype : all_dtypes()) {
    file.tensors.emplace(str("w.", dtype), counting(dtype, {3, 5}));
    file.tensors.emplace(str("scalar.", dtype), counting(dtype, {}));
    file.tensors.emplace(str("none.", dtype), counting(dtype, {2, 0}));
  }
  return file;
}

void expect_same(const TensorFile& a, const TensorFile& b) {
  EXPECT_EQ(a.metadata, b.metadata);
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (const auto& [name, array] : a.tensors) {
    EXPECT_TRUE(array.same_bits(b.tensor(name))) << name;
  }
}

TEST(Safetensors, RoundTripOfEveryDtype) {
  const test::TemporaryFolder folder;
  write_safetensors(folder / "a", everything());
  expect_same(everything(), read_safetensors(folder / "a"));
}

TEST(Safetensors, RoundTripOfNothing) {
  const test::TemporaryFolder folder;
  write_safetensors(folder / "a", {});
  expect_same({}, read_safetensors(folder / "a"));
}

TEST(Safetensors, EqualContentsGiveEqualAlignedBytes) {
  const test::TemporaryFolder folder;
  write_safetensors(folder / "a", everything());
  write_safetensors(folder / "b", everything());
  const std::string bytes = read_file(folder / "a");
  EXPECT_EQ(bytes, read_file(folder / "b"));
  EXPECT_EQ(little_endian(std::string_view(bytes).substr(0, 8)) % 8, 0u);
}

TEST(Safetensors, EveryFixtureCanBeRead) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/fixtures")) {
    if (entry.path().extension() != ".safetensors") continue;
    const TensorFile file = read_safetensors(entry.path().string());
    EXPECT_FALSE(file.tensors.empty()) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 10);
}

TEST(Safetensors, TheMlpFixtureHoldsWhatItsReadmeSays) {
  const TensorFile file = read_safetensors("tests/fixtures/mlp.safetensors");
  EXPECT_EQ(file.metadata.at("optimizer"), "sgd");
  EXPECT_EQ(type_text(file.tensor("feed.x")), "f32[64,8]");
  EXPECT_EQ(type_text(file.tensor("losses")), "f32[10]");
}

TEST(Safetensors, AFixtureWrittenAgainReadsTheSame) {
  const test::TemporaryFolder folder;
  const TensorFile file = read_safetensors("tests/fixtures/ops.safetensors");
  write_safetensors(folder / "a", file);
  expect_same(file, read_safetensors(folder / "a"));
}

TEST(Safetensors, UnknownTensorNamesTheNearest) {
  TensorFile file;
  file.tensors.emplace("weight", counting(DType::f32, {1}));
  EXPECT_EQ(message_of<UserError>([&] { file.tensor("wieght"); }),
            "there is no tensor 'wieght' in the file. Did you mean 'weight'?");
}

TEST(Safetensors, CutAtEveryByte) {
  const test::TemporaryFolder folder;
  TensorFile file;
  file.tensors.emplace("w", counting(DType::f32, {2, 3}));
  file.tensors.emplace("b", counting(DType::i8, {3}));
  write_safetensors(folder / "a", file);
  const std::string whole = read_file(folder / "a");
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const std::string said = error_of(whole.substr(0, n));
    EXPECT_NE(said.find("cut off"), std::string::npos) << n << ": " << said;
  }
}

TEST(Safetensors, EveryByteChangedIsReadOrRefused) {
  const test::TemporaryFolder folder;
  TensorFile file;
  file.metadata["k"] = "v";
  file.tensors.emplace("w", counting(DType::f32, {2, 3}));
  file.tensors.emplace("b", counting(DType::boolean, {3}));
  write_safetensors(folder / "a", file);
  const std::string whole = read_file(folder / "a");
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (int change : {0x00, 0x22, 0x2d, 0x39, 0x7b, 0x7d, 0xff}) {
      std::string mutated = whole;
      mutated[i] = static_cast<char>(change);
      try {
        parse_safetensors(mutated, "x");
      } catch (const UserError& e) {
        EXPECT_TRUE(std::string_view(e.what()).starts_with("x: ")) << e.what();
      }
    }
  }
}

TEST(Safetensors, HeaderLengthBeyondTheLimit) {
  EXPECT_EQ(error_of(std::string(8, '\xff') + "{}"),
            "x: not a safetensors file: its header would have 18446744073709551615 bytes, at most "
            "100000000 are allowed");
}

TEST(Safetensors, HeaderLongerThanTheFile) {
  EXPECT_EQ(error_of(little_endian(9, 8) + "{}"),
            "x: cut off: its header has 9 bytes, the file goes on for 2");
}

TEST(Safetensors, HeaderThatIsNoObject) {
  EXPECT_EQ(header_error("[]"), "x: not a safetensors file: its header does not start with '{'");
}

TEST(Safetensors, HeaderThatIsNotJson) {
  EXPECT_EQ(header_error("{'w': 1}"), "x: its header is no JSON from byte 2 on");
}

TEST(Safetensors, ATensorListedTwice) {
  const std::string entry = R"("w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  EXPECT_EQ(header_error("{" + entry + "," + entry + "}", "1"), "x: its header has \"w\" twice");
}

TEST(Safetensors, WrongEntries) {
  const std::pair<std::string, std::string> cases[] = {
      {R"(3)", "has no dtype"},
      {R"({"shape":[1],"data_offsets":[0,1]})", "has no dtype"},
      {R"({"dtype":"U8","data_offsets":[0,1]})", "has no shape"},
      {R"({"dtype":"U8","shape":[1]})", "has no data_offsets"},
      {R"({"dtype":"F8","shape":[1],"data_offsets":[0,1]})",
       "dtype is \"F8\"; Plait reads F64, F32, F16, BF16, I64, I32, I16, I8, U8, BOOL"},
      {R"({"dtype":1,"shape":[1],"data_offsets":[0,1]})",
       "dtype is 1; Plait reads F64, F32, F16, BF16, I64, I32, I16, I8, U8, BOOL"},
      {R"({"dtype":"U8","shape":1,"data_offsets":[0,1]})", "shape is not a list"},
      {R"({"dtype":"U8","shape":[-1],"data_offsets":[0,1]})", "a size is -1, not a whole number"},
      {R"({"dtype":"U8","shape":[1.5],"data_offsets":[0,1]})", "a size is 1.5, not a whole number"},
      {R"({"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,1]})",
       "a size is 18446744073709551615, not a whole number"},
      {R"({"dtype":"U8","shape":[1],"data_offsets":[0]})", "data_offsets are not two"},
      {R"({"dtype":"U8","shape":[1],"data_offsets":["0",1]})",
       "an offset is \"0\", not a whole number"},
      {R"({"dtype":"U8","shape":[1],"data_offsets":[1,0]})", "ends at 0 before it begins at 1"},
      {R"({"dtype":"F32","shape":[1],"data_offsets":[0,1]})",
       "f32[1] takes 4 bytes, its offsets give it 1"},
      {R"({"dtype":"U8","shape":[2],"data_offsets":[0,2]})",
       "ends at byte 2 of the data, which has 1: the file is cut off"},
  };
  for (const auto& [entry, what] : cases) {
    EXPECT_EQ(header_error("{\"w\":" + entry + "}", "1"), "x: tensor \"w\": " + what) << entry;
  }
}

TEST(Safetensors, AShapeBeyond64Bits) {
  EXPECT_EQ(
      header_error(R"({"w":{"dtype":"U8","shape":[9999999999,9999999999],"data_offsets":[0,1]}})"),
      "x: tensor \"w\": u8[9999999999,9999999999] has more bytes than 64 bits can count");
}

TEST(Safetensors, HolesAndOverlaps) {
  EXPECT_EQ(header_error(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},
                             "b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
                         "123"),
            "x: tensor \"b\": begins at byte 2 of the data, the one before it ends at 1");
  EXPECT_EQ(header_error(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},
                             "b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                         "123"),
            "x: tensor \"b\": begins at byte 1 of the data, the one before it ends at 2");
}

TEST(Safetensors, BytesAfterTheTensors) {
  EXPECT_EQ(header_error(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "12"),
            "x: too long: its tensors take 1 bytes, there are 2");
}

TEST(Safetensors, WrongMetadata) {
  EXPECT_EQ(header_error(R"({"__metadata__":[]})"), "x: __metadata__ is not a JSON object");
  EXPECT_EQ(header_error(R"({"__metadata__":{"a":1}})"), "x: metadata \"a\" is not a string");
}

TEST(Safetensors, NamesThatCannotBeWritten) {
  const test::TemporaryFolder folder;
  TensorFile file;
  file.tensors.emplace("__metadata__", counting(DType::f32, {1}));
  EXPECT_EQ(message_of<UserError>([&] { write_safetensors(folder / "a", file); }),
            "a tensor cannot be named __metadata__");
  file.tensors.clear();
  file.tensors.emplace("\xff", counting(DType::f32, {1}));
  EXPECT_EQ(message_of<UserError>([&] { write_safetensors(folder / "a", file); }),
            "cannot write " + folder / "a" + ": a name or the metadata is not UTF-8 text");
}

TEST(Safetensors, WritingIntoAMissingFolder) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "no/a";
  EXPECT_EQ(message_of<RunError>([&] { write_safetensors(path, {}); }),
            "cannot write " + path + ": No such file or directory");
}

}  // namespace
}  // namespace plait::io
