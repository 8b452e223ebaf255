// CIFAR-10's and MNIST's files: pictures of one size, one after the other, held in memory.
#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "io/file.h"
#include "train/data/image_set.h"

namespace plait::train {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kSide = 32, kPlane = kSide * kSide, kRecord = 1 + 3 * kPlane;
constexpr std::size_t kMnistSide = 28, kMnistPixels = kMnistSide * kMnistSide;

/// data_batch_*.bin of a folder, by name; a file stands for itself.
std::vector<std::string> cifar10_files(const std::string& path) {
  if (!io::is_folder(path)) return {path};
  std::vector<std::string> files;
  for (const std::string& name : io::names_in(path)) {
    if (name.starts_with("data_batch_") && name.ends_with(".bin")) {
      files.push_back((fs::path(path) / name).string());
    }
  }
  if (files.empty()) fail(path, ": no data_batch_*.bin in it (CIFAR-10's binary version)");
  return files;
}

void append_records(const std::string& path, ImageSet& set, std::string& records) {
  const std::string bytes = io::read_file(path);
  if (bytes.empty() || bytes.size() % kRecord != 0) {
    fail(path, ": ", with_commas(static_cast<std::int64_t>(bytes.size())),
         " bytes; CIFAR-10's binary files hold records of ", with_commas(kRecord));
  }
  for (std::size_t at = 0; at < bytes.size(); at += kRecord) {
    const auto label = static_cast<std::uint8_t>(bytes[at]);
    if (label >= set.classes.size()) {
      fail(path, ": record ", at / kRecord, " has label ", int{label}, "; CIFAR-10's are 0 to 9");
    }
    set.labels.push_back(label);
  }
  records += bytes;
}

/// The file by either of the names it is handed round under.
std::string mnist_file(const std::string& folder, const std::string& stem, std::string_view idx) {
  const std::string dashed = str(folder, "/", stem, "-", idx, "-ubyte");
  const std::string dotted = str(folder, "/", stem, ".", idx, "-ubyte");
  for (const std::string& path : {dashed, dotted}) {
    if (io::is_there(path)) return path;
  }
  for (const std::string& path : {dashed + ".gz", dotted + ".gz"}) {
    if (io::is_there(path)) fail(path, " is packed: unpack it with gunzip");
  }
  fail(folder, ": no ", stem, "-", idx, "-ubyte in it (MNIST)");
}

std::size_t big_endian(std::string_view bytes, std::size_t at) {
  std::size_t value = 0;
  for (const char c : bytes.substr(at, 4)) value = value << 8 | static_cast<std::uint8_t>(c);
  return value;
}

/// The elements behind an idx header of u8 with the dimensions `rest` after the first.
std::string idx_elements(const std::string& path, const std::vector<std::size_t>& rest) {
  std::string bytes = io::read_file(path);
  const std::size_t header = 4 + 4 * (1 + rest.size());
  std::size_t element = 1;
  bool good = bytes.size() >= header && big_endian(bytes, 0) == 0x800 + 1 + rest.size();
  for (std::size_t d = 0; good && d < rest.size(); ++d) {
    good = big_endian(bytes, 8 + 4 * d) == rest[d];
    element *= rest[d];
  }
  if (!good) fail(path, ": not an idx file of MNIST's ", rest.empty() ? "labels" : "pictures");
  const std::size_t count = big_endian(bytes, 4);
  if (count == 0 || bytes.size() - header != count * element) {
    fail(path, ": says ", count, " elements of ", element, " bytes; ", bytes.size() - header,
         " bytes follow");
  }
  return bytes.substr(header);
}

}  // namespace

ImageSet cifar10(std::span<const std::string> paths) {
  ImageSet set;
  set.name = join({paths.begin(), paths.end()}, ", ");
  set.classes = {"airplane", "automobile", "bird",  "cat",  "deer",
                 "dog",      "frog",       "horse", "ship", "truck"};
  set.normal = usual_normal("cifar10");
  std::string records;
  for (const std::string& path : paths) {
    for (const std::string& file : cifar10_files(path)) append_records(file, set, records);
  }
  if (set.labels.empty()) fail("no path of CIFAR-10's files is given");
  set.fingerprint = [sum = fnv1a64(records)] { return sum; };
  set.image = [records = std::move(records)](std::int64_t index) {
    const char* planes = records.data() + static_cast<std::size_t>(index) * kRecord + 1;
    Image image{kSide, kSide, 3, std::vector<std::uint8_t>(3 * kPlane)};
    for (std::size_t i = 0; i < 3 * kPlane; ++i) {
      image.pixels[(i % kPlane) * 3 + i / kPlane] = static_cast<std::uint8_t>(planes[i]);
    }
    return image;
  };
  return set;
}

ImageSet mnist(const std::string& folder, const std::string& part) {
  const std::string pictures_path = mnist_file(folder, part + "-images", "idx3");
  const std::string labels_path = mnist_file(folder, part + "-labels", "idx1");
  std::string pictures = idx_elements(pictures_path, {kMnistSide, kMnistSide});
  const std::string labels = idx_elements(labels_path, {});
  if (pictures.size() / kMnistPixels != labels.size()) {
    fail(folder, ": ", pictures.size() / kMnistPixels, " pictures and ", labels.size(), " labels");
  }
  ImageSet set;
  set.name = folder;
  set.classes = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  set.normal = usual_normal("mnist");
  for (const char label : labels) {
    if (static_cast<std::uint8_t>(label) > 9) {
      fail(labels_path, ": label ", int{static_cast<std::uint8_t>(label)}, " of picture ",
           set.labels.size(), "; MNIST's are 0 to 9");
    }
    set.labels.push_back(label);
  }
  set.fingerprint = [sum = fnv1a64(labels, fnv1a64(pictures))] { return sum; };
  set.image = [pictures = std::move(pictures)](std::int64_t index) {
    const char* first = pictures.data() + static_cast<std::size_t>(index) * kMnistPixels;
    return Image{kMnistSide, kMnistSide, 1, {first, first + kMnistPixels}};
  };
  return set;
}

bool has_cifar10_test(const std::string& folder) {
  return io::is_there(str(folder, "/", kCifar10Test));
}

bool has_mnist_test(const std::string& folder) {
  return io::is_there(folder + "/t10k-images-idx3-ubyte") ||
         io::is_there(folder + "/t10k-images.idx3-ubyte");
}

}  // namespace plait::train
