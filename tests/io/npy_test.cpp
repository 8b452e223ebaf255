// .npy: round trips of every dtype, files as NumPy writes them, and one case per error.
#include "io/npy.h"

#include <gtest/gtest.h>

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

/// A file of version 1 with this header and data.
std::string npy(std::string header, std::string_view data, int version = 1) {
  const std::size_t width = version == 1 ? 2 : 4;
  return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' +
         little_endian(header.size(), width) + header + std::string(data);
}

std::string floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

std::string error_of(const std::string& bytes) {
  return message_of<UserError>([&] { parse_npy(bytes, "x.npy"); });
}

std::string header_error(const std::string& header) { return error_of(npy(header, "")); }

TEST(Npy, RoundTripOfEveryDtypeAndShape) {
  const test::TemporaryFolder folder;
  for (DType dtype : all_dtypes()) {
    for (const Sizes& sizes : {Sizes{}, {1}, {7}, {0}, {2, 3}, {3, 0, 2}, {2, 1, 3, 2}}) {
      const Array a = counting(dtype, sizes);
      write_npy(folder / "a.npy", a);
      const Array expected = dtype == DType::bf16 ? a.cast(DType::f32) : a;
      EXPECT_TRUE(read_npy(folder / "a.npy").same_bits(expected)) << type_text(a);
    }
  }
}

TEST(Npy, WritesTheBytesThatNumpyWrites) {
  const test::TemporaryFolder folder;
  write_npy(folder / "a.npy", Array::of(DType::f32, {2}, {1, 2}));
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  header.resize(128 - 10 - 1, ' ');
  EXPECT_EQ(read_file(folder / "a.npy"), npy(header + "\n", floats({1, 2})));
}

TEST(Npy, AlignsTheData) {
  const test::TemporaryFolder folder;
  for (std::int64_t n = 1; n < 100'000'000; n *= 10) {
    write_npy(folder / "a.npy", Array(DType::i8, {n, 0}));
    EXPECT_EQ(read_file(folder / "a.npy").size() % 64, 0u) << n;
  }
}

TEST(Npy, ReadsVersions2And3) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}";
  for (int version : {2, 3}) {
    EXPECT_EQ(parse_npy(npy(header, floats({5}), version), "x").real(0), 5);
  }
}

TEST(Npy, ReadsAnyOrderOfKeysAndPython2Sizes) {
  const Array a = parse_npy(
      npy("{ \"shape\":(2L,1L) ,'fortran_order':False,'descr':'=f4'}", floats({5, 6})), "x");
  EXPECT_EQ(a.sizes(), (Sizes{2, 1}));
  EXPECT_EQ(a.real(1), 6);
}

TEST(Npy, ReadsFortranOrderByTransposing) {
  const Array a = parse_npy(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
                                floats({0, 10, 1, 11, 2, 12})),
                            "x");
  EXPECT_TRUE(a.same_bits(Array::of(DType::f32, {2, 3}, {0, 1, 2, 10, 11, 12})));
}

TEST(Npy, ReadsFortranOrderOfThreeAxes) {
  std::vector<float> columns;
  for (int k = 0; k < 4; ++k) {
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 2; ++i) columns.push_back(static_cast<float>(100 * i + 10 * j + k));
    }
  }
  const Array a = parse_npy(
      npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3, 4), }", floats(columns)), "x");
  EXPECT_EQ(a.real(0), 0);
  EXPECT_EQ(a.real(1), 1);
  EXPECT_EQ(a.real(4), 10);
  EXPECT_EQ(a.real(23), 123);
}

TEST(Npy, SwapsBigEndianElements) {
  const Array a = parse_npy(npy("{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }",
                                std::string_view("\0\0\1\2\xff\xff\xff\xfe", 8)),
                            "x");
  EXPECT_EQ(a.integer(0), 258);
  EXPECT_EQ(a.integer(1), -2);
}

TEST(Npy, AnyNonzeroByteIsTrue) {
  const Array a =
      parse_npy(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", "\2\1"), "x");
  EXPECT_EQ(a.as<std::uint8_t>()[0], 1);
}

TEST(Npy, CutAtEveryByte) {
  const test::TemporaryFolder folder;
  write_npy(folder / "a.npy", counting(DType::f32, {2, 3}));
  const std::string whole = read_file(folder / "a.npy");
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const std::string said = error_of(whole.substr(0, n));
    EXPECT_NE(said.find("x.npy: cut off"), std::string::npos) << n << ": " << said;
  }
}

TEST(Npy, EveryByteChangedIsReadOrRefused) {
  const test::TemporaryFolder folder;
  write_npy(folder / "a.npy", counting(DType::f32, {2, 3}));
  const std::string whole = read_file(folder / "a.npy");
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (int change : {0x00, 0x20, 0x39, 0x7f, 0xff}) {
      std::string mutated = whole;
      mutated[i] = static_cast<char>(change);
      try {
        parse_npy(mutated, "x.npy");
      } catch (const UserError& e) {
        EXPECT_TRUE(std::string_view(e.what()).starts_with("x.npy: ")) << e.what();
      }
    }
  }
}

