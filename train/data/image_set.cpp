// Folders of pictures, and any set of pictures as a source.
#include "train/data/image_set.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "io/file.h"
#include "run/in_parallel.h"
#include "train/data/text_files.h"

namespace plait::train {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kSuffixes[] = {".png", ".jpg", ".jpeg"};
constexpr std::size_t kMostNamed = 5;  // of the files that are left out

/// The folder's own folders, by name.
std::vector<std::string> folders_in(const std::string& folder) {
  std::vector<std::string> names = io::names_in(folder);
  std::erase_if(names, [&](const std::string& name) {
    return name.starts_with(".") || !io::is_folder(str(folder, "/", name));
  });
  return names;
}

std::vector<std::string> pictures_below(const std::string& folder) {
  std::vector<std::string> files = files_below(folder, kSuffixes);
  if (files.empty()) {
    fail(folder, ": no pictures in it (", join({std::begin(kSuffixes), std::end(kSuffixes)}, ", "),
         ")");
  }
  return files;
}

/// A classifier of one class is right about everything: nothing that it says means anything.
void require_classes(const std::string& folder, const std::vector<std::string>& classes) {
  if (classes.size() > 1) return;
  const std::string why = classes.empty()
                              ? str(counted(pictures_below(folder).size(), "picture", "pictures"),
                                    " in it, but no class folders")
                              : str("only one class folder in it (", quoted(classes[0]), ")");
  fail(folder, ": ", why,
       ", so that all labels would be the same. A folder of images holds one folder per class, at "
       "least two: ",
       folder, "/cat/1.png, ", folder, "/dog/2.jpg");
}

/// `2 files that are no .png, .jpg, .jpeg were left out (1 .gif, 1 .webp): cat/a.gif, b.webp`;
/// empty where there are none.
std::string left_out_note(const std::string& folder) {
  std::vector<std::string> names;
  std::map<std::string, std::size_t> kinds;
  const std::vector<std::string> pictures = files_below(folder, kSuffixes);
  for (const std::string& file : files_below(folder)) {  // both are sorted
    if (std::binary_search(pictures.begin(), pictures.end(), file)) continue;
    const std::string kind = fs::path(file).extension().string();
    ++kinds[kind.empty() ? "without a suffix" : kind];
    names.push_back(fs::path(file).lexically_relative(folder).string());
  }
  if (names.empty()) return "";
  std::vector<std::string> counts;
  for (const auto& [kind, count] : kinds) counts.push_back(str(count, " ", kind));
  const std::string found = counted(names.size(), "file", "files");
  const bool cut = names.size() > kMostNamed;
  if (cut) names.resize(kMostNamed);
  return str(folder, ": ", found, " left out, which ", found.starts_with("1 ") ? "is" : "are",
             " no ", join({std::begin(kSuffixes), std::end(kSuffixes)}, ", "), " (",
             join(counts, ", "), "): ", join(names, ", "), cut ? ", ..." : "");
}

/// A run goes on with the pictures that it began with, by their contents.
Image read_of_folder(const std::string& file) {
  try {
    return read_image(file);
  } catch (const UserError& e) {
    fail(e.what(),
         ". Put the picture back as it was and go on with --resume, or mend it or take it out of "
         "the folder and begin anew");
  }
}

std::uint64_t size_of(const std::string& file) {
  std::error_code ignored;
  return fs::file_size(file, ignored);
}

std::uint64_t contents_of(const std::string& file) { return fnv1a64(io::read_file(file)); }

/// Over the pictures' names below the folder, and a number of each.
template <class NumberOf>
std::uint64_t sum_of(const std::string& folder, const std::vector<std::string>& files,
                     NumberOf number_of) {
  std::vector<std::uint64_t> numbers(files.size());
  in_parallel(files.size(), [&](std::size_t i) { numbers[i] = number_of(files[i]); });
  std::uint64_t sum = kFnv64;
  for (std::size_t i = 0; i < files.size(); ++i) {
    sum = fnv1a64(str(files[i].substr(folder.size()), "\n", numbers[i]), sum);
  }
  return sum;
}

}  // namespace

Normal usual_normal(std::string_view kind) {
  if (kind == "cifar10") return {{0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}};
  if (kind == "mnist") return {{0.1307}, {0.3081}};
  return {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
}

ImageSet image_folder(const std::string& folder) {
  ImageSet set;
  set.name = folder;
  set.classes = folders_in(folder);
  set.normal = usual_normal("images");
  set.note = left_out_note(folder);
  std::vector<std::string> files;
  for (std::size_t label = 0; label < set.classes.size(); ++label) {
    const std::vector<std::string> some = pictures_below(folder + "/" + set.classes[label]);
    files.insert(files.end(), some.begin(), some.end());
    set.labels.insert(set.labels.end(), some.size(), static_cast<std::int64_t>(label));
  }
  if (!files.empty() && files_below(folder, kSuffixes).size() != files.size()) {
    fail(folder, ": pictures both beside the class folders and in them (class ",
         quoted(set.classes[0]), ")");
  }
  require_classes(folder, set.classes);
  set.fingerprint = [files, folder] { return sum_of(folder, files, contents_of); };
  set.older_fingerprint = [files, folder] { return sum_of(folder, files, size_of); };
  set.image = [files = std::move(files)](std::int64_t index) {
    return read_of_folder(files[static_cast<std::size_t>(index)]);
  };
  return set;
}

Pictures::Pictures(std::shared_ptr<const ImageSet> set, std::span<const FeedType> feeds,
                   std::int64_t classes, const Normal& normal)
    : set_(std::move(set)), feeds_(feeds.begin(), feeds.end()) {
  const FeedType *x = find_feed(feeds, "x"), *labels = find_feed(feeds, "labels");
  const bool fits = feeds.size() == 2 && x != nullptr && labels != nullptr &&
                    labels->dtype == DType::i64 && labels->sizes.empty();
  if (!fits) {
    fail(set_->name, ": labelled pictures feed x and one i64 label each; the model wants ",
         feeds_text(feeds));
  }
  const auto found = static_cast<std::int64_t>(set_->classes.size());
  if (found > classes) {
    fail(set_->name, ": ", found, " classes; the model has ", classes);
  }
  Normal chosen = set_->normal;
  if (!normal.mean.empty()) chosen.mean = normal.mean;
  if (!normal.deviation.empty()) chosen.deviation = normal.deviation;
  form_ = picture_form(*x, chosen);
}

std::int64_t Pictures::size() const { return static_cast<std::int64_t>(set_->labels.size()); }

void Pictures::read(std::int64_t sample, std::int64_t row, Batch& into) const {
  check(sample >= 0 && sample < size(), "picture ", sample, " of ", size());
  std::vector<float> values(form_.elements());
  resample(set_->image(sample), form_, values);
  into.set_row("x", row, values);
  into.row<std::int64_t>("labels", row)[0] = set_->labels[static_cast<std::size_t>(sample)];
}

std::string Pictures::describe() const {
  return str(set_->name, ": ", with_commas(size()), " pictures of ", set_->classes.size(),
             set_->classes.size() == 1 ? " class" : " classes");
}

}  // namespace plait::train
