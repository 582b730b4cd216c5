#include "server/grpc/tls.h"

#include <fmt/format.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>

#include <cerrno>

namespace winnow {
namespace {

constexpr unsigned kLookEverySeconds = 1;

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Certificate = std::unique_ptr<X509, Free>;
using Key = std::unique_ptr<EVP_PKEY, Free>;

absl::Status Wrong(const char* flag, const std::string& file, std::string_view what) {
  ERR_clear_error();
  return absl::InvalidArgumentError(fmt::format("{}: {}: {}", flag, file, what));
}

// Refuses an encrypted key instead of asking for its password on the terminal.
int NoPassword(char*, int, int, void*) { return -1; }

absl::Status Read(const char* flag, const std::string& file, Certificate& certificate) {
  const std::unique_ptr<BIO, Free> bio(BIO_new_file(file.c_str(), "r"));
  if (bio == nullptr) return Wrong(flag, file, strerror(errno));
  certificate.reset(PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr));
  if (certificate == nullptr) return Wrong(flag, file, "not a certificate in PEM");
  if (X509_cmp_current_time(X509_get0_notAfter(certificate.get())) <= 0) {
    return Wrong(flag, file, "this certificate has expired");
  }
  return absl::OkStatus();
}

absl::Status Read(const char* flag, const std::string& file, Key& key) {
  const std::unique_ptr<BIO, Free> bio(BIO_new_file(file.c_str(), "r"));
  if (bio == nullptr) return Wrong(flag, file, strerror(errno));
  key.reset(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
  if (key == nullptr) return Wrong(flag, file, "not a private key in PEM without a password");
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckTlsFiles(const TlsFiles& files) {
  if (files.cert.empty() != files.key.empty()) {
    return absl::InvalidArgumentError(files.cert.empty()
                                          ? "--tls-key: a key needs its certificate: --tls-cert FILE"
                                          : "--tls-cert: a certificate needs its key: --tls-key FILE");
  }
  if (!files.used()) {
    return files.client_ca.empty()
               ? absl::OkStatus()
               : absl::InvalidArgumentError(
                     "--tls-client-ca: clients' certificates need TLS: --tls-cert and --tls-key");
  }
  Certificate certificate;
  Key key;
  absl::Status status = Read("--tls-cert", files.cert, certificate);
  if (status.ok()) status = Read("--tls-key", files.key, key);
  if (!status.ok()) return status;
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    return Wrong("--tls-key", files.key, fmt::format("this is not the key of {}", files.cert));
  }
  if (files.client_ca.empty()) return absl::OkStatus();
  Certificate client_ca;
  return Read("--tls-client-ca", files.client_ca, client_ca);
}

std::shared_ptr<grpc::ServerCredentials> TlsServerCredentials(const TlsFiles& files) {
  namespace tls = grpc::experimental;
  tls::TlsServerCredentialsOptions options(std::make_shared<tls::FileWatcherCertificateProvider>(
      files.key, files.cert, files.client_ca, kLookEverySeconds));
  options.watch_identity_key_cert_pairs();
  if (!files.client_ca.empty()) {
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return tls::TlsServerCredentials(options);
}

}  // namespace winnow
