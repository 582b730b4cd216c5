#include "server/grpc/backup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "server/grpc/errors.h"
#include "server/host/endpoint_state.h"
#include "store/copy.h"

namespace winnow {
namespace {

constexpr int64_t kPartBytes = 1 << 20;

// One call: waits for the copy, then writes it part by part. The steps are sequential, so only the request to
// end is shared between threads.
class BackupCall final : public grpc::ServerWriteReactor<v1::BackupPart> {
 public:
  void Start(Backups& backups) {
    // Without a first write the client would not know that the call arrived.
    StartSendInitialMetadata();
    backups.Take({[this] { return cancelled_.load(); },
                  [this](absl::StatusOr<std::unique_ptr<UnnamedFile>> copy) { Copied(std::move(copy)); }});
  }

  void OnWriteDone(bool ok) override {
    ok ? Next() : Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the client is gone"));
  }
  void OnCancel() override { cancelled_ = true; }
  void OnDone() override { delete this; }

 private:
  void Copied(absl::StatusOr<std::unique_ptr<UnnamedFile>> copy) {
    if (!copy.ok()) return Finish(ToGrpc(copy.status()));
    copy_ = *std::move(copy);
    part_.set_total_bytes(copy_->size());
    Next();
  }
  void Next() {
    if (sent_ == copy_->size()) return Finish(grpc::Status::OK);
    absl::StatusOr<std::string> data = copy_->Read(sent_, kPartBytes);
    if (!data.ok()) return Finish(ToGrpc(data.status()));
    if (sent_ > 0) part_.clear_total_bytes();
    sent_ += static_cast<int64_t>(data->size());
    part_.set_data(*std::move(data));
    StartWrite(&part_);
  }

  std::atomic<bool> cancelled_ = false;
  std::unique_ptr<UnnamedFile> copy_;
  v1::BackupPart part_;
  int64_t sent_ = 0;
};

absl::Status SystemError(const std::string& path) {
  return absl::InternalError(fmt::format("{}: {}", path, strerror(errno)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<UnnamedFile>> UnnamedFile::Take(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return SystemError(path);
  struct stat status;
  const bool known = fstat(descriptor, &status) == 0;
  std::unique_ptr<UnnamedFile> file(new UnnamedFile(descriptor, known ? status.st_size : 0));
  if (!known || unlink(path.c_str()) != 0) return SystemError(path);
  return file;
}

UnnamedFile::~UnnamedFile() { close(descriptor_); }

absl::StatusOr<std::string> UnnamedFile::Read(int64_t offset, int64_t limit) const {
  std::string data(static_cast<size_t>(std::min(limit, size_ - offset)), '\0');
  for (size_t got = 0; got < data.size();) {
    const ssize_t bytes =
        pread(descriptor_, data.data() + got, data.size() - got, offset + static_cast<int64_t>(got));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return absl::InternalError(fmt::format("the copy cannot be read: {}", strerror(errno)));
    got += static_cast<size_t>(bytes);
  }
  return data;
}

grpc::ServerWriteReactor<v1::BackupPart>* Backups::Serve() {
  auto* call = new BackupCall;
  call->Start(*this);
  return call;
}

void Backups::Take(Task task) {
  thread_.Post([this, task = std::move(task)] { task.done(Copy(task.cancelled)); });
}

absl::StatusOr<std::unique_ptr<UnnamedFile>> Backups::Copy(const std::function<bool()>& cancelled) {
  // One copy at a time, so one name is enough; replaces what a killed server left there.
  const std::string path = database_ + ".copy";
  const auto ends = [&] { return cancelled() || thread_.stopping(); };
  // The endpoint's state is the older one: every job that it names is in the database's copy.
  const absl::StatusOr<EndpointSnapshot> endpoint = EndpointSnapshot::Take(endpoint_, ends);
  absl::Status status = endpoint.status();
  if (status.ok()) status = CopyDatabase(database_, path, ends);
  if (status.ok()) status = endpoint->AddTo(path, ends);
  if (!status.ok()) {
    std::error_code none;
    for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path + end, none);
  }
  if (thread_.stopping()) return absl::UnavailableError("the server is stopping");
  if (!status.ok()) return status;
  return UnnamedFile::Take(path);
}

}  // namespace winnow
