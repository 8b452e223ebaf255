// Folders of pictures, and any set of pictures as a source.
#include "train/data/image_set.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "train/data/text_files.h"

namespace plait::train {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kSuffixes[] = {".png", ".jpg", ".jpeg"};

/// The folder's own folders, by name.
std::vector<std::string> folders_in(const std::string& folder) {
  std::vector<std::string> names;
  try {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (entry.is_directory() && !name.starts_with(".")) names.push_back(name);
    }
  } catch (const fs::filesystem_error& error) {
    fail("cannot read the folder ", folder, ": ", error.code().message());
  }
  std::sort(names.begin(), names.end());
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

}  // namespace

ImageSet image_folder(const std::string& folder) {
  ImageSet set;
  set.name = folder;
  set.classes = folders_in(folder);
  set.normal = {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};  // ImageNet's
  std::vector<std::string> files;
  if (set.classes.empty()) {
    files = pictures_below(folder);
    set.classes = {fs::path(folder).filename().string()};
    set.labels.assign(files.size(), 0);
  } else {
    for (std::size_t label = 0; label < set.classes.size(); ++label) {
      const std::vector<std::string> some = pictures_below(folder + "/" + set.classes[label]);
      files.insert(files.end(), some.begin(), some.end());
      set.labels.insert(set.labels.end(), some.size(), static_cast<std::int64_t>(label));
    }
    if (files_below(folder, kSuffixes).size() != files.size()) {
      fail(folder, ": pictures both beside the class folders and in them (class ",
           quoted(set.classes[0]), ")");
    }
  }
  set.fingerprint = kFnv64;
  for (const std::string& file : files) {
    std::error_code ignored;
    const std::string entry = str(file.substr(folder.size()), "\n", fs::file_size(file, ignored));
    set.fingerprint = fnv1a64(entry, set.fingerprint);
  }
  set.image = [files = std::move(files)](std::int64_t index) {
    return read_image(files[static_cast<std::size_t>(index)]);
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
