#include "worker/metrics/metrics_follower.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "base/status_text.h"
#include "fmt/format.h"
#include "worker/metrics/text_records.h"

namespace winnow {
namespace {

constexpr std::chrono::milliseconds kPollEvery(200);
constexpr int64_t kPieceBytes = 1 << 20;
constexpr int kPiecesOfPoll = 4;
// Pieces that are read at the program's end: so many of the beginning of what was not read by then, and of
// its end. A file has any size, and the loop does nothing else meanwhile.
constexpr int kPiecesAtEnd = 32;
constexpr size_t kMaxMetricsLine = 64 << 10;
constexpr size_t kKnownBytes = 256;
constexpr size_t kMostEventFiles = 100;
constexpr size_t kMostNames = 10;  // that are shown
constexpr int kMostFolderDepth = 4;
constexpr size_t kMostListed = 10'000;  // entries of folders
// At least this many times the duration of a poll passes before the next.
constexpr int kPollPause = 20;
constexpr size_t kMostKnownLines = 100'000;

bool HasEnding(const std::string& name, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view end) { return name.ends_with(end); });
}

// Whether a text is one line, after a header if there is one.
bool HasOneLine(std::string_view text, bool with_header) {
  const size_t end = text.find_last_not_of("\r\n");
  const auto ends = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end + 1), '\n');
  return end != std::string_view::npos && ends <= (with_header ? 1 : 0);
}

}  // namespace

MetricsFollower::File::File() : lines(kMaxMetricsLine) {}

MetricsFollower::MetricsFollower(EventLoop* loop, FolderName folder, std::string file,
                                 std::function<void(const MetricRecord&)> take)
    : loop_(loop),
      folder_(std::move(folder)),
      file_(std::move(file)),
      kind_(HasEnding(file_, {".jsonl", ".json", ".ndjson"}) ? Kind::kJson
            : HasEnding(file_, {".csv"})                     ? Kind::kCsv
                                                             : Kind::kEvents),
      take_(std::move(take)) {
  SkipExisting();
  timer_ = loop_->After(kPollEvery, [this] { Poll(); });
}

MetricsFollower::~MetricsFollower() { loop_->Cancel(timer_); }

void MetricsFollower::List(const OpenFolder& folder, const std::string& inner, int depth,
                           std::vector<std::string>& names) {
  (void)folder.ForEach([&](const std::string& name, const struct stat& about) -> absl::Status {
    too_many_ = listed_ == kMostListed;
    if (too_many_) return absl::OutOfRangeError("no more are looked at");
    ++listed_;
    const std::string path = inner.empty() ? name : inner + "/" + name;
    if (S_ISREG(about.st_mode) && name.find("tfevents") != std::string::npos) names.push_back(path);
    if (S_ISDIR(about.st_mode) && depth < kMostFolderDepth) {
      const absl::StatusOr<OpenFolder> below = folder.Inner(name);
      if (below.ok()) List(*below, path, depth + 1, names);
    }
    return absl::OkStatus();
  });
}

// The files to read, relative to folder_, in a fixed order.
std::vector<std::string> MetricsFollower::Names() {
  if (kind_ != Kind::kEvents) return {file_};
  std::vector<std::string> names;
  const absl::StatusOr<OpenFolder> folder = OpenFolder::Open({folder_.base, folder_.below / file_});
  listed_ = 0;
  too_many_ = false;
  if (folder.ok()) List(*folder, "", 0, names);
  for (std::string& name : names) name = file_ + "/" + name;
  if (too_many_) {
    // A file that an earlier look has found may be beyond the entries that this one has looked at.
    for (const auto& [name, file] : files_) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.size() > kMostEventFiles) names.erase(names.begin(), names.end() - kMostEventFiles);
  return names;
}

void MetricsFollower::SkipExisting() {
  const absl::StatusOr<OpenFolder> folder = OpenFolder::Open(folder_);
  if (!folder.ok()) return;
  for (const std::string& name : Names()) {
    const absl::StatusOr<OpenFile> open = folder->OpenRegular(name);
    struct stat about {};
    if (!open.ok() || fstat(open->descriptor(), &about) != 0) continue;
    File& file = files_[name];
    file.inode = about.st_ino;
    file.offset = about.st_size;
    const int64_t known = std::min<int64_t>(kKnownBytes, about.st_size);
    absl::StatusOr<std::string> before = open->ReadAt(about.st_size - known, known);
    if (before.ok()) file.before = *std::move(before);
  }
}

