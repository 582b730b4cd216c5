#include "server/host/rank_authority.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <memory>
#include <utility>

#include "base/rank_name.h"
#include "fmt/format.h"

namespace winnow {
namespace {

// The ranks shake hands when their programs start. Clocks of hosts may differ.
constexpr long kValidSeconds = 24 * 3600, kClockSeconds = 3600;

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
  void operator()(BIO* memory) const { BIO_free(memory); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Certificate = std::unique_ptr<X509, Free>;

absl::Status Failed(const char* what) {
  const unsigned long error = ERR_peek_last_error();
  const char* const reason = error == 0 ? nullptr : ERR_reason_error_string(error);
  ERR_clear_error();
  return absl::InternalError(fmt::format("credentials of ranks: OpenSSL cannot {}: {}", what,
                                         reason == nullptr ? "unknown error" : reason));
}

bool Extend(X509* certificate, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, Free> extension(
      X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool SetName(X509_NAME* name, const char* text) {
  return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(text),
                                    -1, -1, 0) == 1;
}

// Not signed yet. `subject` has at most 64 characters.
Certificate NewCertificate(EVP_PKEY* key, const char* subject, const char* issuer, std::time_t now) {
  Certificate certificate(X509_new());
  uint64_t serial = 0;
  const bool made = certificate != nullptr &&
                    RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1 &&
                    X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
                    ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), serial >> 1) == 1 &&
                    X509_time_adj(X509_getm_notBefore(certificate.get()), -kClockSeconds, &now) != nullptr &&
                    X509_time_adj(X509_getm_notAfter(certificate.get()), kValidSeconds, &now) != nullptr &&
                    X509_set_pubkey(certificate.get(), key) == 1 &&
                    SetName(X509_get_subject_name(certificate.get()), subject) &&
                    SetName(X509_get_issuer_name(certificate.get()), issuer);
  return made ? std::move(certificate) : nullptr;
}

// `write` is one of PEM_write_bio_...; "": it failed.
template <typename Write>
std::string Pem(Write write) {
  const std::unique_ptr<BIO, Free> memory(BIO_new(BIO_s_mem()));
  if (memory == nullptr || write(memory.get()) != 1) return "";
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

std::string PemOf(X509* certificate) {
  return Pem([certificate](BIO* out) { return PEM_write_bio_X509(out, certificate); });
}

}  // namespace

absl::StatusOr<std::vector<v1::RankCredentials>> IssueRankCredentials(const std::string& job, int64_t trial,
                                                                      int64_t attempt, int32_t ranks,
                                                                      std::time_t now) {
  constexpr char kAuthority[] = "Winnow attempt";
  const Key authority_key(EVP_EC_gen("P-256"));
  if (authority_key == nullptr) return Failed("make a key");
  const Certificate authority = NewCertificate(authority_key.get(), kAuthority, kAuthority, now);
  if (authority == nullptr || !Extend(authority.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !Extend(authority.get(), NID_key_usage, "critical,keyCertSign") ||
      X509_sign(authority.get(), authority_key.get(), EVP_sha256()) == 0)
    return Failed("make an authority");
  std::vector<v1::RankCredentials> credentials(static_cast<size_t>(ranks));
  for (int32_t rank = 0; rank < ranks; ++rank) {
    const Key key(EVP_EC_gen("P-256"));
    if (key == nullptr) return Failed("make a key");
    const Certificate certificate =
        NewCertificate(key.get(), fmt::format("rank {}", rank).c_str(), kAuthority, now);
    const std::string name = RankName(job, std::to_string(trial), std::to_string(attempt), rank);
    if (certificate == nullptr || !Extend(certificate.get(), NID_basic_constraints, "critical,CA:FALSE") ||
        !Extend(certificate.get(), NID_key_usage, "critical,digitalSignature") ||
        !Extend(certificate.get(), NID_ext_key_usage, "serverAuth,clientAuth") ||
        !Extend(certificate.get(), NID_subject_alt_name, "URI:" + name) ||
        X509_sign(certificate.get(), authority_key.get(), EVP_sha256()) == 0)
      return Failed("make a certificate");
    v1::RankCredentials& of_rank = credentials[static_cast<size_t>(rank)];
    of_rank.set_authority(PemOf(authority.get()));
    of_rank.set_certificate(PemOf(certificate.get()));
    of_rank.set_private_key(Pem([&key](BIO* out) {
      return PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    }));
    if (of_rank.authority().empty() || of_rank.certificate().empty() || of_rank.private_key().empty())
      return Failed("write a certificate");
  }
  return credentials;
}

}  // namespace winnow
