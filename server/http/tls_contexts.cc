#include "server/http/tls_contexts.h"

#include <string>

namespace winnow {
namespace {

namespace ssl = boost::asio::ssl;
namespace fs = std::filesystem;

constexpr std::chrono::seconds kLookEvery{1};
constexpr unsigned char kSessions[] = "winnow";
// For TLS 1.2; all suites of 1.3 qualify: forward secrecy and authenticated encryption.
constexpr char kSuites[] = "ECDHE+AESGCM:ECDHE+CHACHA20";

absl::StatusOr<TlsContexts::Context> Load(const TlsFiles& files) {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  context->set_options(ssl::context::default_workarounds | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1);
  if (SSL_CTX_set_cipher_list(context->native_handle(), kSuites) != 1) {
    return absl::InternalError(std::string("this OpenSSL knows none of the cipher suites ") + kSuites);
  }
  boost::system::error_code error;
  const auto wrong = [&](const char* flag, const std::string& file) {
    return absl::InvalidArgumentError(std::string(flag) + ": " + file + ": " + error.message());
  };
  context->use_certificate_chain_file(files.cert, error);
  if (error) return wrong("--tls-cert", files.cert);
  context->use_private_key_file(files.key, ssl::context::pem, error);
  if (error) return wrong("--tls-key", files.key);
  if (!files.client_ca.empty()) {
    context->load_verify_file(files.client_ca, error);
    if (error) return wrong("--tls-client-ca", files.client_ca);
    context->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
  }
  // Thousands of idle connections hold no buffers; sessions are resumed under our own id only.
  SSL_CTX_set_mode(context->native_handle(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_id_context(context->native_handle(), kSessions, sizeof kSessions - 1);
  return context;
}

}  // namespace

TlsContexts::Times TlsContexts::FileTimes() const {
  std::error_code error;
  const auto cert = fs::last_write_time(files_.cert, error);
  return {cert, fs::last_write_time(files_.key, error)};
}

absl::StatusOr<std::unique_ptr<TlsContexts>> TlsContexts::Open(const TlsFiles& files) {
  std::unique_ptr<TlsContexts> contexts(new TlsContexts(files));
  MutexLock lock(contexts->mutex_);
  contexts->times_ = contexts->FileTimes();
  contexts->looked_ = std::chrono::steady_clock::now();
  absl::StatusOr<Context> first = Load(files);
  if (!first.ok()) return first.status();
  contexts->context_ = *std::move(first);
  return contexts;
}

TlsContexts::Context TlsContexts::Current() {
  MutexLock lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_ < kLookEvery) return context_;
  looked_ = now;
  const Times times = FileTimes();
  if (times == times_) return context_;
  absl::StatusOr<Context> renewed = Load(files_);
  if (renewed.ok()) {
    context_ = *std::move(renewed);
    times_ = times;  // on failure it is tried again: key and certificate may be replaced one after the other
  }
  return context_;
}

}  // namespace winnow