void MetricsFollower::Poll() {
  timer_ = 0;
  const EventLoop::TimePoint begin = loop_->Now();
  for (const std::string& name : Names()) {
    for (int piece = 0; piece < kPiecesOfPoll && ReadSome(name, false);) ++piece;
  }
  const EventLoop::Clock::duration pause = kPollPause * (loop_->Now() - begin);
  timer_ = loop_->After(std::max<EventLoop::Clock::duration>(kPollEvery, pause), [this] { Poll(); });
}

void MetricsFollower::End() {
  loop_->Cancel(std::exchange(timer_, 0));
  for (const std::string& name : Names()) {
    ReadToEnd(name);
    const auto found = files_.find(name);
    if (found != files_.end() && kind_ != Kind::kEvents)
      found->second.lines.End([&](std::string_view line) { Line(found->second, line); });
  }
  if (kind_ == Kind::kJson && records_ == 0) GiveWhole();
}

void MetricsFollower::ReadToEnd(const std::string& name) {
  const auto read = [&] {
    int pieces = 0;
    while (pieces < kPiecesAtEnd && ReadSome(name, true)) ++pieces;
    return pieces < kPiecesAtEnd;
  };
  if (read() || !SkipMiddle(name)) return;
  read();
}

// Goes to the last pieces of a file. False: they cannot be read without those before them.
bool MetricsFollower::SkipMiddle(const std::string& name) {
  const auto found = files_.find(name);
  if (found == files_.end()) return false;
  File& file = found->second;
  struct stat about {};
  if (file.open.has_value() && fstat(file.open->descriptor(), &about) == 0) {
    const int64_t last = about.st_size - kPiecesAtEnd * kPieceBytes;
    if (last <= file.offset) return true;
    file.offset = last;
    file.before.clear();
    file.lines = LineSplitter(kMaxMetricsLine);
    file.is_cut = true;
  }
  has_left_out_ = true;
  return file.is_cut;
}

// A file of which no line is an object may be one as a whole.
void MetricsFollower::GiveWhole() {
  const auto file = files_.find(file_);
  const absl::StatusOr<OpenFolder> folder = OpenFolder::Open(folder_);
  if (!folder.ok() || file == files_.end() || !file->second.wrote) return;
  const absl::StatusOr<OpenFile> open = folder->OpenRegular(file_);
  const absl::StatusOr<std::string> text = open.ok() ? open->ReadAt(0, kPieceBytes) : open.status();
  if (!text.ok()) return;
  for (const MetricRecord& record : ReadJsonRecords(*text)) Give(record);
}

bool MetricsFollower::ReadSome(const std::string& name, bool last) {
  const absl::StatusOr<OpenFolder> folder = OpenFolder::Open(folder_);
  absl::StatusOr<OpenFile> open = folder.ok() ? folder->OpenRegular(name) : folder.status();
  struct stat about {};
  const bool is_there = open.ok() && fstat(open->descriptor(), &about) == 0;
  if (const auto known = files_.find(name); known != files_.end()) {
    const bool was_moved = !is_there || known->second.inode != about.st_ino;
    if (was_moved && known->second.open.has_value() && ReadMoved(known->second)) return true;
  }
  if (!is_there) return false;
  File* file = &files_[name];
  if (file->inode == about.st_ino && file->offset == about.st_size && !last) return false;
  const int64_t known = static_cast<int64_t>(file->before.size());
  absl::StatusOr<std::string> bytes = open->ReadAt(file->offset - known, known + kPieceBytes);
  if (!bytes.ok()) {
    error_ = MessageOf(bytes.status());
    return false;
  }
  const bool anew = (file->inode != 0 && file->inode != about.st_ino) || about.st_size < file->offset ||
                    !bytes->starts_with(file->before);
  if (anew) {
    StartAnew(name, about.st_ino);
    return true;
  }
  file->inode = about.st_ino;
  if (kind_ == Kind::kCsv && file->header.empty() && file->offset > 0) {
    const absl::StatusOr<std::string> first = open->ReadAt(0, kMaxMetricsLine);
    if (first.ok())
      file->header = ReadCsvCells(std::string_view(*first).substr(0, first->find_first_of("\r\n")));
  }
  if (kind_ != Kind::kEvents && !file->open.has_value()) file->open = *std::move(open);
  return TakeAdded(*file, *bytes) == kPieceBytes;
}

