#include "worker/data/pipe_feeder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "artifact/files.h"
#include "base/status_text.h"
#include "fmt/format.h"
#include "worker/data/local_files.h"

namespace winnow {
namespace {

constexpr int kPipeBytes = 1 << 20;  // what an ordinary user may have
constexpr size_t kSplicedBytes = 1 << 20;
constexpr std::chrono::milliseconds kFirstLook(1), kLastLook(20);  // for a reader

// The reader has closed the pipe before its end: no error of the data.
absl::Status ReaderLeft() { return absl::OutOfRangeError("the reader has closed the pipe"); }

}  // namespace

// The writing end of one FIFO.
class PipeFeeder::Writer : public ObjectReceiver {
 public:
  // Waits until a reader opens the FIFO. CANCELLED: the feeder ends before. An opening that blocks could not
  // be ended if somebody had removed the FIFO.
  static absl::StatusOr<Writer> Open(const std::filesystem::path& path, int wake, const Cancellation& ended) {
    for (auto pause = kFirstLook;; pause = std::min(2 * pause, kLastLook)) {
      const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
      if (descriptor >= 0) {
        static_cast<void>(fcntl(descriptor, F_SETPIPE_SZ, kPipeBytes));  // otherwise it has 64 KiB
        return Writer(OpenFile(path, descriptor), wake);
      }
      if (errno != ENXIO && errno != EINTR) return FileError(path, "cannot be opened", errno);
      if (!ended.Sleep(pause)) return absl::CancelledError("not wanted any more");
    }
  }

  // A piece of which nothing has come yet.
  void BeginObject() {
    version_.reset();
    sent_ = to_skip_ = 0;
  }

  // What the reader has cannot be taken back.
  absl::Status Begin(const ObjectVersion& version, int64_t from) override {
    if (version_.has_value() && sent_ > 0 && from != sent_) {
      const bool same = from == 0 && !version.etag.empty() && version.etag == version_->etag;
      if (!same) {
        return absl::FailedPreconditionError(
            "the connection broke, and the server can neither send the rest alone nor say whether the file "
            "is the same; expected a server with Range and ETag, or mode file");
      }
    }
    to_skip_ = sent_ - from;
    version_ = version;
    return absl::OkStatus();
  }

  absl::Status Add(std::string_view bytes) override {
    const int64_t skipped = std::min(to_skip_, static_cast<int64_t>(bytes.size()));
    to_skip_ -= skipped;
    bytes.remove_prefix(static_cast<size_t>(skipped));
    while (!bytes.empty()) {
      const ssize_t written = write(file_.descriptor(), bytes.data(), bytes.size());
      if (written > 0) {
        sent_ += written;
        bytes.remove_prefix(static_cast<size_t>(written));
      } else if (absl::Status status = WaitAfter(errno); !status.ok()) {
        return status;
      }
    }
    return absl::OkStatus();
  }

