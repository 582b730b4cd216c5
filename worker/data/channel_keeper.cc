#include "worker/data/channel_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "artifact/digest.h"
#include "base/data_url.h"
#include "base/mutex.h"
#include "base/status_text.h"
#include "fmt/format.h"
#include "spdlog/spdlog.h"
#include "worker/data/lock_file.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

constexpr int kDataThreads = 4;                       // that remove what is not used any more
constexpr std::chrono::milliseconds kTellPause(500);  // between two words about one download
constexpr std::chrono::seconds kLogPause(15);         // likewise in the worker's log
constexpr std::chrono::seconds kSweepPause(60);
constexpr std::chrono::minutes kUnusedTime(10);
constexpr const char* kLock = ".lock";
constexpr int kLockTries = 100;

// What is the same for all ranks that can share a view.
std::string KeyOf(const ViewWanted& wanted) {
  std::string key;
  for (const std::string& part :
       {wanted.job, wanted.channel.name(), wanted.channel.channel().path(),
        wanted.channel.channel().endpoint(), wanted.channel.channel().sha256(),
        wanted.channel.channel().mode(),
        wanted.sharded() ? fmt::format("{}/{}", wanted.rank, wanted.ranks) : std::string()}) {
    key += fmt::format("{} {}\n", part.size(), part);
  }
  return key;
}

// Limits how often words about a download reach others. Thread-safe.
class Telling {
 public:
  Telling(std::string job, std::function<void(const std::string&)> tell)
      : job_(std::move(job)), tell_(std::move(tell)) {}

  void Say(const std::string& what) {
    const auto now = std::chrono::steady_clock::now();
    const MutexLock lock(mutex_);
    if (now < next_tell_) return;
    next_tell_ = now + kTellPause;
    tell_(what);
    if (now < next_log_) return;
    next_log_ = now + kLogPause;
    spdlog::info("{}: {}", job_, what);
  }

 private:
  const std::string job_;
  const std::function<void(const std::string&)> tell_;
  Mutex mutex_;
  std::chrono::steady_clock::time_point next_tell_ ABSL_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point next_log_ ABSL_GUARDED_BY(mutex_);
};

// Waits while another worker holds it, which looks for views of workers that have ended. None: the file
// system has no locks.
std::optional<OpenFile> TakeLock(const fs::path& path) {
  for (int tries = 0; tries < kLockTries; ++tries) {
    absl::StatusOr<OpenFile> lock = OpenFile::Open(path, O_RDWR | O_CREAT, 0600);
    if (!lock.ok()) return std::nullopt;
    while (flock(lock->descriptor(), LOCK_EX) != 0) {
      if (errno != EINTR) return std::nullopt;
    }
    if (IsInPlace(*lock, path)) return *std::move(lock);
  }
  return std::nullopt;
}

// A feeder and the folder of its FIFOs, which goes after it.
class FolderOfPipe {
 public:
  explicit FolderOfPipe(fs::path path) : path_(std::move(path)) {}
  ~FolderOfPipe() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  FolderOfPipe(const FolderOfPipe&) = delete;
  FolderOfPipe& operator=(const FolderOfPipe&) = delete;

 private:
  const fs::path path_;
};
struct Pipe {
  explicit Pipe(fs::path path) : folder(std::move(path)) {}
  FolderOfPipe folder;
  std::unique_ptr<PipeFeeder> feeder;
};

}  // namespace

fs::path ViewsFolder(const fs::path& folder) { return folder / "views"; }

struct ChannelKeeper::Gathering {
  ChannelsWanted wanted;
  Progress progress;
  Done done;
  std::shared_ptr<PreparedChannels> channels = std::make_shared<PreparedChannels>();
  int next = 0;  // number of the channel
};

ChannelKeeper::ChannelKeeper(EventLoop* loop, ChannelPlace place)
    : loop_(loop),
      place_(std::move(place)),
      views_(ViewsFolder(place_.folder) / DigestOf(place_.worker).substr(0, 16)),
      cache_(place_.folder / "files", place_.most_bytes, place_.patience),
      role_(std::make_shared<AwsRole>(
          "worker",
          [variables = place_.environment](const std::string& name) { return ValueIn(variables, name); })),
      threads_(kDataThreads) {
  std::error_code ignored;  // what cannot be made shows with the first channel
  fs::create_directories(views_.parent_path(), ignored);
  lock_ = TakeLock(views_.string() + kLock);
  fs::remove_all(views_, ignored);
  fs::create_directories(views_, ignored);
  // Others can pass to a view whose name they know, and list none.
  for (const fs::path& folder : {place_.folder, ViewsFolder(place_.folder), views_})
    (void)chmod(folder.c_str(), 0711);
  RemoveOfEnded();
}

