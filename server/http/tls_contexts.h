#pragma once

#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "server/grpc/tls.h"

namespace winnow {

// The TLS context of new connections, made again when its files change. Thread-safe.
class TlsContexts {
 public:
  using Context = std::shared_ptr<boost::asio::ssl::context>;

  // INVALID_ARGUMENT: the files are unusable.
  static absl::StatusOr<std::unique_ptr<TlsContexts>> Open(const TlsFiles& files);

  // Checks the files at most once a second; unusable files leave the context unchanged.
  Context Current();

 private:
  using Times = std::pair<std::filesystem::file_time_type, std::filesystem::file_time_type>;
  explicit TlsContexts(const TlsFiles& files) : files_(files) {}
  Times FileTimes() const;

  const TlsFiles files_;
  Mutex mutex_;
  Context context_ ABSL_GUARDED_BY(mutex_);
  Times times_ ABSL_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point looked_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow
