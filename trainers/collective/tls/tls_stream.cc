#include "trainers/collective/tls/tls_stream.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "fmt/format.h"

namespace winnow {
namespace {

// Encrypted bytes that one call of the system is given as a rule.
constexpr std::size_t kFlushBytes = 64 << 10;

std::string_view Held(SSL* connection) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(SSL_get_wbio(connection), &data);
  return {data, static_cast<std::size_t>(std::max(size, 0L))};
}

}  // namespace

TlsStream::TlsStream(std::shared_ptr<const RankIdentity> identity, int fd, Side side)
    : identity_(std::move(identity)), fd_(fd), connection_(SSL_new(identity_->context()), SSL_free) {
  MutexLock lock(mutex_);
  if (connection_ == nullptr) {
    Fail();
    return;
  }
  SSL_set_bio(connection_.get(), BIO_new_socket(fd, BIO_NOCLOSE), BIO_new(BIO_s_mem()));
  side == Side::kConnects ? SSL_set_connect_state(connection_.get())
                          : SSL_set_accept_state(connection_.get());
}

TlsStream::Handshake TlsStream::ShakeHands() {
  MutexLock lock(mutex_);
  if (failed_) return Handshake::kFailed;
  ERR_clear_error();
  const int result = SSL_do_handshake(connection_.get());
  const int error = result == 1 ? SSL_ERROR_NONE : SSL_get_error(connection_.get(), result);
  const bool goes_on = result == 1 || error == SSL_ERROR_WANT_READ;
  if (!goes_on) Fail();
  // The other end gets the alert that says why, if the handshake has failed.
  const std::ptrdiff_t flushed = FlushHeld();
  if (!goes_on) return Handshake::kFailed;
  if (flushed < 0) {
    failed_ = true;
    return Handshake::kFailed;
  }
  if (!Held(connection_.get()).empty()) return Handshake::kWrites;
  return result == 1 ? Handshake::kDone : Handshake::kReads;
}

absl::Status TlsStream::CheckPeer(int rank) const {
  MutexLock lock(mutex_);
  return identity_->CheckPeer(connection_.get(), rank);
}

