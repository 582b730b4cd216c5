#include "rpc/tls_files.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

namespace winnow {
namespace {

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
  if (bio == nullptr) return Wrong(flag, file, std::strerror(errno));
  certificate.reset(PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr));
  if (certificate == nullptr) return Wrong(flag, file, "not a certificate in PEM");
  if (X509_cmp_current_time(X509_get0_notBefore(certificate.get())) > 0) {
    return Wrong(flag, file, "this certificate is not valid yet, or this machine's clock is wrong");
  }
  if (X509_cmp_current_time(X509_get0_notAfter(certificate.get())) <= 0) {
    return Wrong(flag, file, "this certificate has expired, or this machine's clock is wrong");
  }
  return absl::OkStatus();
}

absl::Status Read(const char* flag, const std::string& file, Key& key) {
  const std::unique_ptr<BIO, Free> bio(BIO_new_file(file.c_str(), "r"));
  if (bio == nullptr) return Wrong(flag, file, std::strerror(errno));
  key.reset(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
  if (key == nullptr) return Wrong(flag, file, "not a private key in PEM without a password");
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckCertificate(const char* flag, const std::string& file) {
  Certificate certificate;
  return Read(flag, file, certificate);
}

absl::Status CheckKeyPair(const std::string& cert, const std::string& key) {
  Certificate certificate;
  Key own;
  absl::Status status = Read("--tls-cert", cert, certificate);
  if (status.ok()) status = Read("--tls-key", key, own);
  if (!status.ok()) return status;
  return X509_check_private_key(certificate.get(), own.get()) == 1
             ? absl::OkStatus()
             : Wrong("--tls-key", key, fmt::format("this is not the key of {}", cert));
}

}  // namespace winnow