ChannelKeeper::~ChannelKeeper() {
  *alive_ = false;
  loop_->Cancel(sweep_timer_);
  for (auto& [key, making] : making_) making.cancellation->Cancel();
  for (auto& [number, maker] : makers_) maker.join();
  threads_.Stop();
}

void ChannelKeeper::Post(std::function<void()> function) {
  loop_->Post([alive = alive_, function = std::move(function)] {
    if (*alive) function();
  });
}

// Views of workers that have ended without removing them.
void ChannelKeeper::RemoveOfEnded() {
  std::error_code error;
  for (fs::directory_iterator file(ViewsFolder(place_.folder), error), end; !error && file != end;
       file.increment(error)) {
    const std::string name = file->path().string();
    if (!name.ends_with(kLock) || name == views_.string() + kLock) continue;
    const auto lock = OpenFile::Open(name, O_RDWR);
    if (!lock.ok() || flock(lock->descriptor(), LOCK_EX | LOCK_NB) != 0 || !IsInPlace(*lock, name)) continue;
    std::error_code ignored;
    fs::remove_all(name.substr(0, name.size() - std::string_view(kLock).size()), ignored);
    fs::remove(name, ignored);
  }
}

void ChannelKeeper::Prepare(ChannelsWanted wanted, Progress progress, Done done) {
  auto gathering = std::make_shared<Gathering>();
  gathering->wanted = std::move(wanted);
  gathering->progress = std::move(progress);
  gathering->done = std::move(done);
  PrepareNext(gathering);
}

void ChannelKeeper::PrepareNext(const std::shared_ptr<Gathering>& gathering) {
  const v1::Assignment& assignment = gathering->wanted.assignment;
  if (gathering->next == assignment.channels_size()) return gathering->done(std::move(gathering->channels));
  ViewWanted wanted;
  wanted.job = assignment.job_id();
  wanted.channel = assignment.channels(gathering->next++);
  wanted.rank = assignment.rank();
  wanted.ranks = std::max(1, assignment.world_size());
  wanted.variables = {assignment.environment().begin(), assignment.environment().end()};
  for (const auto& [name, value] : gathering->wanted.secrets) wanted.variables[name] = value;
  wanted.worker = place_.environment;
  wanted.role = role_;
  wanted.user = gathering->wanted.user;
  GetView(wanted, KeyOf(wanted),
          {assignment.id(), gathering->progress,
           [this, gathering, wanted](absl::StatusOr<std::shared_ptr<ChannelView>> view) {
             absl::Status status = view.status();
             if (status.ok() && wanted.piped()) status = Feed(wanted, **view, *gathering->channels);
             if (!status.ok()) {
               return gathering->done(absl::Status(
                   status.code(), fmt::format("channel {}: {}", wanted.channel.name(), MessageOf(status))));
             }
             if (!wanted.piped())
               gathering->channels->paths[wanted.channel.name()] = (*view)->path().string();
             gathering->channels->held.push_back(*view);
             PrepareNext(gathering);
           }});
}

absl::Status ChannelKeeper::Feed(const ViewWanted& wanted, const ChannelView& view,
                                 PreparedChannels& channels) {
  const absl::StatusOr<fs::path> folder = MakePrivateFolder(views_);
  if (!folder.ok()) return folder.status();
  std::shared_ptr<Pipe> pipe(new Pipe(*folder), [this, alive = alive_](Pipe* ended) {
    // Its thread may need a second until it sees that it is to end.
    std::shared_ptr<Pipe> owned(ended);
    if (*alive) threads_.Post([owned = std::move(owned)]() mutable { owned.reset(); });
  });
  const fs::path prefix = *folder / wanted.channel.name();
  auto feeder = PipeFeeder::Start(
      prefix, view.pieces(), wanted.user, place_.patience,
      [alive = alive_, loop = loop_, channels = channels.weak_from_this(),
       name = wanted.channel.name()](const absl::Status& status) {
        loop->Post([alive, channels, status, name] {
          const std::shared_ptr<PreparedChannels> used = channels.lock();
          if (!*alive || used == nullptr || used->broken == nullptr) return;
          used->broken(absl::Status(status.code(), fmt::format("channel {}: {}", name, MessageOf(status))));
        });
      });
  if (!feeder.ok()) return feeder.status();
  channels.paths[wanted.channel.name()] = prefix.string();
  pipe->feeder = *std::move(feeder);
  channels.held.push_back(std::move(pipe));
  return absl::OkStatus();
}

