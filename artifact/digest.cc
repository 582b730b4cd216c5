#include "artifact/digest.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>

namespace winnow {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

std::string DigestOf(std::string_view bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), hash.data());
  std::string text;
  for (const unsigned char byte : hash) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

bool IsDigest(std::string_view text) {
  return text.size() == 2 * SHA256_DIGEST_LENGTH && std::all_of(text.begin(), text.end(), [](char c) {
           return kDigits.find(c) != std::string_view::npos;
         });
}

}  // namespace winnow
