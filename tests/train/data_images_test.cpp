// Pictures: decoding, resampling, folders, CIFAR-10 and MNIST, and what is wrong with them.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "io/file.h"
#include "tests/raises.h"
#include "tests/temporary.h"
#include "tests/train/data_pictures.h"
#include "train/data/data.h"

namespace plait::train {
namespace {

using test::filled;
using test::jpeg_bytes;
using test::message_of;
using test::Pixels;
using test::png_bytes;

/// Pixels as they are: 0 to 255.
const Normal kPlain{{0}, {1.0 / 255}};

std::vector<FeedType> picture_feeds(Sizes x, DType dtype = DType::f32) {
  return {{"x", dtype, std::move(x)}, {"labels", DType::i64, {}}};
}

std::vector<float> resampled(const Image& image, Sizes sizes) {
  const PictureForm form = picture_form({"x", DType::f32, std::move(sizes)}, kPlain);
  std::vector<float> out(form.elements());
  resample(image, form, out);
  return out;
}

class DataImages : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    const std::string path = folder / name;
    io::make_folder(std::filesystem::path(path).parent_path().string());
    io::write_file(path, {bytes});
    return path;
  }
  test::TemporaryFolder folder;
};

TEST_F(DataImages, PngOfEveryKindBecomesRgb) {
  const Pixels rgb{255, 0, 0, 0, 255, 0, 1, 2, 3, 40, 50, 60};
  const Image plain = read_image(write("a.png", png_bytes(2, 2, PNG_FORMAT_RGB, rgb)));
  EXPECT_EQ(plain.width, 2);
  EXPECT_EQ(plain.height, 2);
  EXPECT_EQ(plain.channels, 3);
  EXPECT_EQ(plain.pixels, rgb);
  const std::string grey = png_bytes(2, 1, PNG_FORMAT_GRAY, {7, 200});
  EXPECT_EQ(decode_png(grey, "grey").pixels, (Pixels{7, 7, 7, 200, 200, 200}));
  const std::string clear = png_bytes(2, 1, PNG_FORMAT_RGBA, {10, 20, 30, 255, 10, 20, 30, 0});
  EXPECT_EQ(decode_png(clear, "clear").pixels, (Pixels{10, 20, 30, 255, 255, 255}));
  const std::string palette =
      png_bytes(3, 1, PNG_FORMAT_RGB_COLORMAP, {1, 0, 1}, {9, 8, 7, 100, 110, 120});
  EXPECT_EQ(decode_png(palette, "palette").pixels, (Pixels{100, 110, 120, 9, 8, 7, 100, 110, 120}));
}

TEST_F(DataImages, JpegOfEveryKindBecomesRgb) {
  const auto near = [](const Image& image, const Pixels& colour) {
    EXPECT_EQ(image.width, 16);
    EXPECT_EQ(image.height, 8);
    ASSERT_EQ(image.pixels.size(), 16u * 8 * 3);
    for (std::size_t i = 0; i < image.pixels.size(); ++i) {
      ASSERT_NEAR(image.pixels[i], colour[i % 3], 2) << i;
    }
  };
  near(read_image(write("a.jpg", jpeg_bytes(16, 8, JCS_RGB, filled(128, {200, 30, 90})))),
       {200, 30, 90});
  near(decode_jpeg(jpeg_bytes(16, 8, JCS_GRAYSCALE, filled(128, {77})), "grey"), {77, 77, 77});
  // libjpeg writes Adobe's marker with CMYK, so 255 is no ink.
  near(decode_jpeg(jpeg_bytes(16, 8, JCS_CMYK, filled(128, {255, 128, 0, 255})), "cmyk"),
       {255, 128, 0});
  near(decode_jpeg(jpeg_bytes(16, 8, JCS_CMYK, filled(128, {255, 255, 255, 51})), "cmyk"),
       {51, 51, 51});
}

TEST_F(DataImages, WhatIsNoPicture) {
  const auto wrong = [](const std::string& path) { return message_of([&] { read_image(path); }); };
  EXPECT_EQ(wrong(folder / "none.png"),
            "cannot open " + folder / "none.png" + ": No such file or directory");
  EXPECT_EQ(wrong(write("empty.png", "")), folder / "empty.png" + ": empty");
  EXPECT_EQ(wrong(write("gif.png", "GIF89a")),
            folder / "gif.png" + ": neither PNG nor JPEG: it begins with 47 49 46 38");
}

