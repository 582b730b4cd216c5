#include "server/sagemaker/wire/digests.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <zlib.h>

#include "absl/strings/escaping.h"
#include "base/check.h"

namespace winnow {
namespace {

std::string DigestBytes(const EVP_MD* kind, std::string_view text) {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  WINNOW_CHECK(EVP_Digest(text.data(), text.size(), bytes, &size, kind, nullptr) == 1,
               "OpenSSL has the digest");
  return {reinterpret_cast<const char*>(bytes), size};
}

std::string HmacBytes(const EVP_MD* kind, std::string_view key, std::string_view text) {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  WINNOW_CHECK(
      HMAC(kind, key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes, &size) != nullptr,
      "OpenSSL has the digest");
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace

std::string Sha256Bytes(std::string_view text) { return DigestBytes(EVP_sha256(), text); }
std::string Md5Bytes(std::string_view text) { return DigestBytes(EVP_md5(), text); }
std::string Sha1Bytes(std::string_view text) { return DigestBytes(EVP_sha1(), text); }
std::string HmacSha256(std::string_view key, std::string_view text) {
  return HmacBytes(EVP_sha256(), key, text);
}
std::string HmacSha1(std::string_view key, std::string_view text) { return HmacBytes(EVP_sha1(), key, text); }

std::string Crc32Bytes(std::string_view text) {
  const auto crc =
      static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const unsigned char*>(text.data()), text.size()));
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>((crc >> shift) & 0xff);
  return bytes;
}

bool SameBytes(std::string_view one, std::string_view other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

std::string RandomHex(int bytes) {
  std::string random(static_cast<size_t>(bytes), '\0');
  WINNOW_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(random.data()), bytes) == 1,
               "the system gives random bytes");
  return absl::BytesToHexString(random);
}

}  // namespace winnow