// The file has another name now, or none, such as a log that is rotated. What the program wrote into it
// before, or still writes, counts. Returns whether there was anything.
bool MetricsFollower::ReadMoved(File& file) {
  const int64_t known = static_cast<int64_t>(file.before.size());
  const absl::StatusOr<std::string> bytes = file.open->ReadAt(file.offset - known, known + kPieceBytes);
  return bytes.ok() && bytes->starts_with(file.before) && TakeAdded(file, *bytes) > 0;
}

// Takes what follows the bytes that are known. Returns how much it is.
int64_t MetricsFollower::TakeAdded(File& file, const std::string& bytes) {
  const std::string_view added = std::string_view(bytes).substr(file.before.size());
  if (added.empty()) return 0;
  if (file.offset == 0 && file.repeated.size() == 1 && HasOneLine(added, kind_ == Kind::kCsv))
    file.repeated.clear();
  file.offset += static_cast<int64_t>(added.size());
  file.before = bytes.substr(bytes.size() - std::min(bytes.size(), kKnownBytes));
  Take(file, added);
  return static_cast<int64_t>(added.size());
}

void MetricsFollower::StartAnew(const std::string& name, ino_t inode) {
  File& old = files_[name];
  std::vector<size_t> repeated = std::move(old.repeated.size() > old.read.size() ? old.repeated : old.read);
  files_.erase(name);
  File& file = files_[name];
  file.inode = inode;
  file.repeated = std::move(repeated);
}

void MetricsFollower::Take(File& file, std::string_view bytes) {
  file.wrote = true;
  if (file.is_cut) {
    const size_t end = bytes.find('\n');
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    file.is_cut = false;
  }
  if (kind_ == Kind::kEvents) {
    const absl::Status status = file.events.Add(bytes, [this](const MetricRecord& record) { Give(record); });
    if (!status.ok()) error_ = MessageOf(status);
  } else {
    file.lines.Add(bytes, [&](std::string_view line) { Line(file, line); });
  }
}

void MetricsFollower::Line(File& file, std::string_view line) {
  if (line.find_first_not_of(" \t") == std::string_view::npos) return;
  if (kind_ == Kind::kCsv && file.header.empty()) {
    file.header = ReadCsvCells(line);
    if (header_.empty()) header_ = line.substr(0, kKnownBytes);
    return;
  }
  const size_t hash = std::hash<std::string_view>()(line), number = file.read.size();
  if (number < kMostKnownLines) file.read.push_back(hash);
  if (number < file.repeated.size() && file.repeated[number] == hash) return;
  file.repeated.clear();
  if (kind_ == Kind::kCsv) {
    Give(ReadCsvRecord(file.header, line));
  } else if (const auto record = ReadJsonRecord(line)) {
    Give(*record);
  }
}

void MetricsFollower::Give(const MetricRecord& record) {
  if (++records_ == 1) {
    for (size_t i = 0; i < std::min(record.values.size(), kMostNames); ++i)
      first_names_ += (i == 0 ? "" : ", ") + record.values[i].first;
  }
  take_(record);
}

std::string MetricsFollower::problem() const {
  if (records_ > 0) return "";
  if (!error_.empty()) return fmt::format("{} cannot be read: {}", file_, error_);
  if (kind_ != Kind::kEvents)
    return files_.empty()
               ? fmt::format("{} was not written in SM_OUTPUT_DATA_DIR", file_)
               : fmt::format("{} got {}", file_,
                             kind_ == Kind::kJson ? "no JSON object with numbers" : "no line with numbers");
  const absl::StatusOr<OpenFolder> folder = OpenFolder::Open(folder_);
  if (folder.ok() && folder->OpenRegular(file_).ok()) {
    return fmt::format(
        "{} in SM_OUTPUT_DATA_DIR is a file of no known kind; expected a name that ends in .jsonl, .json or "
        ".csv, or a folder of TensorBoard event files",
        file_);
  }
  if (files_.empty() && too_many_) {
    return fmt::format(
        "no TensorBoard event file was found among the first {} entries of the folder {} in "
        "SM_OUTPUT_DATA_DIR, where there are more",
        kMostListed, file_);
  }
  return files_.empty()
             ? fmt::format("the folder {} in SM_OUTPUT_DATA_DIR has no TensorBoard event file", file_)
             : fmt::format("the event files in {} got no scalar", file_);
}

}  // namespace winnow