/// Neighbouring pixels that differ, so that their code is long.
Pixels busy(int count) {
  Pixels pixels;
  for (int i = 0; i < count; ++i) pixels.push_back(static_cast<std::uint8_t>(i * i * 31 % 251));
  return pixels;
}

TEST_F(DataImages, ACutPngIsAnErrorWhereverItIsCut) {
  const std::string whole = png_bytes(20, 20, PNG_FORMAT_RGB, busy(20 * 20 * 3));
  const std::size_t end = whole.size() - 16;  // the rest of the data's checksum, and IEND
  for (std::size_t cut = 8; cut < end; cut += 7) {
    const std::string message =
        message_of([&] { decode_png(std::string_view(whole).substr(0, cut), "cut.png"); });
    EXPECT_TRUE(message.starts_with("cut.png: corrupt PNG: ")) << cut << ": " << message;
  }
}

TEST_F(DataImages, ACutJpegIsAnErrorWhereverItIsCut) {
  const std::string whole = jpeg_bytes(40, 40, JCS_RGB, busy(40 * 40 * 3));
  for (std::size_t cut = 3; cut + 8 < whole.size(); cut += 11) {
    const std::string message =
        message_of([&] { decode_jpeg(std::string_view(whole).substr(0, cut), "cut.jpg"); });
    EXPECT_TRUE(message.starts_with("cut.jpg: corrupt JPEG: ")) << cut << ": " << message;
  }
}

TEST_F(DataImages, FlippedBitsNeverDoMoreThanFail) {
  const std::string png = png_bytes(12, 12, PNG_FORMAT_RGB, busy(12 * 12 * 3));
  const std::string jpeg = jpeg_bytes(24, 24, JCS_RGB, busy(24 * 24 * 3));
  int failed = 0;
  for (std::size_t at = 8; at < png.size(); ++at) {
    std::string bad = png;
    bad[at] = static_cast<char>(bad[at] ^ (1 << at % 8));
    try {
      decode_png(bad, "bad");
    } catch (const UserError&) {
      ++failed;
    }
  }
  EXPECT_GT(failed, static_cast<int>(png.size()) / 2);  // the checksums see them
  for (std::size_t at = 2; at < jpeg.size(); ++at) {
    std::string bad = jpeg;
    bad[at] = static_cast<char>(bad[at] ^ (1 << at % 8));
    try {
      decode_jpeg(bad, "bad");
    } catch (const UserError&) {
    }
  }
}

TEST_F(DataImages, AnEnormousPictureIsRefusedBeforeItsMemory) {
  std::string png = png_bytes(2, 2, PNG_FORMAT_GRAY, {1, 2, 3, 4});
  png_uint_32 crc = 0xFFFFFFFF;
  std::memcpy(png.data() + 16, "\x00\x0F\x00\x00\x00\x0F\x00\x00", 8);  // 983,040 each way
  for (std::size_t i = 12; i < 29; ++i) {
    crc ^= static_cast<std::uint8_t>(png[i]);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
  }
  crc = ~crc;
  for (std::size_t i = 0; i < 4; ++i) png[29 + i] = static_cast<char>(crc >> (24 - 8 * i));
  EXPECT_EQ(message_of([&] { decode_png(png, "huge.png"); }),
            "huge.png: a picture of 983040 x 983040 pixels; at most 268435456 are read");
}