TEST(Npy, NotNpy) {
  EXPECT_EQ(error_of("PK\3\4 a zip"),
            "x.npy: not a .npy file: 10 bytes, without the magic string at their start");
}

TEST(Npy, UnknownVersion) {
  EXPECT_EQ(error_of(npy("{}", "", 9)), "x.npy: .npy version 9; Plait reads 1, 2 and 3");
}

TEST(Npy, DataTooShort) {
  EXPECT_EQ(error_of(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "12345")),
            "x.npy: cut off: f32[3] takes 12 bytes, there are 5");
}

TEST(Npy, DataTooLong) {
  EXPECT_EQ(error_of(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (), }", "12")),
            "x.npy: too long: u8[] takes 1 bytes, there are 2");
}

TEST(Npy, AnEnormousShapeIsRefusedBeforeItIsAllocated) {
  EXPECT_EQ(error_of(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999,), }",
                         "12345678")),
            "x.npy: cut off: f64[99999999999999] takes 799999999999992 bytes, there are 8");
}

TEST(Npy, AShapeBeyond64Bits) {
  const std::string shape = "(4611686018427387904, 4611686018427387904)";
  EXPECT_EQ(header_error("{'descr': '<f8', 'fortran_order': False, 'shape': " + shape + ", }"),
            "x.npy: f64[4611686018427387904,4611686018427387904] has more bytes than 64 bits can "
            "count");
  EXPECT_EQ(header_error("{'shape': (99999999999999999999,)}"),
            "x.npy: malformed .npy header: a size beyond 64 bits at byte 11 of "
            "\"{'shape': (99999999999999999999,)}\"");
}

TEST(Npy, UnknownElements) {
  EXPECT_EQ(
      header_error("{'descr': '<c8', 'fortran_order': False, 'shape': (), }"),
      "x.npy: elements are \"<c8\"; Plait reads f8, f4, f2, i8, i4, i2, i1, u1, b1, u2, u4, u8");
}

TEST(Npy, UnsignedBecomesAWiderDtype) {
  const auto read = [](std::string_view descr, std::string_view data) {
    return parse_npy(
        npy(str("{'descr': '", descr, "', 'fortran_order': False, 'shape': (1,), }"), data),
        "x.npy");
  };
  const Array u2 = read("<u2", "\xfe\xff"), u4 = read(">u4", "\xff\xff\xff\xfe");
  EXPECT_EQ(u2.dtype(), DType::i32);
  EXPECT_EQ(u2.integer(0), 65534);
  EXPECT_EQ(u4.dtype(), DType::i64);
  EXPECT_EQ(u4.integer(0), 4294967294);
  const std::string seven("\x07\0\0\0\0\0\0\0", 8), most(8, '\xff');
  EXPECT_EQ(read("<u8", seven).integer(0), 7);
  EXPECT_EQ(message_of<UserError>([&] { read("<u8", most); }),
            "x.npy: element 0 is 18446744073709551615, which is no i64");
}

TEST(Npy, Records) {
  EXPECT_EQ(header_error("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (), }"),
            "x.npy: an array of records; Plait reads arrays of numbers");
}

TEST(Npy, MalformedHeaders) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "expected '{' at byte 0"},
      {"{", "expected a string at byte 1"},
      {"{}", "no 'descr' at byte 2"},
      {"{'descr': '<f4'}", "no 'fortran_order' at byte 16"},
      {"{'descr': '<f4', 'fortran_order': False}", "no 'shape' at byte 40"},
      {"{'descr': '<f4}", "a string without its end at byte 10"},
      {"{'descr' '<f4'}", "expected ':' at byte 9"},
      {"{'fortran_order': 1}", "fortran_order is neither True nor False at byte 18"},
      {"{'shape': 3}", "expected '(' at byte 10"},
      {"{'shape': (-1,)}", "expected a size at byte 11"},
      {"{'shape': (1 2)}", "expected ')' at byte 13"},
      {"{'colour': 3}", "unknown key \"colour\" at byte 10"},
      {"{'shape': () 'descr'}", "expected '}' at byte 13"},
      {"{} {", "characters after its '}' at byte 3"},
  };
  for (const auto& [header, what] : cases) {
    const std::string shown = header;
    EXPECT_EQ(header_error(header),
              "x.npy: malformed .npy header: " + what + " of \"" + shown + "\"");
  }
}

TEST(Npy, MissingFile) {
  EXPECT_EQ(message_of<UserError>([] { read_npy("no/such.npy"); }),
            "cannot open no/such.npy: No such file or directory");
}

}  // namespace
}  // namespace plait::io
