#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "trainers/collective/tls/rank_identity.h"

namespace winnow {

// TLS on a connected non-blocking socket. What Send has taken is encrypted, and counts as sent, though some
// of it may be held here until the system has room for it. Any thread may send while another one receives.
class TlsStream {
 public:
  enum class Side { kConnects, kAccepts };
  // The identity and the socket outlive it.
  TlsStream(std::shared_ptr<const RankIdentity> identity, int fd, Side side);

  // Goes on with the handshake, as far as that is possible now.
  enum class Handshake { kDone, kReads, kWrites, kFailed };
  Handshake ShakeHands();
  // REQUIRES: the handshake is done.
  absl::Status CheckPeer(int rank) const;

  // As those of Socket. A Receive of less than there is room for has received all that has come.
  std::ptrdiff_t Send(std::span<iovec> pieces);
  std::ptrdiff_t Receive(std::span<iovec> pieces);
  // Passes on what is held here: the number of bytes, 0 (no room, or nothing held), or -1 (ended).
  std::ptrdiff_t Flush();
  bool holds() const;
  // What has come is perhaps not all received, though the system has nothing more to read.
  bool has_unread() const;

  // Why it ended; "": the connection was closed without a reason.
  std::string why() const;
  // The other end has refused this rank's certificate, or this one the other's: trying again does not help.
  bool is_refused() const;

 private:
  static constexpr std::size_t kRecord = 16 << 10;

  std::ptrdiff_t FlushHeld() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Encrypt(const void* data, std::size_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Fail() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<const RankIdentity> identity_;
  const int fd_;
  mutable Mutex mutex_;
  std::unique_ptr<SSL, void (*)(SSL*)> connection_ ABSL_GUARDED_BY(mutex_);
  std::size_t sent_ ABSL_GUARDED_BY(mutex_) = 0;  // of the encrypted bytes that are held
  uint64_t records_ ABSL_GUARDED_BY(mutex_) = 0;  // with the present key
  bool all_read_ ABSL_GUARDED_BY(mutex_) = true;
  bool cut_ ABSL_GUARDED_BY(mutex_) = false;  // nothing more can be sent; what has come can be read
  bool failed_ ABSL_GUARDED_BY(mutex_) = false;
  bool refused_ ABSL_GUARDED_BY(mutex_) = false;
  std::string why_ ABSL_GUARDED_BY(mutex_);
  std::array<std::byte, kRecord> gathered_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow
