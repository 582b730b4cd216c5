#include "server/grpc/token_secret.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <array>

#include "absl/strings/escaping.h"

namespace winnow {
namespace {

constexpr std::string_view kStart = "wnw_";
constexpr size_t kIdBytes = 4;
constexpr size_t kIdLength = 2 * kIdBytes;
constexpr size_t kRandomBytes = 32;
constexpr size_t kRandomLength = 43;  // 32 bytes in base64url without padding

}  // namespace

absl::StatusOr<TokenSecret> MakeTokenSecret() {
  std::array<unsigned char, kIdBytes + kRandomBytes> random;
  if (RAND_bytes(random.data(), static_cast<int>(random.size())) != 1) {
    return absl::InternalError("the system provides no random bytes, so no token can be created");
  }
  TokenSecret token;
  for (size_t i = 0; i < kIdBytes; ++i) token.id += fmt::format("{:02x}", random[i]);
  const std::string bytes(reinterpret_cast<const char*>(random.data()) + kIdBytes, kRandomBytes);
  token.secret = fmt::format("{}{}_{}", kStart, token.id, absl::WebSafeBase64Escape(bytes));
  return token;
}

std::string_view TokenIdOf(std::string_view secret) {
  if (secret.size() != kStart.size() + kIdLength + 1 + kRandomLength) return {};
  if (!secret.starts_with(kStart) || secret[kStart.size() + kIdLength] != '_') return {};
  return secret.substr(kStart.size(), kIdLength);
}

std::string HashSecret(std::string_view secret) {
  std::string hash(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(secret.data()), secret.size(),
         reinterpret_cast<unsigned char*>(hash.data()));
  return hash;
}

bool SameHash(std::string_view one, std::string_view other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

}  // namespace winnow