void ChannelKeeper::GetView(const ViewWanted& wanted, const std::string& key, Waiter waiter) {
  if (const auto kept = kept_.find(key); kept != kept_.end()) {
    std::error_code gone;
    if (wanted.piped() || fs::exists(kept->second.view->path(), gone)) {
      kept->second.used = loop_->Now();
      return waiter.done(kept->second.view);
    }
    kept_.erase(kept);  // somebody has removed it
  }
  if (const auto making = making_.find(key); making != making_.end()) {
    making->second.waiters.push_back(std::move(waiter));
    return;
  }
  Making& making = making_[key];
  making.number = ++last_making_;
  making.waiters.push_back(std::move(waiter));
  Make(wanted, key, making);
}

void ChannelKeeper::Make(const ViewWanted& wanted, const std::string& key, const Making& making) {
  auto telling =
      std::make_shared<Telling>(wanted.job, [this, key, number = making.number](const std::string& what) {
        Post([this, key, number, what] {
          const auto found = making_.find(key);
          if (found == making_.end() || found->second.number != number) return;
          for (const Waiter& waiter : found->second.waiters) waiter.progress(what);
        });
      });
  const auto make = [this, wanted, key, number = making.number, cancellation = making.cancellation, telling] {
    auto view = ChannelView::Make(
        wanted, views_, cache_, [&telling](const std::string& what) { telling->Say(what); }, *cancellation);
    Post([this, key, number, view = std::move(view)] { Finish(key, number, view); });
  };
  try {
    makers_.emplace(making.number, std::thread(make));
  } catch (const std::system_error&) {
    threads_.Post(make);  // the system has no more threads for this process
  }
}

void ChannelKeeper::Finish(const std::string& key, int64_t number,
                           absl::StatusOr<std::shared_ptr<ChannelView>> view) {
  if (auto maker = makers_.extract(number)) maker.mapped().join();
  const auto found = making_.find(key);
  if (found == making_.end() || found->second.number != number) return;  // nobody waits for it any more
  const std::vector<Waiter> waiters = std::move(found->second.waiters);
  making_.erase(found);
  if (view.ok()) {
    kept_[key] = {*view, loop_->Now()};
    if (sweep_timer_ == 0) sweep_timer_ = loop_->After(kSweepPause, [this] { Sweep(); });
  }
  for (const Waiter& waiter : waiters) waiter.done(view);
}

void ChannelKeeper::Abandon(const std::string& assignment_id) {
  for (auto making = making_.begin(); making != making_.end();) {
    std::vector<Waiter>& waiters = making->second.waiters;
    std::erase_if(waiters, [&](const Waiter& waiter) { return waiter.assignment == assignment_id; });
    if (waiters.empty()) {
      making->second.cancellation->Cancel();
      making = making_.erase(making);
    } else {
      ++making;
    }
  }
}

// Removes what no rank has used for a while, on a thread: it may be many files.
void ChannelKeeper::Sweep() {
  sweep_timer_ = 0;
  for (auto kept = kept_.begin(); kept != kept_.end();) {
    if (kept->second.view.use_count() > 1) kept->second.used = loop_->Now();
    if (loop_->Now() - kept->second.used < kUnusedTime) {
      ++kept;
      continue;
    }
    threads_.Post([view = std::move(kept->second.view)]() mutable { view.reset(); });
    kept = kept_.erase(kept);
  }
  if (!kept_.empty()) sweep_timer_ = loop_->After(kSweepPause, [this] { Sweep(); });
}

}  // namespace winnow
