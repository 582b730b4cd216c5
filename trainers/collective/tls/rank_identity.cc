#include "trainers/collective/tls/rank_identity.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <utility>

#include "base/rank_name.h"
#include "fmt/format.h"

namespace winnow {
namespace {

// The fastest on processors with instructions for AES comes first.
constexpr char kSuites[] = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

// What one call of the system reads at most: several records.
constexpr std::size_t kReadAhead = (64 << 10) + 512;

std::string TakeReason() {
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  const char* const reason = error == 0 ? nullptr : ERR_reason_error_string(error);
  return reason == nullptr ? "unknown error" : reason;
}

absl::Status FileError(const std::filesystem::path& file) {
  return absl::FailedPreconditionError(
      fmt::format("the rank's credentials: {}: {}", file.string(), TakeReason()));
}

// The URI among the certificate's alternative names; "": none.
std::string NameIn(const X509* certificate) {
  std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      GENERAL_NAMES_free);
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    const ASN1_IA5STRING* const uri = name->d.uniformResourceIdentifier;
    return std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                       static_cast<std::size_t>(ASN1_STRING_length(uri)));
  }
  return "";
}

absl::Status CheckName(const X509* certificate, const std::string& expected) {
  const std::string name = certificate == nullptr ? "" : NameIn(certificate);
  if (name == expected) return absl::OkStatus();
  return absl::PermissionDeniedError(
      fmt::format("its certificate is that of {}, not of {}", name.empty() ? "nobody" : name, expected));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const RankIdentity>> RankIdentity::Read(const std::filesystem::path& folder,
                                                                       int rank, NameOf name_of,
                                                                       uint64_t records_per_key) {
  ERR_clear_error();
  const std::filesystem::path authority = folder / kRankAuthorityFile,
                              certificate = folder / kRankCertificateFile, key = folder / kRankKeyFile;
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_method()), SSL_CTX_free);
  if (context == nullptr || SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(context.get(), kSuites) != 1)
    return absl::FailedPreconditionError(fmt::format("OpenSSL has no TLS 1.3: {}", TakeReason()));
  if (SSL_CTX_load_verify_file(context.get(), authority.c_str()) != 1) return FileError(authority);
  if (SSL_CTX_use_certificate_file(context.get(), certificate.c_str(), SSL_FILETYPE_PEM) != 1)
    return FileError(certificate);
  if (SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM) != 1) return FileError(key);
  if (absl::Status named = CheckName(SSL_CTX_get0_certificate(context.get()), name_of(rank)); !named.ok())
    return absl::FailedPreconditionError(
        fmt::format("the rank's credentials: {}: {}", certificate.string(),
                    std::string_view(named.message().data(), named.message().size())));
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  // The ranks' own protocol tells a goodbye from a connection that was cut.
  SSL_CTX_set_options(context.get(), SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_read_ahead(context.get(), 1);
  SSL_CTX_set_default_read_buffer_len(context.get(), kReadAhead);
  return std::shared_ptr<const RankIdentity>(
      new RankIdentity(std::move(context), std::move(name_of), records_per_key));
}

absl::Status RankIdentity::CheckPeer(const SSL* connection, int rank) const {
  return CheckName(SSL_get0_peer_certificate(connection), name_of_(rank));
}

}  // namespace winnow
