#include "worker/data/channel_view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "artifact/files.h"
#include "base/data_url.h"
#include "base/mutex.h"
#include "base/parallel.h"
#include "base/status_text.h"
#include "fmt/format.h"
#include "worker/data/line_parts.h"
#include "worker/data/local_files.h"
#include "worker/data/remote_object.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLookedBytes = 64 << 10;  // of a file, to see what it is
constexpr int64_t kCopiedBytes = 1 << 20;   // at a time
constexpr int kConnections = 8;             // of the download of a prefix

absl::Status FaultOfFolder(const fs::path& path, int code) {
  return absl::ResourceExhaustedError(MessageOf(FileError(path, "cannot be made", code)));
}

std::string BytesText(int64_t bytes) {
  constexpr double kGib = 1 << 30, kMib = 1 << 20;
  return bytes >= kGib ? fmt::format("{:.2f} GiB", static_cast<double>(bytes) / kGib)
                       : fmt::format("{:.1f} MiB", static_cast<double>(bytes) / kMib);
}

// A name that leads out of the folder would be an attack, or a key that is no file's name.
bool IsPlainRelative(const std::string& name) {
  if (name.empty() || name.find('\0') != std::string::npos || name[0] == '/') return false;
  for (const fs::path& part : fs::path(name)) {
    if (part.empty() || part == "." || part == ".." || part.string().size() > 255) return false;
  }
  return name.find("//") == std::string::npos;
}

absl::Status MakeFolders(const fs::path& base, const fs::path& below) {
  fs::path at = base;
  for (const fs::path& part : below) {
    at /= part;
    if (mkdir(at.c_str(), 0755) != 0 && errno != EEXIST) return FaultOfFolder(at, errno);
    if (chmod(at.c_str(), 0755) != 0) return FaultOfFolder(at, errno);  // whatever the umask is
  }
  return absl::OkStatus();
}

template <typename Things>
Things PartOf(const Things& things, const Share& share) {
  return Things(things.begin() + static_cast<int64_t>(share.begin),
                things.begin() + static_cast<int64_t>(share.end));
}

absl::Status CopyRange(const OpenFile& from, int64_t begin, int64_t end, OpenFile& to, const fs::path& path) {
  while (begin < end) {
    const absl::StatusOr<std::string> bytes = from.ReadAt(begin, std::min(kCopiedBytes, end - begin));
    if (!bytes.ok()) return absl::ResourceExhaustedError(MessageOf(bytes.status()));
    if (bytes->empty())
      return absl::FailedPreconditionError(path.string() + " has become shorter while it was read");
    if (absl::Status status = to.Write(*bytes); !status.ok())
      return absl::ResourceExhaustedError(MessageOf(status));
    begin += static_cast<int64_t>(bytes->size());
  }
  return absl::OkStatus();
}

}  // namespace

class ChannelView::Maker {
 public:
  Maker(const ViewWanted& wanted, const fs::path& parent, DownloadCache& cache,
        const std::function<void(const std::string&)>& progress, const Cancellation& cancellation)
      : wanted_(wanted),
        channel_(wanted.channel.channel()),
        parent_(parent),
        cache_(cache),
        progress_(progress),
        cancellation_(cancellation),
        view_(new ChannelView()) {}

  absl::StatusOr<std::shared_ptr<ChannelView>> Make() {
    absl::Status status = HasScheme(channel_.path()) ? MakeRemote() : MakeLocal();
    if (!status.ok()) return status;
    return view_;
  }

 private:
  absl::Status MakeFolder() {
    absl::StatusOr<fs::path> folder = MakePrivateFolder(parent_);
    if (!folder.ok()) return folder.status();
    view_->folder_ = *folder;
    return absl::OkStatus();
  }

  // ------------------------------------------------------------------------------ files of the host

  absl::Status MakeLocal() {
    absl::StatusOr<std::vector<fs::path>> files = FilesOfChannel(channel_.path(), wanted_.user);
    if (!files.ok()) return files.status();
    const bool one = files->size() == 1 && (*files)[0] == fs::path(channel_.path());
    if (!wanted_.sharded() && !wanted_.piped()) {  // a trial of one rank
      view_->path_ = channel_.path();
      return absl::OkStatus();
    }
    if (wanted_.sharded() && one) return MakeLinePart((*files)[0], (*files)[0].filename().string());
    if (wanted_.sharded()) {
      if (absl::Status enough = CheckEnough(files->size()); !enough.ok()) return enough;
      *files = PartOf(*files, ShareOf(files->size(), wanted_.rank, wanted_.ranks));
    }
    if (wanted_.piped()) {
      for (const fs::path& file : *files) view_->pieces_.push_back({std::nullopt, file});
      return absl::OkStatus();
    }
    if (absl::Status status = MakeChannelFolder(); !status.ok()) return status;
    for (const fs::path& file : *files) {
      // A link, not another name of the file: who may read it is decided when it is opened.
      const fs::path at = view_->path_ / file.filename();
      if (symlink(file.c_str(), at.c_str()) != 0) return FaultOfFolder(at, errno);
    }
    return absl::OkStatus();
  }

  absl::Status CheckEnough(size_t files) const {
    if (files >= static_cast<size_t>(wanted_.ranks)) return absl::OkStatus();
    return absl::FailedPreconditionError(fmt::format(
        "{} has {} file{} for {} ranks; expected at least one for each, because distribution is sharded",
        ShownUrl(channel_.path()), files, files == 1 ? "" : "s", wanted_.ranks));
  }

  absl::Status MakeChannelFolder() {
    if (absl::Status status = MakeFolder(); !status.ok()) return status;
    view_->path_ = view_->folder_ / wanted_.channel.name();
    return MakeFolders(view_->folder_, wanted_.channel.name());
  }

  // The rank's lines of a file of the host; `name` says what is in it.
  absl::Status MakeLinePart(const fs::path& path, const std::string& name) {
    progress_("divides " + wanted_.channel.name() + " by line");
    const absl::StatusOr<OpenFile> file = OpenForUser(path, wanted_.user);
    if (!file.ok()) return file.status();
    const std::string shown = HasScheme(channel_.path()) ? ShownUrl(channel_.path()) : path.string();
    const auto named = [&shown](const absl::Status& status) {
      return absl::Status(status.code(), shown + " " + MessageOf(status));
    };
    const absl::StatusOr<std::string> begin = file->ReadAt(0, kLookedBytes);
    if (!begin.ok()) return absl::ResourceExhaustedError(MessageOf(begin.status()));
    const absl::StatusOr<RecordRules> rules =
        RulesOf(name, *begin, channel_.format(), channel_.header(), channel_.separator());
    if (!rules.ok()) return named(rules.status());
    const absl::StatusOr<RecordPart> part =
        PartOfRecords(file->descriptor(), *rules, wanted_.rank, wanted_.ranks);
    if (!part.ok()) return named(part.status());
    if (wanted_.piped()) {
      if (part->header_end > 0) view_->pieces_.push_back({std::nullopt, path, 0, part->header_end});
      view_->pieces_.push_back({std::nullopt, path, part->begin, part->end});
      return absl::OkStatus();
    }
    const fs::path downloaded = HasScheme(channel_.path()) ? path : fs::path();
    if (view_->folder_.empty()) {
      if (absl::Status status = MakeFolder(); !status.ok()) return status;
    }
    view_->path_ = view_->folder_ / name;
    absl::StatusOr<OpenFile> copy = OpenFile::Open(view_->path_, O_WRONLY | O_CREAT | O_EXCL, 0444);
    if (!copy.ok()) return absl::ResourceExhaustedError(MessageOf(copy.status()));
    if (fchmod(copy->descriptor(), 0444) != 0) return FaultOfFolder(view_->path_, errno);
    absl::Status status = CopyRange(*file, 0, part->header_end, *copy, path);
    if (status.ok()) status = CopyRange(*file, part->begin, part->end, *copy, path);
    if (!downloaded.empty()) unlink(downloaded.c_str());
    return status;
  }

  // ------------------------------------------------------------------------------ downloads

  absl::Status MakeRemote() {
    const absl::StatusOr<DataUrl> url = ParseDataUrl(channel_.path());
    if (!url.ok())
      return absl::FailedPreconditionError(ShownUrl(channel_.path()) + " " + MessageOf(url.status()));
    if (url->is_s3()) {
      absl::StatusOr<AwsAccess> access =
          FindAwsAccess(channel_.endpoint(), wanted_.variables, wanted_.worker, wanted_.role, cancellation_);
      if (!access.ok())
        return absl::Status(access.status().code(), channel_.path() + ": " + MessageOf(access.status()));
      access_ = std::make_shared<const AwsAccess>(*std::move(access));
    }
    if (url->is_prefix()) return MakePrefix(*url);
    const RemoteObject object = ObjectOf(*url, url->path);
    if (wanted_.piped()) {
      view_->pieces_.push_back({object, {}});
      return absl::OkStatus();
    }
    const std::string name = FileNameOf(*url);
    if (absl::Status status = MakeFolder(); !status.ok()) return status;
    if (!wanted_.sharded()) {
      view_->path_ = view_->folder_ / name;
      return FetchSingle(object, view_->path_);
    }
    const fs::path whole = view_->folder_ / ".whole";
    if (absl::Status status = FetchSingle(object, whole); !status.ok()) return status;
    return MakeLinePart(whole, name);
  }

  RemoteObject ObjectOf(const DataUrl& url, const std::string& key) const {
    if (!url.is_s3()) return {ShownUrl(channel_.path()), channel_.path()};
    return {fmt::format("s3://{}/{}", url.host, key), AwsUrl(*access_, url.host, key), access_};
  }

  absl::Status MakePrefix(const DataUrl& url) {
    progress_("lists " + wanted_.channel.name());
    absl::StatusOr<std::vector<std::string>> keys = ListObjects(
        channel_.path(), access_, url.host, url.path, cache_.patience(),
        [this](const std::string& why) { Waits("lists", why); }, cancellation_);
    if (!keys.ok()) return keys.status();
    if (wanted_.sharded()) {
      if (absl::Status enough = CheckEnough(keys->size()); !enough.ok()) return enough;
      *keys = PartOf(*keys, ShareOf(keys->size(), wanted_.rank, wanted_.ranks));
    }
    for (const std::string& key : *keys) {
      if (wanted_.piped()) {
        view_->pieces_.push_back({ObjectOf(url, key), {}});
      } else if (!IsPlainRelative(key.substr(url.path.size()))) {
        return absl::FailedPreconditionError(fmt::format(
            "s3://{}/{} has a key that is no file's name; expected parts between '/' that are none of \"\", "
            "\".\" and \"..\"",
            url.host, key));
      }
    }
    if (wanted_.piped()) return absl::OkStatus();
    if (absl::Status status = MakeChannelFolder(); !status.ok()) return status;
    absl::Status status = FetchAll(url, *keys);
    cache_.RemoveUnused();
    return status;
  }

  // Downloads several files at a time: that of a small one is mostly waiting. The first error ends the
  // others.
  absl::Status FetchAll(const DataUrl& url, const std::vector<std::string>& keys) {
    Cancellation stop(&cancellation_);
    FetchedFiles files;
    files.of = keys.size();
    return ForEachInParallel(
        keys.size(), kConnections, [&](size_t i) { return FetchOne(url, keys[i], files, stop); },
        [&stop] { stop.Cancel(); });
  }

  // The files of a prefix, and how far they are.
  struct FetchedFiles {
    size_t of = 0;
    Mutex mutex;
    size_t done ABSL_GUARDED_BY(mutex) = 0;
    int64_t bytes ABSL_GUARDED_BY(mutex) = 0;
  };

  absl::Status FetchOne(const DataUrl& url, const std::string& key, FetchedFiles& files,
                        const Cancellation& stop) {
    const fs::path below = key.substr(url.path.size());
    if (absl::Status status = MakeFolders(view_->path_, below.parent_path()); !status.ok()) return status;
    int64_t before = 0;  // of this file
    const auto tell = [this, &files, &before](int64_t done, int64_t) {
      const MutexLock lock(files.mutex);
      files.bytes += done - std::exchange(before, done);
      progress_(fmt::format("downloads {}: {}, {} of {} files", wanted_.channel.name(),
                            BytesText(files.bytes), files.done, files.of));
    };
    absl::Status status = Fetch(ObjectOf(url, key), view_->path_ / below, "", tell, stop);
    const MutexLock lock(files.mutex);
    ++files.done;
    return status;
  }

  absl::Status Fetch(const RemoteObject& object, const fs::path& at, const std::string& sha256,
                     std::function<void(int64_t done, int64_t of)> bytes, const Cancellation& cancellation) {
    DownloadProgress tell;
    tell.bytes = std::move(bytes);
    tell.waits = [this](const std::string& why) { Waits("downloads", why); };
    return cache_.Link({object, wanted_.job, sha256}, at, tell, cancellation);
  }

  absl::Status FetchSingle(const RemoteObject& object, const fs::path& at) {
    const auto tell = [this](int64_t done, int64_t of) {
      progress_(fmt::format("downloads {}: {}{}", wanted_.channel.name(), BytesText(done),
                            of >= 0 ? " of " + BytesText(of) : ""));
    };
    return Fetch(object, at, channel_.sha256(), tell, cancellation_);
  }

  void Waits(const char* does, const std::string& why) const {
    progress_(fmt::format("{} {}: {}", does, wanted_.channel.name(), why));
  }

  const ViewWanted& wanted_;
  const v1::Channel& channel_;
  const fs::path& parent_;
  DownloadCache& cache_;
  const std::function<void(const std::string&)>& progress_;
  const Cancellation& cancellation_;
  std::shared_ptr<ChannelView> view_;
  std::shared_ptr<const AwsAccess> access_;
};

absl::StatusOr<std::shared_ptr<ChannelView>> ChannelView::Make(
    const ViewWanted& wanted, const fs::path& parent, DownloadCache& cache,
    const std::function<void(const std::string&)>& progress, const Cancellation& cancellation) {
  return Maker(wanted, parent, cache, progress, cancellation).Make();
}

ChannelView::~ChannelView() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

absl::StatusOr<fs::path> MakePrivateFolder(const fs::path& parent) {
  std::string name = (parent / "XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) return FaultOfFolder(name, errno);
  if (chmod(name.c_str(), 0711) != 0) return FaultOfFolder(name, errno);
  return fs::path(name);
}

}  // namespace winnow