  // From a regular file, without copying it through this process.
  absl::Status Splice(int from, int64_t begin, int64_t end) {
    loff_t at = begin;
    while (end < 0 || at < end) {
      const size_t most =
          end < 0 ? kSplicedBytes : static_cast<size_t>(std::min<int64_t>(kSplicedBytes, end - at));
      const ssize_t moved =
          splice(from, &at, file_.descriptor(), nullptr, most, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
      if (moved == 0) {
        return end < 0 ? absl::OkStatus()
                       : absl::FailedPreconditionError("it has become shorter while it was read");
      }
      if (moved > 0) continue;
      if (absl::Status status = WaitAfter(errno); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  Writer(OpenFile file, int wake) : file_(std::move(file)), wake_(wake) {}

  // After a call that did nothing: waits until the pipe has room.
  absl::Status WaitAfter(int code) {
    if (code == EINTR) return absl::OkStatus();
    if (code == EPIPE) return ReaderLeft();
    if (code != EAGAIN) return absl::ResourceExhaustedError(std::generic_category().message(code));
    std::array<pollfd, 2> watched = {pollfd{file_.descriptor(), POLLOUT, 0}, pollfd{wake_, POLLIN, 0}};
    if (poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR)
      return absl::ResourceExhaustedError(std::generic_category().message(errno));
    return watched[1].revents != 0 ? absl::CancelledError("not wanted any more") : absl::OkStatus();
  }

  OpenFile file_;
  const int wake_;
  std::optional<ObjectVersion> version_;
  int64_t sent_ = 0;     // of the object
  int64_t to_skip_ = 0;  // what the reader has already of what comes
};

absl::StatusOr<std::unique_ptr<PipeFeeder>> PipeFeeder::Start(std::filesystem::path prefix,
                                                              std::vector<PipePiece> pieces,
                                                              std::optional<TrainerUser> user,
                                                              TransferPatience patience,
                                                              std::function<void(absl::Status)> failed) {
  std::unique_ptr<PipeFeeder> feeder(
      new PipeFeeder(std::move(prefix), std::move(pieces), std::move(user), patience, std::move(failed)));
  if (feeder->wake_ < 0) return absl::ResourceExhaustedError("no eventfd is left");
  if (absl::Status status = feeder->Make(0); !status.ok()) return status;
  feeder->thread_ = std::thread([raw = feeder.get()] { raw->Run(); });
  return feeder;
}

PipeFeeder::PipeFeeder(std::filesystem::path prefix, std::vector<PipePiece> pieces,
                       std::optional<TrainerUser> user, TransferPatience patience,
                       std::function<void(absl::Status)> failed)
    : prefix_(std::move(prefix)),
      pieces_(std::move(pieces)),
      user_(std::move(user)),
      patience_(patience),
      failed_(std::move(failed)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

PipeFeeder::~PipeFeeder() {
  cancellation_.Cancel();
  const uint64_t one = 1;
  static_cast<void>(!write(wake_, &one, sizeof one));
  if (thread_.joinable()) thread_.join();
  for (int64_t epoch = std::max<int64_t>(0, made_ - 2); epoch < made_; ++epoch) unlink(PathOf(epoch).c_str());
  if (wake_ >= 0) close(wake_);
}

std::filesystem::path PipeFeeder::PathOf(int64_t epoch) const {
  return prefix_.string() + "_" + std::to_string(epoch);
}

absl::Status PipeFeeder::Make(int64_t epoch) {
  const std::filesystem::path path = PathOf(epoch);
  if (mkfifo(path.c_str(), 0600) != 0 ||
      (user_.has_value() && lchown(path.c_str(), user_->uid, user_->gid) != 0)) {
    return absl::ResourceExhaustedError(MessageOf(FileError(path, "cannot be made", errno)));
  }
  made_ = epoch + 1;
  return absl::OkStatus();
}

void PipeFeeder::Run() {
  for (int64_t epoch = 0; !cancellation_.cancelled(); ++epoch) {
    absl::Status status;
    absl::StatusOr<Writer> writer = Writer::Open(PathOf(epoch), wake_, cancellation_);
    if (writer.ok()) status = Make(epoch + 1);
    if (writer.ok() && status.ok()) status = Feed(*writer);
    if (!writer.ok()) status = writer.status();
    if (cancellation_.cancelled()) return;
    if (!status.ok() && !absl::IsOutOfRange(status)) {
      failed_(status);  // before the pipe ends, so that the program is stopped and does not go on with a part
      while (cancellation_.Sleep(std::chrono::hours(1))) {
      }
      return;
    }
    unlink(PathOf(epoch).c_str());
  }
}

absl::Status PipeFeeder::Feed(Writer& writer) {
  for (const PipePiece& piece : pieces_) {
    if (piece.object.has_value()) {
      writer.BeginObject();
      const auto got = ReceiveObject(*piece.object, {}, writer, patience_, cancellation_, true);
      if (absl::IsFailedPrecondition(got.status()) &&
          MessageOf(got.status()).find("://") == std::string::npos)
        return absl::FailedPreconditionError(piece.object->shown + ": " + MessageOf(got.status()));
      if (!got.ok()) return got.status();
      continue;
    }
    const absl::StatusOr<OpenFile> file = OpenForUser(piece.file, user_);
    if (!file.ok()) return file.status();
    absl::Status status = writer.Splice(file->descriptor(), piece.begin, piece.end);
    if (!status.ok() && !absl::IsOutOfRange(status) && !absl::IsCancelled(status))
      return absl::Status(status.code(), fmt::format("{}: {}", piece.file.string(), MessageOf(status)));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace winnow