std::ptrdiff_t TlsStream::FlushHeld() {
  if (cut_) return -1;
  std::ptrdiff_t flushed = 0;
  while (true) {
    const std::string_view held = Held(connection_.get()).substr(sent_);
    if (held.empty()) break;
    const ssize_t sent = send(fd_, held.data(), held.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return flushed;
    cut_ = sent <= 0;
    if (cut_) return -1;
    flushed += sent;
    sent_ += static_cast<std::size_t>(sent);
  }
  // Reading is how a memory BIO forgets; resetting it would clear all that it ever held.
  while (BIO_read(SSL_get_wbio(connection_.get()), gathered_.data(), static_cast<int>(gathered_.size())) > 0)
    continue;
  sent_ = 0;
  return flushed;
}

bool TlsStream::Encrypt(const void* data, std::size_t size) {
  ERR_clear_error();
  records_ += (size + kRecord - 1) / kRecord;
  if (records_ > identity_->records_per_key()) {
    records_ = 0;
    SSL_key_update(connection_.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
  }
  std::size_t written = 0;
  if (SSL_write_ex(connection_.get(), data, size, &written) == 1) return true;
  Fail();
  return false;
}

std::ptrdiff_t TlsStream::Send(std::span<iovec> pieces) {
  MutexLock lock(mutex_);
  // The reader finds the reason, if the other end gave one.
  if (failed_ || FlushHeld() < 0) return -1;
  if (!Held(connection_.get()).empty()) return 0;
  std::size_t taken = 0, piece = 0, at = 0;
  while (piece < pieces.size()) {
    const auto* const data = static_cast<const std::byte*>(pieces[piece].iov_base) + at;
    const std::size_t left = pieces[piece].iov_len - at;
    std::size_t size = std::min(left, kFlushBytes);
    if (left >= kRecord) {
      if (!Encrypt(data, size)) return -1;
      at += size;
    } else {
      // Small pieces share a record.
      for (size = 0; piece < pieces.size() && size < gathered_.size();) {
        const std::size_t part = std::min(pieces[piece].iov_len - at, gathered_.size() - size);
        std::memcpy(gathered_.data() + size, static_cast<const std::byte*>(pieces[piece].iov_base) + at,
                    part);
        size += part;
        at += part;
        if (at < pieces[piece].iov_len) break;
        ++piece;
        at = 0;
      }
      if (size > 0 && !Encrypt(gathered_.data(), size)) return -1;
    }
    taken += size;
    if (piece < pieces.size() && at == pieces[piece].iov_len) {
      ++piece;
      at = 0;
    }
    if (Held(connection_.get()).size() < kFlushBytes) continue;
    if (FlushHeld() < 0) return -1;
    if (!Held(connection_.get()).empty()) break;
  }
  return FlushHeld() < 0 ? -1 : static_cast<std::ptrdiff_t>(taken);
}

std::ptrdiff_t TlsStream::Receive(std::span<iovec> pieces) {
  MutexLock lock(mutex_);
  if (failed_) return -1;
  ERR_clear_error();
  std::size_t received = 0;
  all_read_ = false;
  for (const iovec& piece : pieces) {
    std::size_t at = 0;
    while (at < piece.iov_len) {
      std::size_t got = 0;
      const int result = SSL_read_ex(connection_.get(), static_cast<std::byte*>(piece.iov_base) + at,
                                     piece.iov_len - at, &got);
      if (result == 1) {
        at += got;
        received += got;
        continue;
      }
      all_read_ = true;
      if (SSL_get_error(connection_.get(), result) != SSL_ERROR_WANT_READ) Fail();
      if (received > 0) return static_cast<std::ptrdiff_t>(received);
      return failed_ ? -1 : 0;
    }
  }
  return static_cast<std::ptrdiff_t>(received);
}

std::ptrdiff_t TlsStream::Flush() {
  MutexLock lock(mutex_);
  return failed_ ? -1 : FlushHeld();
}

bool TlsStream::holds() const {
  MutexLock lock(mutex_);
  return !failed_ && !cut_ && !Held(connection_.get()).empty();
}

bool TlsStream::has_unread() const {
  MutexLock lock(mutex_);
  return !all_read_;
}

std::string TlsStream::why() const {
  MutexLock lock(mutex_);
  return why_;
}

bool TlsStream::is_refused() const {
  MutexLock lock(mutex_);
  return refused_;
}

void TlsStream::Fail() {
  constexpr int kFirstAlert = SSL_AD_REASON_OFFSET;  // reasons from here on are those of received alerts
  failed_ = true;
  const unsigned long error = ERR_peek_last_error();  // those before it are its causes
  ERR_clear_error();
  if (error == 0) return;
  const int reason = ERR_GET_REASON(error);
  const char* const text = ERR_reason_error_string(error);
  const std::string words = text == nullptr ? fmt::format("error {}", reason) : text;
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED && connection_ != nullptr) {
    why_ = fmt::format("its certificate is refused: {}",
                       X509_verify_cert_error_string(SSL_get_verify_result(connection_.get())));
    refused_ = true;
  } else if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) {
    why_ = "it shows no certificate";
    refused_ = true;
  } else if (ERR_GET_LIB(error) == ERR_LIB_SSL && reason > kFirstAlert) {
    why_ = fmt::format("it refuses this rank's certificate: {}", words);
    refused_ = true;
  } else if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST ||
             reason == SSL_R_UNSUPPORTED_PROTOCOL || reason == SSL_R_PACKET_LENGTH_TOO_LONG) {
    why_ = "it does not talk TLS";
  } else if (ERR_GET_LIB(error) != ERR_LIB_SYS) {
    why_ = fmt::format("TLS: {}", words);
  }
}

}  // namespace winnow
