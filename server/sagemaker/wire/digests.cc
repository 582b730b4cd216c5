#include "server/sagemaker/wire/digests.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <zlib.h>

#include <boost/crc.hpp>

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

// A sum's bytes from the highest.
template <typename Sum>
std::string SumBytes(Sum sum) {
  std::string bytes;
  for (size_t i = sizeof(sum); i-- > 0;) bytes += static_cast<char>((sum >> (8 * i)) & 0xff);
  return bytes;
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
  return SumBytes(
      static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const unsigned char*>(text.data()), text.size())));
}

std::string Crc32cBytes(std::string_view text) {
  boost::crc_optimal<32, 0x1edc6f41, ~uint32_t{0}, ~uint32_t{0}, true, true> crc;
  crc.process_bytes(text.data(), text.size());
  return SumBytes(static_cast<uint32_t>(crc.checksum()));
}

std::string Crc64NvmeBytes(std::string_view text) {
  boost::crc_optimal<64, 0xad93d23594c93659, ~uint64_t{0}, ~uint64_t{0}, true, true> crc;
  crc.process_bytes(text.data(), text.size());
  return SumBytes(static_cast<uint64_t>(crc.checksum()));
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