TEST_F(DataImages, ThePictureItselfWhenItFits) {
  const Image image{2, 2, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
  EXPECT_EQ(resampled(image, {3, 2, 2}),
            (std::vector<float>{1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12}));
  EXPECT_EQ(resampled(image, {2, 2, 3}),
            (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
}

TEST_F(DataImages, ItsMiddleWhenItIsWider) {
  const Image image{1, 5, 1, {10, 20, 30, 40, 50}};
  EXPECT_EQ(resampled(image, {1, 1, 1}), (std::vector<float>{30}));
  const Image tall{4, 2, 1, {0, 1, 2, 3, 4, 5, 6, 7}};
  EXPECT_EQ(resampled(tall, {1, 2, 2}), (std::vector<float>{2, 3, 4, 5}));
}

TEST_F(DataImages, LargerIsBilinear) {
  const Image image{1, 2, 1, {0, 100}};
  // Centres at -0.25 (held), 0.25, 0.75, 1.25 (held) of the distance; the height is cut to half.
  EXPECT_EQ(resampled(image, {1, 2, 4}), (std::vector<float>{0, 25, 75, 100, 0, 25, 75, 100}));
}

TEST_F(DataImages, SmallerIsAnAverage) {
  const Image image{4, 4, 1, {0, 0, 80, 80, 0, 0, 80, 80, 0, 0, 80, 80, 0, 0, 80, 80}};
  // The triangle reaches two pixels either way: 1, 3, 3, (1) quarters... of what there is.
  const std::vector<float> half = resampled(image, {1, 2, 2});
  EXPECT_FLOAT_EQ(half[0], 80.0f * 1 / 7);
  EXPECT_FLOAT_EQ(half[1], 80.0f * 6 / 7);
  EXPECT_FLOAT_EQ(half[2], half[0]);
  EXPECT_EQ(resampled(image, {1, 1, 1}), (std::vector<float>{40}));
}

TEST_F(DataImages, ChannelsOfModelAndPictureMayDiffer) {
  const Image grey{1, 1, 1, {50}}, rgb{1, 1, 3, {100, 200, 50}};
  EXPECT_EQ(resampled(grey, {3, 1, 1}), (std::vector<float>{50, 50, 50}));
  EXPECT_FLOAT_EQ(resampled(rgb, {1, 1, 1})[0], 29.9f + 117.4f + 5.7f);
}

TEST_F(DataImages, WhatIsNormalised) {
  const PictureForm form = picture_form({"x", DType::f32, {3, 1, 1}}, {{0.5, 0.25, 0}, {0.5}});
  std::vector<float> out(3);
  resample(Image{1, 1, 3, {255, 255, 51}}, form, out);
  EXPECT_FLOAT_EQ(out[0], 1);
  EXPECT_FLOAT_EQ(out[1], 1.5);
  EXPECT_FLOAT_EQ(out[2], 0.4f);
  const auto wrong = [](const FeedType& feed, const Normal& normal) {
    return message_of([&] { picture_form(feed, normal); });
  };
  EXPECT_EQ(wrong({"x", DType::f32, {3, 4, 4}}, {{0.5, 0.5}, {1}}),
            "mean has 2 values; the model's pictures have 3 channels");
  EXPECT_EQ(wrong({"x", DType::f32, {3, 4, 4}}, {{0.5}, {0}}), "deviation 0 is not above 0");
  EXPECT_EQ(wrong({"x", DType::f32, {8}}, kPlain),
            "the model's feed x f32[8] is no picture: floats [channels, height, width] or [height, "
            "width, channels] with 1 or 3 channels");
}

TEST_F(DataImages, ClassesAreFoldersByName) {
  write("d/dog/1.PNG", png_bytes(1, 1, PNG_FORMAT_GRAY, {51}));
  write("d/cat/deep/b.jpeg", jpeg_bytes(1, 1, JCS_GRAYSCALE, {255}));
  write("d/cat/a.png", png_bytes(1, 1, PNG_FORMAT_GRAY, {102}));
  write("d/cat/notes.txt", "no picture");
  const Data data({.kind = "images", .paths = {folder / "d"}, .normal = {{0}, {1}}});
  EXPECT_EQ(data.limit(), 2);
  const Sources sources = data.sources(picture_feeds({3, 1, 1}, DType::f16), 5);
  EXPECT_EQ(sources.train->describe(), folder / "d" + ": 3 pictures of 2 classes");
  Batch batch;
  batch.shape(sources.train->feeds(), 3);
  for (int i = 0; i < 3; ++i) sources.train->read(i, i, batch);
  EXPECT_EQ(type_text(batch.feeds.at("x")), "f16[3,3,1,1]");
  EXPECT_NEAR(batch.feeds.at("x").real(0), 0.4, 1e-3);
  EXPECT_EQ(batch.feeds.at("x").real(3), 1.0);
  EXPECT_NEAR(batch.feeds.at("x").real(8), 0.2, 1e-3);
  EXPECT_EQ(batch.feeds.at("labels").integer(0), 0);
  EXPECT_EQ(batch.feeds.at("labels").integer(2), 1);
  EXPECT_EQ(message_of([&] {
              data.sources(picture_feeds({3, 1, 1}), 1);
            }),
            folder / "d" + ": 2 classes; the model has 1");
  EXPECT_EQ(message_of([&] {
              data.sources(std::vector{picture_feeds({3, 1, 1})[0]}, 1);
            }),
            folder / "d" +
                ": labelled pictures feed x and one i64 label each; the model wants x f32[3,1,1]");
}

TEST_F(DataImages, AFingerprintIsOfWhatThePicturesShow) {
  for (const char* name : {"d/a/1.png", "d/b/1.png"}) {
    write(name, png_bytes(1, 1, PNG_FORMAT_GRAY, {51}));
  }
  const auto sources = [&](double validation) {
    const DataSettings settings{
        .kind = "images", .paths = {folder / "d"}, .validation = validation};
    return Data(settings).sources(picture_feeds({3, 1, 1}), 2);
  };
  const std::shared_ptr<const Source> before = sources(0).train, part = sources(0.5).train;
  const std::uint64_t was = before->fingerprint(), part_was = part->fingerprint();
  EXPECT_EQ(sources(0).train->fingerprint(), was);
  write("d/b/1.png", png_bytes(1, 1, PNG_FORMAT_GRAY, {52}));
  EXPECT_NE(sources(0).train->fingerprint(), was);
  EXPECT_NE(part->fingerprint(), part_was);
  EXPECT_EQ(sources(0).train->older_fingerprint(), before->older_fingerprint());
  std::filesystem::remove(folder / "d/a/1.png");
  EXPECT_EQ(message_of([&] { before->fingerprint(); }),
            "cannot open " + (folder / "d/a/1.png") + ": No such file or directory");
}

TEST_F(DataImages, APictureThatIsGoneOrBadIsNamed) {
  const std::string gone = write("d/a/1.png", png_bytes(1, 1, PNG_FORMAT_GRAY, {51}));
  const std::string bad = write("d/b/2.png", png_bytes(1, 1, PNG_FORMAT_GRAY, {51}));
  const Data data({.kind = "images", .paths = {folder / "d"}});
  const Sources sources = data.sources(picture_feeds({3, 1, 1}), 2);
  std::filesystem::remove(gone);
  std::filesystem::resize_file(bad, 45);
  Batch batch;
  batch.shape(sources.train->feeds(), 1);
  EXPECT_EQ(message_of([&] { sources.train->read(0, 0, batch); }),
            "cannot open " + gone +
                ": No such file or directory. Put the picture back as it was and go on with "
                "--resume, or mend it or take it out of the folder and begin anew");
  EXPECT_TRUE(
      message_of([&] { sources.train->read(1, 0, batch); }).starts_with(bad + ": corrupt PNG: "));
}

TEST_F(DataImages, FoldersWithoutPictures) {
  const auto wrong = [&](const std::string& name) {
    return message_of([&] { Data({.kind = "images", .paths = {folder / name}}); });
  };
  EXPECT_EQ(wrong("none"),
            "cannot read the folder " + folder / "none" + ": No such file or directory");
  io::make_folder(folder / "empty");
  EXPECT_EQ(wrong("empty"), folder / "empty" + ": no pictures in it (.png, .jpg, .jpeg)");
  const std::string png = png_bytes(1, 1, PNG_FORMAT_GRAY, {51});
  write("half/a/1.png", png);
  io::make_folder(folder / "half/b");
  EXPECT_EQ(wrong("half"), folder / "half/b" + ": no pictures in it (.png, .jpg, .jpeg)");
  write("mixed/a/1.png", png);
  write("mixed/2.png", png);
  EXPECT_EQ(
      wrong("mixed"),
      folder / "mixed" + ": pictures both beside the class folders and in them (class \"a\")");
  EXPECT_EQ(message_of([&] {
              Data({.kind = "images", .paths = {"a", "b"}});
            }),
            "data of kind images is one folder; 2 are given");
}

TEST_F(DataImages, AFolderThatHasNotTwoClassesSaysWhatItMustLookLike) {
  const std::string png = png_bytes(1, 1, PNG_FORMAT_GRAY, {51});
  const auto wrong = [&](const std::string& name) {
    return message_of([&] { Data({.kind = "images", .paths = {folder / name}}); });
  };
  const auto look = [&](const std::string& name) {
    const std::string path = folder / name;
    return ", so that all labels would be the same. A folder of images holds one folder per class, "
           "at least two: " +
           path + "/cat/1.png, " + path + "/dog/2.jpg";
  };
  write("flat/1.png", png);
  write("flat/2.png", png);
  EXPECT_EQ(wrong("flat"),
            folder / "flat" + ": 2 pictures in it, but no class folders" + look("flat"));
  write("one/cat/1.png", png);
  EXPECT_EQ(wrong("one"), folder / "one" + ": only one class folder in it (\"cat\")" + look("one"));
}

TEST_F(DataImages, FilesThatAreLeftOutAreCountedAndNamed) {
  const std::string png = png_bytes(1, 1, PNG_FORMAT_GRAY, {51});
  write("d/a/1.png", png);
  write("d/b/2.png", png);
  const DataSettings settings{.kind = "images", .paths = {folder / "d"}};
  EXPECT_EQ(Data(settings).notes(), std::vector<std::string>{});
  write("d/a/x.webp", "");
  write("d/b/deep/y.gif", "");
  write("d/b/z.webp", "");
  write("d/LICENCE", "");
  write("d/.hidden", "");
  EXPECT_EQ(Data(settings).notes(),
            std::vector<std::string>{folder / "d" +
                                     ": 4 files left out, which are no .png, .jpg, .jpeg (1 .gif, "
                                     "2 .webp, 1 without a suffix): LICENCE, a/x.webp, "
                                     "b/deep/y.gif, b/z.webp"});
  for (const char* name : {"d/a/m.gif", "d/a/n.gif"}) write(name, "");
  EXPECT_TRUE(Data(settings).notes()[0].ends_with(
      ": LICENCE, a/m.gif, a/n.gif, a/x.webp, b/deep/y.gif, ..."));
}

TEST_F(DataImages, ValidationIsEveryKthOrItsOwnFolder) {
  for (const char* name : {"d/a/1.png", "d/a/2.png", "d/a/3.png", "d/b/1.png", "v/a/1.png",
                           "v/b/1.png", "w/a/1.png", "w/c/1.png"}) {
    write(name, png_bytes(1, 1, PNG_FORMAT_GRAY, {51}));
  }
  DataSettings settings{.kind = "images", .paths = {folder / "d"}, .validation = 0.5};
  const Sources parts = Data(settings).sources(picture_feeds({3, 1, 1}), 2);
  EXPECT_EQ(parts.train->size(), 2);
  EXPECT_EQ(parts.validation->size(), 2);
  settings.validation_paths = {folder / "v"};
  const Sources own = Data(settings).sources(picture_feeds({3, 1, 1}), 2);
  EXPECT_EQ(own.train->size(), 4);
  EXPECT_EQ(own.validation->size(), 2);
  EXPECT_NE(own.train->fingerprint(), own.validation->fingerprint());
  settings.validation_paths = {folder / "w"};
  EXPECT_EQ(message_of([&] { Data{settings}; }),
            folder / "w" + ": its classes (a, c) are not those of " + folder / "d" + " (a, b)");
}

std::string cifar_record(char label, std::uint8_t red) {
  std::string record(3073, '\0');
  record[0] = label;
  record[1] = static_cast<char>(red);
  record[1 + 1024] = 5;
  record[1 + 2048] = 6;
  return record;
}

TEST_F(DataImages, Cifar10) {
  write("c/data_batch_2.bin", cifar_record(9, 30));
  write("c/data_batch_1.bin", cifar_record(3, 10) + cifar_record(0, 20));
  write("c/test_batch.bin", cifar_record(1, 40));
  DataSettings settings{.kind = "cifar10", .paths = {folder / "c"}, .normal = kPlain};
  const Sources sources = Data(settings).sources(picture_feeds({3, 32, 32}), 10);
  EXPECT_EQ(sources.train->size(), 3);
  EXPECT_EQ(sources.validation, nullptr);
  Batch batch;
  batch.shape(sources.train->feeds(), 1);
  sources.train->read(2, 0, batch);
  EXPECT_EQ(batch.feeds.at("labels").integer(0), 9);
  const std::span<float> x = batch.row<float>("x", 0);
  EXPECT_EQ(x[0], 30.0f);
  EXPECT_EQ(x[1], 0.0f);
  EXPECT_EQ(x[1024], 5.0f);
  EXPECT_EQ(x[2048], 6.0f);
  settings.validation = 0.1;
  const Sources tested = Data(settings).sources(picture_feeds({3, 32, 32}), 10);
  EXPECT_EQ(tested.train->size(), 3);
  EXPECT_EQ(tested.validation->size(), 1);
}

TEST_F(DataImages, WrongCifar10) {
  const auto wrong = [&](const std::string& name) {
    return message_of([&] { Data({.kind = "cifar10", .paths = {folder / name}}); });
  };
  io::make_folder(folder / "empty");
  EXPECT_EQ(wrong("empty"),
            folder / "empty" + ": no data_batch_*.bin in it (CIFAR-10's binary version)");
  write("cut.bin", cifar_record(1, 0) + "x");
  EXPECT_EQ(wrong("cut.bin"),
            folder / "cut.bin" + ": 3,074 bytes; CIFAR-10's binary files hold records of 3,073");
  write("label.bin", cifar_record(1, 0) + cifar_record(10, 0));
  EXPECT_EQ(wrong("label.bin"),
            folder / "label.bin" + ": record 1 has label 10; CIFAR-10's are 0 to 9");
}

std::string idx(std::vector<unsigned> header, const std::string& elements) {
  std::string out;
  for (const unsigned word : header) {
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(word >> shift);
  }
  return out + elements;
}

TEST_F(DataImages, Mnist) {
  std::string pictures(2 * 784, '\0');
  pictures[784] = static_cast<char>(200);
  write("m/train-images-idx3-ubyte", idx({0x803, 2, 28, 28}, pictures));
  write("m/train-labels.idx1-ubyte", idx({0x801, 2}, "\x04\x09"));
  write("m/t10k-images-idx3-ubyte", idx({0x803, 1, 28, 28}, std::string(784, '\0')));
  write("m/t10k-labels-idx1-ubyte", idx({0x801, 1}, "\x02"));
  const DataSettings settings{
      .kind = "mnist", .paths = {folder / "m"}, .validation = 0.1, .normal = kPlain};
  const Sources sources = Data(settings).sources(picture_feeds({3, 28, 28}), 10);
  EXPECT_EQ(sources.train->size(), 2);
  EXPECT_EQ(sources.validation->size(), 1);
  Batch batch;
  batch.shape(sources.train->feeds(), 1);
  sources.train->read(1, 0, batch);
  EXPECT_EQ(batch.feeds.at("labels").integer(0), 9);
  EXPECT_EQ(batch.row<float>("x", 0)[0], 200.0f);
  EXPECT_EQ(batch.row<float>("x", 0)[2 * 784], 200.0f);
}

TEST_F(DataImages, WrongMnist) {
  const auto wrong = [&] {
    return message_of([&] { Data({.kind = "mnist", .paths = {folder / "m"}}); });
  };
  const std::string images = folder / "m/train-images-idx3-ubyte";
  const std::string labels = folder / "m/train-labels-idx1-ubyte";
  EXPECT_EQ(wrong(), folder / "m" + ": no train-images-idx3-ubyte in it (MNIST)");
  write("m/train-images-idx3-ubyte.gz", "x");
  EXPECT_EQ(wrong(), images + ".gz is packed: unpack it with gunzip");
  write("m/train-images-idx3-ubyte", idx({0x803, 2, 28, 27}, ""));
  write("m/train-labels-idx1-ubyte", idx({0x801, 2}, "\x01\x0a"));
  EXPECT_EQ(wrong(), images + ": not an idx file of MNIST's pictures");
  write("m/train-images-idx3-ubyte", idx({0x803, 2, 28, 28}, std::string(800, '\0')));
  EXPECT_EQ(wrong(), images + ": says 2 elements of 784 bytes; 800 bytes follow");
  write("m/train-images-idx3-ubyte", idx({0x803, 2, 28, 28}, std::string(1568, '\0')));
  EXPECT_EQ(wrong(), labels + ": label 10 of picture 1; MNIST's are 0 to 9");
  write("m/train-labels-idx1-ubyte", idx({0x801, 1}, "\x01"));
  EXPECT_EQ(wrong(), folder / "m" + ": 2 pictures and 1 labels");
}

}  // namespace
}  // namespace plait::train
